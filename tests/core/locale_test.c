/*
 * tests/core/locale_test.c: numbers are read and written with a full stop whatever the locale of the program or thread.
 * The build makes the locale "comma" from core/locale and sets LOCPATH to where it lies.
 */
#include "support/one_key.h"
#include "support/testing.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void assert_decimal_sign(char sign)
{
    char text[16];
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_int_equal(text[1], sign);
}

static void check_numbers(void)
{
    assert_decimal_sign(',');
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, "scaled_dot_product"));
    assert_refused(attnzoo_module_set_option_text(module, "scale", "0,125"), ATTNZOO_STATUS_INVALID_ARGUMENT, "0,125");
    assert_refused(attnzoo_module_set_option_text(module, "scale", "1.000,5"), ATTNZOO_STATUS_INVALID_ARGUMENT,
                   "scale");
    assert_refused(attnzoo_module_set_option_float(module, "softcap", -1.5), ATTNZOO_STATUS_INVALID_ARGUMENT, "-1.5");
    assert_null(strstr(attnzoo_last_error(), "1,5"));
    assert_ok(attnzoo_module_set_option_text(module, "scale", "0.125"));
    assert_true(fabs(one_key_score(module) - 0.125) < 1e-7);
    attnzoo_module_destroy(module);
    assert_null(strchr(attnzoo_version_string(), ','));
    assert_decimal_sign(',');
}

static void p57_the_locale_of_the_program(void **state)
{
    (void)state;
    assert_decimal_sign('.');
    assert_non_null(setlocale(LC_NUMERIC, "comma"));
    check_numbers();
    assert_string_equal(setlocale(LC_NUMERIC, NULL), "comma");
    setlocale(LC_NUMERIC, "C");
}

static void p57_the_locale_of_the_thread(void **state)
{
    (void)state;
    locale_t comma = newlocale(LC_NUMERIC_MASK, "comma", (locale_t)0);
    assert_true(comma != (locale_t)0);
    locale_t before = uselocale(comma);
    check_numbers();
    assert_true(uselocale((locale_t)0) == comma);
    uselocale(before);
    freelocale(comma);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p57_the_locale_of_the_program),
        cmocka_unit_test(p57_the_locale_of_the_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
