/*
 * tests/kernels/projection_test.c: linear layers against plain loops: rows that may not be read, outputs dealt out to
 * parts of any strides, sizes that are cut into items, and rows that do not depend on their number.
 */
#include "kernels/projection.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PARTS = 3 };

struct sizes {
    int64_t batches, rows, inputs, heads, columns[PARTS];
};

struct problem {
    struct sizes sizes;
    float *input, *weight, *bias, *outputs[PARTS];
    struct attnzoo_key_span *spans;
    struct attnzoo_projection projection;
};

static float *make_floats(int64_t count)
{
    float *floats = malloc((size_t)(count + 1) * sizeof *floats);
    assert_non_null(floats);
    for (int64_t i = 0; i < count; i++)
        floats[i] = (float)(rand() % 2001 - 1000) / 1024.0f;
    return floats;
}

static void create(struct problem *problem, struct sizes sizes)
{
    int64_t outputs = 0;
    *problem = (struct problem){.sizes = sizes, .input = make_floats(sizes.batches * sizes.rows * sizes.inputs)};
    problem->projection.part_count = PARTS;
    for (int part = 0; part < PARTS; part++) {
        struct attnzoo_grid *grid = &problem->projection.parts[part];
        assert_true(attnzoo_grid_make_compact(grid, sizes.batches, sizes.heads, sizes.rows, sizes.columns[part]));
        problem->outputs[part] = make_floats(attnzoo_grid_element_count(grid));
        grid->data = (char *)problem->outputs[part];
        outputs += sizes.heads * sizes.columns[part];
    }
    problem->weight = make_floats(outputs * sizes.inputs);
    problem->bias = make_floats(outputs);
    problem->spans = calloc((size_t)sizes.batches + 1, sizeof *problem->spans);
    assert_non_null(problem->spans);
    assert_true(attnzoo_grid_make_compact(&problem->projection.input, sizes.batches, 1, sizes.rows, sizes.inputs));
    problem->projection.input.data = (char *)problem->input;
    problem->projection.weight = problem->weight;
    problem->projection.bias = problem->bias;
}

static void destroy(struct problem *problem)
{
    free(problem->input);
    free(problem->weight);
    free(problem->bias);
    free(problem->spans);
    for (int part = 0; part < PARTS; part++)
        free(problem->outputs[part]);
}

static void solve(struct problem *problem, struct attnzoo_pool *pool)
{
    struct attnzoo_projection_plan plan;
    assert_int_equal(attnzoo_projection_make_plan(&plan, &problem->projection), ATTNZOO_STATUS_OK);
    const struct attnzoo_pool_needs needs = {.scratch_bytes = plan.scratch_bytes, .threads_wanted = 3};
    struct attnzoo_pool_claim claim;
    assert_int_equal(attnzoo_pool_claim(&claim, pool, &needs), ATTNZOO_STATUS_OK);
    attnzoo_projection_solve(&plan, &claim);
    attnzoo_pool_release(&claim);
}

static bool is_wanted(const struct problem *problem, int part, int64_t batch, int64_t row)
{
    return problem->projection.spans[part] == NULL ||
           (row >= problem->spans[batch].first && row < problem->spans[batch].end);
}

/* n products and their sum in any order, and the bias: (n + 1) roundings at most, each of 2^-24 of the magnitudes. */
static void check_row(const struct problem *problem, int64_t batch, int64_t row, const struct problem *before)
{
    const struct sizes *sizes = &problem->sizes;
    int64_t output = 0;
    for (int part = 0; part < PARTS; part++)
        for (int64_t head = 0; head < sizes->heads; head++)
            for (int64_t column = 0; column < sizes->columns[part]; column++, output++) {
                int64_t place = ((batch * sizes->heads + head) * sizes->rows + row) * sizes->columns[part] + column;
                float got = problem->outputs[part][place];
                if (!is_wanted(problem, part, batch, row)) {
                    float wanted = problem->projection.clears_unwanted ? 0.0f : before->outputs[part][place];
                    assert_memory_equal(&got, &wanted, sizeof got);
                    continue;
                }
                double sum = (double)problem->bias[output], magnitude = fabs(sum);
                for (int64_t i = 0; i < sizes->inputs; i++) {
                    double product = (double)problem->weight[output * sizes->inputs + i] *
                                     (double)problem->input[(batch * sizes->rows + row) * sizes->inputs + i];
                    sum += product;
                    magnitude += fabs(product);
                }
                assert_true(fabs((double)got - sum) <= (double)(sizes->inputs + 1) * 0x1p-24 * magnitude * 1.001);
            }
}

