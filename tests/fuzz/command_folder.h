/*
 * command_folder.h: the folder in which the command is run: files for it to read, and what became of them.
 */
#ifndef TESTS_FUZZ_COMMAND_FOLDER_H
#define TESTS_FUZZ_COMMAND_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the folder below TMPDIR with its files; it is removed when the process exits. */
void command_folder_create(void);

/* Goes there, and back to where the process was: fuzzers have paths of their own. */
void command_folder_enter(void);
void command_folder_leave(void);

/* Writes the file that inputs bring with them: given.npy, which is also given.safetensors and given.txt. */
void command_folder_write_given(const uint8_t *bytes, size_t size);

/* What a run may have left: `allows` says of a name whether that may have been written. Ends the process where another
 * was; all is made as it was before. `is_changed` says whether there was anything new. */
void command_folder_tidy(bool (*allows)(const char *name, void *context), void *context, bool *is_changed);

#endif
