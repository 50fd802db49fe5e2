/*
 * compare.c: reads two arrays and says in words how they differ. What is measured is in difference.c.
 */
#include "compare.h"

#include "difference.h"
#include "operand.h"
#include "progress.h"
#include "spelling.h"
#include "usage.h"
#include "utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAY_COUNT = 2 };

struct comparison {
    /* Of A and B, as the user wrote them. */
    const char *references[ARRAY_COUNT];
    int reference_count;
    const char *tolerance_texts[2];
    struct tolerance tolerance;
    bool wants_help;
    struct array arrays[ARRAY_COUNT];
};

static const char *const tolerance_names[] = {"absolute-tolerance", "relative-tolerance"};

static enum outcome refuse_option(const char *word)
{
    const char *typed = word + strspn(word, "-");
    struct spelling_search search = {.typed = typed, .length = strcspn(typed, "=")};
    for (size_t index = 0; index < 2; index++)
        spelling_offer(&search, tolerance_names[index]);
    spelling_offer(&search, "help");
    if (search.word == NULL)
        return fail_usage("%s: no such option; 'attnzoo compare --help' lists them", word);
    return fail_usage("%s: no such option; did you mean --%s? 'attnzoo compare --help' lists all", word, search.word);
}

/* Takes the option at words[*index] and its value, and moves *index behind them. */
static enum outcome take_option(struct comparison *comparison, int count, char *const *words, int *index)
{
    const char *word = words[(*index)++];
    comparison->wants_help = comparison->wants_help || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
    if (comparison->wants_help)
        return OUTCOME_OK;
    size_t length = strcspn(word, "="), which = 0;
    while (which < 2 && (length != strlen(tolerance_names[which]) + 2 || strncmp(word, "--", 2) != 0 ||
                         strncmp(word + 2, tolerance_names[which], length - 2) != 0))
        which++;
    if (which == 2)
        return refuse_option(word);
    const char *name = tolerance_names[which], *value = word[length] == '=' ? word + length + 1 : NULL;
    if (value == NULL && *index < count && strncmp(words[*index], "--", 2) != 0)
        value = words[(*index)++];
    if (value == NULL)
        return fail_usage("--%s: its value is missing", name);
    if (comparison->tolerance_texts[which] != NULL)
        return fail_usage("--%s: given more than once", name);
    comparison->tolerance_texts[which] = value;
    return OUTCOME_OK;
}

static enum outcome read_tolerance(const struct comparison *comparison, size_t which, double *tolerance)
{
    const char *text = comparison->tolerance_texts[which];
    if (text == NULL)
        return OUTCOME_OK;
    char *end;
    *tolerance = strtod(text, &end);
    /* strtod() takes hexadecimal numbers, spaces and names as well. */
    bool is_decimal = strspn(text, "0123456789.") > 0 && text[strspn(text, "0123456789.eE+-")] == '\0';
    bool is_number = is_decimal && *end == '\0' && isfinite(*tolerance);
    return is_number ? OUTCOME_OK
                     : fail_usage("--%s %s: must be a number that is not negative, such as 1e-5",
                                  tolerance_names[which], text);
}

static enum outcome parse(struct comparison *comparison, int count, char *const *words)
{
    enum outcome outcome = OUTCOME_OK;
    bool is_behind_options = false;
    for (int index = 0; index < count && outcome == OUTCOME_OK && !comparison->wants_help;) {
        bool is_end = !is_behind_options && strcmp(words[index], "--") == 0;
        if (is_end) {
            is_behind_options = true;
            index++;
        } else if (words[index][0] == '-' && !is_behind_options)
            outcome = take_option(comparison, count, words, &index);
        else if (comparison->reference_count < ARRAY_COUNT)
            comparison->references[comparison->reference_count++] = words[index++];
        else
            outcome = fail_usage("compare: %s: not expected; two arrays are compared", words[index]);
    }
    if (outcome != OUTCOME_OK || comparison->wants_help)
        return outcome;
    if (comparison->reference_count < ARRAY_COUNT)
        return fail_usage("compare: say which two arrays, as .npy or FILE.safetensors:NAME");
    outcome = read_tolerance(comparison, 0, &comparison->tolerance.absolute);
    return outcome == OUTCOME_OK ? read_tolerance(comparison, 1, &comparison->tolerance.relative) : outcome;
}

static bool have_one_shape(const struct array *left, const struct array *right)
{
    return left->rank == right->rank &&
           memcmp(left->shape, right->shape, (size_t)left->rank * sizeof *left->shape) == 0;
}

