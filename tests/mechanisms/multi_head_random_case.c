/*
 * tests/mechanisms/multi_head_random_case.c: drawing sizes, layouts, parameters, masks and poison of a random case with
 * projected heads.
 */
#include "mechanisms/multi_head_random_case.h"

#include "mechanisms/random_case.h"

#include <math.h>

static const int64_t HEAD_SIZES[] = {0, 1, 3, 15, 16, 31, 64, 80};
static const int64_t WIDTHS[] = {0, 1, 3, 8, 16, 17, 33, 64, 100};
static const int64_t FARTHEST[] = {0, 1, 4, 16};
enum { HEAD_SIZE_COUNT = 8, WIDTH_COUNT = 9 };

static int64_t random_head_size(struct random_source *source)
{
    return HEAD_SIZES[random_between(source, random_chance(source, 0.02) ? 0 : 1, HEAD_SIZE_COUNT - 1)];
}

static int64_t random_width(struct random_source *source)
{
    return WIDTHS[random_between(source, random_chance(source, 0.02) ? 0 : 1, WIDTH_COUNT - 1)];
}

static int64_t random_length(struct random_source *source)
{
    double draw = random_real(source, 0.0, 1.0);
    if (draw < 0.04)
        return 0;
    if (draw < 0.15)
        return 1;
    return draw < 0.9 ? random_between(source, 2, 20) : random_between(source, 21, 80);
}

/* Many tiles, or one query over a long cache; narrow, for the reference is slow. */
static void make_long(struct multi_head_sizes *sizes, struct random_source *source)
{
    bool is_decoding = random_chance(source, 0.5);
    sizes->batch = 1;
    sizes->key_heads = random_between(source, 1, 2);
    sizes->heads = sizes->key_heads * random_between(source, 1, is_decoding ? 4 : 1);
    sizes->queries = is_decoding ? random_between(source, 1, 3) : random_between(source, 300, 500);
    sizes->keys = is_decoding ? random_between(source, 4000, 5500) : random_between(source, 300, 700);
    if (!is_decoding && random_chance(source, 0.3)) {
        sizes->queries = random_between(source, 900, 1100);
        sizes->keys = random_between(source, 20, 300);
    }
    sizes->head_size = HEAD_SIZES[random_between(source, 1, 4)];
    sizes->value_size = HEAD_SIZES[random_between(source, 1, 4)];
    sizes->query_width = sizes->key_width = sizes->value_width = sizes->position_width = 8;
}

/* What the reference has to do: pairs and projections. */
static double work_of(const struct multi_head_sizes *sizes)
{
    double queries = (double)sizes->queries, keys = (double)sizes->keys;
    double heads_width = (double)(sizes->heads * (sizes->head_size + sizes->value_size + 4));
    double widths = (double)(sizes->query_width + sizes->key_width + sizes->value_width + sizes->out_width);
    return (double)sizes->batch * heads_width *
           (2.0 * queries * (keys + (double)sizes->past) + (queries + keys) * (widths + 8.0) * 0.5);
}

static void make_smaller(struct multi_head_sizes *sizes)
{
    bool is_square = sizes->keys == sizes->queries;
    if (sizes->batch > 1)
        sizes->batch = 1;
    else if (sizes->heads > sizes->key_heads)
        sizes->heads = sizes->key_heads;
    else if (sizes->queries > 1)
        sizes->queries /= 2;
    else
        sizes->keys /= 2;
    if (is_square)
        sizes->keys = sizes->queries;
}

static struct multi_head_sizes random_sizes(struct random_source *source, enum reference_flavor flavor)
{
    struct multi_head_sizes sizes = {.flavor = flavor,
                                     .batch = random_chance(source, 0.02) ? 0 : random_between(source, 1, 3),
                                     .key_heads = random_between(source, 1, 3),
                                     .queries = random_length(source),
                                     .keys = random_length(source),
                                     .head_size = random_head_size(source),
                                     .value_size = random_head_size(source),
                                     .query_width = random_width(source),
                                     .key_width = random_width(source),
                                     .value_width = random_width(source),
                                     .position_width = random_width(source),
                                     .farthest = FARTHEST[random_between(source, 0, 3)]};
    sizes.heads = sizes.key_heads * random_between(source, 1, 4);
    if (random_chance(source, 0.6))
        sizes.out_width = random_between(source, 1, 70);
    bool is_long = random_chance(source, 0.01);
    if (is_long)
        make_long(&sizes, source);
    else if (random_chance(source, 0.3))
        sizes.past = random_chance(source, 0.2) ? 0 : random_between(source, 1, 40);
    if (random_chance(source, 0.4))
        sizes.key_width = sizes.value_width = sizes.query_width;
    if (!is_long && random_chance(source, 0.3))
        sizes.keys = sizes.queries;
    while (work_of(&sizes) > (is_long ? 5e7 : 1.5e6) && sizes.queries + sizes.keys > 2)
        make_smaller(&sizes);
    return sizes;
}

