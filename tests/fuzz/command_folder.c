/*
 * command_folder.c: the folder is made once and mended after a run that wrote to it.
 */
#include "command_folder.h"

#include "npy.h"
#include "safetensors_write.h"
#include "target.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 32, NAME_SIZE = 32, PATH_SIZE = 512 };

/* What lies in the folder, with what tells that it is still the same. */
struct kept {
    char name[NAME_SIZE];
    ino_t inode;
    off_t size;
};

static struct kept kept[FILE_MAX];
static int kept_count;
static char folder[PATH_SIZE];
static pid_t owner;
static int home;

static const char *const array_names[] = {"query", "key", "value", "rows", "table", "bias", "slopes", "heads"};

static struct array floats(int32_t rank, const int64_t *shape)
{
    struct array array;
    require(array_allocate(&array, ATTNZOO_DTYPE_FLOAT32, rank, shape, "floats") == OUTCOME_OK);
    for (int64_t index = 0; index < array_element_count(&array); index++)
        ((float *)array.data)[index] = (float)(index % 7) * 0.25f - 0.5f;
    return array;
}

static void write_arrays(void)
{
    static const struct {
        int32_t rank;
        int64_t shape[4];
    } shapes[] = {{4, {1, 2, 3, 4}}, {4, {1, 2, 5, 4}}, {4, {1, 2, 5, 3}}, {3, {2, 3, 4}},
                  {2, {5, 4}},       {2, {3, 5}},       {1, {2}},          {3, {1, 2, 4}}};
    for (size_t index = 0; index < sizeof shapes / sizeof *shapes; index++) {
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "%s.npy", array_names[index]);
        struct array array = floats(shapes[index].rank, shapes[index].shape);
        FILE *stream = fopen(name, "wb");
        require(stream != NULL);
        npy_write_float32(&array, stream);
        require(fclose(stream) == 0);
        array_free(&array);
    }
}

static void write_weights(const char *file_name, const char *const *names, int32_t count, int32_t rank,
                          const int64_t *shape)
{
    struct array arrays[8];
    for (int32_t index = 0; index < count; index++)
        arrays[index] = floats(rank, shape);
    FILE *stream = fopen(file_name, "wb");
    require(stream != NULL);
    require(safetensors_write_float32(arrays, names, count, stream) == OUTCOME_OK);
    require(fclose(stream) == 0);
    for (int32_t index = 0; index < count; index++)
        array_free(&arrays[index]);
}

/* Lengths, ids and booleans: the command itself writes no integers. */
static void write_integers(const char *name, const char *descr, const char *shape, const void *bytes, size_t size)
{
    char header[119];
    FILE *stream = fopen(name, "wb");
    require(stream != NULL);
    int length =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
    memset(header + length, ' ', sizeof header - (size_t)length);
    header[sizeof header - 1] = '\n';
    const unsigned char start[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, sizeof header - 1, 0};
    fwrite(start, 1, sizeof start, stream);
    fwrite(header, 1, sizeof header - 1, stream);
    fwrite(bytes, 1, size, stream);
    require(fclose(stream) == 0);
}

static void write_text(const char *name, const char *text)
{
    FILE *stream = fopen(name, "wb");
    require(stream != NULL && fputs(text, stream) >= 0 && fclose(stream) == 0);
}

static void write_files(void)
{
    static const char *const layers[] = {"query_proj.weight", "key_proj.weight", "value_proj.weight", "out_proj.weight",
                                         "pos_proj.weight"};
    static const char *const state[] = {"key", "value"};
    static const char *const relative[] = {"relative_key", "relative_value"};
    write_arrays();
    write_weights("weights.safetensors", layers, 5, 2, (int64_t[]){4, 4});
    write_weights("state.safetensors", state, 2, 4, (int64_t[]){2, 2, 3, 2});
    write_weights("relative.safetensors", relative, 2, 2, (int64_t[]){3, 2});
    write_integers("lengths.npy", "<i4", "1,", "\3\0\0\0", 4);
    write_integers("mask.npy", "|b1", "3, 5", "\1\0\1\1\0\0\0\0\0\0\1\1\1\1\1", 15);
    write_integers("segments.npy", "<i4", "1, 5", "\0\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0", 20);
    write_text("labels.txt", "one\ntwo\nthree\n");
    write_text("given.npy", "");
    require(symlink("given.npy", "given.safetensors") == 0);
    require(symlink("given.npy", "given.txt") == 0);
    require(symlink("loop.npy", "loop.npy") == 0);
    require(mkdir("folder", 0700) == 0);
}