/* The place of element `index` along each axis, such as "[0, 3]". */
static const char *place_text(const struct array *array, int64_t index, char *text)
{
    struct array place = {.rank = array->rank};
    for (int32_t axis = array->rank - 1; axis >= 0; axis--) {
        place.shape[axis] = index % array->shape[axis];
        index /= array->shape[axis];
    }
    return array_shape_text(&place, text);
}

static void print_place(const struct comparison *comparison, int64_t index)
{
    const struct array *left = &comparison->arrays[0], *right = &comparison->arrays[1];
    char place[ARRAY_SHAPE_TEXT_SIZE], left_text[ELEMENT_TEXT_SIZE], right_text[ELEMENT_TEXT_SIZE];
    printf(" at %s: %s in A, %s in B\n", place_text(left, index, place), element_text(left, index, left_text),
           element_text(right, index, right_text));
}

/* A NaN that stands in one array alone is told where there is nothing larger, so that no 0 is printed in its place. */
static void print_largest(const struct comparison *comparison, const struct difference *difference, const char *what,
                          double largest, int64_t place)
{
    if (place < 0 && difference->nan_in_left + difference->nan_in_right > 0) {
        largest = (double)NAN;
        place = difference->first_disagreeing;
    }
    printf("largest %s difference: %.3g", what, largest);
    if (place < 0)
        putchar('\n');
    else
        print_place(comparison, place);
}

/* What all elements together come to. */
static enum outcome print_verdict(const struct comparison *comparison, const struct difference *difference)
{
    const struct tolerance *tolerance = &comparison->tolerance;
    bool is_exact = tolerance->absolute == 0.0 && tolerance->relative == 0.0;
    char bound[100] = "not equal";
    if (!is_exact)
        snprintf(bound, sizeof bound, "apart by more than %g + %g |B|", tolerance->absolute, tolerance->relative);
    if (difference->disagreeing > 0) {
        printf("different: %" PRId64 " of %" PRId64 " elements are %s; the first", difference->disagreeing,
               difference->count, bound);
        print_place(comparison, difference->first_disagreeing);
        return OUTCOME_DIFFERENT;
    }
    if (is_exact)
        printf("equal: all %" PRId64 " elements\n", difference->count);
    else
        printf("within the tolerance: none of %" PRId64 " elements is %s\n", difference->count, bound);
    return OUTCOME_OK;
}

static enum outcome print_difference(const struct comparison *comparison)
{
    const struct array *left = &comparison->arrays[0], *right = &comparison->arrays[1];
    for (int which = 0; which < ARRAY_COUNT; which++) {
        char shape[ARRAY_SHAPE_TEXT_SIZE], *name = strdup(comparison->references[which]);
        if (name == NULL)
            return fail("not enough memory");
        utf8_replace_controls(name);
        printf("%c: %s %s, %s\n", "AB"[which], attnzoo_dtype_name(comparison->arrays[which].dtype),
               array_shape_text(&comparison->arrays[which], shape), name);
        free(name);
    }
    if (!have_one_shape(left, right)) {
        printf("different: the shapes are not the same\n");
        return OUTCOME_DIFFERENT;
    }
    struct difference difference = difference_measure(left, right, &comparison->tolerance);
    print_largest(comparison, &difference, "absolute", difference.largest_absolute, difference.largest_absolute_at);
    print_largest(comparison, &difference, "relative", difference.largest_relative, difference.largest_relative_at);
    if (difference.nan_in_left + difference.nan_in_right + difference.nan_in_both > 0)
        printf("NaN: %" PRId64 " in A alone, %" PRId64 " in B alone, %" PRId64 " in both\n", difference.nan_in_left,
               difference.nan_in_right, difference.nan_in_both);
    return print_verdict(comparison, &difference);
}

enum outcome compare(int count, char *const *words)
{
    struct comparison comparison = {0};
    enum outcome outcome = parse(&comparison, count, words);
    if (outcome == OUTCOME_OK && comparison.wants_help) {
        print_usage("compare");
        return OUTCOME_OK;
    }
    progress_start();
    progress_set("reading", NULL);
    for (int which = 0; which < ARRAY_COUNT && outcome == OUTCOME_OK; which++)
        outcome = array_read(&comparison.arrays[which], NULL, comparison.references[which]);
    progress_set("comparing", NULL);
    if (outcome == OUTCOME_OK)
        outcome = print_difference(&comparison);
    progress_stop();
    for (int which = 0; which < ARRAY_COUNT; which++)
        array_free(&comparison.arrays[which]);
    return outcome;
}
