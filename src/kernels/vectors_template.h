/*
 * kernels/vectors_template.h: the one source of the row kernels. Each vectors_*.c sets the vector width and the
 * table's name and includes it; the build gives each file its instruction set. The lanes are in lanes.h.
 */
#include "kernels/vectors.h"

#include "kernels/lanes.h"

/* Numbers of lanes are multiplied as int and added to places as int64_t; all of them are small.
 * NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result) */

/*
 * exp(x) = 2^n 2^r with n = round(x / ln 2), |r| <= 1/2; 2^r by a polynomial, fitted for the least relative error
 * (3e-9 with these coefficients). Adding and subtracting 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
 */
static const float ROUNDING = 12582912.0f;
/* log2 e, and what the float leaves of it. */
static const float LOG2_E = 1.44269504088896341f;
#if defined(__FMA__)
static const float LOG2_E_REST = 1.92596303e-8f;
#endif
/* ln 2 in two parts, the first short enough that its product with n is exact. */
static const float LN2_HIGH = 0.693359375f;
static const float LN2_LOW = -2.12194440e-4f;

/* Below the first, exp is subnormal; below the second, 0; above the third, infinite. */
static const float SMALLEST_NORMAL_EXPONENT = -87.3365402f;
static const float SMALLEST_EXPONENT = -104.0f;
static const float LARGEST_EXPONENT = 0x1.62e42ep+6f;

/* r, and n in the low bits of what is added to the bits of ROUNDING. */
static inline lanes reduce_exponent(lanes x, lanes *shifted)
{
#if FLT_EVAL_METHOD == 0
    *shifted = x * LOG2_E + ROUNDING;
#else
    /* Registers that hold more than a float does, as those of the x87, round in memory alone. */
    volatile lanes in_memory = x * LOG2_E + ROUNDING;
    *shifted = in_memory;
#endif
    lanes rounded = *shifted - ROUNDING;
#if defined(__FMA__)
    return fused(x, splat(LOG2_E_REST), fused(x, splat(LOG2_E), -rounded));
#else
    return ((x - rounded * LN2_HIGH) - rounded * LN2_LOW) * LOG2_E;
#endif
}

static inline lanes power_of_two(lanes r)
{
    lanes p = splat(1.53264612891e-4f);
    p = p * r + 1.33908062708e-3f;
    p = p * r + 9.61850583553e-3f;
    p = p * r + 5.55035993457e-2f;
    p = p * r + 2.40226477385e-1f;
    p = p * r + 6.93147182465e-1f;
    return p * r + 1.0f;
}

/* 2^(n + offset) as a float, from the low bits of shifted; n + offset within the exponents of normal floats. */
static inline lanes whole_power_of_two(lanes shifted, uint32_t offset)
{
    return (lanes)(((lanes_bits)shifted + (offset + 127u)) << 23);
}

/* For x whose exponential is normal and below 2^127, NaN included; anything else gives nonsense that the caller
 * replaces. */
static inline lanes exponential_of_normal(lanes x)
{
    lanes shifted;
    lanes r = reduce_exponent(x, &shifted);
    return power_of_two(r) * whole_power_of_two(shifted, 0);
}

static inline lanes exponential(lanes x)
{
    lanes shifted, bounded = at_least(x, splat(SMALLEST_EXPONENT));
    lanes power = power_of_two(reduce_exponent(bounded, &shifted));
    /* Added to the exponent's bits, so that 2^128 times less than 1 is no overflow. */
    lanes normal = (lanes)((lanes_bits)power + ((lanes_bits)shifted << 23));
    /* A subnormal float's bits are its value in units of 2^-149. Counting those units in ordinary floats never
     * computes with a subnormal, which many CPUs do slowly. */
    lanes_int is_subnormal = bounded < SMALLEST_NORMAL_EXPONENT;
    lanes units = power * whole_power_of_two(shifted, 149);
    lanes_int count = __builtin_convertvector(choose(is_subnormal, units, splat(0.0f)) + 0.5f, lanes_int);
    lanes result = choose(is_subnormal, (lanes)count, normal);
    result = choose(x < SMALLEST_EXPONENT, splat(0.0f), result);
    result = choose(x > LARGEST_EXPONENT, splat(INFINITY), result);
    /* NaN alone differs from itself. NOLINTNEXTLINE(misc-redundant-expression) */
    return choose(x != x, x, result);
}

