/*
 * tests/mechanisms/tanh_random_case.c: drawing sizes, layouts, parameters, options, masks and poison of a random case.
 */
#include "mechanisms/tanh_random_case.h"

#include "mechanisms/random_case.h"

#include <math.h>
#include <string.h>

static const int64_t SIZES[] = {0, 1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64};
static const int64_t WIDTHS[] = {1, 3, 31, 201};
enum { SIZE_COUNT = 12, WIDTH_COUNT = 4 };

static int64_t random_size(struct random_source *source, int64_t least_index, int64_t most_index)
{
    return SIZES[random_between(source, least_index, most_index)];
}

static int64_t random_length(struct random_source *source, int64_t usual)
{
    double draw = random_real(source, 0.0, 1.0);
    if (draw < 0.04)
        return 0;
    if (draw < 0.15)
        return 1;
    if (draw < 0.85)
        return random_between(source, 2, usual);
    return random_between(source, usual, 3 * usual);
}

/* What the reference has to do: tanh for each number, and a convolution. */
static double work_of(const struct tanh_sizes *sizes, bool is_location_aware)
{
    double pairs = (double)sizes->batch * (double)(sizes->queries * sizes->keys);
    double filters = is_location_aware ? (double)(sizes->filters * sizes->heads) : 0.0;
    double width = fmin((double)sizes->width, (double)sizes->keys);
    return pairs * ((double)(sizes->heads * (4 * sizes->attention_size + sizes->value_columns + 4)) +
                    filters * width * 0.2 + filters * (double)sizes->attention_size * 0.2);
}

static uint32_t random_absences(struct random_source *source)
{
    static const int optional[] = {TANH_QUERY_WEIGHT, TANH_QUERY_BIAS,      TANH_KEY_WEIGHT,   TANH_KEY_BIAS,
                                   TANH_VALUE_WEIGHT, TANH_VALUE_BIAS,      TANH_BIAS,         TANH_SCORE_BIAS,
                                   TANH_CONV_BIAS,    TANH_LOCATION_WEIGHT, TANH_LOCATION_BIAS};
    uint32_t absent = 0;
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (random_chance(source, 0.35))
            absent |= TANH_WITHOUT(optional[i]);
    return absent;
}

static struct tanh_sizes random_sizes(struct random_source *source, bool is_location_aware, bool has_heads)
{
    struct tanh_sizes sizes = {
        .batch = random_chance(source, 0.02) ? 0 : random_between(source, 1, 3),
        .heads = 1,
        .key_heads = 1,
        .queries = random_length(source, is_location_aware ? 6 : 30),
        .keys = random_length(source, 40),
        .query_size = random_size(source, random_chance(source, 0.1) ? 0 : 1, SIZE_COUNT - 1),
        .key_size = random_size(source, random_chance(source, 0.1) ? 0 : 1, SIZE_COUNT - 1),
        .value_size = random_size(source, random_chance(source, 0.1) ? 0 : 1, SIZE_COUNT - 1),
        .attention_size = random_size(source, random_chance(source, 0.05) ? 0 : 1, SIZE_COUNT - 1),
        .value_columns = random_size(source, random_chance(source, 0.05) ? 0 : 1, SIZE_COUNT - 2),
        .filters = random_size(source, random_chance(source, 0.05) ? 0 : 1, 7),
        .width = WIDTHS[random_between(source, 0, WIDTH_COUNT - 1)],
        .absent = random_absences(source),
    };
    if (has_heads && random_chance(source, 0.5)) {
        sizes.key_heads = random_between(source, 1, 3);
        sizes.heads = sizes.key_heads * random_between(source, 1, 3);
    }
    /* Several tiles of keys, whatever a tile is. */
    if (random_chance(source, 0.02)) {
        sizes.keys = random_between(source, 300, 3000);
        sizes.attention_size = random_size(source, 1, 6);
    }
    double most_work = random_chance(source, 0.02) ? 2e6 : 6e4;
    if (work_of(&sizes, is_location_aware) > most_work && sizes.batch > 1)
        sizes.batch = 1;
    while (work_of(&sizes, is_location_aware) > most_work && sizes.queries > 2)
        sizes.queries /= 2;
    if (work_of(&sizes, is_location_aware) > most_work)
        sizes.filters = sizes.filters > 2 ? 2 : sizes.filters;
    while (work_of(&sizes, is_location_aware) > 2e6)
        sizes.keys /= 2;
    return sizes;
}

