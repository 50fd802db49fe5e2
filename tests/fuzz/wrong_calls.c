/*
 * wrong_calls.c: calls of one subject with something else in the place of what belongs there.
 */
#include "wrong_calls.h"

#include "hostile.h"
#include "support/testing.h"
#include "target.h"

#include <string.h>

enum { SLOTS = 8, INPUT_SLOTS = 4, OUTPUT_SLOTS = 3, BORROWED_MAX = 8 };

/* A forward call on its way to being wrong. */
struct call {
    const attnzoo_module *module;
    attnzoo_tensor *inputs[SLOTS], *outputs[SLOTS];
    int32_t input_count, output_count;
    attnzoo_mask *mask;
    attnzoo_state *state;
    bool must_fail; /* whatever else is changed */
    bool is_poked;  /* inputs must be restored */
    bool is_length_wrong[2];
    /* What was made for it. */
    attnzoo_tensor *views[BORROWED_MAX];
    int view_count;
    attnzoo_module *own_module;
    attnzoo_mask *own_mask;
    attnzoo_state *own_state;
};

static struct call right_call(struct subject *subject)
{
    struct attention_case *test = subject_call(subject);
    struct test_tensor *position = subject_position(subject);
    return (struct call){.module = subject->module,
                         .inputs = {test->query.view, subject_key(subject), subject_value(subject), position->view},
                         .outputs = {test->context.view, test->attention.view, test->log_sum_exp.view},
                         .input_count = INPUT_SLOTS,
                         .output_count = OUTPUT_SLOTS,
                         .mask = subject->mask,
                         .state = subject->state};
}

static void put_hostile_view(struct call *call, struct subject *subject, struct random_source *source)
{
    struct attention_case *test = subject_call(subject);
    bool is_input = random_chance(source, 0.6);
    int64_t slot = random_between(source, 0, is_input ? INPUT_SLOTS - 1 : OUTPUT_SLOTS - 1);
    struct test_tensor *const tensors[] = {
        &test->query,   &test->key,       &test->value,      subject_position(subject),
        &test->context, &test->attention, &test->log_sum_exp};
    attnzoo_tensor *view = hostile_view(tensors[is_input ? slot : INPUT_SLOTS + slot], source);
    if (view == NULL)
        return;
    call->views[call->view_count++] = view;
    (is_input ? call->inputs : call->outputs)[slot] = view;
}

/* The same view in two places, or none where one should be. */
static void move_views(struct call *call, struct random_source *source)
{
    int64_t input = random_between(source, 0, INPUT_SLOTS), output = random_between(source, 0, OUTPUT_SLOTS);
    switch (random_between(source, 0, 4)) {
    case 0:
        call->inputs[input] = NULL;
        call->must_fail = call->must_fail || input < ATTNZOO_INPUT_POSITION;
        break;
    case 1:
        call->outputs[output] = call->inputs[input];
        break;
    case 2:
        call->inputs[input] = call->outputs[output];
        break;
    case 3:
        call->outputs[output] = call->outputs[random_between(source, 0, OUTPUT_SLOTS - 1)];
        break;
    default:
        call->inputs[input] = call->inputs[random_between(source, 0, INPUT_SLOTS - 1)];
    }
}

static void change_handles(struct call *call, struct subject *subject, struct random_source *source)
{
    switch (random_between(source, 0, 3)) {
    case 0:
        call->input_count = (int32_t)random_between(source, -1, SLOTS);
        call->output_count = (int32_t)random_between(source, -1, SLOTS);
        break;
    case 1:
        if (call->own_module == NULL && random_chance(source, 0.7))
            call->own_module = subject_unprepared(subject);
        call->module = call->own_module;
        call->must_fail = true;
        break;
    case 2:
        if (call->own_mask == NULL)
            call->own_mask = hostile_mask(subject, source);
        call->mask = call->own_mask;
        break;
    default:
        if (call->own_state == NULL)
            attnzoo_state_create(&call->own_state, subject->module, random_between(source, 0, 3),
                                 random_between(source, 0, 12));
        call->state = call->own_state;
    }
}

