/*
 * tests/mechanisms/random_case.c: drawing sizes, element types, layouts, masks and poison of a random case.
 */
#include "mechanisms/random_case.h"

#include <math.h>

static const int64_t HEAD_SIZES[] = {0, 1, 3, 15, 16, 31, 64, 80, 96, 127, 257};
static const int64_t BLOCK_EDGES[] = {63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513};
enum { HEAD_SIZE_COUNT = 11, BLOCK_EDGE_COUNT = 12 };

static int64_t random_length(struct random_source *source)
{
    double draw = random_real(source, 0.0, 1.0);
    if (draw < 0.05)
        return 0;
    if (draw < 0.15)
        return 1;
    if (draw < 0.65)
        return random_between(source, 2, 40);
    if (draw < 0.90)
        return BLOCK_EDGES[random_between(source, 0, BLOCK_EDGE_COUNT - 1)];
    return random_between(source, 41, 700);
}

static double work_of(const struct attention_sizes *sizes)
{
    return (double)(sizes->batch * sizes->heads) * (double)(sizes->queries * sizes->keys) *
           (double)(sizes->head_size + sizes->value_size + 8);
}

static struct attention_sizes random_sizes(struct random_source *source)
{
    struct attention_sizes sizes = {
        .batch = random_chance(source, 0.02) ? 0 : random_between(source, 1, 3),
        .key_heads = random_between(source, 1, 3),
        .queries = random_length(source),
        .keys = random_length(source),
        .head_size = HEAD_SIZES[random_between(source, 0, HEAD_SIZE_COUNT - 1)],
        .value_size = HEAD_SIZES[random_between(source, 0, HEAD_SIZE_COUNT - 1)],
    };
    sizes.heads = sizes.key_heads * random_between(source, 1, 4);
    /* A few queries over a long cache of keys, which may be split over the keys. */
    if (random_chance(source, 0.02)) {
        sizes.batch = 1;
        sizes.queries = random_between(source, 1, 8);
        sizes.keys = random_between(source, 2000, 6000);
        sizes.head_size = HEAD_SIZES[random_between(source, 1, 6)];
    }
    /* The reference is slow: most cases are kept small, a few may be large. */
    double most_work = random_chance(source, 0.02) ? 1e8 : 4e6;
    if (work_of(&sizes) > most_work)
        sizes.batch = 1;
    if (work_of(&sizes) > most_work)
        sizes.heads = sizes.key_heads = random_between(source, 1, 2);
    while (work_of(&sizes) > most_work)
        *(random_chance(source, 0.5) ? &sizes.queries : &sizes.keys) /= 2;
    return sizes;
}

int32_t random_float_type(struct random_source *source)
{
    static const int32_t types[] = {ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_FLOAT32, ATTNZOO_DTYPE_FLOAT32,
                                    ATTNZOO_DTYPE_FLOAT16, ATTNZOO_DTYPE_BFLOAT16};
    return types[random_between(source, 0, 4)];
}

static int32_t random_integer_type(struct random_source *source)
{
    return random_chance(source, 0.5) ? ATTNZOO_DTYPE_INT32 : ATTNZOO_DTYPE_INT64;
}

void random_plan_input(struct test_tensor *tensor, struct random_source *source, int32_t dtype, int32_t least_rank)
{
    tensor->dtype = dtype;
    test_tensor_plan_any_layout(tensor, source, least_rank, true);
}

void random_plan_output(struct test_tensor *tensor, struct random_source *source, int32_t dtype, int32_t least_rank)
{
    tensor->dtype = dtype;
    test_tensor_plan_any_layout(tensor, source, least_rank, false);
}

static void plan_data(struct attention_case *test, struct random_source *source)
{
    random_plan_input(&test->query, source, random_float_type(source), 2);
    random_plan_input(&test->key, source, random_float_type(source), 2);
    random_plan_input(&test->value, source, random_float_type(source), 2);
    random_plan_output(&test->context, source, random_float_type(source), 2);
    random_plan_output(&test->attention, source, random_float_type(source), 2);
    random_plan_output(&test->log_sum_exp, source, ATTNZOO_DTYPE_FLOAT32, 1);
    if (random_chance(source, 0.5))
        test->attention.rank = 0;
    if (random_chance(source, 0.5))
        test->log_sum_exp.rank = 0;
}