/* The layers' biases, and what a flavor may go without. */
static void plan_parameters(struct multi_head_case *test, struct random_source *source)
{
    for (int weight = QUERY_WEIGHT; weight <= POSITION_WEIGHT; weight += 2)
        if (test->parameters[weight].rank > 0 && random_chance(source, 0.5))
            multi_head_case_plan_bias(test, weight + 1);
    static const int optional[] = {U_BIAS, V_BIAS, RELATIVE_VALUE};
    for (int i = 0; i < 3; i++)
        if (random_chance(source, 0.3))
            test->parameters[optional[i]].rank = 0;
    for (int i = 0; i < MULTI_HEAD_PARAMETERS; i++)
        if (test->parameters[i].rank > 0)
            random_plan_input(&test->parameters[i], source, random_float_type(source), test->parameters[i].rank);
}

static void plan_data(struct multi_head_case *test, struct random_source *source)
{
    const struct multi_head_sizes *sizes = &test->sizes;
    struct attention_case *base = &test->base;
    if (random_chance(source, 0.3))
        multi_head_case_average(test);
    random_plan_input(&base->query, source, random_float_type(source), 2);
    random_plan_input(&base->key, source, random_float_type(source), 2);
    random_plan_input(&base->value, source, random_float_type(source), 2);
    random_plan_output(&base->context, source, random_float_type(source), 2);
    random_plan_output(&base->attention, source, random_float_type(source), 2);
    if (random_chance(source, 0.5))
        base->attention.rank = 0;
    if (sizes->key_width == sizes->value_width && random_chance(source, 0.4)) {
        multi_head_case_share_value(test);
        if (sizes->key_width == sizes->query_width && sizes->keys == sizes->queries && random_chance(source, 0.8))
            multi_head_case_share_all(test);
    }
}

static void plan_state(struct multi_head_case *test, struct random_source *source)
{
    int64_t all = test->sizes.past + test->sizes.keys;
    if (test->sizes.past == 0 && !random_chance(source, 0.1))
        return;
    multi_head_case_plan_state(test, all + random_between(source, 0, 3));
    random_plan_input(&test->past_key, source, random_float_type(source), 4);
    random_plan_input(&test->past_value, source, random_float_type(source), 4);
    random_plan_output(&test->kept_key, source, random_float_type(source), 4);
    random_plan_output(&test->kept_value, source, random_float_type(source), 4);
}

/* A causal mask whose queries see no key behind their own place lets the table end at distance 0. */
static bool may_be_one_sided(const struct attention_case *base)
{
    int64_t offset = base->sizes.keys - base->sizes.queries;
    if (!base->is_masked || !base->causal || base->offsets.rank > 0)
        return false;
    if (base->has_offset)
        return base->offset <= offset;
    return base->alignment == ATTNZOO_ALIGNMENT_BOTTOM_RIGHT ||
           (base->alignment == ATTNZOO_ALIGNMENT_TOP_LEFT && offset >= 0);
}

static void plan_position(struct multi_head_case *test, struct random_source *source)
{
    int64_t keys = test->base.sizes.keys;
    int64_t rows = test->position.shape[1];
    if (test->sizes.flavor != REFERENCE_TRANSFORMER_XL)
        return;
    if (may_be_one_sided(&test->base) && random_chance(source, 0.5))
        rows = keys;
    multi_head_case_plan_position(test, random_chance(source, 0.4), rows);
    random_plan_input(&test->position, source, random_float_type(source), 2);
}