/* exp(x) for a softmax, x <= 0 or NaN: a subnormal weight beside the maximum's 1 is as good as 0, and 0 is fast. */
static inline lanes softmax_weight(lanes x)
{
    return choose(x < SMALLEST_NORMAL_EXPONENT, splat(0.0f), exponential_of_normal(x));
}

/*
 * tanh(x) = 1 - 2 / (e^2x + 1); below 5/8, where that would lose the small result's last bits, x + x^3 p(x^2) with the
 * coefficients of the Cephes library's tanhf.
 */
static inline lanes hyperbolic_tangent(lanes x)
{
    lanes_bits sign = (lanes_bits)x & 0x80000000u;
    lanes magnitude = (lanes)((lanes_bits)x & 0x7fffffffu);
    /* From here on tanh rounds to 1. */
    lanes bounded = choose(magnitude < 9.1f, magnitude, splat(9.1f));
    lanes large = 1.0f - 2.0f / (exponential_of_normal(bounded + bounded) + 1.0f);
    lanes square = bounded * bounded;
    lanes p = splat(-5.70498872745e-3f);
    p = p * square + 2.06390887954e-2f;
    p = p * square - 5.37397155531e-2f;
    p = p * square + 1.33314422036e-1f;
    p = p * square - 3.33332819422e-1f;
    lanes small = p * square * magnitude + magnitude;
    lanes result = (lanes)((lanes_bits)choose(magnitude < 0.625f, small, large) | sign);
    /* NaN alone differs from itself. NOLINTNEXTLINE(misc-redundant-expression) */
    return choose(x != x, x, result);
}

#define INLINED static inline __attribute__((always_inline))

/* Applies an expression of the lanes `x` to a row in place; the last, partial vector is filled with zeros. */
#define FOR_EACH_LANES(row, count, expression)                                                                         \
    do {                                                                                                               \
        int64_t i = 0;                                                                                                 \
        for (; i + LANES <= (count); i += LANES) {                                                                     \
            lanes x = load((row) + i);                                                                                 \
            store((row) + i, (expression));                                                                            \
        }                                                                                                              \
        if (i < (count)) {                                                                                             \
            lanes x = load_part((row) + i, (count)-i, 0.0f);                                                           \
            store_part((row) + i, (expression), (count)-i);                                                            \
        }                                                                                                              \
    } while (0)

static void exponentials(float *values, int64_t count)
{
    FOR_EACH_LANES(values, count, exponential(x));
}

static void hyperbolic_tangents(float *values, int64_t count)
{
    FOR_EACH_LANES(values, count, hyperbolic_tangent(x));
}

static void cap_scores(float *scores, int64_t count, float cap)
{
    FOR_EACH_LANES(scores, count, cap * hyperbolic_tangent(x / cap));
}

static void saturate(float *scores, int64_t count)
{
    FOR_EACH_LANES(scores, count, raised_to(x, splat(-FLT_MAX)));
}

static float maximum(const float *values, int64_t count)
{
    enum { PARTS = 4 };
    lanes largest[PARTS];
    for (int part = 0; part < PARTS; part++)
        largest[part] = splat(-INFINITY);
    int64_t i = 0;
    for (; i + PARTS * LANES <= count; i += PARTS * LANES)
        for (int part = 0; part < PARTS; part++)
            largest[part] = at_least(load(values + i + part * LANES), largest[part]);
    for (; i + LANES <= count; i += LANES)
        largest[0] = at_least(load(values + i), largest[0]);
    if (i < count)
        largest[1] = at_least(load_part(values + i, count - i, -INFINITY), largest[1]);
    return largest_lane(at_least(at_least(largest[0], largest[1]), at_least(largest[2], largest[3])));
}

