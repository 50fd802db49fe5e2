/*
 * tests/reference/hard.c: hard attention by its definition. The generator follows the description in Salmon et al. 2011.
 */
#include "reference/hard.h"

#include <math.h>
#include <stddef.h>

/* Philox4x32-10: counter and result are four words each. */
static void philox(uint32_t counter[4], uint64_t key)
{
    uint32_t k0 = (uint32_t)(key & UINT32_MAX), k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * counter[0];
        uint64_t b = (uint64_t)0xCD9E8D57u * counter[2];
        uint32_t mixed0 = (uint32_t)(b >> 32) ^ counter[1] ^ k0;
        uint32_t mixed2 = (uint32_t)(a >> 32) ^ counter[3] ^ k1;
        counter[1] = (uint32_t)(b & UINT32_MAX);
        counter[3] = (uint32_t)(a & UINT32_MAX);
        counter[0] = mixed0;
        counter[2] = mixed2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

double reference_hard_noise(uint64_t seed, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    uint32_t words[4] = {(uint32_t)(key / 2), (uint32_t)query, (uint32_t)head, (uint32_t)batch};
    philox(words, seed);
    const uint32_t *mine = words + 2 * (key % 2);
    double whole = floor(((double)mine[0] * 4294967296.0 + (double)(mine[1] & 0xfffff000u)) / 4096.0);
    double uniform = ldexp(whole + 0.5, -52);
    return -log(-log1p(-uniform));
}

static void add_score(const struct reference_hard *problem, const struct reference_projections *projections,
                      struct reference_row *row, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    if (problem->is_additive)
        reference_additive_score(&problem->model, projections, row, batch, head, query, key, NULL, NULL);
    else
        reference_general_score(&problem->model, projections, row, batch, head, query, key);
}

void reference_hard_row(const struct reference_hard *problem, const struct reference_projections *projections,
                        struct reference_row *row, int64_t batch, int64_t head, int64_t query)
{
    reference_row_clear(row);
    for (int64_t j = 0; j < row->keys; j++)
        if (reference_sees(&problem->model.mask, batch, head, query, j))
            add_score(problem, projections, row, batch, head, query, j);
    reference_row_normalise(row);
}

static double noise_of(const struct reference_hard *problem, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    return problem->is_sampled ? reference_hard_noise(problem->seed, batch, head, query, key) : 0.0;
}

int64_t reference_hard_choose(const struct reference_hard *problem, const struct reference_row *row, int64_t batch,
                              int64_t head, int64_t query)
{
    int64_t best = -1;
    double most = -INFINITY;
    for (int64_t j = 0; j < row->keys && !row->is_nan; j++) {
        double value = row->seen[j] ? row->score[j] + noise_of(problem, batch, head, query, j) : -INFINITY;
        if (value > most) {
            most = value;
            best = j;
        }
    }
    return best;
}

bool reference_hard_may_choose(const struct reference_hard *problem, const struct reference_row *row, int64_t batch,
                               int64_t head, int64_t query, int64_t key)
{
    if (row->is_nan || !row->sees_anything)
        return key == -1;
    if (key < 0 || key >= row->keys || !row->seen[key])
        return false;
    double slack = problem->is_sampled ? 1e-12 : 0.0;
    double mine = row->score[key] + noise_of(problem, batch, head, query, key);
    for (int64_t j = 0; j < row->keys; j++)
        if (row->seen[j] && row->score[j] + noise_of(problem, batch, head, query, j) - mine >
                                row->score_error[j] + row->score_error[key] + slack)
            return false;
    return true;
}

static double maximum_of(const struct reference_row *row)
{
    double maximum = -INFINITY;
    for (int64_t j = 0; j < row->keys; j++)
        if (row->seen[j])
            maximum = fmax(maximum, row->score[j]);
    return maximum;
}

double reference_hard_log_probability(const struct reference_row *row, int64_t key, double *bound)
{
    double log_probability = row->score[key] - maximum_of(row) - log(row->rounding.sum);
    double error = row->score_error[key] + rounding_of_log_sum_exp(&row->rounding, 0.0);
    *bound = error + rounding_gamma(1.0) * (fabs(log_probability) + error);
    return log_probability;
}

double reference_hard_entropy(const struct reference_row *row, double *bound)
{
    double entropy = 0.0, error = 0.0;
    for (int64_t j = 0; j < row->keys; j++) {
        if (!row->seen[j])
            continue;
        double log_error, log_probability = reference_hard_log_probability(row, j, &log_error);
        entropy -= row->weight[j] * log_probability;
        error += row->weight_error[j] * (fabs(log_probability) + log_error) + row->weight[j] * log_error;
        error += 88.0 * 0x1p-126;
    }
    *bound = error + rounding_gamma(1.0) * (entropy + error);
    return entropy;
}