static void plan_dense_masks(struct attention_case *test, struct random_source *source)
{
    struct attention_sizes sizes = test->sizes;
    int64_t shape[2][4];
    for (int which = 0; which < 2; which++) {
        shape[which][0] = random_chance(source, 0.5) ? 1 : sizes.batch;
        shape[which][1] = random_chance(source, 0.5) ? 1 : sizes.heads;
        shape[which][2] = random_chance(source, 0.3) ? 1 : sizes.queries;
        shape[which][3] = random_chance(source, 0.15) ? 1 : sizes.keys;
    }
    if (random_chance(source, 0.3)) {
        static const int32_t types[] = {ATTNZOO_DTYPE_BOOL, ATTNZOO_DTYPE_INT32, ATTNZOO_DTYPE_INT64};
        attention_case_plan_boolean(test, shape[0][0], shape[0][1], shape[0][2], shape[0][3]);
        random_plan_input(&test->boolean, source, types[random_between(source, 0, 2)], 1);
    }
    if (random_chance(source, 0.3)) {
        attention_case_plan_bias(test, shape[1][0], shape[1][1], shape[1][2], shape[1][3]);
        random_plan_input(&test->bias, source, random_float_type(source), 1);
    }
}

static void plan_positions(struct attention_case *test, struct random_source *source)
{
    struct attention_sizes sizes = test->sizes;
    test->causal = random_chance(source, 0.35);
    test->has_window = random_chance(source, 0.25);
    int64_t widest = random_chance(source, 0.5) ? 4 : sizes.keys;
    test->window_left = random_between(source, -1, widest);
    test->window_right = random_between(source, -1, widest);
    test->alignment = (int32_t)random_between(source, ATTNZOO_ALIGNMENT_BOTTOM_RIGHT, ATTNZOO_ALIGNMENT_LENGTHS);
    test->has_offset = random_chance(source, 0.15);
    test->offset = random_between(source, -sizes.queries - 2, sizes.keys + 2);
    if (!test->has_offset && random_chance(source, 0.15)) {
        test->offsets = test_tensor_plan(ATTNZOO_DTYPE_INT64, 1, &sizes.batch);
        random_plan_input(&test->offsets, source, random_integer_type(source), 1);
    }
    if (random_chance(source, 0.2)) {
        test->slopes = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 1, &sizes.heads);
        random_plan_input(&test->slopes, source, random_float_type(source), 1);
    }
}

static void plan_lengths(struct attention_case *test, struct random_source *source)
{
    if (random_chance(source, 0.3)) {
        attention_case_plan_key_lengths(test);
        random_plan_input(&test->key_lengths, source, random_integer_type(source), 1);
    }
    if (random_chance(source, 0.2)) {
        attention_case_plan_query_lengths(test);
        random_plan_input(&test->query_lengths, source, random_integer_type(source), 1);
    }
}

/* Ids are read at the queries' positions, so these must be keys: offsets are drawn to fit. */
static void plan_segments(struct attention_case *test, struct random_source *source)
{
    struct attention_sizes sizes = test->sizes;
    if (sizes.queries > sizes.keys || !random_chance(source, 0.2))
        return;
    test->segments = test_tensor_plan(ATTNZOO_DTYPE_INT64, 2, (int64_t[]){sizes.batch, sizes.keys});
    random_plan_input(&test->segments, source, random_integer_type(source), 1);
    test->offset = random_between(source, 0, sizes.keys - sizes.queries);
    test->offsets.rank = 0;
    if (test->alignment == ATTNZOO_ALIGNMENT_LENGTHS)
        test->alignment = ATTNZOO_ALIGNMENT_TOP_LEFT;
}

void random_masks_plan(struct attention_case *test, struct random_source *source)
{
    plan_dense_masks(test, source);
    plan_positions(test, source);
    plan_lengths(test, source);
    plan_segments(test, source);
}

