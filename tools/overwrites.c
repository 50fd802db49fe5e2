/*
 * overwrites.c: compares an output with each input, by their paths without symbolic links.
 */
#include "overwrites.h"

#include "operand.h"

#include <stdlib.h>
#include <string.h>

/* A file that is not there, or cannot be looked at, is no output's target: reading it will tell. */
static enum outcome is_same_file(const struct output_file *file, const char *reference, bool *is_same)
{
    char *name = reference_path(reference);
    if (name == NULL)
        return fail("%s: not enough memory", reference);
    char *path = realpath(name, NULL);
    *is_same = path != NULL && output_file_replaces(file, path);
    free(path);
    free(name);
    return OUTCOME_OK;
}

/* Fails if the file is the one that `reference` names, which the option of the first `length` characters reads. */
static enum outcome check(const struct output_file *file, const char *lead, const char *option, size_t length,
                          const char *reference)
{
    bool is_same = false;
    enum outcome outcome = reference == NULL ? OUTCOME_OK : is_same_file(file, reference, &is_same);
    if (outcome == OUTCOME_OK && is_same)
        return fail_usage("%s%s: this is the file that --%.*s reads; an output cannot take its place", lead, file->name,
                          (int)length, option);
    return outcome;
}

enum outcome overwrites_check(const struct output_file *file, const char *lead, const struct run_arguments *arguments)
{
    const struct {
        const char *option;
        const char *reference;
    } inputs[] = {
        {"past-key", arguments->past_key},
        {"past-value", arguments->past_value},
        {"weights", arguments->weights},
        {"query-offset", arguments->query_offset_is_number ? NULL : arguments->query_offset},
        {"key-lengths", arguments->key_lengths},
        {"query-lengths", arguments->query_lengths},
        {"mask", arguments->mask},
        {"bias", arguments->bias},
        {"alibi", arguments->alibi},
        {"segments", arguments->segments},
        {"query-labels", arguments->query_labels},
        {"key-labels", arguments->key_labels},
        /* A state may go on in its own file. */
        {"state-in", strcmp(lead, "--state-out ") == 0 ? NULL : arguments->state_in},
    };
    enum outcome outcome = OUTCOME_OK;
    for (int index = 0; index < arguments->inputs.count && outcome == OUTCOME_OK; index++) {
        const struct slot_file *input = &arguments->inputs.list[index];
        /* The lead without its dashes, and without the space or the equals sign at its end. */
        const char *option = input->lead + strlen("--");
        outcome = check(file, lead, option, strlen(option) - 1, input->file);
    }
    for (size_t index = 0; index < sizeof inputs / sizeof *inputs && outcome == OUTCOME_OK; index++) {
        const char *option = inputs[index].option;
        outcome = check(file, lead, option, strlen(option), inputs[index].reference);
    }
    return outcome;
}
