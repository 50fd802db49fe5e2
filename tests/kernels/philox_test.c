/*
 * tests/kernels/philox_test.c: the generator against the known answers that its authors publish with Random123
 * (tests/kat_vectors, philox4x32 10), and the uniform numbers made of its words.
 */
#include "kernels/philox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void blocks_are_the_published_ones(void **state)
{
    (void)state;
    const struct {
        struct attnzoo_philox_block counter;
        uint64_t key;
        struct attnzoo_philox_block answer;
    } known[] = {
        {{{0, 0, 0, 0}}, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
        {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
         UINT64_C(0xffffffffffffffff),
         {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
        {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
         UINT64_C(0x299f31d0a4093822),
         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct attnzoo_philox_block got = attnzoo_philox(known[i].counter, known[i].key);
        assert_memory_equal(&got, &known[i].answer, sizeof got);
    }
}

static void uniform_numbers_keep_off_their_ends(void **state)
{
    (void)state;
    assert_true(attnzoo_philox_uniform(0, 0) == 0x1p-53);
    assert_true(attnzoo_philox_uniform(0, 0xfff) == 0x1p-53);
    assert_true(attnzoo_philox_uniform(0, 0x1000) == 3 * 0x1p-53);
    assert_true(attnzoo_philox_uniform(0x80000000u, 0) == 0.5 + 0x1p-53);
    assert_true(attnzoo_philox_uniform(0xffffffffu, 0xffffffffu) == 1.0 - 0x1p-53);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_the_published_ones),
        cmocka_unit_test(uniform_numbers_keep_off_their_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
