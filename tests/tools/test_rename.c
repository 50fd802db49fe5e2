/*
 * test_rename.c: rules of --rename, alone and in presets.
 */
#include "rename.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXTS_MAX = 4 };

static void read_good(struct rename_rules *rules, const char *const *texts)
{
    int count = 0;
    while (texts[count] != NULL)
        count++;
    if (rename_rules_read(rules, texts, count) != OUTCOME_OK)
        fail_msg("%s", problem_text());
}

/* Checks what a name becomes; `expected` is NULL where no rule fits, and has commas between several. */
static void check_name(struct rename_rules *rules, const char *name, const char *expected)
{
    char names[200] = "";
    bool is_renamed = false;
    for (int index = 0; index < rules->count; index++) {
        if (!rename_rule_fits(rules, index, name))
            continue;
        char *new_name = rename_rule_apply(&rules->rules[index], name);
        strcat(names, is_renamed ? "," : "");
        strcat(names, new_name);
        free(new_name);
        is_renamed = true;
    }
    if (!is_renamed && expected != NULL)
        fail_msg("no rule fits %s", name);
    if (is_renamed)
        assert_string_equal(names, expected);
}

static void test_pairs_and_stars(void **state)
{
    (void)state;
    static const char *const texts[] = {"a.weight=query_proj.weight", "b*=key_proj.*", "*.gone=", "x*y=x*z", NULL};
    struct rename_rules rules;
    read_good(&rules, texts);
    check_name(&rules, "a.weight", "query_proj.weight");
    check_name(&rules, "a.weights", NULL);
    check_name(&rules, "a.weigh", NULL);
    check_name(&rules, "b", "key_proj.");
    check_name(&rules, "bias", "key_proj.ias");
    check_name(&rules, "c.gone", "");
    check_name(&rules, "xy", "xz");
    check_name(&rules, "x", NULL);
    check_name(&rules, "xaxbyby", "xaxbybz");
    rename_rules_free(&rules);
}

static void check_rows(const char *text, int64_t rows, int64_t first, int64_t last)
{
    const char *const texts[] = {text, NULL};
    struct rename_rules rules;
    int64_t got_first, got_last;
    read_good(&rules, texts);
    check_name(&rules, "w", "q");
    bool is_good = rename_rule_rows(&rules.rules[0], rows, &got_first, &got_last);
    assert_int_equal(is_good, first >= 0);
    if (is_good)
        assert_true(got_first == first && got_last == last);
    rename_rules_free(&rules);
}

static void test_rows(void **state)
{
    (void)state;
    check_rows("w=q", 9, 0, 9);
    check_rows("w[0:9]=q", 9, 0, 9);
    check_rows("w[3:7]=q", 9, 3, 7);
    check_rows("w[3:10]=q", 9, -1, -1);
    check_rows("w[1/3]=q", 9, 0, 3);
    check_rows("w[3/3]=q", 9, 6, 9);
    check_rows("w[1/1]=q", 9, 0, 9);
    check_rows("w[2/2]=q", 9, -1, -1);
    check_rows("w[2/2]=q", 0, 0, 0);
    check_rows("w[0:999999999999999999]=q", 9, -1, -1);
}

static void test_written_rules_come_before_presets(void **state)
{
    (void)state;
    static const char *const texts[] = {"huggingface", "q_proj.bias=", NULL};
    struct rename_rules rules;
    read_good(&rules, texts);
    check_name(&rules, "q_proj.bias", "");
    check_name(&rules, "q_proj.weight", "query_proj.weight");
    rename_rules_free(&rules);
}

static void test_pytorch(void **state)
{
    (void)state;
    static const char *const texts[] = {"pytorch", NULL};
    struct rename_rules rules;
    read_good(&rules, texts);
    check_name(&rules, "in_proj_weight", "query_proj.weight,key_proj.weight,value_proj.weight");
    check_name(&rules, "in_proj_bias", "query_proj.bias,key_proj.bias,value_proj.bias");
    check_name(&rules, "k_proj_weight", "key_proj.weight");
    check_name(&rules, "out_proj.weight", NULL);
    check_name(&rules, "bias_k", NULL);
    rename_rules_free(&rules);
}

static void test_huggingface(void **state)
{
    (void)state;
    static const char *const texts[] = {"huggingface", NULL};
    static const char *const names[][2] = {
        {"q_proj.weight", "query_proj.weight"},
        {"k_proj.bias", "key_proj.bias"},
        {"v_proj.weight", "value_proj.weight"},
        {"o_proj.weight", "out_proj.weight"},
        {"self.query.weight", "query_proj.weight"},
        {"self.key.bias", "key_proj.bias"},
        {"self.value.weight", "value_proj.weight"},
        {"output.dense.bias", "out_proj.bias"},
        {"attention.query.bias", "query_proj.bias"},
        {"query.weight", "query_proj.weight"},
        {"q_lin.weight", "query_proj.weight"},
        {"out_lin.bias", "out_proj.bias"},
        {"q.weight", "query_proj.weight"},
        {"o.weight", "out_proj.weight"},
        {"out_proj.weight", NULL},
        {"output.LayerNorm.weight", NULL},
        {"k_norm.weight", NULL},
        {"query_proj.weight", NULL},
        {"key_proj.weight", NULL},
        {"rotary_emb.inv_freq", NULL},
    };
    struct rename_rules rules;
    read_good(&rules, texts);
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        check_name(&rules, names[index][0], names[index][1]);
    rename_rules_free(&rules);
}

static void test_malformed_rules(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "torch",
        "",
        "=a",
        "a[]=b",
        "a[1:1]=b",
        "a[2:1]=b",
        "a[0/3]=b",
        "a[4/3]=b",
        "a[1]=b",
        "a[:3]=b",
        "a[1:]=b",
        "a[1-2]=b",
        "a[-1:2]=b",
        "a[1:2x]=b",
        "[1:2]=b",
        "a]=b",
        "a[1/0]=b",
        "a**=b",
        "a*b*=c",
        "a=*",
        "a*=**",
        "a[1:2 ]=b",
        "a[1:1000000000000000000]=b",
    };
    for (size_t index = 0; index < sizeof texts / sizeof *texts; index++) {
        struct rename_rules rules;
        if (rename_rules_read(&rules, &texts[index], 1) != OUTCOME_USAGE)
            fail_msg("'%s' is taken", texts[index]);
        assert_non_null(strstr(problem_text(), "--rename "));
        rename_rules_free(&rules);
    }
    static const char *const twice[][2] = {{"a=b", "a=b"}, {"pytorch", "pytorch"}};
    for (size_t index = 0; index < 2; index++) {
        struct rename_rules rules;
        assert_int_equal(rename_rules_read(&rules, twice[index], 2), OUTCOME_USAGE);
        assert_non_null(strstr(problem_text(), "given more than once"));
        rename_rules_free(&rules);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_and_stars),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_written_rules_come_before_presets),
        cmocka_unit_test(test_pytorch),
        cmocka_unit_test(test_huggingface),
        cmocka_unit_test(test_malformed_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
