/*
 * mask_operands.h: the mask that the command line describes, with the files behind it.
 */
#ifndef TOOLS_MASK_OPERANDS_H
#define TOOLS_MASK_OPERANDS_H

#include "arguments.h"
#include "operand.h"

/* All zero is nothing and may be freed. */
struct mask_operands {
    attnzoo_mask *mask;
    struct operand key_lengths;
    struct operand query_lengths;
    struct operand query_offset;
    struct operand allowed;
    struct operand bias;
    struct operand slopes;
    struct operand segments;
};

/* Reads what the arguments name and makes the mask. */
enum outcome mask_operands_read(struct mask_operands *operands, const struct run_arguments *arguments);

void mask_operands_free(struct mask_operands *operands);

#endif