static float softmax_weights(float *scores, int64_t count, float row_maximum)
{
    lanes sum = splat(0.0f), second = sum;
    int64_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        lanes weight = softmax_weight(load(scores + i) - row_maximum);
        lanes next = softmax_weight(load(scores + i + LANES) - row_maximum);
        store(scores + i, weight);
        store(scores + i + LANES, next);
        sum += weight;
        second += next;
    }
    for (; i + LANES <= count; i += LANES) {
        lanes weight = softmax_weight(load(scores + i) - row_maximum);
        store(scores + i, weight);
        sum += weight;
    }
    if (i < count) {
        lanes weight = softmax_weight(load_part(scores + i, count - i, -INFINITY) - row_maximum);
        store_part(scores + i, weight, count - i);
        second += weight;
    }
    return sum_of_lanes(sum + second);
}

static inline lanes weighted_tanh(const float *weights, const float *left, const float *right, const float *extra)
{
    lanes sum = load(left) + load(right);
    return load(weights) * hyperbolic_tangent(extra == NULL ? sum : sum + load(extra));
}

/* Inlined twice, with extra and without. */
INLINED float sum_weighted_tanhs(const float *weights, const float *left, const float *right, const float *extra,
                                 int64_t count)
{
    lanes sum = splat(0.0f), second = sum;
    int64_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        const float *next = extra == NULL ? NULL : extra + i + LANES;
        sum += weighted_tanh(weights + i, left + i, right + i, extra == NULL ? NULL : extra + i);
        second += weighted_tanh(weights + i + LANES, left + i + LANES, right + i + LANES, next);
    }
    for (; i + LANES <= count; i += LANES)
        sum += weighted_tanh(weights + i, left + i, right + i, extra == NULL ? NULL : extra + i);
    if (i < count) {
        lanes x = load_part(left + i, count - i, 0.0f) + load_part(right + i, count - i, 0.0f);
        if (extra != NULL)
            x += load_part(extra + i, count - i, 0.0f);
        second += load_part(weights + i, count - i, 0.0f) * hyperbolic_tangent(x);
    }
    return sum_of_lanes(sum + second);
}

static float tanh_dot(const float *weights, const float *left, const float *right, const float *extra, int64_t count)
{
    if (extra == NULL)
        return sum_weighted_tanhs(weights, left, right, NULL, count);
    return sum_weighted_tanhs(weights, left, right, extra, count);
}

static void scale(float *destination, const float *source, int64_t count, float factor)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store(destination + i, load(source + i) * factor);
    for (; i < count; i++)
        destination[i] = source[i] * factor;
}

static void add_value(float *values, int64_t count, float value)
{
    FOR_EACH_LANES(values, count, x + value);
}

static float sum(const float *values, int64_t count)
{
    lanes first = splat(0.0f), second = first;
    int64_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        first += load(values + i);
        second += load(values + i + LANES);
    }
    for (; i + LANES <= count; i += LANES)
        first += load(values + i);
    if (i < count)
        second += load_part(values + i, count - i, 0.0f);
    return sum_of_lanes(first + second);
}

static void add_scaled(float *destination, const float *source, int64_t count, float factor)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store(destination + i, load(destination + i) + load(source + i) * factor);
    for (; i < count; i++)
        destination[i] += source[i] * factor;
}