static void layers_agree_with_plain_loops(void **state)
{
    (void)state;
    static const struct sizes cases[] = {
        {2, 5, 7, 3, {4, 0, 9}}, {1, 1, 300, 2, {40, 33, 64}}, {3, 0, 4, 1, {2, 2, 2}},   {2, 300, 17, 1, {5, 1, 1}},
        {1, 4, 0, 2, {3, 3, 1}}, {0, 4, 3, 1, {1, 1, 1}},      {1, 513, 3, 4, {90, 1, 7}}};
    struct attnzoo_pool *pool = NULL;
    assert_int_equal(attnzoo_pool_create(&pool, 3), ATTNZOO_STATUS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int way = 0; way < 6; way++) {
            struct problem problem, before;
            srand((unsigned)i);
            create(&problem, cases[i]);
            srand((unsigned)i);
            create(&before, cases[i]);
            problem.projection.clears_unwanted = way % 2 == 1;
            problem.projection.is_row_by_row = way >= 4;
            for (int64_t batch = 0; batch < cases[i].batches; batch++)
                problem.spans[batch] = (struct attnzoo_key_span){batch, cases[i].rows - 1 + batch};
            for (int part = 0; part < PARTS; part++)
                problem.projection.spans[part] =
                    (way < 3 ? part < way : part >= PARTS - (way - 3)) ? NULL : problem.spans;
            solve(&problem, way < 3 ? pool : NULL);
            for (int64_t batch = 0; batch < cases[i].batches; batch++)
                for (int64_t row = 0; row < cases[i].rows; row++)
                    check_row(&problem, batch, row, &before);
            destroy(&problem);
            destroy(&before);
        }
    attnzoo_pool_destroy(pool);
}

static void rows_by_themselves_do_not_depend_on_their_number(void **state)
{
    (void)state;
    enum { ROWS = 19 };
    struct problem all;
    create(&all, (struct sizes){1, ROWS, 129, 2, {70, 3, 31}});
    all.projection.is_row_by_row = true;
    solve(&all, NULL);
    for (int64_t row = 0; row < ROWS; row++) {
        struct problem one;
        create(&one, (struct sizes){1, 1, 129, 2, {70, 3, 31}});
        one.projection.is_row_by_row = true;
        one.projection.weight = all.weight;
        one.projection.bias = all.bias;
        one.projection.input.data = (char *)(all.input + row * 129);
        solve(&one, NULL);
        for (int part = 0; part < PARTS; part++)
            for (int64_t head = 0; head < 2; head++) {
                int64_t columns = one.sizes.columns[part];
                assert_memory_equal(one.outputs[part] + head * columns,
                                    all.outputs[part] + (head * ROWS + row) * columns, (size_t)columns * sizeof(float));
            }
        destroy(&one);
    }
    destroy(&all);
}

static void sizes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct attnzoo_projection_plan plan;
    const float none = 0.0f;
    struct attnzoo_projection projection = {.weight = &none, .part_count = 1};
    projection.input.size[ATTNZOO_BATCH] = INT64_MAX / 2;
    projection.input.size[ATTNZOO_ROW] = 3;
    assert_int_equal(attnzoo_projection_make_plan(&plan, &projection), ATTNZOO_STATUS_INVALID_ARGUMENT);
    projection.input.size[ATTNZOO_BATCH] = 1;
    projection.input.size[ATTNZOO_COLUMN] = INT64_MAX / 4;
    projection.parts[0].size[ATTNZOO_HEAD] = projection.parts[0].size[ATTNZOO_COLUMN] = 1;
    assert_int_equal(attnzoo_projection_make_plan(&plan, &projection), ATTNZOO_STATUS_OUT_OF_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_agree_with_plain_loops),
        cmocka_unit_test(rows_by_themselves_do_not_depend_on_their_number),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests_name("projection", tests, NULL, NULL);
}
