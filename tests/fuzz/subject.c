/*
 * subject.c: sizes of subjects, and one way to ask each kind what all have.
 */
#include "subject.h"

#include "mechanisms/multi_head_random_case.h"
#include "mechanisms/random_case.h"
#include "mechanisms/tanh_random_case.h"
#include "support/tanh_part.h"
#include "support/testing.h"
#include "target.h"

#include <math.h>

static const char *const mechanisms[SUBJECT_KIND_COUNT] = {"scaled_dot_product",  "multi_head", "relative_multi_head",
                                                           "relative_multi_head", "additive",   "location_aware"};

/* Lengths about the tiles' own sizes are for the random tests; here it is the number of calls that counts. */
static int64_t draw_length(struct random_source *source)
{
    return random_between(source, 0, 11);
}

static int64_t draw_size(struct random_source *source)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 16, 17};
    return sizes[random_between(source, 0, 8)];
}

static int64_t draw_heads(struct random_source *source, int64_t *key_heads)
{
    *key_heads = random_between(source, 1, 2);
    return *key_heads * random_between(source, 1, 2);
}

static void draw_attention(struct attention_case *test, struct random_source *source)
{
    struct attention_sizes sizes = {.batch = random_between(source, 0, 3)};
    sizes.heads = draw_heads(source, &sizes.key_heads);
    sizes.queries = draw_length(source);
    sizes.keys = draw_length(source);
    sizes.head_size = draw_size(source);
    sizes.value_size = draw_size(source);
    random_case_create_sized(test, source, sizes);
}

static void draw_multi_head(struct multi_head_case *test, struct random_source *source, enum reference_flavor flavor)
{
    struct multi_head_sizes sizes = {.flavor = flavor, .batch = random_between(source, 0, 3)};
    sizes.heads = draw_heads(source, &sizes.key_heads);
    sizes.queries = draw_length(source);
    sizes.keys = random_chance(source, 0.3) ? sizes.queries : draw_length(source);
    sizes.past = random_chance(source, 0.5) ? draw_length(source) : 0;
    sizes.head_size = draw_size(source);
    sizes.value_size = draw_size(source);
    sizes.query_width = draw_size(source);
    sizes.key_width = random_chance(source, 0.5) ? sizes.query_width : draw_size(source);
    sizes.value_width = random_chance(source, 0.5) ? sizes.key_width : draw_size(source);
    sizes.out_width = draw_size(source);
    sizes.position_width = draw_size(source);
    sizes.farthest = random_between(source, 0, 4);
    multi_head_random_case_create_sized(test, source, sizes);
}

static void draw_tanh(struct tanh_case *test, struct random_source *source, const char *mechanism,
                      bool is_location_aware)
{
    struct tanh_sizes sizes = {.batch = random_between(source, 0, 3), .heads = 1, .key_heads = 1};
    if (is_location_aware)
        sizes.heads = draw_heads(source, &sizes.key_heads);
    sizes.queries = is_location_aware ? random_between(source, 0, 4) : draw_length(source);
    sizes.keys = draw_length(source);
    sizes.query_size = draw_size(source);
    sizes.key_size = draw_size(source);
    sizes.value_size = draw_size(source);
    sizes.attention_size = draw_size(source);
    sizes.value_columns = draw_size(source);
    sizes.filters = random_between(source, 0, 3);
    sizes.width = 2 * random_between(source, 0, 3) + 1;
    tanh_random_case_create_sized(test, source, mechanism, sizes);
}

static bool has_projected_heads(const struct subject *subject)
{
    return subject->kind == SUBJECT_MULTI_HEAD || subject->kind == SUBJECT_TRANSFORMER_XL ||
           subject->kind == SUBJECT_SHAW;
}

static bool is_of_tanh(const struct subject *subject)
{
    return subject->kind == SUBJECT_ADDITIVE || subject->kind == SUBJECT_LOCATION_AWARE;
}

static void draw(struct subject *subject, struct random_source *source)
{
    switch (subject->kind) {
    case SUBJECT_MULTI_HEAD:
        draw_multi_head(&subject->as.heads, source, REFERENCE_PLAIN);
        break;
    case SUBJECT_TRANSFORMER_XL:
        draw_multi_head(&subject->as.heads, source, REFERENCE_TRANSFORMER_XL);
        break;
    case SUBJECT_SHAW:
        draw_multi_head(&subject->as.heads, source, REFERENCE_SHAW);
        break;
    case SUBJECT_ADDITIVE:
    case SUBJECT_LOCATION_AWARE:
        draw_tanh(&subject->as.tanh, source, mechanisms[subject->kind], subject->kind == SUBJECT_LOCATION_AWARE);
        break;
    default:
        draw_attention(&subject->as.attention, source);
    }
}

void subject_create(struct subject *subject, struct random_source *source)
{
    *subject = (struct subject){.kind = (enum subject_kind)random_between(source, 0, SUBJECT_KIND_COUNT - 1)};
    draw(subject, source);
    if (has_projected_heads(subject))
        multi_head_case_store(&subject->as.heads);
    else if (is_of_tanh(subject))
        tanh_case_store(&subject->as.tanh);
    else
        attention_case_store(&subject->as.attention);
    subject->module = subject_unprepared(subject);
    assert_ok(attnzoo_module_prepare(subject->module));
    subject->mask = attention_case_mask(subject_call(subject));
    if (has_projected_heads(subject))
        subject->state = multi_head_case_state(&subject->as.heads, subject->module);
    else if (subject->kind == SUBJECT_LOCATION_AWARE && random_chance(source, 0.5))
        subject->state = tanh_case_state(&subject->as.tanh, subject->module);
}

