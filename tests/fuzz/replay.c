/*
 * replay.c: runs a target on every file of the folders that it is given, without any fuzzer: so that what was found once
 * is looked for in every run of the tests, with every compiler, under sanitizers and valgrind.
 */
#include "target.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_SIZE_MAX = 1 << 20 };

static void replay(const char *path)
{
    FILE *stream = fopen(path, "rb");
    uint8_t *bytes = malloc(INPUT_SIZE_MAX);
    if (stream == NULL || bytes == NULL) {
        perror(path);
        exit(1);
    }
    size_t size = fread(bytes, 1, INPUT_SIZE_MAX, stream);
    fclose(stream);
    /* Memory of exactly the input's size, so that a look beyond it is seen. */
    uint8_t *input = malloc(size > 0 ? size : 1);
    if (input == NULL)
        abort();
    memcpy(input, bytes, size);
    free(bytes);
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(input, size);
    free(input);
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay_folder(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_input, alphasort);
    if (count < 0) {
        perror(folder);
        exit(1);
    }
    for (int index = 0; index < count; index++) {
        size_t size = strlen(folder) + strlen(entries[index]->d_name) + 2;
        char *path = malloc(size);
        if (path == NULL)
            abort();
        snprintf(path, size, "%s/%s", folder, entries[index]->d_name);
        replay(path);
        free(path);
        free(entries[index]);
    }
    free(entries);
    return count;
}

int main(int argument_count, char **arguments)
{
    int count = 0;
    LLVMFuzzerInitialize(&argument_count, &arguments);
    for (int index = 1; index < argument_count; index++)
        count += replay_folder(arguments[index]);
    printf("%d inputs\n", count);
    /* None at all is a folder that was not found. */
    return count > 0 ? 0 : 1;
}
