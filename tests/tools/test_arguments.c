/*
 * test_arguments.c: the command line of `attnzoo run`, word by word.
 */
#include "arguments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS_MAX = 16 };

/* Splits at spaces and parses; the words stay valid until the next call. */
static enum outcome parse(struct run_arguments *arguments, const char *line)
{
    static char text[400];
    char *words[WORDS_MAX];
    int count = 0;
    strncpy(text, line, sizeof text - 1);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
        words[count++] = word;
    return run_arguments_parse(arguments, count, words);
}

static void test_both_ways_of_giving_a_value(void **state)
{
    (void)state;
    struct run_arguments arguments;
    assert_int_equal(parse(&arguments, "m --query q.npy --key=k=1.npy --context c --causal"), OUTCOME_OK);
    assert_string_equal(arguments.mechanism, "m");
    assert_string_equal(slot_files_find(&arguments.inputs, "query")->file, "q.npy");
    assert_string_equal(slot_files_find(&arguments.inputs, "key")->file, "k=1.npy");
    assert_null(slot_files_find(&arguments.inputs, "value"));
    assert_true(arguments.is_causal);
    assert_false(arguments.is_timed);
    run_arguments_free(&arguments);
}

static void test_inputs_and_outputs_by_name(void **state)
{
    (void)state;
    struct run_arguments arguments;
    assert_int_equal(
        parse(&arguments, "m --input query=q --input=seed=s=1.npy --key k --output context=c --output=index=i"),
        OUTCOME_OK);
    static const struct slot_file inputs[] = {
        {"query", "q", "--input query="}, {"seed", "s=1.npy", "--input seed="}, {"key", "k", "--key "}};
    assert_int_equal(arguments.inputs.count, 3);
    for (int index = 0; index < 3; index++) {
        const struct slot_file *found = slot_files_find(&arguments.inputs, inputs[index].name);
        assert_ptr_equal(found, &arguments.inputs.list[index]);
        assert_string_equal(found->file, inputs[index].file);
        assert_string_equal(found->lead, inputs[index].lead);
    }
    assert_string_equal(slot_files_find(&arguments.outputs, "context")->file, "c");
    assert_string_equal(slot_files_find(&arguments.outputs, "index")->file, "i");
    assert_null(slot_files_find(&arguments.outputs, "seed"));
    run_arguments_free(&arguments);
}

static void test_how_inputs_and_outputs_are_spelled(void **state)
{
    (void)state;
    static const char *const own[] = {"query", "key", "value", "position", "context", "attention"};
    for (int index = 0; index < 6; index++) {
        char line[100];
        struct run_arguments arguments;
        bool is_output = index >= 4;
        assert_string_equal(slot_dashes(is_output ? ATTNZOO_ITEM_OUTPUT : ATTNZOO_ITEM_INPUT, own[index]), "--");
        snprintf(line, sizeof line, "m --context=c --%s=f -h", own[index]);
        assert_int_equal(parse(&arguments, line), strcmp(own[index], "context") == 0 ? OUTCOME_USAGE : OUTCOME_OK);
        run_arguments_free(&arguments);
    }
    assert_string_equal(slot_dashes(ATTNZOO_ITEM_INPUT, "seed"), "--input ");
    assert_string_equal(slot_dashes(ATTNZOO_ITEM_OUTPUT, "query"), "--output ");
    assert_string_equal(slot_dashes(ATTNZOO_ITEM_INPUT, "context"), "--input ");
}

static void test_values_that_begin_with_a_minus(void **state)
{
    (void)state;
    struct run_arguments arguments;
    assert_int_equal(parse(&arguments, "m --context c --window -1,5 --query-offset -3"), OUTCOME_OK);
    assert_true(arguments.window_left == -1 && arguments.window_right == 5);
    assert_true(arguments.query_offset_is_number && arguments.query_offset_number == -3);
    run_arguments_free(&arguments);
    assert_int_equal(parse(&arguments, "m --context c --window=0,-1 --query-offset=-9223372036854775808"), OUTCOME_OK);
    assert_true(arguments.window_left == 0 && arguments.window_right == -1);
    assert_true(arguments.query_offset_number == INT64_MIN);
    run_arguments_free(&arguments);
}

static void test_query_offset_from_a_file(void **state)
{
    (void)state;
    static const char *const names[] = {"offsets.npy", "-1.npy", "1e3", "-"};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        char line[100] = "m --context c --query-offset ";
        struct run_arguments arguments;
        assert_int_equal(parse(&arguments, strcat(line, names[index])), OUTCOME_OK);
        assert_false(arguments.query_offset_is_number);
        assert_string_equal(arguments.query_offset, names[index]);
        run_arguments_free(&arguments);
    }
}

static void test_settings_repeat_for_different_names(void **state)
{
    (void)state;
    struct run_arguments arguments;
    assert_int_equal(parse(&arguments, "m --context c --set scale=0.5 --set=softcap=2"), OUTCOME_OK);
    assert_int_equal(arguments.setting_count, 2);
    assert_string_equal(arguments.settings[0], "scale=0.5");
    assert_string_equal(arguments.settings[1], "softcap=2");
    run_arguments_free(&arguments);
}

static void test_renames_repeat(void **state)
{
    (void)state;
    struct run_arguments arguments;
    assert_int_equal(parse(&arguments, "m --context c --weights w --rename a=b --rename=pytorch --rename=a="),
                     OUTCOME_OK);
    assert_int_equal(arguments.rename_count, 3);
    assert_string_equal(arguments.renames[0], "a=b");
    assert_string_equal(arguments.renames[1], "pytorch");
    assert_string_equal(arguments.renames[2], "a=");
    run_arguments_free(&arguments);
}