void subject_destroy(struct subject *subject)
{
    attnzoo_state_destroy(subject->state);
    attnzoo_mask_destroy(subject->mask);
    attnzoo_module_destroy(subject->module);
    if (has_projected_heads(subject))
        multi_head_case_destroy(&subject->as.heads);
    else if (is_of_tanh(subject))
        tanh_case_destroy(&subject->as.tanh);
    else
        attention_case_destroy(&subject->as.attention);
}

struct attention_case *subject_call(struct subject *subject)
{
    return has_projected_heads(subject) ? &subject->as.heads.base
           : is_of_tanh(subject)        ? &subject->as.tanh.call
                                        : &subject->as.attention;
}

struct test_tensor *subject_parameters(struct subject *subject, int *count)
{
    *count = has_projected_heads(subject) ? MULTI_HEAD_PARAMETERS : is_of_tanh(subject) ? TANH_PARAMETER_COUNT : 0;
    return has_projected_heads(subject) ? subject->as.heads.parameters : subject->as.tanh.parameters;
}

struct test_tensor *subject_position(struct subject *subject)
{
    static struct test_tensor none;
    return has_projected_heads(subject) ? &subject->as.heads.position : &none;
}

attnzoo_tensor *subject_key(struct subject *subject)
{
    return has_projected_heads(subject) ? multi_head_case_key(&subject->as.heads)->view
                                        : subject_call(subject)->key.view;
}

attnzoo_tensor *subject_value(struct subject *subject)
{
    return has_projected_heads(subject) ? multi_head_case_value(&subject->as.heads)->view
                                        : subject_call(subject)->value.view;
}

attnzoo_module *subject_unprepared(const struct subject *subject)
{
    if (has_projected_heads(subject))
        return multi_head_case_unprepared(&subject->as.heads);
    if (is_of_tanh(subject))
        return tanh_case_unprepared_module(&subject->as.tanh);
    attnzoo_module *module = NULL;
    assert_ok(attnzoo_module_create(&module, mechanisms[subject->kind]));
    if (!isnan(subject->as.attention.scale))
        assert_ok(attnzoo_module_set_option_float(module, "scale", subject->as.attention.scale));
    if (subject->as.attention.softcap != 0.0)
        assert_ok(attnzoo_module_set_option_float(module, "softcap", subject->as.attention.softcap));
    return module;
}

void subject_restore(struct subject *subject)
{
    attention_case_store(subject_call(subject));
    test_tensor_store(subject_position(subject));
}

void subject_rewind(struct subject *subject)
{
    if (subject->state == NULL)
        return;
    if (has_projected_heads(subject))
        assert_ok(attnzoo_state_truncate(subject->state, subject->as.heads.sizes.past));
    else
        assert_ok(attnzoo_state_reset(subject->state));
}

void subject_poison(struct subject *subject)
{
    struct attention_case *call = subject_call(subject);
    test_tensor_poison(&call->context);
    test_tensor_poison(&call->attention);
    test_tensor_poison(&call->log_sum_exp);
    if (has_projected_heads(subject)) {
        test_tensor_poison(&subject->as.heads.kept_key);
        test_tensor_poison(&subject->as.heads.kept_value);
    }
}

bool subject_outputs_are_untouched(struct subject *subject)
{
    const struct attention_case *call = subject_call(subject);
    return test_tensor_is_untouched(&call->context) && test_tensor_is_untouched(&call->attention) &&
           test_tensor_is_untouched(&call->log_sum_exp);
}

static void check_multi_head(struct subject *subject, attnzoo_executor *executor)
{
    struct multi_head_case *test = &subject->as.heads;
    assert_ok(multi_head_case_forward(test, subject->module, executor, subject->mask, subject->state));
    if (subject->state != NULL) {
        require(attnzoo_state_length(subject->state) == test->sizes.past + test->sizes.keys);
        assert_ok(attnzoo_state_get_field(subject->state, 0, test->kept_key.view));
        assert_ok(attnzoo_state_get_field(subject->state, 1, test->kept_value.view));
    }
    multi_head_case_load(test);
    bool agrees_with_reference = multi_head_case_compare(test);
    if (!agrees_with_reference)
        multi_head_case_print(test);
    require(agrees_with_reference);
}

static void check_tanh(struct subject *subject, attnzoo_executor *executor)
{
    struct tanh_case *test = &subject->as.tanh;
    assert_ok(tanh_case_forward(test, subject->module, executor, subject->mask, subject->state));
    tanh_case_load(test);
    bool agrees_with_reference = tanh_case_compare(test);
    if (!agrees_with_reference)
        tanh_case_print(test);
    require(agrees_with_reference);
}

static void check_attention(struct subject *subject, attnzoo_executor *executor)
{
    struct attention_case *test = &subject->as.attention;
    assert_ok(attention_case_forward(test, subject->module, executor, subject->mask));
    attention_case_load(test);
    bool agrees_with_reference = attention_case_compare(test);
    if (!agrees_with_reference)
        attention_case_print(test);
    require(agrees_with_reference);
}

void subject_check(struct subject *subject, attnzoo_executor *executor)
{
    subject_rewind(subject);
    subject_poison(subject);
    if (has_projected_heads(subject))
        check_multi_head(subject, executor);
    else if (is_of_tanh(subject))
        check_tanh(subject, executor);
    else
        check_attention(subject, executor);
}
