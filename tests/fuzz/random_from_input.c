/*
 * random_from_input.c: the functions of support/random.h, linked in their place, so that the plans of random cases follow
 * the input: each choice takes a byte or a few, which a fuzzer can change by themselves. Real numbers, which fill
 * tensors, and choices beyond the input's end come from a generator that the input's first bytes start.
 */
#include "random_from_input.h"

#include <stdlib.h>

static const uint8_t *bytes;
static size_t left;
static uint64_t generator;

static uint64_t generate(void)
{
    generator += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t bits = generator;
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

static uint64_t take(size_t count)
{
    if (left < count)
        return generate();
    uint64_t number = 0;
    for (size_t index = 0; index < count; index++)
        number = number << 8 | bytes[index];
    bytes += count;
    left -= count;
    return number;
}

void random_follow(const uint8_t *data, size_t size)
{
    bytes = data;
    left = size;
    generator = take(size < 2 ? size : 2);
}

bool random_input_is_spent(void)
{
    return left == 0;
}

uint64_t random_bits(struct random_source *source)
{
    (void)source;
    return take(8);
}

int64_t random_between(struct random_source *source, int64_t lowest, int64_t highest)
{
    (void)source;
    uint64_t choices = (uint64_t)highest - (uint64_t)lowest + 1;
    uint64_t drawn = choices == 1 ? 0
                                  : take(choices <= 256 && choices > 0     ? 1
                                         : choices <= 65536 && choices > 0 ? 2
                                                                           : 8);
    return (int64_t)((uint64_t)lowest + (choices == 0 ? drawn : drawn % choices));
}

double random_real(struct random_source *source, double lowest, double highest)
{
    (void)source;
    return lowest + (highest - lowest) * ((double)(generate() >> 11) * 0x1p-53);
}

bool random_chance(struct random_source *source, double probability)
{
    (void)source;
    return (double)(take(1) & 255) < probability * 256.0;
}

uint64_t number_from_environment(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : fallback;
}
