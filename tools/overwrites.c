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

enum outcome overwrites_check(const struct output_file *file, const char *option, const struct run_arguments *arguments)
{
    const struct {
        const char *option;
        const char *reference;
    } inputs[] = {
        {"query", arguments->inputs[INPUT_QUERY]},
        {"key", arguments->inputs[INPUT_KEY]},
        {"value", arguments->inputs[INPUT_VALUE]},
        {"position", arguments->inputs[INPUT_POSITION]},
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
        {"state-in", strcmp(option, "state-out") == 0 ? NULL : arguments->state_in},
    };
    for (size_t index = 0; index < sizeof inputs / sizeof *inputs; index++) {
        bool is_same = false;
        if (inputs[index].reference == NULL)
            continue;
        enum outcome outcome = is_same_file(file, inputs[index].reference, &is_same);
        if (outcome != OUTCOME_OK)
            return outcome;
        if (is_same)
            return fail_usage("--%s %s: this is the file that --%s reads; an output cannot take its place", option,
                              file->name, inputs[index].option);
    }
    return OUTCOME_OK;
}