/* A number in one of the mask's own tensors that may be out of all bounds; lengths out of theirs must be refused. */
static void poke_mask(struct call *call, struct subject *subject, struct random_source *source)
{
    struct attention_case *test = subject_call(subject);
    struct test_tensor *const tensors[] = {&test->key_lengths, &test->query_lengths, &test->offsets, &test->segments};
    const int64_t most[] = {test->sizes.keys, test->sizes.queries};
    int64_t which = random_between(source, 0, 3), number = hostile_number(source);
    struct test_tensor *tensor = tensors[which];
    if (tensor->count == 0)
        return;
    unsigned char *first = tensor->memory.bytes + tensor->first * attnzoo_dtype_size(tensor->dtype);
    if (tensor->dtype == ATTNZOO_DTYPE_INT32) {
        int32_t cut = (int32_t)(number % INT32_MAX);
        number = cut;
        memcpy(first, &cut, sizeof cut);
    } else {
        memcpy(first, &number, sizeof number);
    }
    call->is_poked = true;
    if (which < 2)
        call->is_length_wrong[which] = number < 0 || number > most[which];
}

static void free_call(struct call *call)
{
    for (int index = 0; index < call->view_count; index++)
        attnzoo_tensor_destroy(call->views[index]);
    attnzoo_mask_destroy(call->own_mask);
    attnzoo_state_destroy(call->own_state);
    attnzoo_module_destroy(call->own_module);
}

static void put(struct call *call, struct subject *subject, attnzoo_executor *executor)
{
    int64_t length = attnzoo_state_length(call->state);
    subject_poison(subject);
    attnzoo_status status =
        attnzoo_module_forward_slots(call->module, executor, (const attnzoo_tensor *const *)call->inputs,
                                     call->input_count, call->mask, call->state, call->outputs, call->output_count);
    if (status == ATTNZOO_STATUS_OK) {
        require(!call->must_fail && attnzoo_last_error()[0] == '\0');
        /* An input may have been an output here. */
        subject_restore(subject);
        subject_rewind(subject);
        return;
    }
    require(status >= ATTNZOO_STATUS_INVALID_ARGUMENT && status <= ATTNZOO_STATUS_OVERLAP);
    require(status != ATTNZOO_STATUS_OUT_OF_MEMORY && attnzoo_last_error()[0] != '\0');
    require(subject_outputs_are_untouched(subject));
    require(attnzoo_state_length(call->state) == length);
}

void wrong_forward(struct subject *subject, struct random_source *source, attnzoo_executor *executor)
{
    subject_rewind(subject);
    struct call call = right_call(subject);
    for (int64_t faults = random_between(source, 1, 3); faults > 0; faults--) {
        int64_t kind = random_between(source, 0, 3);
        if (kind == 3)
            poke_mask(&call, subject, source);
        else if (kind == 0)
            put_hostile_view(&call, subject, source);
        else if (kind == 1)
            move_views(&call, source);
        else
            change_handles(&call, subject, source);
    }
    /* One that was taken away may have been given another by a later change. */
    call.must_fail = call.module != subject->module || call.input_count < 0 || call.output_count < 0;
    for (int slot = 0; slot < ATTNZOO_INPUT_POSITION; slot++)
        call.must_fail = call.must_fail || call.inputs[slot] == NULL || call.input_count <= slot;
    /* Another mask need not have them. */
    if (call.mask == subject->mask)
        call.must_fail = call.must_fail || call.is_length_wrong[0] || call.is_length_wrong[1];
    put(&call, subject, executor);
    if (call.is_poked)
        subject_restore(subject);
    free_call(&call);
}

/* An option of the mechanism, or of none, from text of any kind. */
static void set_some_option(attnzoo_module *module, struct random_source *source)
{
    static const char *const values[] = {
        "",     "0",    "1",          "2",    "3",     "-1", "1e400", "nan", "inf", "0.5",   "true",
        "shaw", "both", "cumulative", "none", "first", "+2", " 2",    "2 ",  "0x2", "1e-50", "9223372036854775808"};
    const char *mechanism = attnzoo_module_mechanism(module);
    int32_t count = attnzoo_item_count(mechanism, ATTNZOO_ITEM_OPTION);
    const char *name = attnzoo_item_text(mechanism, ATTNZOO_ITEM_OPTION, (int32_t)random_between(source, 0, count),
                                         ATTNZOO_FIELD_NAME);
    name = name == NULL ? "no_such_option" : name;
    char typed[8] = "";
    attnzoo_status status;
    switch (random_between(source, 0, 4)) {
    case 0:
        for (size_t place = 0; place + 1 < sizeof typed; place++)
            typed[place] = (char)random_between(source, 0, 255);
        status = attnzoo_module_set_option_text(module, name, typed);
        break;
    case 1:
        status = attnzoo_module_set_option_int(module, name, hostile_number(source));
        break;
    case 2:
        status = attnzoo_module_set_option_float(module, name, (double)hostile_number(source) / 3.0);
        break;
    case 3:
        status = attnzoo_module_set_option_bool(module, name, (int32_t)random_between(source, -1, 2));
        break;
    default:
        status = attnzoo_module_set_option_text(module, name,
                                                values[random_between(source, 0, sizeof values / sizeof *values - 1)]);
    }
    require((status == ATTNZOO_STATUS_OK) == (attnzoo_last_error()[0] == '\0'));
}

