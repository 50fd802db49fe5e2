/*
 * scratch.c: a folder under the system's folder for temporary files.
 */
#include "scratch.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATH_COUNT = 4, PATH_SIZE = 1024 };

static char folder[PATH_SIZE / 2];

int scratch_create(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/attnzoo-test-XXXXXX", parent == NULL ? "/tmp" : parent);
    return mkdtemp(folder) == NULL ? -1 : 0;
}

/* Calls `visit`, which may be NULL, for each name in the folder; returns how many there are. */
static int for_each(void (*visit)(const char *path))
{
    int count = 0;
    DIR *listing = opendir(folder);
    if (listing == NULL)
        return 0;
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        if (visit != NULL)
            visit(scratch_path(entry->d_name));
    }
    closedir(listing);
    return count;
}

static void remove_one(const char *path)
{
    remove(path);
}

int scratch_remove(void **state)
{
    (void)state;
    for_each(remove_one);
    return rmdir(folder);
}

const char *scratch_path(const char *name)
{
    static char paths[PATH_COUNT][PATH_SIZE];
    static int turn;
    turn = (turn + 1) % PATH_COUNT;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
    return paths[turn];
}

const char *scratch_write(const char *name, const void *bytes, size_t size)
{
    const char *path = scratch_path(name);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    assert_int_equal(fclose(stream), 0);
    return path;
}

unsigned char *scratch_read(const char *name, size_t *size)
{
    FILE *stream = fopen(scratch_path(name), "rb");
    assert_non_null(stream);
    enum { CAPACITY = 1 << 16 };
    unsigned char *bytes = malloc(CAPACITY);
    assert_non_null(bytes);
    *size = fread(bytes, 1, CAPACITY, stream);
    assert_true(*size < CAPACITY);
    fclose(stream);
    return bytes;
}

int scratch_count(void)
{
    return for_each(NULL);
}
