/*
 * mechanisms/registry.c: the table of all mechanisms. A new mechanism is one file beside this one and one row here.
 */
#include "mechanisms/registry.h"

#include <string.h>

extern const struct attnzoo_mechanism attnzoo_mechanism_scaled_dot_product;
extern const struct attnzoo_mechanism attnzoo_mechanism_multi_head;
extern const struct attnzoo_mechanism attnzoo_mechanism_relative_multi_head;
extern const struct attnzoo_mechanism attnzoo_mechanism_additive;
extern const struct attnzoo_mechanism attnzoo_mechanism_general;
extern const struct attnzoo_mechanism attnzoo_mechanism_concat;
extern const struct attnzoo_mechanism attnzoo_mechanism_hard;
extern const struct attnzoo_mechanism attnzoo_mechanism_location_aware;
extern const struct attnzoo_mechanism attnzoo_mechanism_location;
extern const struct attnzoo_mechanism attnzoo_mechanism_customizing;
extern const struct attnzoo_mechanism attnzoo_mechanism_introspective;

static const struct attnzoo_mechanism *const mechanisms[] = {
    &attnzoo_mechanism_scaled_dot_product,
    &attnzoo_mechanism_multi_head,
    &attnzoo_mechanism_relative_multi_head,
    &attnzoo_mechanism_additive,
    &attnzoo_mechanism_general,
    &attnzoo_mechanism_concat,
    &attnzoo_mechanism_hard,
    &attnzoo_mechanism_location_aware,
    &attnzoo_mechanism_location,
    &attnzoo_mechanism_customizing,
    &attnzoo_mechanism_introspective,
};

int32_t attnzoo_registry_count(void)
{
    return (int32_t)(sizeof mechanisms / sizeof mechanisms[0]);
}

const struct attnzoo_mechanism *attnzoo_registry_at(int32_t index)
{
    return index >= 0 && index < attnzoo_registry_count() ? mechanisms[index] : NULL;
}

const struct attnzoo_mechanism *attnzoo_registry_find(const char *name)
{
    for (int32_t i = 0; i < attnzoo_registry_count(); i++)
        if (strcmp(mechanisms[i]->name, name) == 0)
            return mechanisms[i];
    return NULL;
}
