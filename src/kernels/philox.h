/*
 * kernels/philox.h: the counter-based generator Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011, Parallel Random
 * Numbers: As Easy as 1, 2, 3, sections 3.3 and 3.4): a key and a counter of 128 bits give a block of 128 bits, by whole
 * numbers alone, so the same on every machine. There is no state, so any thread may draw any number at any time.
 */
#ifndef ATTNZOO_KERNELS_PHILOX_H
#define ATTNZOO_KERNELS_PHILOX_H

#include "base/common.h"

struct attnzoo_philox_block {
    uint32_t words[4];
};

static inline struct attnzoo_philox_block attnzoo_philox(struct attnzoo_philox_block counter, uint64_t key)
{
    enum { ROUNDS = 10 };
    const uint64_t multipliers[2] = {UINT64_C(0xd2511f53), UINT64_C(0xcd9e8d57)};
    const uint32_t steps[2] = {UINT32_C(0x9e3779b9), UINT32_C(0xbb67ae85)};
    uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t left = multipliers[0] * counter.words[0], right = multipliers[1] * counter.words[2];
        counter = (struct attnzoo_philox_block){{(uint32_t)(right >> 32) ^ counter.words[1] ^ low, (uint32_t)right,
                                                 (uint32_t)(left >> 32) ^ counter.words[3] ^ high, (uint32_t)left}};
        low += steps[0];
        high += steps[1];
    }
    return counter;
}

/** A number in (0, 1) from two words: the middles of 2^52 equal parts, the most that a double tells apart. */
static inline double attnzoo_philox_uniform(uint32_t high, uint32_t low)
{
    /* Signed, which every CPU converts by itself. */
    int64_t bits = (int64_t)(((uint64_t)high << 32 | low) >> 12);
    return ((double)bits + 0.5) * 0x1p-52;
}

#endif
