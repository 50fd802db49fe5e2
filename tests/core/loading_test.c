/*
 * tests/core/loading_test.c: the library loaded and unloaded again and again, as plugins and language bindings do. This
 * program is not linked to it. ATTNZOO_TEST_LIBRARY is the library's file.
 */
#include "support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <attnzoo/attnzoo.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOADS = 100, WARM_UP = 10 };

/* The functions of one loading of the library that the test needs. */
struct loaded {
    void *library;
    attnzoo_status (*module_create)(attnzoo_module **, const char *);
    attnzoo_status (*module_prepare)(attnzoo_module *);
    void (*module_destroy)(attnzoo_module *);
    attnzoo_status (*tensor_create)(attnzoo_tensor **, void *, int32_t, int32_t, const int64_t *, const int64_t *);
    void (*tensor_destroy)(attnzoo_tensor *);
    attnzoo_status (*executor_create)(attnzoo_executor **, int32_t);
    void (*executor_destroy)(attnzoo_executor *);
    attnzoo_status (*forward)(const attnzoo_module *, attnzoo_executor *, const attnzoo_tensor *,
                              const attnzoo_tensor *, const attnzoo_tensor *, const attnzoo_mask *, attnzoo_state *,
                              attnzoo_tensor *, attnzoo_tensor *);
    const char *(*last_error)(void);
};

static void find(const struct loaded *loaded, const char *name, void *function)
{
    void *symbol = dlsym(loaded->library, name);
    if (symbol == NULL)
        fail_msg("no %s", name);
    memcpy(function, &symbol, sizeof symbol);
}

static struct loaded load(void)
{
    struct loaded loaded = {.library = dlopen(ATTNZOO_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL)};
    if (loaded.library == NULL)
        fail_msg("%s", dlerror());
    find(&loaded, "attnzoo_module_create", &loaded.module_create);
    find(&loaded, "attnzoo_module_prepare", &loaded.module_prepare);
    find(&loaded, "attnzoo_module_destroy", &loaded.module_destroy);
    find(&loaded, "attnzoo_tensor_create", &loaded.tensor_create);
    find(&loaded, "attnzoo_tensor_destroy", &loaded.tensor_destroy);
    find(&loaded, "attnzoo_executor_create", &loaded.executor_create);
    find(&loaded, "attnzoo_executor_destroy", &loaded.executor_destroy);
    find(&loaded, "attnzoo_module_forward", &loaded.forward);
    find(&loaded, "attnzoo_last_error", &loaded.last_error);
    return loaded;
}

/* A call with threads, one without, and one that fails, so that a message is left behind in this thread. */
static void use(const struct loaded *loaded)
{
    static float memory[4][64 * 64];
    attnzoo_module *module = NULL;
    attnzoo_executor *executor = NULL;
    attnzoo_tensor *views[4];
    assert_int_equal(loaded->module_create(&module, "scaled_dot_product"), ATTNZOO_STATUS_OK);
    assert_int_equal(loaded->module_prepare(module), ATTNZOO_STATUS_OK);
    assert_int_equal(loaded->executor_create(&executor, 3), ATTNZOO_STATUS_OK);
    const int64_t shape[] = {4, 32, 32};
    for (int i = 0; i < 4; i++)
        assert_int_equal(loaded->tensor_create(&views[i], memory[i], ATTNZOO_DTYPE_FLOAT32, 3, shape, NULL), 0);
    assert_int_equal(loaded->forward(module, executor, views[0], views[1], views[2], NULL, NULL, views[3], NULL), 0);
    assert_int_equal(loaded->forward(module, NULL, views[0], views[1], views[2], NULL, NULL, views[3], NULL), 0);
    for (int i = 0; i < 4; i++)
        loaded->tensor_destroy(views[i]);
    loaded->executor_destroy(executor);
    loaded->module_destroy(module);
    assert_int_equal(loaded->module_create(&module, "no such"), ATTNZOO_STATUS_UNKNOWN_NAME);
    assert_true(strlen(loaded->last_error()) > 0);
}

/* What a process has of things that a library might leave behind. */
struct holdings {
    int mappings, files, threads, keys;
};

static int count_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    int count = 0;
    for (int c = fgetc(maps); c != EOF; c = fgetc(maps))
        count += c == '\n';
    fclose(maps);
    return count;
}

