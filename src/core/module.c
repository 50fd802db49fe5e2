/*
 * core/module.c: attnzoo/module.h up to attnzoo_module_prepare(): making a module and giving it options and
 * parameters. Option texts are read in option_text.c; forward calls are in forward.c.
 */
#include "core/handles.h"

#include "base/checked.h"
#include "core/option_text.h"
#include "mechanisms/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_SIZE = 512 };

/* Writes names one after another, as far as they fit. */
static void list_name(char list[LIST_SIZE], const char *name)
{
    size_t used = strlen(list);
    snprintf(list + used, LIST_SIZE - used, "%s%s", used == 0 ? "" : ", ", name);
}

attnzoo_status attnzoo_core_module_create(attnzoo_module **module, const struct attnzoo_mechanism *mechanism)
{
    size_t option_bytes = (size_t)mechanism->option_count * sizeof(struct attnzoo_option_value);
    size_t parameter_bytes = (size_t)mechanism->parameter_count * sizeof(struct attnzoo_parameter_value);
    attnzoo_module *made = calloc(1, sizeof *made);
    struct attnzoo_option_value *options = calloc(1, option_bytes + 1);
    struct attnzoo_parameter_value *parameters = calloc(1, parameter_bytes + 1);
    if (made == NULL || options == NULL || parameters == NULL) {
        free(made);
        free(options);
        free(parameters);
        return attnzoo_base_fail_memory(sizeof *made + option_bytes + parameter_bytes);
    }
    for (int32_t i = 0; i < mechanism->option_count; i++)
        options[i].number = mechanism->options[i].default_value;
    made->kind = ATTNZOO_KIND_MODULE;
    made->instance = (struct attnzoo_instance){.mechanism = mechanism, .options = options, .parameters = parameters};
    *module = made;
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_module_create(attnzoo_module **module, const char *mechanism)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_POINTER(module);
    ATTNZOO_REQUIRE_POINTER(mechanism);
    const struct attnzoo_mechanism *found = attnzoo_registry_find(mechanism);
    if (found != NULL)
        return attnzoo_core_module_create(module, found);
    char list[LIST_SIZE] = "";
    for (int32_t i = 0; i < attnzoo_registry_count(); i++)
        list_name(list, attnzoo_registry_at(i)->name);
    return attnzoo_base_fail(ATTNZOO_STATUS_UNKNOWN_NAME, "there is no mechanism \"%.80s\"; there are: %s", mechanism,
                             list);
}

/* Frees what a prepare, finished or failed, has made. */
static void release(struct attnzoo_instance *instance)
{
    if (instance->prepared != NULL && instance->mechanism->release != NULL)
        instance->mechanism->release(instance);
    free(instance->prepared);
    instance->prepared = NULL;
}

void attnzoo_module_destroy(attnzoo_module *module)
{
    if (module == NULL || module->kind != ATTNZOO_KIND_MODULE)
        return;
    struct attnzoo_instance *instance = &module->instance;
    release(instance);
    for (int32_t i = 0; i < instance->mechanism->parameter_count; i++)
        free(instance->parameters[i].data);
    free(instance->parameters);
    free(instance->options);
    module->kind = 0;
    free(module);
}

const char *attnzoo_module_mechanism(const attnzoo_module *module)
{
    return module == NULL || module->kind != ATTNZOO_KIND_MODULE ? NULL : module->instance.mechanism->name;
}

static attnzoo_status check_changeable(const attnzoo_module *module, const char *name)
{
    ATTNZOO_REQUIRE_HANDLE(module, ATTNZOO_KIND_MODULE);
    ATTNZOO_REQUIRE_POINTER(name);
    ATTNZOO_REQUIRE(!module->is_prepared, ATTNZOO_STATUS_BAD_STATE,
                    "the module is prepared already and does not change any more");
    return ATTNZOO_STATUS_OK;
}

static attnzoo_status find_option(const attnzoo_module *module, const char *name, int32_t *index)
{
    attnzoo_status status = check_changeable(module, name);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    const struct attnzoo_mechanism *mechanism = module->instance.mechanism;
    char list[LIST_SIZE] = "";
    for (int32_t i = 0; i < mechanism->option_count; i++) {
        if (strcmp(mechanism->options[i].name, name) == 0) {
            *index = i;
            return ATTNZOO_STATUS_OK;
        }
        list_name(list, mechanism->options[i].name);
    }
    return attnzoo_base_fail(ATTNZOO_STATUS_UNKNOWN_NAME, "%s has no option \"%.80s\"; it has: %s", mechanism->name,
                             name, mechanism->option_count == 0 ? "none" : list);
}