/* Rows of 2 axes, or of 3, one table a batch. */
static void plan_tables(struct multi_head_case *test, struct random_source *source, int64_t size)
{
    bool is_by_batch = test->sizes.batch > 0 && random_chance(source, 0.3);
    int64_t rows = test->base.sizes.keys + random_between(source, 1, 5);
    const int64_t shape[] = {test->sizes.batch, rows, size / 2};
    for (int parameter = ROTARY_COS; parameter <= ROTARY_SIN; parameter++) {
        test->parameters[parameter] =
            test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, is_by_batch ? 3 : 2, is_by_batch ? shape : shape + 1);
        random_plan_input(&test->parameters[parameter], source, random_float_type(source), is_by_batch ? 3 : 2);
    }
}

/* Positions of the call's own, which its mask knows nothing of. Tables need those of queries: by the mask's these may
 * stand before the table, or behind it. */
static void plan_given_positions(struct multi_head_case *test, struct random_source *source, bool has_tables)
{
    struct test_tensor *const tensors[] = {&test->positions.query_positions, &test->positions.key_positions};
    const int64_t rows[] = {test->sizes.queries, test->sizes.keys};
    for (int i = 0; i < 2; i++) {
        if (!random_chance(source, i == 0 && has_tables ? 1.0 : 0.3))
            continue;
        int64_t shape[] = {random_chance(source, 0.3) ? 1 : test->sizes.batch, rows[i]};
        *tensors[i] = test_tensor_plan(ATTNZOO_DTYPE_INT64, 2, shape);
        random_plan_input(tensors[i], source, random_chance(source, 0.5) ? ATTNZOO_DTYPE_INT32 : ATTNZOO_DTYPE_INT64,
                          1);
    }
}

static void plan_rotary(struct multi_head_case *test, struct random_source *source)
{
    int64_t size = test->sizes.head_size;
    bool is_partial = size % 2 != 0 || random_chance(source, 0.3);
    if (size == 1 || !random_chance(source, 0.5))
        return;
    test->positions.rotary = random_chance(source, 0.5) ? "interleaved" : "half_split";
    if (is_partial && size > 0)
        test->positions.rotary_size = size = 2 * random_between(source, 1, size / 2);
    bool has_tables = random_chance(source, 0.3);
    if (has_tables)
        plan_tables(test, source, size);
    else if (random_chance(source, 0.3))
        test->positions.rotary_base = random_chance(source, 0.5) ? 500000.0 : 2.0;
    plan_given_positions(test, source, has_tables);
}

/* What multi_head alone has. */
static void plan_additions(struct multi_head_case *test, struct random_source *source)
{
    int64_t heads = test->sizes.heads;
    if (test->sizes.flavor != REFERENCE_PLAIN)
        return;
    plan_rotary(test, source);
    if (random_chance(source, 0.3)) {
        test->positions.is_unidirectional = random_chance(source, 0.5);
        int64_t buckets = random_chance(source, 0.5) ? 32 : random_between(source, 4, 40);
        if (random_chance(source, 0.5))
            test->positions.max_distance = random_between(source, buckets / 2 + 1, 200);
        test->parameters[RELATIVE_BUCKETS] = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 2, (int64_t[]){buckets, heads});
        random_plan_input(&test->parameters[RELATIVE_BUCKETS], source, random_float_type(source), 2);
    }
    if (random_chance(source, 0.3)) {
        test->parameters[SINK] = test_tensor_plan(ATTNZOO_DTYPE_FLOAT32, 1, &heads);
        random_plan_input(&test->parameters[SINK], source, random_float_type(source), 1);
    }
}

/* Positions within the tables if there are some, otherwise anything up to 2^31 either way, often in order. */
static void fill_positions(struct multi_head_case *test, struct random_source *source)
{
    struct test_tensor *const tensors[] = {&test->positions.query_positions, &test->positions.key_positions};
    const struct test_tensor *table = &test->parameters[ROTARY_COS];
    int64_t rows = table->rank > 0 ? table->shape[table->rank - 2] : 0;
    for (int i = 0; i < 2; i++) {
        int64_t farthest = random_chance(source, 0.3) ? INT32_MAX : 100;
        bool is_in_order = random_chance(source, 0.5);
        int64_t first = random_between(source, -farthest, farthest - tensors[i]->count);
        for (int64_t place = 0; place < tensors[i]->count; place++) {
            int64_t position = is_in_order ? first + place : random_between(source, -farthest, farthest);
            if (rows > 0)
                position = is_in_order ? place % rows : random_between(source, 0, rows - 1);
            tensors[i]->values[place] = (double)position;
        }
        test_tensor_make_repeats_equal(tensors[i]);
    }
}

