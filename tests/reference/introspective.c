/*
 * tests/reference/introspective.c: the step whose bounds are derived in introspective.h.
 */
#include "reference/introspective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double U = 0x1p-24;
static const double SMALLEST = 0x1p-149;

/* A number and how far its float32 computation may be off. */
struct bounded {
    double value, bound;
};

/* One step on its way. */
struct heads {
    const struct reference_introspective *problem;
    struct reference_bounded signals[REFERENCE_SIGNALS];
    int64_t length;
    const double *memory, *weights;
    struct reference_step *result;
};

static struct bounded at(const struct reference_bounded *numbers, int64_t place)
{
    return (struct bounded){numbers->value[place], numbers->bound[place]};
}

static void put(struct reference_bounded *numbers, int64_t place, struct bounded number)
{
    numbers->value[place] = number.value;
    numbers->bound[place] = number.bound;
}

/* A product without its rounding. */
static struct bounded times(struct bounded left, struct bounded right)
{
    return (struct bounded){left.value * right.value,
                            fabs(left.value) * right.bound + left.bound * fabs(right.value) + left.bound * right.bound};
}

static struct bounded rounded(struct bounded number, double roundings)
{
    number.bound += rounding_gamma(roundings) * (fabs(number.value) + number.bound) + SMALLEST;
    return number;
}

static struct bounded sum_of(struct bounded left, struct bounded right)
{
    return (struct bounded){left.value + right.value, left.bound + right.bound};
}

static struct bounded softplus(struct bounded x)
{
    x.value = fmax(x.value, 0.0) + log1p(exp(-fabs(x.value)));
    return x;
}

static struct bounded sigmoid(struct bounded x)
{
    return (struct bounded){1.0 / (1.0 + exp(-x.value)), 0.25 * x.bound};
}

/* Items 2 to 4: scores of count numbers to weights. */
static void softmax(struct bounded *numbers, int64_t count)
{
    double maximum = -(double)INFINITY, sum = 0.0, errors = 0.0;
    for (int64_t i = 0; i < count; i++)
        maximum = fmax(maximum, numbers[i].value);
    for (int64_t i = 0; i < count; i++) {
        double below = numbers[i].value - maximum;
        numbers[i] = (struct bounded){exp(below), rounding_of_weight(below, numbers[i].bound, count)};
        sum += numbers[i].value;
        errors += numbers[i].bound;
    }
    const struct row_rounding row = rounding_of_sum(count, sum, errors);
    for (int64_t i = 0; i < count; i++)
        numbers[i] =
            (struct bounded){numbers[i].value / sum, rounding_of_attention(&row, numbers[i].value, numbers[i].bound)};
}

/* Items d and e. */
static struct bounded cosine(const struct heads *heads, int64_t head, int64_t row)
{
    int64_t columns = heads->problem->columns;
    double key_squares = 0.0, row_squares = 0.0, product = 0.0, magnitude = 0.0, error_squares = 0.0;
    for (int64_t c = 0; c < columns; c++) {
        const struct bounded k = at(&heads->signals[REFERENCE_KEY], head * columns + c);
        double m = heads->memory[row * columns + c];
        key_squares += k.value * k.value;
        row_squares += m * m;
        product += k.value * m;
        magnitude += fabs(k.value * m);
        error_squares += k.bound * k.bound;
    }
    if (row_squares == 0.0 || (key_squares == 0.0 && error_squares == 0.0))
        return (struct bounded){0.0, 0.0};
    if (error_squares >= key_squares)
        return (struct bounded){0.0, 2.0};
    double norms = sqrt(key_squares) * sqrt(row_squares), turn = asin(sqrt(error_squares / key_squares));
    double roundings = rounding_gamma(1.5 * (double)columns + 4.0) * (magnitude / norms + turn);
    return (struct bounded){product / norms, turn + roundings + (double)columns * 0x1p-109};
}

