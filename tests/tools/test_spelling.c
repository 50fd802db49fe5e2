/*
 * test_spelling.c: what is near enough to a word to be asked after.
 */
#include "spelling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(const char *typed, const char *word, bool is_near, size_t distance)
{
    size_t got = 0;
    if (spelling_is_near(typed, strlen(typed), word, &got) != is_near || got != distance)
        fail_msg("'%s' and '%s': distance %zu", typed, word, got);
    got = 0;
    /* What follows the typed characters is not looked at. */
    char longer[64] = "";
    strcat(strcat(longer, typed), "=x");
    if (spelling_is_near(longer, strlen(typed), word, &got) != is_near || got != distance)
        fail_msg("'%s' and '%s': distance %zu", longer, word, got);
}

static void test_distances(void **state)
{
    (void)state;
    check("causal", "causal", true, 0);
    check("Causal", "causal", true, 1);
    check("casual", "causal", true, 2);
    check("ausal", "causal", true, 1);
    check("ccausal", "causal", true, 1);
    check("key_lengths", "key-lengths", true, 1);
    check("kitten", "sitting", false, 3);
    check("", "set", false, 3);
    check("set", "", false, 3);
}

static void test_short_words_must_be_nearer(void **state)
{
    (void)state;
    check("max", "mask", false, 2);
    check("get", "set", true, 1);
    check("keys", "key", true, 1);
}

static void test_beginnings(void **state)
{
    (void)state;
    check("att", "attention", true, 6);
    check("at", "attention", false, 7);
}

static void test_long_words(void **state)
{
    (void)state;
    static const char word[] = "123456789012345678901234567890123";
    size_t distance = 7;
    assert_true(spelling_is_near(word, 32, "12345678901234567890123456789012", &distance));
    assert_int_equal(distance, 0);
    assert_false(spelling_is_near(word, 33, "123", &distance));
    assert_false(spelling_is_near("abc", 3, word, &distance));
    assert_false(spelling_is_near("abcdefghijklmnopqrstuvwxyzabcdefg", 33, word, &distance));
    /* But not where only little of them differs. */
    assert_true(spelling_is_near(word, 33, "12345678901x34567890123456789012", &distance));
    assert_int_equal(distance, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances),
        cmocka_unit_test(test_short_words_must_be_nearer),
        cmocka_unit_test(test_beginnings),
        cmocka_unit_test(test_long_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
