/*
 * tests/core/description_test.c: what the library tells about itself: status names, introspection, version, build
 * information, and the message of the last error.
 */
#include "support/testing.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void every_status_has_a_name(void **state)
{
    (void)state;
    const char *names[ATTNZOO_STATUS_SYSTEM + 1];
    for (attnzoo_status status = 0; status <= ATTNZOO_STATUS_SYSTEM; status++) {
        names[status] = attnzoo_status_name(status);
        assert_non_null(names[status]);
        assert_string_not_equal(names[status], "unknown status");
        assert_true(strlen(names[status]) > 1);
        for (attnzoo_status other = 0; other < status; other++)
            assert_string_not_equal(names[status], names[other]);
    }
    assert_string_equal(attnzoo_status_name(ATTNZOO_STATUS_SHAPE_MISMATCH), "shape mismatch");
    const attnzoo_status none[] = {-1, ATTNZOO_STATUS_SYSTEM + 1, INT32_MAX, INT32_MIN};
    for (int i = 0; i < 4; i++)
        assert_string_equal(attnzoo_status_name(none[i]), "unknown status");
}

static void versions_of_header_and_library_agree(void **state)
{
    (void)state;
    assert_int_equal(attnzoo_version_number(), ATTNZOO_VERSION_NUMBER);
    char text[64];
    snprintf(text, sizeof text, "%d.%d.%d", ATTNZOO_VERSION_MAJOR, ATTNZOO_VERSION_MINOR, ATTNZOO_VERSION_PATCH);
    assert_string_equal(attnzoo_version_string(), text);
}

static void build_information_is_one_line(void **state)
{
    (void)state;
    const char *text = attnzoo_build_information();
    assert_non_null(text);
    assert_true(strlen(text) > 10);
    assert_null(strchr(text, '\n'));
    assert_string_equal(attnzoo_build_information(), text);
    const char *products = getenv("ATTNZOO_PRODUCTS");
    assert_non_null(strstr(text, products != NULL && strcmp(products, "small") == 0   ? "; small products;"
                                 : products != NULL && strcmp(products, "large") == 0 ? "; large products;"
                                                                                      : " products;"));
}

static void assert_text(const char *mechanism, int32_t item, int32_t index, int32_t field)
{
    const char *text = attnzoo_item_text(mechanism, item, index, field);
    if (text == NULL)
        fail_msg("%s: item %d, index %d, field %d has no text", mechanism, (int)item, (int)index, (int)field);
    assert_true(text[0] != '\0');
    assert_null(strchr(text, '\n'));
}

static void assert_fields(const char *mechanism, int32_t item, const int32_t *fields, int field_count)
{
    int32_t count = attnzoo_item_count(mechanism, item);
    assert_true(count >= 0);
    for (int32_t index = 0; index < count; index++)
        for (int field = 0; field < field_count; field++)
            assert_text(mechanism, item, index, fields[field]);
    for (int32_t field = ATTNZOO_FIELD_NAME; field <= ATTNZOO_FIELD_FORMULA; field++) {
        assert_null(attnzoo_item_text(mechanism, item, count, field));
        assert_null(attnzoo_item_text(mechanism, item, -1, field));
        assert_null(attnzoo_item_text(mechanism, item, INT32_MAX, field));
    }
    assert_null(attnzoo_item_text(mechanism, item, 0, -1));
    assert_null(attnzoo_item_text(mechanism, item, 0, ATTNZOO_FIELD_FORMULA + 1));
}

static void every_mechanism_describes_itself(void **state)
{
    (void)state;
    const int32_t mechanism_fields[] = {ATTNZOO_FIELD_NAME, ATTNZOO_FIELD_SUMMARY, ATTNZOO_FIELD_FORMULA,
                                        ATTNZOO_FIELD_SOURCE};
    const int32_t option_fields[] = {ATTNZOO_FIELD_NAME, ATTNZOO_FIELD_SUMMARY, ATTNZOO_FIELD_TYPE,
                                     ATTNZOO_FIELD_DEFAULT, ATTNZOO_FIELD_BOUNDS};
    const int32_t tensor_fields[] = {ATTNZOO_FIELD_NAME, ATTNZOO_FIELD_SUMMARY, ATTNZOO_FIELD_SHAPE,
                                     ATTNZOO_FIELD_REQUIRED};
    assert_true(attnzoo_mechanism_count() >= 1);
    for (int32_t i = 0; i < attnzoo_mechanism_count(); i++) {
        const char *name = attnzoo_mechanism_name(i);
        assert_non_null(name);
        assert_int_equal(attnzoo_item_count(name, ATTNZOO_ITEM_MECHANISM), 1);
        assert_fields(name, ATTNZOO_ITEM_MECHANISM, mechanism_fields, 4);
        assert_string_equal(attnzoo_item_text(name, ATTNZOO_ITEM_MECHANISM, 0, ATTNZOO_FIELD_NAME), name);
        assert_fields(name, ATTNZOO_ITEM_OPTION, option_fields, 5);
        assert_fields(name, ATTNZOO_ITEM_PARAMETER, tensor_fields, 4);
        assert_fields(name, ATTNZOO_ITEM_STATE, tensor_fields, 4);
        assert_true(attnzoo_item_count(name, ATTNZOO_ITEM_INPUT) > ATTNZOO_INPUT_VALUE);
        assert_true(attnzoo_item_count(name, ATTNZOO_ITEM_OUTPUT) > ATTNZOO_OUTPUT_CONTEXT);
        attnzoo_module *module = NULL;
        assert_ok(attnzoo_module_create(&module, name));
        assert_string_equal(attnzoo_module_mechanism(module), name);
        attnzoo_module_destroy(module);
        for (int32_t other = 0; other < i; other++)
            assert_string_not_equal(attnzoo_mechanism_name(other), name);
    }
}

