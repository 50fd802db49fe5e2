/*
 * tests/kernels/softmax_test.c: the running softmax: parts in any order, parts that see nothing, NaN, scores below the
 * float range, and merging.
 */
#include "kernels/softmax.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COLUMNS = 2 };

/* One row; its context holds the sums of weight and of weight * key number, as a product with values would. */
struct row {
    float context[COLUMNS];
    float maximum[1];
    double sum[1];
};

static struct attnzoo_softmax_rows rows_of(struct row *row)
{
    return (struct attnzoo_softmax_rows){.context = row->context, .maximum = row->maximum, .sum = row->sum};
}

static void start(struct row *row)
{
    struct attnzoo_softmax_rows rows = rows_of(row);
    row->context[0] = NAN;
    row->context[1] = NAN;
    attnzoo_softmax_start(&rows, 1, COLUMNS);
}

static void add(struct row *row, const float *scores, int64_t count, bool are_saturated, int64_t first_key)
{
    struct attnzoo_softmax_rows rows = rows_of(row);
    float weights[64];
    memcpy(weights, scores, (size_t)count * sizeof *scores);
    attnzoo_softmax_meet(&rows, 0, COLUMNS, weights, count, are_saturated);
    attnzoo_softmax_weigh(&rows, 0, weights, count);
    for (int64_t i = 0; i < count; i++) {
        row->context[0] += weights[i];
        row->context[1] += weights[i] * (float)(first_key + i);
    }
}

static void finish(struct row *row, float context[COLUMNS], float *log_sum)
{
    struct attnzoo_softmax_rows rows = rows_of(row);
    memcpy(context, row->context, sizeof row->context);
    attnzoo_softmax_finish_context(&rows, 0, context, context, COLUMNS);
    *log_sum = attnzoo_softmax_log_sum(&rows, 0);
}

static void nothing_seen_gives_zeros(void **state)
{
    (void)state;
    struct row row;
    float context[COLUMNS], log_sum;
    const float hidden[3] = {-INFINITY, -INFINITY, -INFINITY};
    start(&row);
    add(&row, hidden, 3, true, 0);
    add(&row, hidden, 3, true, 3);
    finish(&row, context, &log_sum);
    assert_true(context[0] == 0.0f && context[1] == 0.0f);
    assert_true(log_sum == -INFINITY);
}

/* P05: a hidden part before or after one that is seen. */
static void hidden_parts_count_for_nothing(void **state)
{
    (void)state;
    const float hidden[2] = {-INFINITY, -INFINITY}, seen[2] = {1.0f, 1.0f};
    for (int order = 0; order < 2; order++) {
        struct row row;
        float context[COLUMNS], log_sum;
        start(&row);
        add(&row, order == 0 ? hidden : seen, 2, true, order == 0 ? 5 : 0);
        add(&row, order == 0 ? seen : hidden, 2, true, order == 0 ? 0 : 5);
        finish(&row, context, &log_sum);
        assert_true(context[0] == 1.0f && context[1] == 0.5f);
        assert_true(fabsf(log_sum - (1.0f + logf(2.0f))) <= 4.0f * FLT_EPSILON);
    }
}

/* P17: NaN among hidden keys is still seen. */
static void nan_is_not_taken_for_hidden(void **state)
{
    (void)state;
    struct row row;
    float context[COLUMNS], log_sum;
    const float scores[3] = {-INFINITY, NAN, -INFINITY};
    start(&row);
    add(&row, scores, 3, true, 0);
    finish(&row, context, &log_sum);
    assert_true(isnan(context[0]) && isnan(context[1]) && isnan(log_sum));
}

