/*
 * tests/support/watched_allocator.c: the allocation functions, handed on to those that glibc keeps under other names.
 */
#include "support/watched_allocator.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

#define EXPORTED __attribute__((visibility("default")))

static atomic_bool is_watching;
static atomic_bool has_failed;
static atomic_int_least64_t calls, bytes, live, blas_calls, threads;
static atomic_int_least64_t failing_call, failing_thread;
static _Atomic(void *) last_caller;

void allocator_watch(void)
{
    calls = bytes = live = blas_calls = threads = 0;
    has_failed = false;
    last_caller = NULL;
    is_watching = true;
}

struct allocation_counts allocator_stop(void)
{
    is_watching = false;
    failing_call = 0;
    failing_thread = 0;
    return (struct allocation_counts){
        .calls = calls, .bytes = bytes, .live = live, .blas_calls = blas_calls, .threads = threads};
}

void allocator_fail(int64_t number)
{
    failing_call = number;
}

void allocator_fail_thread(int64_t number)
{
    failing_thread = number;
}

bool allocator_has_failed(void)
{
    return has_failed;
}

const char *allocator_last_caller(void)
{
    static char text[512];
    Dl_info place;
    void *caller = last_caller;
    if (caller == NULL || dladdr(caller, &place) == 0)
        return "nowhere";
    snprintf(text, sizeof text, "%s+0x%zx", place.dli_fname, (size_t)((char *)caller - (char *)place.dli_fbase));
    return text;
}

/* OpenMP's own library counts as part of a BLAS built on it: it ends the process where it gets no memory. */
static bool is_blas(void *caller)
{
    Dl_info place;
    if (dladdr(caller, &place) == 0 || place.dli_fname == NULL)
        return false;
    const char *slash = strrchr(place.dli_fname, '/');
    const char *name = slash != NULL ? slash + 1 : place.dli_fname;
    return strstr(name, "blas") != NULL || strstr(name, "blis") != NULL || strstr(name, "gomp") != NULL;
}

/* Counts an allocation; false if it is to fail. */
static bool may_allocate(size_t size, void *caller)
{
    if (!is_watching)
        return true;
    if (is_blas(caller)) {
        blas_calls++;
        return true;
    }
    last_caller = caller;
    bytes += (int_least64_t)size;
    if (++calls != failing_call)
        return true;
    has_failed = true;
    errno = ENOMEM;
    return false;
}

static void *counted(void *memory)
{
    if (memory != NULL && is_watching)
        live++;
    return memory;
}

EXPORTED void *malloc(size_t size)
{
    return may_allocate(size, __builtin_return_address(0)) ? counted(__libc_malloc(size)) : NULL;
}

EXPORTED void *calloc(size_t count, size_t size)
{
    return may_allocate(count * size, __builtin_return_address(0)) ? counted(__libc_calloc(count, size)) : NULL;
}

EXPORTED void *realloc(void *memory, size_t size)
{
    if (!may_allocate(size, __builtin_return_address(0)))
        return NULL;
    return memory == NULL ? counted(__libc_realloc(NULL, size)) : __libc_realloc(memory, size);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
    return may_allocate(size, __builtin_return_address(0)) ? counted(__libc_memalign(alignment, size)) : NULL;
}

EXPORTED void *memalign(size_t alignment, size_t size)
{
    return may_allocate(size, __builtin_return_address(0)) ? counted(__libc_memalign(alignment, size)) : NULL;
}

EXPORTED int posix_memalign(void **memory, size_t alignment, size_t size)
{
    if (!may_allocate(size, __builtin_return_address(0)))
        return ENOMEM;
    void *block = counted(__libc_memalign(alignment, size));
    if (block == NULL)
        return ENOMEM;
    *memory = block;
    return 0;
}

EXPORTED void free(void *memory)
{
    if (memory != NULL && is_watching)
        live--;
    __libc_free(memory);
}

EXPORTED void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    if ((flags & MAP_ANONYMOUS) != 0 && !may_allocate(size, __builtin_return_address(0)))
        return MAP_FAILED;
#if defined(SYS_mmap2)
    return (void *)syscall(SYS_mmap2, address, size, protection, flags, file, offset / 4096);
#elif defined(__s390__)
    /* Its system calls have no sixth argument. */
    unsigned long arguments[] = {(unsigned long)address,    size,
                                 (unsigned long)protection, (unsigned long)flags,
                                 (unsigned long)file,       (unsigned long)offset};
    return (void *)syscall(SYS_mmap, arguments);
#else
    return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
#endif
}

typedef int (*thread_starter)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    if (is_watching && !is_blas(__builtin_return_address(0)) && ++threads == failing_thread) {
        has_failed = true;
        return EAGAIN;
    }
    thread_starter starter;
    *(void **)&starter = dlsym(RTLD_NEXT, "pthread_create");
    return starter(thread, attributes, start, argument);
}