/* Types are of the four that there are, and the default of each option is one of its values, or a formula. */
static void options_can_be_set_to_their_defaults(void **state)
{
    (void)state;
    for (int32_t i = 0; i < attnzoo_mechanism_count(); i++) {
        const char *mechanism = attnzoo_mechanism_name(i);
        attnzoo_module *module = NULL;
        assert_ok(attnzoo_module_create(&module, mechanism));
        for (int32_t k = 0; k < attnzoo_item_count(mechanism, ATTNZOO_ITEM_OPTION); k++) {
            const char *name = attnzoo_item_text(mechanism, ATTNZOO_ITEM_OPTION, k, ATTNZOO_FIELD_NAME);
            const char *type = attnzoo_item_text(mechanism, ATTNZOO_ITEM_OPTION, k, ATTNZOO_FIELD_TYPE);
            const char *value = attnzoo_item_text(mechanism, ATTNZOO_ITEM_OPTION, k, ATTNZOO_FIELD_DEFAULT);
            assert_true(strcmp(type, "float") == 0 || strcmp(type, "int") == 0 || strcmp(type, "bool") == 0 ||
                        strcmp(type, "choice") == 0);
            char *end;
            strtod(value, &end);
            if (strcmp(type, "bool") == 0 || strcmp(type, "choice") == 0 || *end == '\0')
                assert_ok(attnzoo_module_set_option_text(module, name, value));
        }
        attnzoo_module_destroy(module);
    }
}

static void scaled_dot_product_has_what_the_headers_say(void **state)
{
    (void)state;
    const char *name = "scaled_dot_product";
    const char *options[] = {"scale", "softcap"};
    const char *inputs[] = {"query", "key", "value"};
    const char *input_shapes[] = {"[B, H, N, D]", "[B, G, M, D]", "[B, G, M, Dv]"};
    const char *outputs[] = {"context", "attention", "log_sum_exp"};
    const char *output_shapes[] = {"[B, H, N, Dv]", "[B, H, N, M]", "[B, H, N]"};
    assert_int_equal(attnzoo_item_count(name, ATTNZOO_ITEM_OPTION), 2);
    assert_int_equal(attnzoo_item_count(name, ATTNZOO_ITEM_PARAMETER), 0);
    assert_int_equal(attnzoo_item_count(name, ATTNZOO_ITEM_INPUT), 3);
    assert_int_equal(attnzoo_item_count(name, ATTNZOO_ITEM_OUTPUT), 3);
    for (int32_t i = 0; i < 3; i++) {
        assert_string_equal(attnzoo_item_text(name, ATTNZOO_ITEM_INPUT, i, ATTNZOO_FIELD_NAME), inputs[i]);
        assert_string_equal(attnzoo_item_text(name, ATTNZOO_ITEM_INPUT, i, ATTNZOO_FIELD_SHAPE), input_shapes[i]);
        assert_string_equal(attnzoo_item_text(name, ATTNZOO_ITEM_INPUT, i, ATTNZOO_FIELD_REQUIRED), "yes");
        assert_string_equal(attnzoo_item_text(name, ATTNZOO_ITEM_OUTPUT, i, ATTNZOO_FIELD_NAME), outputs[i]);
        assert_string_equal(attnzoo_item_text(name, ATTNZOO_ITEM_OUTPUT, i, ATTNZOO_FIELD_SHAPE), output_shapes[i]);
        assert_string_equal(attnzoo_item_text(name, ATTNZOO_ITEM_OUTPUT, i, ATTNZOO_FIELD_REQUIRED),
                            i == 0 ? "yes" : "no");
    }
    for (int32_t i = 0; i < 2; i++)
        assert_string_equal(attnzoo_item_text(name, ATTNZOO_ITEM_OPTION, i, ATTNZOO_FIELD_NAME), options[i]);
    assert_string_equal(attnzoo_item_text(name, ATTNZOO_ITEM_OPTION, 0, ATTNZOO_FIELD_DEFAULT), "1/sqrt(D)");
}