#if ATTNZOO_VECTOR_BYTES == 64
/* A square of lanes: blocks of 1, 2, 4 and 8 change places across its diagonal. */
INLINED void transpose_square(lanes square[LANES])
{
#pragma GCC unroll 4
    for (int width = 1; width < LANES; width *= 2) {
        lanes_int upper_lanes = {0}, lower_lanes = {0};
        for (int lane = 0; lane < LANES; lane++) {
            bool is_left = (lane & width) == 0;
            upper_lanes[lane] = is_left ? lane : LANES + lane - width;
            lower_lanes[lane] = is_left ? lane + width : LANES + lane;
        }
#pragma GCC unroll 16
        for (int row = 0; row < LANES; row++) {
            if ((row & width) != 0)
                continue;
            lanes upper = square[row], lower = square[row + width];
            square[row] = lanes_of_two(upper, lower, upper_lanes);
            square[row + width] = lanes_of_two(upper, lower, lower_lanes);
        }
    }
}
#else
static inline void transpose_square(lanes square[LANES])
{
    for (int row = 0; row < LANES; row++)
        for (int column = 0; column < row; column++) {
            float kept = square[row][column];
            square[row][column] = square[column][row];
            square[column][row] = kept;
        }
}
#endif

/* Up to LANES rows and columns. */
INLINED void transpose_part(float *destination, int64_t destination_step, const float *source, int64_t source_step,
                            int64_t rows, int64_t columns)
{
    lanes square[LANES];
#pragma GCC unroll 16
    for (int64_t i = 0; i < LANES; i++)
        square[i] = i < rows ? load_part(source + i * source_step, columns, 0.0f) : splat(0.0f);
    transpose_square(square);
#pragma GCC unroll 16
    for (int64_t i = 0; i < LANES; i++)
        if (i < columns)
            store_part(destination + i * destination_step, square[i], rows);
}

static void transpose(float *destination, int64_t destination_step, const float *source, int64_t source_step,
                      int64_t rows, int64_t columns)
{
    for (int64_t row = 0; row < rows; row += LANES)
        for (int64_t column = 0; column < columns; column += LANES) {
            float *to = destination + column * destination_step + row;
            const float *from = source + row * source_step + column;
            int64_t row_count = rows - row < LANES ? rows - row : LANES;
            int64_t column_count = columns - column < LANES ? columns - column : LANES;
            /* A whole square is left to the compiler as constants. */
            /* cppcheck-suppress knownConditionTrueFalse; it overlooks that both may be LANES */
            if (row_count == LANES && column_count == LANES)
                transpose_part(to, destination_step, from, source_step, LANES, LANES);
            else
                transpose_part(to, destination_step, from, source_step, row_count, column_count);
        }
}

static inline lanes biased(lanes score, lanes bias)
{
    return choose(bias == -INFINITY, splat(-INFINITY), raised_to(score + bias, splat(-FLT_MAX)));
}

static void add_bias(float *scores, const float *bias, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store(scores + i, biased(load(scores + i), load(bias + i)));
    if (i < count)
        store_part(scores + i, biased(load_part(scores + i, count - i, 0.0f), load_part(bias + i, count - i, 0.0f)),
                   count - i);
}

static void add_linear_bias(float *scores, int64_t count, float slope, int64_t distance)
{
    lanes lane_number = {0};
    for (int lane = 0; lane < LANES; lane++)
        lane_number[lane] = (float)lane;
    for (int64_t i = 0; i < count; i += LANES) {
        int64_t left = count - i < LANES ? count - i : LANES;
        lanes away = (float)(distance - i) - lane_number;
        away = (lanes)((lanes_bits)away & 0x7fffffffu);
        lanes sum = load_part(scores + i, left, 0.0f) - slope * away;
        store_part(scores + i, raised_to(sum, splat(-FLT_MAX)), left);
    }
}

static inline lanes_int load_allowed(const uint8_t *allowed)
{
    lanes_bytes bytes;
    memcpy(&bytes, allowed, sizeof bytes);
#if ATTNZOO_VECTOR_BYTES == 64
    /* Here and below gcc 12 does not see the instruction, and goes byte by byte. */
    return (lanes_int)_mm512_cvtepu8_epi32((__m128i)bytes);
#elif ATTNZOO_VECTOR_BYTES == 32
    return (lanes_int)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)&bytes));
#else
    return __builtin_convertvector(bytes, lanes_int);
#endif
}