static void set_some_parameter(attnzoo_module *module, struct subject *subject, struct random_source *source)
{
    int count;
    struct test_tensor *parameters = subject_parameters(subject, &count);
    if (count == 0)
        return;
    attnzoo_tensor *view = hostile_view(&parameters[random_between(source, 0, count - 1)], source);
    const char *mechanism = attnzoo_module_mechanism(module);
    int32_t known = attnzoo_item_count(mechanism, ATTNZOO_ITEM_PARAMETER);
    const char *name = attnzoo_item_text(mechanism, ATTNZOO_ITEM_PARAMETER, (int32_t)random_between(source, 0, known),
                                         ATTNZOO_FIELD_NAME);
    attnzoo_status status = attnzoo_module_set_parameter(module, name, view);
    require((status == ATTNZOO_STATUS_OK) == (attnzoo_last_error()[0] == '\0'));
    attnzoo_tensor_destroy(view);
}

void wrong_module(struct subject *subject, struct random_source *source, attnzoo_executor *executor)
{
    attnzoo_module *module = subject_unprepared(subject);
    for (int64_t changes = random_between(source, 1, 3); changes > 0; changes--) {
        if (random_chance(source, 0.5))
            set_some_option(module, source);
        else
            set_some_parameter(module, subject, source);
    }
    if (attnzoo_module_prepare(module) == ATTNZOO_STATUS_OK) {
        require(attnzoo_module_prepare(module) == ATTNZOO_STATUS_BAD_STATE);
        struct call call = right_call(subject);
        call.module = module;
        call.state = NULL;
        put(&call, subject, executor);
    } else {
        require(attnzoo_last_error()[0] != '\0');
    }
    attnzoo_module_destroy(module);
}

static void use_fields(struct subject *subject, struct random_source *source, attnzoo_state *state)
{
    int64_t length = attnzoo_state_length(state);
    int32_t field = (int32_t)random_between(source, -1, 3), rank;
    int64_t shape[ATTNZOO_RANK_MAX];
    attnzoo_state_field_shape(state, field, &rank, shape);
    attnzoo_tensor *first = hostile_view(hostile_tensor(subject, source), source);
    attnzoo_tensor *second = hostile_view(hostile_tensor(subject, source), source);
    bool sets = random_chance(source, 0.5);
    const attnzoo_tensor *fields[] = {first, second, NULL, NULL};
    attnzoo_status status = sets ? attnzoo_state_set_fields(state, fields, (int32_t)random_between(source, -1, 4))
                                 : attnzoo_state_get_field(state, field, first);
    require((status == ATTNZOO_STATUS_OK) == (attnzoo_last_error()[0] == '\0'));
    require((sets && status == ATTNZOO_STATUS_OK) || attnzoo_state_length(state) == length);
    require(attnzoo_state_length(state) <= attnzoo_state_capacity(state));
    attnzoo_tensor_destroy(first);
    attnzoo_tensor_destroy(second);
}