/* Items f and g: what the gate lets through of content and the weighting before. */
static void gate(const struct heads *heads, int64_t head, struct bounded *gated)
{
    const struct bounded strength = rounded(softplus(at(&heads->signals[REFERENCE_STRENGTH], head)), 1.0);
    const struct bounded open = rounded(sigmoid(at(&heads->signals[REFERENCE_GATE], head)), 1.0);
    const struct bounded closed = rounded((struct bounded){1.0 - open.value, open.bound}, 1.0);
    for (int64_t i = 0; i < heads->length; i++)
        gated[i] = rounded(times(strength, cosine(heads, head, i)), 1.0);
    softmax(gated, heads->length);
    for (int64_t i = 0; i < heads->length; i++) {
        const struct bounded before = {heads->weights[head * heads->problem->rows + i], 0.0};
        gated[i] = rounded(sum_of(rounded(times(open, gated[i]), 2.0), rounded(times(closed, before), 2.0)), 1.0);
    }
}

/* Item h: w~(i) = sum_o wg(i - o) s(o), o from -S to S. */
static void shift(const struct heads *heads, int64_t head, const struct bounded *gated, struct bounded *shifted)
{
    int64_t count = heads->problem->shifts, reach = count / 2;
    struct bounded *shifts = calloc((size_t)count, sizeof *shifts);
    if (shifts == NULL)
        abort();
    for (int64_t o = 0; o < count; o++)
        shifts[o] = at(&heads->signals[REFERENCE_SHIFT], head * count + o);
    softmax(shifts, count);
    for (int64_t i = 0; i < heads->length; i++) {
        struct bounded sum = {0.0, 0.0};
        for (int64_t o = 0; o < count; o++) {
            int64_t from = (i - (o - reach)) % heads->length;
            sum = sum_of(sum, times(gated[from < 0 ? from + heads->length : from], shifts[o]));
        }
        shifted[i] = rounded(sum, (double)count + 1.0);
    }
    free(shifts);
}

/* A power relative to the largest w~, and what it may be. */
struct power {
    double value, lowest, highest;
};

static struct power power_of(struct bounded number, struct bounded exponent, double largest, double largest_error)
{
    double most = exponent.value + exponent.bound, least = number.value - number.bound;
    double highest = log((number.value + number.bound) / largest), below = log(number.value / largest);
    double rounding = U * most + (8.0 * most * (fabs(highest) + largest_error) + 4.0) * U;
    /* An error that reaches the number itself. */
    if (!(least > 0.0)) {
        double factor = highest > 0.0 ? most : fmax(exponent.value - exponent.bound, 1.0);
        double upper = number.value + number.bound > 0.0 ? exp(factor * highest + rounding) : 0.0;
        return (struct power){number.value > 0.0 ? exp(exponent.value * below) : 0.0, 0.0, upper};
    }
    double spread = fmax(highest - below, log(number.value / least));
    double error = most * spread + exponent.bound * fabs(below);
    error += U * most + (8.0 * most * (fabs(below) + spread + largest_error) + 4.0) * U;
    double value = exponent.value * below;
    return (struct power){exp(value), exp(value - error), exp(value + error)};
}

/* Item i, into the result. */
static void sharpen(const struct heads *heads, int64_t head, const struct bounded *shifted)
{
    struct bounded sharpening = softplus(at(&heads->signals[REFERENCE_SHARPENING], head));
    double largest = 0.0, largest_relative = 0.0, sum = 0.0, lowest = 0.0, highest = 0.0;
    struct power *powers = calloc((size_t)heads->length + 1, sizeof *powers);
    if (powers == NULL)
        abort();
    sharpening.value += 1.0;
    sharpening = rounded(sharpening, 1.0);
    for (int64_t i = 0; i < heads->length; i++)
        if (shifted[i].value > largest) {
            largest = shifted[i].value;
            largest_relative = shifted[i].bound / shifted[i].value;
        }
    for (int64_t i = 0; i < heads->length && largest > 0.0; i++) {
        powers[i] = power_of(shifted[i], sharpening, largest, largest_relative);
        sum += powers[i].value;
        lowest += powers[i].lowest;
        highest += powers[i].highest;
    }
    for (int64_t i = 0; i < heads->length && largest > 0.0; i++) {
        const struct power *p = &powers[i];
        double value = p->value / sum;
        double most = p->highest / (p->highest + fmax(lowest - p->lowest, 0.0) * (1.0 - 0x1p-40));
        double others = (highest - p->highest) * (1.0 + 0x1p-40);
        double least = p->lowest > 0.0 ? p->lowest / (p->lowest + fmax(others, 0.0)) : 0.0;
        double bound = fmax(isnan(most) ? 1.0 : most - value, value - least);
        bound += rounding_gamma((double)heads->length + 3.0) * (value + bound) + 0x1p-125;
        put(&heads->result->weights, head * heads->problem->rows + i, (struct bounded){value, bound});
    }
    free(powers);
}