static inline lanes hidden(lanes score, lanes_int allowed, float lowest)
{
    return choose(allowed == 0, splat(-INFINITY), raised_to(score, splat(lowest)));
}

static void hide(float *scores, const uint8_t *allowed, int64_t count, float lowest)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store(scores + i, hidden(load(scores + i), load_allowed(allowed + i), lowest));
    if (i < count) {
        uint8_t last[LANES] = {0};
        memcpy(last, allowed + i, (size_t)(count - i));
        store_part(scores + i, hidden(load_part(scores + i, count - i, 0.0f), load_allowed(last), lowest), count - i);
    }
}

static bool all_finite(const float *values, int64_t count)
{
    lanes nothing = splat(0.0f);
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        nothing += load(values + i) * 0.0f;
    if (i < count)
        nothing += load_part(values + i, count - i, 0.0f) * 0.0f;
    return sum_of_lanes(nothing) == 0.0f;
}

static void widen_float16(float *destination, const uint16_t *source, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store(destination + i, widen_half(source + i));
    if (i < count) {
        uint16_t last[LANES] = {0};
        memcpy(last, source + i, (size_t)(count - i) * sizeof(uint16_t));
        store_part(destination + i, widen_half(last), count - i);
    }
}

static void widen_bfloat16(float *destination, const uint16_t *source, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store(destination + i, widen_brain_half(source + i));
    if (i < count) {
        uint16_t last[LANES] = {0};
        memcpy(last, source + i, (size_t)(count - i) * sizeof(uint16_t));
        store_part(destination + i, widen_brain_half(last), count - i);
    }
}

#include "kernels/vectors_weighting.h"

/* Pieces of products whose sums fit the registers: 32 of them with AVX-512, else 16. */
enum {
    PIECE = 4,
    SCORE_ROWS = ATTNZOO_VECTOR_BYTES == 64 ? 4 : 2,
    ADD_ROWS = 2,
    ADD_VECTORS = 8,
    VECTORS_OF_ROWS = ATTNZOO_VECTOR_BYTES == 64 ? 8 : 4,
    KEYS_AT_A_TIME = 32,
    /* To __builtin_prefetch: needed once. */
    NOT_AGAIN = 0
};

#define UNROLLED _Pragma("GCC unroll 8")

#define ELEMENT float
#define LINE 16
#define NAMED(name) name##_float32
#define WIDEN(source) load(source)
#include "kernels/few_rows_template.h"

#define ELEMENT uint16_t
#define LINE 32
#define NAMED(name) name##_float16
#define WIDEN(source) widen_half(source)
#include "kernels/few_rows_template.h"

#define ELEMENT uint16_t
#define LINE 32
#define NAMED(name) name##_bfloat16
#define WIDEN(source) widen_brain_half(source)
#include "kernels/few_rows_template.h"

const struct attnzoo_vectors ATTNZOO_VECTORS_TABLE = {
    .exponentials = exponentials,
    .hyperbolic_tangents = hyperbolic_tangents,
    .cap_scores = cap_scores,
    .maximum = maximum,
    .softmax_weights = softmax_weights,
    .tanh_dot = tanh_dot,
    .scale = scale,
    .add_value = add_value,
    .sum = sum,
    .transpose = transpose,
    .add_scaled = add_scaled,
    .saturate = saturate,
    .add_bias = add_bias,
    .add_linear_bias = add_linear_bias,
    .hide = hide,
    .all_finite = all_finite,
    .sum_of_squares = sum_of_squares,
    .multiply = multiply,
    .powers = powers,
    .erase = erase,
    .widen_float16 = widen_float16,
    .widen_bfloat16 = widen_bfloat16,
    .few_rows_float32 = {score_float32, add_float32},
    .few_rows_float16 = {score_float16, add_float16},
    .few_rows_bfloat16 = {score_bfloat16, add_bfloat16},
};

/* NOLINTEND(bugprone-implicit-widening-of-multiplication-result) */
