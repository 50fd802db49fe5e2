/*
 * test_shape_text.c: shapes as introspection writes them.
 */
#include "shape_text.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_rank(void **state)
{
    (void)state;
    assert_int_equal(shape_text_rank(NULL), 0);
    assert_int_equal(shape_text_rank("[M]"), 1);
    assert_int_equal(shape_text_rank("[B, H, N, D]"), 4);
}

static void test_axes_from_the_end(void **state)
{
    (void)state;
    assert_int_equal(shape_text_axis_from_end("[B, G, T, Dv]", "T"), 1);
    assert_int_equal(shape_text_axis_from_end("[B, G, T, Dv]", "B"), 3);
    assert_int_equal(shape_text_axis_from_end("[B, G, T, Dv]", "Dv"), 0);
    assert_int_equal(shape_text_axis_from_end("[B, G, T, Dv]", "D"), -1);
    assert_int_equal(shape_text_axis_from_end("[B,H,M]", "M"), 0);
    assert_int_equal(shape_text_axis_from_end(NULL, "M"), -1);
}

static void test_mentions(void **state)
{
    (void)state;
    assert_true(shape_text_mentions("[2k+1, D]", "k"));
    assert_true(shape_text_mentions("[H*D, Eq]", "H"));
    assert_true(shape_text_mentions("[H*D, Eq]", "D"));
    assert_false(shape_text_mentions("[H*Dv, Eq]", "D"));
    assert_false(shape_text_mentions("[H*Dv, Eq]", "E"));
    assert_true(shape_text_mentions("[Ev', Ev]", "Ev"));
    assert_false(shape_text_mentions("[Ev']", "Ev"));
    assert_false(shape_text_mentions(NULL, "B"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank),
        cmocka_unit_test(test_axes_from_the_end),
        cmocka_unit_test(test_mentions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