/* Item j for one number of the memory: all erase, then all add. */
static struct bounded written(const struct heads *heads, int64_t row, int64_t column)
{
    const struct reference_introspective *problem = heads->problem;
    struct bounded number = {heads->memory[row * problem->columns + column], 0.0};
    for (int64_t head = 0; head < problem->writes; head++) {
        const struct bounded w = at(&heads->result->weights, (problem->reads + head) * problem->rows + row);
        struct bounded erased = sigmoid(at(&heads->signals[REFERENCE_ERASE], head * problem->columns + column));
        erased.bound += 3.0 * U;
        struct bounded kept = rounded(times(w, erased), 1.0);
        kept = rounded((struct bounded){1.0 - kept.value, kept.bound}, 1.0);
        number = rounded(times(number, kept), 1.0);
    }
    for (int64_t head = 0; head < problem->writes; head++) {
        const struct bounded w = at(&heads->result->weights, (problem->reads + head) * problem->rows + row);
        const struct bounded added = at(&heads->signals[REFERENCE_ADD], head * problem->columns + column);
        number = rounded(sum_of(number, rounded(times(w, added), 1.0)), 1.0);
    }
    return number;
}

static void write_memory(const struct heads *heads)
{
    int64_t columns = heads->problem->columns;
    for (int64_t row = 0; row < heads->length; row++)
        for (int64_t column = 0; column < columns; column++)
            put(&heads->result->memory, row * columns + column, written(heads, row, column));
}

/* Item k. */
static void read_memory(const struct heads *heads)
{
    const struct reference_introspective *problem = heads->problem;
    for (int64_t head = 0; head < problem->reads; head++)
        for (int64_t column = 0; column < problem->columns; column++) {
            struct bounded sum = {0.0, 0.0};
            double magnitude = 0.0;
            for (int64_t row = 0; row < heads->length; row++) {
                int64_t place = row * problem->columns + column;
                const struct bounded w = at(&heads->result->weights, head * problem->rows + row);
                struct bounded m = {heads->memory[place], 0.0};
                if (!problem->reads_before_write)
                    m = at(&heads->result->memory, place);
                sum = sum_of(sum, times(w, m));
                magnitude += (w.value + w.bound) * (fabs(m.value) + m.bound);
            }
            double count = (double)heads->length;
            sum.bound += rounding_gamma(count + 2.0) * magnitude + count * SMALLEST;
            put(&heads->result->read, head * problem->columns + column, sum);
        }
}

struct reference_step reference_introspective_step(const struct reference_introspective *problem, const double *query,
                                                   int64_t length, const double *memory, const double *weights)
{
    int64_t head_count = problem->reads + problem->writes;
    struct reference_step result = {.weights = reference_bounded_create(head_count * problem->rows),
                                    .memory = reference_bounded_create(problem->rows * problem->columns),
                                    .read = reference_bounded_create(problem->reads * problem->columns)};
    struct heads heads = {
        .problem = problem, .length = length, .memory = memory, .weights = weights, .result = &result};
    struct bounded *gated = calloc((size_t)length + 1, sizeof *gated);
    struct bounded *shifted = calloc((size_t)length + 1, sizeof *shifted);
    if (gated == NULL || shifted == NULL)
        abort();
    for (int signal = 0; signal < REFERENCE_SIGNALS; signal++)
        if (problem->layers[signal].weight != NULL)
            heads.signals[signal] = reference_project(&problem->layers[signal], query, 1);
    for (int64_t head = 0; head < head_count && length > 0; head++) {
        gate(&heads, head, gated);
        shift(&heads, head, gated, shifted);
        sharpen(&heads, head, shifted);
    }
    write_memory(&heads);
    read_memory(&heads);
    for (int signal = 0; signal < REFERENCE_SIGNALS; signal++)
        reference_bounded_destroy(&heads.signals[signal]);
    free(gated);
    free(shifted);
    return result;
}

void reference_step_destroy(struct reference_step *step)
{
    reference_bounded_destroy(&step->weights);
    reference_bounded_destroy(&step->memory);
    reference_bounded_destroy(&step->read);
}
