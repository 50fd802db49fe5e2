/*
 * output_file.c: writes files beside their target, and cleans up after errors and signals.
 *
 * The signal handler may run in any thread of the process, so the list of temporary files has a lock that
 * both can take: the command holds it, with the signals blocked in its own thread, while list and disk
 * differ; a handler that got it keeps it, so that nothing new appears while the process ends.
 */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPORARIES_MAX = 32, NAME_ATTEMPTS = 100, LINK_HOPS_MAX = 40 };

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
enum { ENDING_SIGNAL_COUNT = sizeof ending_signals / sizeof *ending_signals };

static atomic_flag lock = ATOMIC_FLAG_INIT;
static const char *temporaries[TEMPORARIES_MAX];

static void take_lock(void)
{
    while (atomic_flag_test_and_set(&lock)) {
    }
}

static void remove_temporaries_and_end(int signal_number)
{
    take_lock();
    for (int index = 0; index < TEMPORARIES_MAX; index++) {
        if (temporaries[index] != NULL)
            unlink(temporaries[index]);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void fill_ending_signals(sigset_t *set)
{
    sigemptyset(set);
    for (int index = 0; index < ENDING_SIGNAL_COUNT; index++)
        sigaddset(set, ending_signals[index]);
}

void output_file_handle_signals(void)
{
    struct sigaction action = {.sa_handler = remove_temporaries_and_end};
    fill_ending_signals(&action.sa_mask);
    for (int index = 0; index < ENDING_SIGNAL_COUNT; index++) {
        struct sigaction before;
        /* One that our parent had ignored, as nohup does, stays ignored. */
        if (sigaction(ending_signals[index], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(ending_signals[index], &action, NULL);
    }
    /* A file grown past its limit is then an error of write() like any other. */
    signal(SIGXFSZ, SIG_IGN);
}

static void enter_critical(sigset_t *before)
{
    sigset_t set;
    fill_ending_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, before);
    take_lock();
}

static void leave_critical(const sigset_t *before)
{
    atomic_flag_clear(&lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Opens a file that was not there before and lists it; -1 with errno if that fails. */
static int create_listed(const char *path)
{
    sigset_t before;
    enter_critical(&before);
    int free_place = 0;
    while (free_place < TEMPORARIES_MAX && temporaries[free_place] != NULL)
        free_place++;
    int descriptor = -1;
    if (free_place == TEMPORARIES_MAX)
        errno = EMFILE;
    else
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0)
        temporaries[free_place] = path;
    int error = errno;
    leave_critical(&before);
    errno = error;
    return descriptor;
}

/* Removes a listed file, or renames it where `target` is not NULL, and takes it off the list; false with errno. */
static bool settle_listed(const char *path, const char *target)
{
    sigset_t before;
    enter_critical(&before);
    bool is_settled = (target == NULL ? unlink(path) : rename(path, target)) == 0;
    int error = errno;
    for (int index = 0; index < TEMPORARIES_MAX && (is_settled || target == NULL); index++) {
        if (temporaries[index] == path)
            temporaries[index] = NULL;
    }
    leave_critical(&before);
    errno = error;
    return is_settled;
}

/* The path of a file that does not exist, its folder without symbolic links. NULL with errno. */
static char *resolve_folder(const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash == NULL ? name : slash + 1;
    if (*base == '\0') {
        errno = *name == '\0' ? ENOENT : EISDIR;
        return NULL;
    }
    char *folder_name = slash == NULL ? strdup(".") : strndup(name, (size_t)(base - name));
    char *folder = folder_name == NULL ? NULL : realpath(folder_name, NULL);
    free(folder_name);
    char *path = folder == NULL ? NULL : malloc(strlen(folder) + strlen(base) + 2);
    if (path != NULL)
        sprintf(path, "%s/%s", folder, base);
    free(folder);
    return path;
}

/* Where the symbolic link `path` points to, as seen from our own folder; NULL with errno, EINVAL if it is no link. */
static char *follow_link(const char *path)
{
    char target[PATH_MAX];
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return NULL;
    target[length] = '\0';
    size_t folder_length = *target == '/' ? 0 : (size_t)(strrchr(path, '/') + 1 - path);
    char *joined = malloc(folder_length + (size_t)length + 1);
    if (joined != NULL)
        sprintf(joined, "%.*s%s", (int)folder_length, path, target);
    return joined;
}

/*
 * The path without symbolic links. A link whose target does not exist yet is followed all the same, so that it is the
 * target that comes to be. NULL with errno.
 */
static char *resolve(const char *name)
{
    char *path = realpath(name, NULL);
    if (path != NULL || errno != ENOENT)
        return path;
    path = resolve_folder(name);
    for (int hops = 0; path != NULL; hops++) {
        char *target = hops < LINK_HOPS_MAX ? follow_link(path) : NULL;
        int error = hops < LINK_HOPS_MAX ? errno : ELOOP;
        /* No link, or nothing there: this is the file to be made. */
        if (target == NULL && (error == EINVAL || error == ENOENT))
            return path;
        free(path);
        path = target == NULL ? NULL : resolve_folder(target);
        if (target == NULL)
            errno = error;
        free(target);
    }
    return NULL;
}

/* Creates a file in the target's folder; -1 with errno. */
static int create_temporary(struct output_file *file)
{
    size_t folder_length = (size_t)(strrchr(file->target, '/') - file->target);
    size_t capacity = folder_length + 64;
    file->temporary = malloc(capacity);
    if (file->temporary == NULL)
        return -1;
    int descriptor = -1;
    for (int attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        snprintf(file->temporary, capacity, "%.*s/.attnzoo-%ld-%d.tmp", (int)folder_length, file->target,
                 (long)getpid(), attempt);
        descriptor = create_listed(file->temporary);
        if (descriptor >= 0 || errno != EEXIST)
            break;
    }
    if (descriptor < 0) {
        int error = errno;
        free(file->temporary);
        file->temporary = NULL;
        errno = error;
    }
    return descriptor;
}

/* Opens what lies in the target's place for writing; -1 with errno. */
static int open_target(struct output_file *file, const struct stat *old)
{
    bool is_replaced = old == NULL || S_ISREG(old->st_mode);
    /* The link from /dev/stdout to a pipe leads to no path: such are opened by their name. */
    file->target = is_replaced ? resolve(file->name) : strdup(file->name);
    if (file->target == NULL)
        return -1;
    int descriptor = is_replaced ? create_temporary(file) : open(file->target, O_WRONLY | O_CLOEXEC);
    /* What was private stays private. */
    if (descriptor >= 0 && old != NULL && is_replaced && fchmod(descriptor, old->st_mode & 0777) != 0) {
        int error = errno;
        close(descriptor);
        errno = error;
        return -1;
    }
    return descriptor;
}

enum outcome output_file_open(struct output_file *file, const char *name)
{
    *file = (struct output_file){.name = name};
    struct stat status;
    bool exists = stat(name, &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return fail("%s: %s", name, strerror(EISDIR));
    int descriptor = open_target(file, exists ? &status : NULL);
    if (descriptor < 0)
        return fail("%s: %s", name, strerror(errno));
    file->stream = fdopen(descriptor, "wb");
    if (file->stream == NULL) {
        close(descriptor);
        return fail("%s: not enough memory", name);
    }
    return OUTCOME_OK;
}

bool output_file_is_same(const struct output_file *left, const struct output_file *right)
{
    return left->temporary != NULL && right->temporary != NULL && strcmp(left->target, right->target) == 0;
}

bool output_file_replaces(const struct output_file *file, const char *path)
{
    return file->temporary != NULL && strcmp(file->target, path) == 0;
}

enum outcome output_file_finish(struct output_file *file)
{
    if (file->stream == NULL)
        return OUTCOME_OK;
    bool is_written = fflush(file->stream) == 0 && !ferror(file->stream);
    /* Some file systems have no way to do this, and say so by EINVAL. */
    if (is_written && file->temporary != NULL)
        is_written = fsync(fileno(file->stream)) == 0 || errno == EINVAL;
    int error = errno;
    if (fclose(file->stream) != 0 && is_written) {
        is_written = false;
        error = errno;
    }
    file->stream = NULL;
    if (!is_written)
        return fail("%s: writing: %s", file->name, strerror(error != 0 ? error : EIO));
    return OUTCOME_OK;
}

enum outcome output_file_commit(struct output_file *file)
{
    if (file->temporary == NULL)
        return OUTCOME_OK;
    if (!settle_listed(file->temporary, file->target))
        return fail("%s: %s", file->name, strerror(errno));
    free(file->temporary);
    file->temporary = NULL;
    return OUTCOME_OK;
}

void output_file_discard(struct output_file *file)
{
    if (file->stream != NULL)
        fclose(file->stream);
    if (file->temporary != NULL)
        settle_listed(file->temporary, NULL);
    free(file->temporary);
    free(file->target);
    *file = (struct output_file){0};
}
