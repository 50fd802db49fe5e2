/*
 * progress.h: a line on the terminal that tells what takes long.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

/*
 * Starts showing, once a second has passed, what is being done and for how long. Does nothing where standard error is
 * no terminal.
 */
void progress_start(void);

/*
 * Says what is being done from now on, such as "reading", a text that lives until progress_stop(), and to which file; NULL
 * for none.
 */
void progress_set(const char *activity, const char *file);

/* Erases the line and ends. Does nothing if not started. */
void progress_stop(void);

#endif
