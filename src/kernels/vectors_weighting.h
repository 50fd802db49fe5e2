/*
 * kernels/vectors_weighting.h: the row kernels that find and write the rows of a memory: norms, powers, erasing. A part of
 * vectors_template.h, which includes it once for each CPU path.
 */

/* Numbers of lanes are multiplied as int and added to places as int64_t; all of them are small.
 * NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result) */

/*
 * ln x for normal x > 0: x = 2^n m with m from sqrt(1/2) to sqrt(2), and ln m = 2 artanh(s), s = (m - 1) / (m + 1), by
 * the series of artanh, whose first term left out is below 2e-9 of it. Within 7 units of 2^-24 of the result.
 */
static inline lanes logarithm(lanes x)
{
    /* The bits of sqrt(1/2): from there on upwards n counts. */
    const uint32_t lowest = 0x3f3504f3u;
    lanes_bits above = (lanes_bits)x - lowest;
    lanes n = __builtin_convertvector((lanes_int)above >> 23, lanes);
    lanes m = (lanes)((above & 0x7fffffu) + lowest);
    lanes f = m - 1.0f;
    lanes s = f / (f + 2.0f);
    lanes square = s * s;
    lanes p = square * (1.0f / 9.0f) + 1.0f / 7.0f;
    p = p * square + 1.0f / 5.0f;
    p = p * square + 1.0f / 3.0f;
    lanes twice = s + s;
    return n * LN2_HIGH + (n * LN2_LOW + (twice * square * p + twice));
}

static float sum_of_squares(const float *values, int64_t count)
{
    lanes first = splat(0.0f), second = first;
    int64_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        lanes x = load(values + i), next = load(values + i + LANES);
        first += x * x;
        second += next * next;
    }
    for (; i + LANES <= count; i += LANES) {
        lanes x = load(values + i);
        first += x * x;
    }
    if (i < count) {
        lanes x = load_part(values + i, count - i, 0.0f);
        second += x * x;
    }
    return sum_of_lanes(first + second);
}

static void multiply(float *values, const float *factors, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store(values + i, load(values + i) * load(factors + i));
    for (; i < count; i++)
        values[i] *= factors[i];
}

static inline lanes power(lanes quotient, float exponent)
{
    lanes result = softmax_weight(logarithm(quotient) * exponent);
    result = choose(quotient < FLT_MIN, splat(0.0f), result);
    /* NaN alone differs from itself. NOLINTNEXTLINE(misc-redundant-expression) */
    return choose(quotient != quotient, quotient, result);
}

static void powers(float *values, int64_t count, float maximum_value, float exponent)
{
    if (exponent == 1.0f)
        FOR_EACH_LANES(values, count, x / maximum_value);
    else
        FOR_EACH_LANES(values, count, power(x / maximum_value, exponent));
}

static void erase(float *values, const float *amounts, int64_t count, float weight)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store(values + i, load(values + i) * (1.0f - load(amounts + i) * weight));
    for (; i < count; i++)
        values[i] *= 1.0f - amounts[i] * weight;
}

/* NOLINTEND(bugprone-implicit-widening-of-multiplication-result) */