static attnzoo_status store_option(attnzoo_module *module, int32_t index, double number)
{
    const struct attnzoo_option_spec *spec = &module->instance.mechanism->options[index];
    char text[ATTNZOO_NUMBER_TEXT_SIZE];
    /* Written so that NaN fails. */
    bool is_inside = number >= spec->minimum && number <= spec->maximum;
    ATTNZOO_REQUIRE(is_inside, ATTNZOO_STATUS_INVALID_ARGUMENT, "%s is %s, must be %s", spec->name,
                    attnzoo_base_number_text(text, number), spec->bounds_text);
    module->instance.options[index] = (struct attnzoo_option_value){.number = number, .is_set = true};
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_module_set_option_text(attnzoo_module *module, const char *name, const char *value)
{
    attnzoo_base_enter(__func__);
    int32_t index = 0;
    attnzoo_status status = find_option(module, name, &index);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    ATTNZOO_REQUIRE_POINTER(value);
    double number;
    status = attnzoo_core_read_option(&module->instance.mechanism->options[index], value, &number);
    return status == ATTNZOO_STATUS_OK ? store_option(module, index, number) : status;
}

static attnzoo_status set_number(attnzoo_module *module, const char *name, enum attnzoo_option_type type, double number)
{
    static const char *const types[] = {"float", "int", "bool", "choice"};
    int32_t index = 0;
    attnzoo_status status = find_option(module, name, &index);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    enum attnzoo_option_type has = module->instance.mechanism->options[index].type;
    ATTNZOO_REQUIRE(has == type, ATTNZOO_STATUS_INVALID_ARGUMENT, "%s is of type %s, not %s", name, types[has],
                    types[type]);
    return store_option(module, index, number);
}

attnzoo_status attnzoo_module_set_option_float(attnzoo_module *module, const char *name, double value)
{
    attnzoo_base_enter(__func__);
    return set_number(module, name, ATTNZOO_OPTION_FLOAT, value);
}

attnzoo_status attnzoo_module_set_option_int(attnzoo_module *module, const char *name, int64_t value)
{
    attnzoo_base_enter(__func__);
    return set_number(module, name, ATTNZOO_OPTION_INT, (double)value);
}

attnzoo_status attnzoo_module_set_option_bool(attnzoo_module *module, const char *name, int32_t value)
{
    attnzoo_base_enter(__func__);
    return set_number(module, name, ATTNZOO_OPTION_BOOL, value);
}

static attnzoo_status find_parameter(const attnzoo_module *module, const char *name, int32_t *index)
{
    attnzoo_status status = check_changeable(module, name);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    const struct attnzoo_mechanism *mechanism = module->instance.mechanism;
    char list[LIST_SIZE] = "";
    for (int32_t i = 0; i < mechanism->parameter_count; i++) {
        if (strcmp(mechanism->parameters[i].name, name) == 0) {
            *index = i;
            return ATTNZOO_STATUS_OK;
        }
        list_name(list, mechanism->parameters[i].name);
    }
    return attnzoo_base_fail(ATTNZOO_STATUS_UNKNOWN_NAME, "%s has no parameter \"%.80s\"; it has: %s", mechanism->name,
                             name, mechanism->parameter_count == 0 ? "none" : list);
}

attnzoo_status attnzoo_module_set_parameter(attnzoo_module *module, const char *name, const attnzoo_tensor *parameter)
{
    attnzoo_base_enter(__func__);
    int32_t index = 0;
    attnzoo_status status = find_parameter(module, name, &index);
    if (status != ATTNZOO_STATUS_OK)
        return status;
    ATTNZOO_REQUIRE_HANDLE(parameter, ATTNZOO_KIND_TENSOR);
    const struct attnzoo_parameter_spec *spec = &module->instance.mechanism->parameters[index];
    const struct attnzoo_view *view = &parameter->view;
    char shape[ATTNZOO_SHAPE_TEXT_SIZE];
    ATTNZOO_REQUIRE(attnzoo_base_dtype_is_float(view->dtype), ATTNZOO_STATUS_DTYPE_MISMATCH,
                    "%s is %s, must be float32, float16 or bfloat16", name, attnzoo_base_dtype_name(view->dtype));
    ATTNZOO_REQUIRE(view->rank == spec->rank || spec->rank == 0, ATTNZOO_STATUS_SHAPE_MISMATCH,
                    "%s has shape %s, must be %s", name, attnzoo_base_shape_text(shape, view->rank, view->shape),
                    spec->shape);
    int64_t bytes;
    int64_t count = attnzoo_base_maximum(attnzoo_base_view_element_count(view), 1);
    float *data = attnzoo_base_float_bytes(count, &bytes) ? malloc((size_t)bytes) : NULL;
    if (data == NULL)
        return attnzoo_base_fail_memory((uint64_t)count * sizeof(float));
    struct attnzoo_parameter_value value = {.data = data};
    status = attnzoo_base_view_describe(&value.view, data, true, ATTNZOO_DTYPE_FLOAT32, view->rank, view->shape, NULL);
    if (status != ATTNZOO_STATUS_OK) {
        free(data);
        return status;
    }
    attnzoo_core_read_elements(data, view);
    free(module->instance.parameters[index].data);
    module->instance.parameters[index] = value;
    return ATTNZOO_STATUS_OK;
}

attnzoo_status attnzoo_module_prepare(attnzoo_module *module)
{
    attnzoo_base_enter(__func__);
    ATTNZOO_REQUIRE_HANDLE(module, ATTNZOO_KIND_MODULE);
    ATTNZOO_REQUIRE(!module->is_prepared, ATTNZOO_STATUS_BAD_STATE, "the module is prepared already");
    const struct attnzoo_mechanism *mechanism = module->instance.mechanism;
    for (int32_t i = 0; i < mechanism->parameter_count; i++)
        ATTNZOO_REQUIRE(!mechanism->parameters[i].is_required || module->instance.parameters[i].data != NULL,
                        ATTNZOO_STATUS_INVALID_ARGUMENT, "%s needs the parameter %s of shape %s, which is not set",
                        mechanism->name, mechanism->parameters[i].name, mechanism->parameters[i].shape);
    if (mechanism->prepared_bytes > 0) {
        module->instance.prepared = calloc(1, mechanism->prepared_bytes);
        if (module->instance.prepared == NULL)
            return attnzoo_base_fail_memory(mechanism->prepared_bytes);
    }
    if (mechanism->prepare != NULL) {
        attnzoo_status status = mechanism->prepare(&module->instance);
        if (status != ATTNZOO_STATUS_OK) {
            release(&module->instance);
            return status;
        }
    }
    module->is_prepared = true;
    return ATTNZOO_STATUS_OK;
}