/* Now and then a NaN that some rows see. */
static void fill_faults(struct multi_head_case *test, struct random_source *source)
{
    struct test_tensor *suspects[] = {&test->base.query, multi_head_case_key(test), multi_head_case_value(test),
                                      &test->past_key,   &test->past_value,         &test->position};
    struct test_tensor *suspect = suspects[random_between(source, 0, 5)];
    if (suspect->count == 0 || !random_chance(source, 0.12))
        return;
    suspect->values[random_between(source, 0, suspect->count - 1)] = NAN;
    test_tensor_make_repeats_equal(suspect);
}

/* Does any of the heads' queries from first_query up to end_query see any of the keys? */
static bool sees_any(const struct reference_problem *problem, int64_t batch, int64_t first_query, int64_t end_query,
                     int64_t first_key, int64_t end_key)
{
    for (int64_t h = 0; h < problem->heads; h++)
        for (int64_t i = first_query; i < end_query; i++)
            for (int64_t j = first_key; j < end_key; j++)
                if (reference_sees(problem, batch, h, i, j))
                    return true;
    return false;
}

static void poison(struct test_tensor *tensor, int64_t row)
{
    if (tensor->rank == 0 || test_tensor_repeats(tensor))
        return;
    int64_t width = tensor->shape[tensor->rank - 1];
    for (int64_t d = 0; d < width; d++)
        tensor->values[row * width + d] = NAN;
}

/* Keys that no query sees, and queries that see no key, hold NaN. */
static void poison_hidden(struct multi_head_case *test)
{
    const struct reference_problem mask = multi_head_case_problem(test).core;
    struct attention_case *base = &test->base;
    int64_t past = test->sizes.past;
    for (int64_t b = 0; b < mask.batch; b++) {
        for (int64_t j = 0; j < mask.keys; j++) {
            if (sees_any(&mask, b, 0, mask.queries, j, j + 1))
                continue;
            for (int64_t g = 0; g < mask.key_heads && j < past; g++) {
                poison(&test->past_key, (b * mask.key_heads + g) * past + j);
                poison(&test->past_value, (b * mask.key_heads + g) * past + j);
            }
            bool is_query = base->key.rank == 0;
            if (j < past || (is_query && sees_any(&mask, b, j - past, j - past + 1, 0, mask.keys)))
                continue;
            poison(is_query ? &base->query : &base->key, b * test->sizes.keys + j - past);
            poison(&base->value, b * test->sizes.keys + j - past);
        }
        for (int64_t i = 0; i < mask.queries && base->key.rank > 0; i++)
            if (!sees_any(&mask, b, i, i + 1, 0, mask.keys))
                poison(&base->query, b * mask.queries + i);
    }
}

void multi_head_random_case_create(struct multi_head_case *test, struct random_source *source,
                                   enum reference_flavor flavor)
{
    multi_head_random_case_create_sized(test, source, random_sizes(source, flavor));
}

void multi_head_random_case_create_sized(struct multi_head_case *test, struct random_source *source,
                                         struct multi_head_sizes sizes)
{
    multi_head_case_plan(test, sizes);
    if (random_chance(source, 0.3))
        test->base.scale = random_chance(source, 0.1) ? 0.0 : random_real(source, -0.1, 0.5);
    if (random_chance(source, 0.2))
        test->base.softcap = random_real(source, 0.5, 20.0);
    plan_parameters(test, source);
    plan_data(test, source);
    plan_state(test, source);
    test->base.is_masked = random_chance(source, 0.8);
    if (test->base.is_masked)
        random_masks_plan(&test->base, source);
    plan_position(test, source);
    plan_additions(test, source);
    multi_head_case_allocate(test);
    multi_head_case_fill(test, source, random_chance(source, 0.3) ? 3.0 : 1.0);
    fill_positions(test, source);
    if (random_chance(source, 0.3))
        test_tensor_fill(&test->parameters[SINK], source, -5.0, 20.0);
    random_masks_fill(&test->base, source);
    fill_faults(test, source);
    if (random_chance(source, 0.7))
        poison_hidden(test);
}
