/*
 * tests/reference/general.c: attention by dot products by its definition, one query and one key after another.
 */
#include "reference/general.h"

#include <math.h>

void reference_general_score(const struct reference_additive *problem, const struct reference_projections *projections,
                             struct reference_row *row, int64_t batch, int64_t head, int64_t query, int64_t key)
{
    const struct reference_problem *mask = &problem->mask;
    int64_t size = problem->attention_size;
    int64_t key_head = head / (mask->heads / mask->key_heads);
    int64_t query_place = ((batch * mask->queries + query) * mask->heads + head) * size;
    int64_t key_place = ((batch * mask->keys + key) * mask->key_heads + key_head) * size;
    double scale = problem->sharpening;
    struct score_parts parts = {.terms = size, .softcap = mask->softcap};
    for (int64_t a = 0; a < size; a++) {
        double q = projections->query.value[query_place + a], q_error = projections->query.bound[query_place + a];
        double k = projections->key.value[key_place + a], k_error = projections->key.bound[key_place + a];
        parts.product += scale * q * k;
        parts.product_magnitude += fabs(scale) * (fabs(q) + q_error) * (fabs(k) + k_error);
        parts.product_error += fabs(scale) * (q_error * fabs(k) + fabs(q) * k_error + q_error * k_error);
    }
    parts.capped = mask->softcap > 0.0 ? mask->softcap * tanh(parts.product / mask->softcap) : parts.product;
    reference_row_add(row, mask, batch, head, query, key, parts.capped, rounding_of_score(&parts));
}

static void compute_row(const struct reference_additive *problem, const struct reference_projections *projections,
                        struct reference_row *row, int64_t batch, int64_t head, int64_t query)
{
    reference_row_clear(row);
    for (int64_t j = 0; j < problem->mask.keys; j++)
        if (reference_sees(&problem->mask, batch, head, query, j))
            reference_general_score(problem, projections, row, batch, head, query, j);
    reference_row_normalise(row);
}

struct reference_result reference_general_compute(const struct reference_additive *problem)
{
    struct reference_result result = reference_additive_result(problem);
    struct reference_projections projections = reference_projections_create(problem);
    struct reference_row row = reference_row_create(problem->mask.keys);
    for (int64_t b = 0; b < problem->mask.batch; b++)
        for (int64_t h = 0; h < problem->mask.heads; h++)
            for (int64_t i = 0; i < problem->mask.queries; i++) {
                compute_row(problem, &projections, &row, b, h, i);
                reference_additive_write(problem, &projections, &row, &result, b, h, i);
            }
    reference_row_destroy(&row);
    reference_projections_destroy(&projections);
    return result;
}
