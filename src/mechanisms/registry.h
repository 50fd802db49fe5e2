/*
 * mechanisms/registry.h: the table of all mechanisms.
 */
#ifndef ATTNZOO_MECHANISMS_REGISTRY_H
#define ATTNZOO_MECHANISMS_REGISTRY_H

#include "mechanisms/mechanism.h"

int32_t attnzoo_registry_count(void);

/** NULL if index is out of range. */
const struct attnzoo_mechanism *attnzoo_registry_at(int32_t index);

/** NULL if there is no such mechanism. */
const struct attnzoo_mechanism *attnzoo_registry_find(const char *name);

#endif
