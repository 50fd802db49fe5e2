/*
 * tests/support/random.c: the generator splitmix64 (Steele, Lea and Flood 2014), and what is drawn from it.
 */
#include "support/random.h"

#include <stdlib.h>

uint64_t random_bits(struct random_source *source)
{
    source->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t bits = source->state;
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

int64_t random_between(struct random_source *source, int64_t lowest, int64_t highest)
{
    uint64_t choices = (uint64_t)(highest - lowest) + 1;
    return lowest + (int64_t)(random_bits(source) % choices);
}

double random_real(struct random_source *source, double lowest, double highest)
{
    double part = (double)(random_bits(source) >> 11) * 0x1p-53;
    return lowest + (highest - lowest) * part;
}

bool random_chance(struct random_source *source, double probability)
{
    return random_real(source, 0.0, 1.0) < probability;
}

uint64_t number_from_environment(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : fallback;
}