/* P12 and below the float range: scores that are all equally low are uniform. */
static void low_scores_are_uniform(void **state)
{
    (void)state;
    const float levels[] = {-20000.0f, -FLT_MAX, -INFINITY};
    for (int level = 0; level < 3; level++) {
        struct row row;
        float context[COLUMNS], log_sum, scores[4];
        for (int i = 0; i < 4; i++)
            scores[i] = levels[level];
        start(&row);
        add(&row, scores, 4, false, 0);
        finish(&row, context, &log_sum);
        assert_true(context[0] == 1.0f && context[1] == 1.5f);
    }
}

static void parts_in_any_order_and_merged_agree(void **state)
{
    (void)state;
    enum { KEYS = 60 };
    srand(3);
    for (int round = 0; round < 200; round++) {
        float scores[KEYS];
        double largest = -INFINITY, sum = 0.0, weighted = 0.0;
        for (int i = 0; i < KEYS; i++) {
            scores[i] = (float)(rand() % 2000 - 1000) * 0.05f;
            largest = fmax(largest, (double)scores[i]);
        }
        for (int i = 0; i < KEYS; i++) {
            double weight = exp((double)scores[i] - largest);
            sum += weight;
            weighted += weight * i;
        }
        int cut = 1 + rand() % (KEYS - 1);
        struct row whole, first, second;
        float context[COLUMNS], log_sum;
        start(&whole);
        start(&first);
        start(&second);
        add(&first, scores, cut, false, 0);
        add(&second, scores + cut, KEYS - cut, false, cut);
        struct attnzoo_softmax_rows into = rows_of(&whole), from_first = rows_of(&first),
                                    from_second = rows_of(&second);
        attnzoo_softmax_merge(&into, &from_second, 1, COLUMNS);
        attnzoo_softmax_merge(&into, &from_first, 1, COLUMNS);
        finish(&whole, context, &log_sum);
        /* KEYS additions in float, each of a rounded weight. */
        double bound = 2.0 * KEYS * (double)FLT_EPSILON;
        assert_true(fabs((double)context[0] - 1.0) <= bound);
        assert_true(fabs((double)context[1] - weighted / sum) <= bound * weighted / sum);
        assert_true(fabs((double)log_sum - (largest + log(sum))) <= bound + (double)FLT_EPSILON * fabs(largest));
    }
}

static void merging_with_nothing_changes_nothing(void **state)
{
    (void)state;
    struct row row, empty;
    const float scores[2] = {2.0f, 3.0f};
    start(&row);
    add(&row, scores, 2, false, 0);
    struct row before = row;
    start(&empty);
    struct attnzoo_softmax_rows into = rows_of(&row), from = rows_of(&empty);
    attnzoo_softmax_merge(&into, &from, 1, COLUMNS);
    assert_memory_equal(row.context, before.context, sizeof row.context);
    assert_true(row.maximum[0] == before.maximum[0] && row.sum[0] == before.sum[0]);
}

static void finished_weights_add_up_to_one(void **state)
{
    (void)state;
    struct row row;
    float scores[5] = {1.0f, -3.0f, 2.5f, 0.0f, -100.0f};
    start(&row);
    add(&row, scores, 5, false, 0);
    struct attnzoo_softmax_rows rows = rows_of(&row);
    attnzoo_softmax_finish_weights(&rows, 0, scores, 5, false);
    float sum = scores[0] + scores[1] + scores[2] + scores[3] + scores[4];
    assert_true(fabsf(sum - 1.0f) <= 4.0f * FLT_EPSILON);
    assert_true(scores[2] > scores[0] && scores[0] > scores[3] && scores[3] > scores[1] && scores[4] < 1e-38f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_seen_gives_zeros),
        cmocka_unit_test(hidden_parts_count_for_nothing),
        cmocka_unit_test(nan_is_not_taken_for_hidden),
        cmocka_unit_test(low_scores_are_uniform),
        cmocka_unit_test(parts_in_any_order_and_merged_agree),
        cmocka_unit_test(merging_with_nothing_changes_nothing),
        cmocka_unit_test(finished_weights_add_up_to_one),
    };
    return cmocka_run_group_tests_name("softmax", tests, NULL, NULL);
}
