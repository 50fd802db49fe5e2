/*
 * tests/support/process.c: counting in /proc/self.
 */
#include "support/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int process_entries(const char *folder)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/%s", folder);
    DIR *entries = opendir(path);
    if (entries == NULL) {
        perror(path);
        abort();
    }
    int count = -2; /* . and .. */
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    return count;
}

bool process_threads_fall_to(int count)
{
    for (int attempt = 0; attempt < 5000; attempt++) {
        if (process_entries("task") <= count)
            return true;
        usleep(1000);
    }
    return false;
}