void wrong_state(struct subject *subject, struct random_source *source)
{
    attnzoo_state *state = NULL;
    int64_t batch = random_chance(source, 0.8) ? random_between(source, 0, 3) : hostile_number(source);
    int64_t capacity = random_chance(source, 0.8) ? random_between(source, 0, 12) : hostile_number(source);
    attnzoo_status status = attnzoo_state_create(&state, subject->module, batch, capacity);
    require((status == ATTNZOO_STATUS_OK) == (state != NULL));
    require((state == NULL) == (attnzoo_last_error()[0] != '\0'));
    for (int64_t uses = random_between(source, 1, 3); uses > 0 && state != NULL; uses--) {
        switch (random_between(source, 0, 3)) {
        case 0:
            attnzoo_state_truncate(state, hostile_number(source));
            break;
        case 1:
            if (subject->state != NULL && attnzoo_state_copy(state, subject->state) == ATTNZOO_STATUS_OK)
                require(attnzoo_state_length(state) == attnzoo_state_length(subject->state));
            break;
        default:
            use_fields(subject, source, state);
        }
    }
    attnzoo_state_destroy(state);
    /* A field may have been read into an input. */
    subject_restore(subject);
}

/* A view that may come of it is looked at from its first to its last element. */
static void look_at(attnzoo_tensor *view)
{
    if (view != NULL)
        require(attnzoo_tensor_element_count(view) == 0 || attnzoo_tensor_data(view) != NULL);
    attnzoo_tensor_destroy(view);
}

static attnzoo_status make_glimpses(attnzoo_tensor *const views[6], struct random_source *source)
{
    static const char text[] = "ab\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
    int64_t tile[3], step[3];
    int32_t axes = (int32_t)random_between(source, 0, 4), edge = (int32_t)random_between(source, -1, 2);
    attnzoo_tensor *view = NULL;
    attnzoo_status status;
    for (int axis = 0; axis < 3; axis++) {
        tile[axis] = random_chance(source, 0.7) ? random_between(source, 1, 4) : hostile_number(source);
        step[axis] = random_chance(source, 0.7) ? random_between(source, 1, 4) : hostile_number(source);
    }
    switch (random_between(source, 0, 5)) {
    case 0:
        return attnzoo_glimpse_tiles(views[0], axes, tile, step, edge, 1.0, views[1]);
    case 1:
        return attnzoo_glimpse_untile(views[0], axes, tile, step, edge, views[1]);
    case 2:
        return attnzoo_glimpse_embedding(views[0], views[1], views[2]);
    case 3:
        status = attnzoo_glimpse_tile_view(&view, views[0], axes, tile, step);
        look_at(view);
        return status;
    case 4:
        status = attnzoo_glimpse_flat_view(&view, views[0], axes - 1, (int32_t)random_between(source, 0, 4));
        look_at(view);
        return status;
    default:
        return attnzoo_glimpse_letters(text, random_between(source, 0, sizeof text - 1), text,
                                       random_between(source, 0, sizeof text - 1), random_between(source, -3, 2), NULL,
                                       views[0]);
    }
}

void wrong_helpers(struct subject *subject, struct random_source *source)
{
    attnzoo_tensor *views[6];
    for (int index = 0; index < 6; index++)
        views[index] = hostile_view(hostile_tensor(subject, source), source);
    int64_t first = hostile_number(source), step = hostile_number(source);
    attnzoo_status status =
        random_chance(source, 0.3) ? make_glimpses(views, source)
        : random_chance(source, 0.5)
            ? attnzoo_merge_contexts(views[0], views[1], views[2], views[3], views[4], views[5])
            : attnzoo_fill_sinusoidal_positions(views[0], first, step, (int32_t)random_between(source, -1, 2));
    require((status == ATTNZOO_STATUS_OK) == (attnzoo_last_error()[0] == '\0'));
    for (int index = 0; index < 6; index++)
        attnzoo_tensor_destroy(views[index]);
    subject_restore(subject);
}

void wrong_questions(struct random_source *source)
{
    const char *mechanism = attnzoo_mechanism_name((int32_t)random_between(source, -1, 7));
    const char *name = mechanism != NULL ? mechanism : random_chance(source, 0.5) ? "no_such_mechanism" : NULL;
    int32_t item = (int32_t)random_between(source, -1, 8), index = (int32_t)random_between(source, -1, 24);
    int32_t field = (int32_t)random_between(source, -1, 10), count = attnzoo_item_count(name, item);
    const char *text = attnzoo_item_text(name, item, index, field);
    require(text == NULL || (mechanism != NULL && index >= 0 && index < count));
    require(attnzoo_status_name((attnzoo_status)hostile_number(source)) != NULL);
    require(attnzoo_dtype_name((int32_t)hostile_number(source)) != NULL);
}