static void plan_layouts(struct tanh_case *test, struct random_source *source)
{
    struct attention_case *call = &test->call;
    random_plan_input(&call->query, source, random_float_type(source), 2);
    random_plan_input(&call->key, source, random_float_type(source), 2);
    random_plan_input(&call->value, source, random_float_type(source), 2);
    random_plan_output(&call->context, source, random_float_type(source), 2);
    random_plan_output(&call->attention, source, random_float_type(source), 2);
    if (random_chance(source, 0.4))
        call->attention.rank = 0;
    for (int i = 0; i < TANH_PARAMETER_COUNT; i++)
        if (test->parameters[i].rank > 0)
            random_plan_input(&test->parameters[i], source, random_float_type(source), test->parameters[i].rank);
}

static void draw_options(struct tanh_case *test, struct random_source *source)
{
    test->smoothing = random_chance(source, 0.4);
    test->has_tanh = random_chance(source, 0.4);
    test->sharpening = random_chance(source, 0.4) ? random_real(source, 0.2, 3.0) : 1.0;
    test->initial = (enum reference_initial)random_between(source, REFERENCE_ZEROS, REFERENCE_FIRST);
    if (random_chance(source, 0.35))
        test->window =
            random_chance(source, 0.7) ? random_between(source, 1, 6) : random_between(source, 1, test->sizes.keys + 5);
}

/* Over so many steps errors grow to a few hundred times theirs at most, sums of alignments among them. */
static double growth_for(int64_t steps)
{
    return fmax(0.05, fmin(3.0, pow(300.0, 1.0 / (double)(steps > 0 ? steps : 1)) - 1.0));
}

static bool is_key_seen(const struct tanh_case *test, const struct reference_problem *mask, int64_t batch, int64_t key)
{
    for (int64_t h = 0; h < test->sizes.heads; h++)
        for (int64_t i = 0; i < test->sizes.queries; i++)
            if (reference_sees(mask, batch, h, i, key))
                return true;
    return false;
}

static void poison_key(struct test_tensor *tensor, int64_t row)
{
    int64_t width = tensor->shape[2];
    for (int64_t d = 0; d < width && !test_tensor_repeats(tensor); d++)
        tensor->values[row * width + d] = NAN;
}

/* Keys and values that no query sees hold NaN. */
static void poison_hidden_keys(struct tanh_case *test)
{
    struct reference_location_aware problem = tanh_case_problem(test);
    for (int64_t b = 0; b < test->sizes.batch; b++)
        for (int64_t j = 0; j < test->sizes.keys; j++) {
            if (is_key_seen(test, &problem.model.mask, b, j))
                continue;
            poison_key(&test->call.key, b * test->sizes.keys + j);
            poison_key(&test->call.value, b * test->sizes.keys + j);
        }
}

/* Now and then a NaN that some rows see. */
static void fill_faults(struct tanh_case *test, struct random_source *source)
{
    struct test_tensor *suspects[] = {&test->call.query, &test->call.key, &test->call.value, &test->call.bias};
    struct test_tensor *suspect = suspects[random_between(source, 0, 3)];
    if (suspect->count > 0 && random_chance(source, 0.08))
        suspect->values[random_between(source, 0, suspect->count - 1)] = NAN;
    test_tensor_make_repeats_equal(suspect);
}

static void create(struct tanh_case *test, struct random_source *source, const char *mechanism, struct tanh_sizes sizes,
                   enum reference_feedback feedback)
{
    tanh_case_plan(test, mechanism, sizes, feedback);
    if (test->is_location_aware)
        draw_options(test, source);
    plan_layouts(test, source);
    test->call.is_masked = random_chance(source, 0.85);
    if (test->call.is_masked)
        random_masks_plan(&test->call, source);
    tanh_case_allocate(test);
    tanh_case_fill(test, source, growth_for(test->sizes.queries));
    random_masks_fill(&test->call, source);
    fill_faults(test, source);
    if (random_chance(source, 0.7))
        poison_hidden_keys(test);
}

static enum reference_feedback random_feedback(struct random_source *source, const char *mechanism)
{
    bool is_location_aware = strcmp(mechanism, "location_aware") == 0;
    return is_location_aware ? (enum reference_feedback)random_between(source, REFERENCE_PREVIOUS, REFERENCE_BOTH)
                             : REFERENCE_PREVIOUS;
}

void tanh_random_case_create(struct tanh_case *test, struct random_source *source, const char *mechanism)
{
    enum reference_feedback feedback = random_feedback(source, mechanism);
    bool is_location_aware = strcmp(mechanism, "location_aware") == 0;
    bool has_heads = is_location_aware || strcmp(mechanism, "hard") == 0;
    struct tanh_sizes sizes = random_sizes(source, is_location_aware, has_heads);
    create(test, source, mechanism, sizes, feedback);
}

void tanh_random_case_create_sized(struct tanh_case *test, struct random_source *source, const char *mechanism,
                                   struct tanh_sizes sizes)
{
    sizes.absent = random_absences(source);
    create(test, source, mechanism, sizes, random_feedback(source, mechanism));
}