static bool is_hidden_entry(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void remember(void)
{
    DIR *listing = opendir(".");
    require(listing != NULL);
    kept_count = 0;
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        struct stat status;
        if (is_hidden_entry(entry->d_name))
            continue;
        require(kept_count < FILE_MAX && strlen(entry->d_name) < NAME_SIZE);
        require(lstat(entry->d_name, &status) == 0);
        strcpy(kept[kept_count].name, entry->d_name);
        kept[kept_count].inode = status.st_ino;
        kept[kept_count++].size = S_ISREG(status.st_mode) ? status.st_size : 0;
    }
    closedir(listing);
}

static void empty_folder(const char *path)
{
    DIR *listing = opendir(path);
    require(listing != NULL && fchdir(dirfd(listing)) == 0);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (is_hidden_entry(entry->d_name) || unlink(entry->d_name) == 0)
            continue;
        empty_folder(entry->d_name);
        require(rmdir(entry->d_name) == 0);
    }
    require(fchdir(dirfd(listing)) == 0 && chdir(strcmp(path, ".") == 0 ? "." : "..") == 0);
    closedir(listing);
}

static void remove_folder(void)
{
    if (getpid() != owner || chdir(folder) != 0)
        return;
    empty_folder(".");
    command_folder_leave();
    require(rmdir(folder) == 0);
}

void command_folder_create(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/attnzoo-fuzz-XXXXXX", parent == NULL ? "/tmp" : parent);
    home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(home >= 0 && mkdtemp(folder) != NULL);
    owner = getpid();
    atexit(remove_folder);
    command_folder_enter();
    write_files();
    remember();
    command_folder_leave();
}

void command_folder_enter(void)
{
    require(chdir(folder) == 0);
}

void command_folder_leave(void)
{
    require(fchdir(home) == 0);
}

static struct kept *find_kept(const char *name)
{
    for (int index = 0; index < kept_count; index++) {
        if (strcmp(kept[index].name, name) == 0)
            return &kept[index];
    }
    return NULL;
}

void command_folder_write_given(const uint8_t *bytes, size_t size)
{
    FILE *stream = fopen("given.npy", "wb");
    require(stream != NULL && fwrite(bytes, 1, size, stream) == size && fclose(stream) == 0);
    find_kept("given.npy")->size = (off_t)size;
}

/* What was written to the folder in the folder. */
static bool is_inner_changed(bool (*allows)(const char *name, void *context), void *context)
{
    bool is_changed = false;
    DIR *listing = opendir("folder");
    require(listing != NULL);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        char name[PATH_SIZE];
        if (is_hidden_entry(entry->d_name))
            continue;
        snprintf(name, sizeof name, "folder/%s", entry->d_name);
        require(allows(name, context));
        is_changed = true;
    }
    closedir(listing);
    return is_changed;
}

void command_folder_tidy(bool (*allows)(const char *name, void *context), void *context, bool *is_changed)
{
    int found_count = 0;
    DIR *listing = opendir(".");
    require(listing != NULL);
    *is_changed = is_inner_changed(allows, context);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        struct stat status;
        if (is_hidden_entry(entry->d_name))
            continue;
        require(lstat(entry->d_name, &status) == 0);
        const struct kept *same = find_kept(entry->d_name);
        found_count += same != NULL;
        if (same != NULL && same->inode == status.st_ino && (!S_ISREG(status.st_mode) || same->size == status.st_size))
            continue;
        *is_changed = true;
        require(allows(entry->d_name, context));
    }
    closedir(listing);
    /* Nothing may be lost. */
    require(found_count == kept_count);
    if (!*is_changed)
        return;
    empty_folder(".");
    write_files();
    remember();
}