/* How many thread-specific keys are still to be had. */
static int count_keys(void)
{
    static pthread_key_t keys[4096];
    int count = 0;
    while (count < 4096 && pthread_key_create(&keys[count], NULL) == 0)
        count++;
    for (int i = 0; i < count; i++)
        pthread_key_delete(keys[i]);
    return count;
}

static struct holdings count_holdings(void)
{
    return (struct holdings){count_mappings(), process_entries("fd"), process_entries("task"), count_keys()};
}

static void *use_in_thread(void *argument)
{
    use(argument);
    return NULL;
}

static void load_and_unload(int number)
{
    struct loaded loaded = load();
    if (number % 2 == 0)
        use(&loaded);
    if (number % 4 == 0) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, use_in_thread, &loaded), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(dlclose(loaded.library), 0);
}

static void assert_unloaded(void)
{
    void *library = dlopen(ATTNZOO_TEST_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    assert_null(library);
}

enum { MATRIX = 32, ROW_MAJOR = 101, PLAIN = 111 };

/*
 * How many mappings a BLAS leaves behind that is itself loaded, used for a product and unloaded as often: BLIS 0.9 never
 * gives back its packing buffers. OpenBLAS leaves none.
 */
static int count_left_by_blas(void)
{
    struct loaded loaded = load();
    Dl_info where;
    void *product = dlsym(loaded.library, "cblas_sgemm");
    assert_non_null(product);
    assert_true(dladdr(product, &where) != 0);
    char path[4096];
    snprintf(path, sizeof path, "%s", where.dli_fname);
    assert_int_equal(dlclose(loaded.library), 0);
    int before = count_mappings();
    for (int i = WARM_UP; i < LOADS; i++) {
        static float matrix[MATRIX * MATRIX], result[MATRIX * MATRIX];
        void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
        void *blas = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(blas);
        product = dlsym(blas, "cblas_sgemm");
        memcpy(&sgemm, &product, sizeof product);
        sgemm(ROW_MAJOR, PLAIN, PLAIN, MATRIX, MATRIX, MATRIX, 1.0f, matrix, MATRIX, matrix, MATRIX, 0.0f, result,
              MATRIX);
        assert_int_equal(dlclose(blas), 0);
    }
    int left = count_mappings() - before;
    return left > 0 ? left : 0;
}

static void assert_same_holdings(struct holdings before, struct holdings after, int left_by_blas)
{
    assert_true(process_threads_fall_to(before.threads));
    assert_int_equal(after.files, before.files);
    assert_int_equal(after.keys, before.keys);
    /* Allocators may split and join a few mappings of their own; one left by each loading would be ninety. What the BLAS
     * leaves for each of up to three threads is not the library's. */
    assert_true(after.mappings <= before.mappings + 10 + (left_by_blas > 10 ? 3 * left_by_blas : 0));
}

static void p72_loading_and_unloading_a_hundred_times(void **state)
{
    (void)state;
    struct holdings before = {0};
    int left_by_blas = count_left_by_blas();
    for (int i = 0; i < LOADS; i++) {
        if (i == WARM_UP)
            before = count_holdings();
        load_and_unload(i);
        assert_unloaded();
    }
    assert_same_holdings(before, count_holdings(), left_by_blas);
}

/* With the BLAS library kept loaded, what is left behind is the library's own. */
static void p72_loading_starts_no_thread(void **state)
{
    (void)state;
    struct loaded loaded = load();
    struct holdings with = count_holdings();
    use(&loaded);
    assert_true(process_threads_fall_to(with.threads));
    assert_int_equal(dlclose(loaded.library), 0);
}

/* Handlers of fork() and exit() that outlive the library would crash here. */
static void p72_fork_and_exit_after_unloading(void **state)
{
    (void)state;
    load_and_unload(0);
    assert_unloaded();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        exit(0);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void *use_and_wait(void *argument)
{
    struct loaded loaded = load();
    use(&loaded);
    dlclose(loaded.library);
    pthread_barrier_wait(argument);
    pthread_barrier_wait(argument);
    return NULL;
}

/* A thread that holds a message ends after the library has gone. */
static void p72_a_thread_ends_after_unloading(void **state)
{
    (void)state;
    pthread_barrier_t barrier;
    pthread_t thread;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, use_and_wait, &barrier), 0);
    pthread_barrier_wait(&barrier);
    assert_unloaded();
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p72_loading_and_unloading_a_hundred_times),
        cmocka_unit_test(p72_loading_starts_no_thread),
        cmocka_unit_test(p72_fork_and_exit_after_unloading),
        cmocka_unit_test(p72_a_thread_ends_after_unloading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
