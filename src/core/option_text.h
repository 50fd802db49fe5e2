/*
 * core/option_text.h: reads an option's value from text.
 */
#ifndef ATTNZOO_CORE_OPTION_TEXT_H
#define ATTNZOO_CORE_OPTION_TEXT_H

#include "base/common.h"
#include "mechanisms/mechanism.h"

/** The number that the whole of text stands for, bounds not yet checked. */
attnzoo_status attnzoo_core_read_option(const struct attnzoo_option_spec *spec, const char *text, double *number);

#endif