void random_masks_fill(struct attention_case *test, struct random_source *source)
{
    struct attention_sizes sizes = test->sizes;
    test_tensor_fill(&test->offsets, source, (double)-sizes.queries - 2.0, (double)sizes.keys + 2.0);
    bool is_mostly_true = random_chance(source, 0.5);
    for (int64_t i = 0; i < test->boolean.count && is_mostly_true; i++)
        test->boolean.values[i] = random_chance(source, 0.95);
    for (int64_t i = 0; i < test->bias.count && random_chance(source, 0.9); i++)
        if (random_chance(source, 0.1))
            test->bias.values[i] = -INFINITY;
    test_tensor_make_repeats_equal(&test->boolean);
    test_tensor_make_repeats_equal(&test->bias);
}

/* Now and then a NaN that some rows see. */
static void fill_faults(struct attention_case *test, struct random_source *source)
{
    struct test_tensor *suspects[] = {&test->query, &test->key, &test->value, &test->bias};
    struct test_tensor *suspect = suspects[random_between(source, 0, 3)];
    if (suspect->count > 0 && random_chance(source, 0.08))
        suspect->values[random_between(source, 0, suspect->count - 1)] = NAN;
    test_tensor_make_repeats_equal(suspect);
    if (test->bias.count > 0 && random_chance(source, 0.05))
        test->bias.values[random_between(source, 0, test->bias.count - 1)] = INFINITY;
    test_tensor_make_repeats_equal(&test->bias);
}

static bool is_key_seen(const struct attention_case *test, const struct reference_problem *problem, int64_t batch,
                        int64_t key_head, int64_t key)
{
    int64_t group = test->sizes.heads / test->sizes.key_heads;
    for (int64_t h = key_head * group; h < (key_head + 1) * group; h++)
        for (int64_t i = 0; i < test->sizes.queries; i++)
            if (reference_sees(problem, batch, h, i, key))
                return true;
    return false;
}

static void poison_key(struct test_tensor *tensor, int64_t row, int64_t width)
{
    for (int64_t d = 0; d < width; d++)
        tensor->values[row * width + d] = NAN;
}

/* Keys and values that no query sees hold NaN. */
static void poison_hidden_keys(struct attention_case *test)
{
    struct attention_sizes sizes = test->sizes;
    struct reference_problem problem = attention_case_problem(test);
    double offsets[3] = {(double)test->offset, (double)test->offset, (double)test->offset};
    if (test->has_offset)
        problem.offsets = offsets;
    for (int64_t b = 0; b < sizes.batch; b++)
        for (int64_t g = 0; g < sizes.key_heads; g++)
            for (int64_t j = 0; j < sizes.keys; j++) {
                if (is_key_seen(test, &problem, b, g, j))
                    continue;
                int64_t row = (b * sizes.key_heads + g) * sizes.keys + j;
                if (!test_tensor_repeats(&test->key))
                    poison_key(&test->key, row, sizes.head_size);
                if (!test_tensor_repeats(&test->value))
                    poison_key(&test->value, row, sizes.value_size);
            }
}

void random_case_create(struct attention_case *test, struct random_source *source)
{
    random_case_create_sized(test, source, random_sizes(source));
}

void random_case_create_sized(struct attention_case *test, struct random_source *source, struct attention_sizes sizes)
{
    attention_case_plan(test, sizes);
    if (random_chance(source, 0.3))
        test->scale = random_real(source, 0.05, 0.5);
    if (random_chance(source, 0.2))
        test->softcap = random_real(source, 0.5, 20.0);
    plan_data(test, source);
    test->is_masked = random_chance(source, 0.85);
    if (test->is_masked)
        random_masks_plan(test, source);
    attention_case_allocate(test);
    attention_case_fill(test, source, random_chance(source, 0.3) ? 3.0 : 1.0);
    random_masks_fill(test, source);
    fill_faults(test, source);
    if (random_chance(source, 0.7))
        poison_hidden_keys(test);
}