static void what_is_not_there_has_no_text(void **state)
{
    (void)state;
    const char *name = "scaled_dot_product";
    assert_null(attnzoo_mechanism_name(-1));
    assert_null(attnzoo_mechanism_name(attnzoo_mechanism_count()));
    assert_null(attnzoo_mechanism_name(INT32_MAX));
    assert_int_equal(attnzoo_item_count("no such", ATTNZOO_ITEM_OPTION), -1);
    assert_int_equal(attnzoo_item_count(NULL, ATTNZOO_ITEM_OPTION), -1);
    assert_int_equal(attnzoo_item_count(name, ATTNZOO_ITEM_STATE + 1), -1);
    assert_int_equal(attnzoo_item_count(name, -1), -1);
    assert_null(attnzoo_item_text("no such", ATTNZOO_ITEM_OPTION, 0, ATTNZOO_FIELD_NAME));
    assert_null(attnzoo_item_text(NULL, ATTNZOO_ITEM_OPTION, 0, ATTNZOO_FIELD_NAME));
    assert_null(attnzoo_item_text(name, -1, 0, ATTNZOO_FIELD_NAME));
    assert_null(attnzoo_item_text(name, ATTNZOO_ITEM_STATE + 1, 0, ATTNZOO_FIELD_NAME));
    /* Fields that a kind of item does not have. */
    assert_null(attnzoo_item_text(name, ATTNZOO_ITEM_OPTION, 0, ATTNZOO_FIELD_SHAPE));
    assert_null(attnzoo_item_text(name, ATTNZOO_ITEM_INPUT, 0, ATTNZOO_FIELD_DEFAULT));
    assert_null(attnzoo_item_text(name, ATTNZOO_ITEM_MECHANISM, 0, ATTNZOO_FIELD_TYPE));
}

static attnzoo_status fail_with(const char *name)
{
    attnzoo_module *module = NULL;
    return attnzoo_module_create(&module, name);
}

static attnzoo_status succeed(void)
{
    attnzoo_mask *mask = NULL;
    attnzoo_status status = attnzoo_mask_create(&mask);
    attnzoo_mask_destroy(mask);
    return status;
}

static void p51_a_message_does_not_outlive_a_success(void **state)
{
    (void)state;
    assert_ok(succeed());
    assert_string_equal(attnzoo_last_error(), "");
    assert_refused(fail_with("first"), ATTNZOO_STATUS_UNKNOWN_NAME, "first");
    /* Calls that return no status leave it alone. */
    attnzoo_version_string();
    attnzoo_tensor_rank(NULL);
    attnzoo_status_name(0);
    attnzoo_mask_destroy(NULL);
    assert_error_contains("first");
    assert_refused(fail_with("second"), ATTNZOO_STATUS_UNKNOWN_NAME, "second");
    assert_null(strstr(attnzoo_last_error(), "first"));
    assert_ok(succeed());
    assert_string_equal(attnzoo_last_error(), "");
}

enum { THREADS = 8, ROUNDS = 2000 };

static void *fail_in_own_words(void *argument)
{
    char name[32];
    snprintf(name, sizeof name, "thread-%d", *(const int *)argument);
    if (attnzoo_last_error()[0] != '\0')
        return "a new thread starts with a message";
    for (int i = 0; i < ROUNDS; i++) {
        if (fail_with(name) != ATTNZOO_STATUS_UNKNOWN_NAME || strstr(attnzoo_last_error(), name) == NULL)
            return "another thread's message";
        if (i % 16 == 0 && (succeed() != ATTNZOO_STATUS_OK || attnzoo_last_error()[0] != '\0'))
            return "a message after success";
    }
    return NULL;
}

static void p51_each_thread_has_its_own_message(void **state)
{
    (void)state;
    assert_refused(fail_with("main thread"), ATTNZOO_STATUS_UNKNOWN_NAME, "main thread");
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, fail_in_own_words, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *complaint;
        pthread_join(threads[i], &complaint);
        if (complaint != NULL)
            fail_msg("%s", (const char *)complaint);
    }
    assert_error_contains("main thread");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_name),
        cmocka_unit_test(versions_of_header_and_library_agree),
        cmocka_unit_test(build_information_is_one_line),
        cmocka_unit_test(every_mechanism_describes_itself),
        cmocka_unit_test(options_can_be_set_to_their_defaults),
        cmocka_unit_test(scaled_dot_product_has_what_the_headers_say),
        cmocka_unit_test(what_is_not_there_has_no_text),
        cmocka_unit_test(p51_a_message_does_not_outlive_a_success),
        cmocka_unit_test(p51_each_thread_has_its_own_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