static void test_alignments(void **state)
{
    (void)state;
    struct run_arguments arguments;
    assert_int_equal(parse(&arguments, "m --context c --align top-left"), OUTCOME_OK);
    assert_int_equal(arguments.alignment, ATTNZOO_ALIGNMENT_TOP_LEFT);
    run_arguments_free(&arguments);
    assert_int_equal(parse(&arguments, "m --context c --align lengths"), OUTCOME_OK);
    assert_int_equal(arguments.alignment, ATTNZOO_ALIGNMENT_LENGTHS);
    run_arguments_free(&arguments);
}

static void test_help_needs_nothing_else(void **state)
{
    (void)state;
    struct run_arguments arguments;
    static const char *const lines[] = {"--help", "-h", "m -h", "m --query q --help"};
    for (size_t index = 0; index < sizeof lines / sizeof *lines; index++) {
        assert_int_equal(parse(&arguments, lines[index]), OUTCOME_OK);
        assert_true(arguments.wants_help);
        run_arguments_free(&arguments);
    }
    /* In the place of a value it is one. */
    assert_int_equal(parse(&arguments, "m --query -h --context c"), OUTCOME_OK);
    assert_string_equal(slot_files_find(&arguments.inputs, "query")->file, "-h");
    assert_false(arguments.wants_help);
    run_arguments_free(&arguments);
}

static void test_usage_errors(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *part;
    } cases[] = {
        {"--context c", "which mechanism"},
        {"m --query q", "--context is missing"},
        {"m --context c --query q --input query=q", "--query: given more than once"},
        {"m --context c --input query=q --query q", "--query: given more than once"},
        {"m --context c --input seed=a --input=seed=b", "--input seed: given more than once"},
        {"m --context c --output context=d", "--context: given more than once"},
        {"m --context c --output index=a --output index=b", "--output index: given more than once"},
        {"m --context c --input seed", "--input seed: must be NAME=F, the name of an input and its file"},
        {"m --context c --input =a", "must be NAME=F"},
        {"m --context c --output index=", "--output index=: must be NAME=F, the name of an output"},
        {"m --context c --input", "--input: its value is missing"},
        {"m n --context c", "n: not expected"},
        {"m --context c --bogus", "--bogus: no such option; 'attnzoo run --help'"},
        {"m --context c --caus", "--caus: no such option; did you mean --causal?"},
        {"m --contex c", "--contex: no such option; did you mean --context?"},
        {"m --Context c", "no such option; did you mean --context?"},
        {"m --context c --key_lengths=5", "--key_lengths=5: no such option; did you mean --key-lengths?"},
        {"m --context c --keys k", "did you mean --key?"},
        {"m --context c -causal", "-causal: no such option; did you mean --causal?"},
        {"m -c c", "-c: no such option; 'attnzoo run --help'"},
        {"m --context c -- --causal", "--causal: not expected; the mechanism is m"},
        {"--context c --", "which mechanism"},
        {"m --context c --=x", "--=x: no such option; 'attnzoo run --help'"},
        {"m --context", "--context: its value is missing"},
        {"m --query --key k --context c", "--query: its value is missing"},
        {"m --context c --causal=1", "--causal: takes no value"},
        {"m --context c --causal --causal", "--causal: given more than once"},
        {"m --context c --time --time", "--time: given more than once"},
        {"m --context c --context d", "--context: given more than once"},
        {"m --context c --set scale", "must be NAME=VALUE"},
        {"m --context c --set =1", "must be NAME=VALUE"},
        {"m --context c --set scale=1 --set scale=2", "--set scale: given more than once"},
        {"m --context c --window 1", "--window 1: must be L,R"},
        {"m --context c --window 1,", "must be L,R"},
        {"m --context c --window 1,2,3", "must be L,R"},
        {"m --context c --window 1,2x", "must be L,R"},
        {"m --context c --window +1,2", "must be L,R"},
        {"m --context c --window -2,0", "at least -1"},
        {"m --context c --window 0,-2", "at least -1"},
        {"m --context c --window 9223372036854775808,0", "must be L,R"},
        {"m --context c --align middle", "--align middle: must be bottom-right"},
        {"m --context c --align bottom", "must be bottom-right"},
        {"m --context c --align top-left --query-offset 0", "exclude each other"},
        {"m --context c --query-offset 9223372036854775808", "out of range"},
        {"m --context c --threads two", "--threads two: must be"},
        {"m --context c --threads -1", "--threads -1: must be"},
        {"m --context c --threads 4294967297", "must be a whole number, 0 for as many as the process may use"},
        {"m --context c --past-key p", "given together"},
        {"m --context c --past-value p", "given together"},
        {"m --context c --prefix p", "--prefix needs --weights"},
        {"m --context c --rename pytorch", "--rename needs --weights"},
        {"m --context c --weights w --rename", "--rename: its value is missing"},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        struct run_arguments arguments;
        assert_int_equal(parse(&arguments, cases[index].line), OUTCOME_USAGE);
        if (strstr(problem_text(), cases[index].part) == NULL)
            fail_msg("'%s': '%s' says nothing of '%s'", cases[index].line, problem_text(), cases[index].part);
        run_arguments_free(&arguments);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways_of_giving_a_value),
        cmocka_unit_test(test_inputs_and_outputs_by_name),
        cmocka_unit_test(test_how_inputs_and_outputs_are_spelled),
        cmocka_unit_test(test_values_that_begin_with_a_minus),
        cmocka_unit_test(test_query_offset_from_a_file),
        cmocka_unit_test(test_settings_repeat_for_different_names),
        cmocka_unit_test(test_renames_repeat),
        cmocka_unit_test(test_alignments),
        cmocka_unit_test(test_help_needs_nothing_else),
        cmocka_unit_test(test_usage_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
