/*
 * progress.c: a thread that writes the line once a second.
 */
#include "progress.h"

#include "utf8.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_t thread;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stopping = PTHREAD_COND_INITIALIZER;
static bool is_running, is_stopping;
static const char *current_activity = "starting";
/* " ", then the end of the file's name, so short that the line does not wrap; "" for none. */
enum { FILE_TEXT_SIZE = 42 };
static char current_file[FILE_TEXT_SIZE];

static void *show(void *unused)
{
    (void)unused;
    struct timespec next;
    clock_gettime(CLOCK_REALTIME, &next);
    pthread_mutex_lock(&mutex);
    for (int seconds = 1; !is_stopping; seconds++) {
        next.tv_sec++;
        while (!is_stopping && pthread_cond_timedwait(&stopping, &mutex, &next) == 0) {
        }
        if (!is_stopping)
            fprintf(stderr, "\rattnzoo: %s%s, %d s\033[K", current_activity, current_file, seconds);
        else if (seconds > 1)
            fprintf(stderr, "\r\033[K");
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

void progress_start(void)
{
    const char *terminal = getenv("TERM");
    if (!isatty(STDERR_FILENO) || terminal == NULL || strcmp(terminal, "dumb") == 0)
        return;
    /* Signals are the business of the threads that were there before. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_stopping = false;
    is_running = pthread_create(&thread, NULL, show, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The end of a name tells more than its beginning. What could move the cursor becomes question marks. */
static void keep_name(const char *file)
{
    size_t length = strlen(file), room = FILE_TEXT_SIZE - 2;
    const char *shown = length <= room ? file : file + length - (room - 3);
    while (((unsigned char)*shown & 0xc0) == 0x80)
        shown++;
    snprintf(current_file, sizeof current_file, " %s%s", shown == file ? "" : "...", shown);
    utf8_replace_controls(current_file);
}

void progress_set(const char *activity, const char *file)
{
    pthread_mutex_lock(&mutex);
    current_activity = activity;
    current_file[0] = '\0';
    if (file != NULL)
        keep_name(file);
    pthread_mutex_unlock(&mutex);
}

void progress_stop(void)
{
    if (!is_running)
        return;
    pthread_mutex_lock(&mutex);
    is_stopping = true;
    pthread_cond_signal(&stopping);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    is_running = false;
}
