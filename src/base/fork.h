/*
 * base/fork.h: notices fork(). Threads and locks of the parent do not exist in the child, so what holds some
 * compares generations and makes its own anew.
 */
#ifndef ATTNZOO_BASE_FORK_H
#define ATTNZOO_BASE_FORK_H

#include "base/common.h"

#include <attnzoo/status.h>

/** Starts to watch for forks, once a process. Until it has succeeded, the generation never changes. */
attnzoo_status attnzoo_base_fork_watch(void);

/** A number that differs between a process and the children forked from it since the watch began. */
uint32_t attnzoo_base_fork_generation(void);

/** Between these, no thread of the process forks: what is half made here would stay so in the child. */
void attnzoo_base_fork_hold(void);
void attnzoo_base_fork_let(void);

#endif
