/*
 * tests/support/random.h: the random numbers of the tests, the same on every machine for the same seed.
 */
#ifndef ATTNZOO_TESTS_RANDOM_H
#define ATTNZOO_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random_source {
    uint64_t state;
};

uint64_t random_bits(struct random_source *source);

/* A whole number from lowest to highest, both included. */
int64_t random_between(struct random_source *source, int64_t lowest, int64_t highest);

double random_real(struct random_source *source, double lowest, double highest);

bool random_chance(struct random_source *source, double probability);

/* The number that an environment variable holds, or the fallback where it is not set. */
uint64_t number_from_environment(const char *name, uint64_t fallback);

#endif
