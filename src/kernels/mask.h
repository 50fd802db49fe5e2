/*
 * kernels/mask.h: masks as the kernels use them. A description is what the user set; resolving it against a
 * call's B, H, N and M checks it and gives a mask that answers three questions: which span of keys positions and
 * lengths leave a query, whether a tile needs any work, and what it does to a row of scores.
 */
#ifndef ATTNZOO_KERNELS_MASK_H
#define ATTNZOO_KERNELS_MASK_H

#include "base/common.h"
#include "base/view.h"
#include "kernels/grid.h"

#include <attnzoo/mask.h>

/** A constraint or bias given by a tensor; is_set is false where there is none. */
struct attnzoo_mask_tensor {
    struct attnzoo_view view;
    bool is_set;
};

/** What the user set. All zero bytes, but for the windows, hide nothing. */
struct attnzoo_mask_description {
    bool is_causal;
    /** -1 for no limit. */
    int64_t window_left;
    int64_t window_right;
    int32_t alignment;
    bool has_offset;
    int64_t offset;
    struct attnzoo_mask_tensor offsets;
    struct attnzoo_mask_tensor key_lengths;
    struct attnzoo_mask_tensor query_lengths;
    struct attnzoo_mask_tensor allowed;
    struct attnzoo_mask_tensor bias;
    struct attnzoo_mask_tensor slopes;
    struct attnzoo_mask_tensor segments;
};

enum { ATTNZOO_MASK_TENSOR_COUNT = 7 };

/** A bias that is a step function of the distance from query to key: key less the query's position. */
struct attnzoo_distance_bias {
    /** [step_count], rising: the first distance of each step; the first step has all smaller ones, too. */
    const int64_t *first;
    /** [H, step_count] */
    const float *values;
    int64_t step_count;
    /** Some value is -infinity, which hides. */
    bool may_hide;
};

/** The tensors of a description that are set, for overlap checks; returns how many were written. */
int32_t attnzoo_mask_tensors(const struct attnzoo_mask_description *description,
                             const struct attnzoo_view *views[ATTNZOO_MASK_TENSOR_COUNT]);

/** Keys [first, end) of a query; empty where end <= first. */
struct attnzoo_key_span {
    int64_t first;
    int64_t end;
};

/** A description that fits a call. Refers to the description, which must outlive it. */
struct attnzoo_mask_plan {
    const struct attnzoo_mask_description *description;
    int64_t batch_count;
    int64_t head_count;
    int64_t query_count;
    int64_t key_count;
    /** Broadcast to [B, H, N, M]: axes of size 1 have stride 0. */
    struct attnzoo_grid allowed;
    struct attnzoo_grid bias;
    /** Whether anything but spans of keys hides keys or changes scores. */
    bool is_dense;
    /** [B, H]: keys outside are hidden from the head, whatever the description says; NULL for none. */
    const struct attnzoo_key_span *head_spans;
    /** [B, N]: keys outside are hidden from the query, likewise; NULL for none. */
    const struct attnzoo_key_span *query_spans;
    /** Added to the scores beside what the description says; NULL for none. */
    const struct attnzoo_distance_bias *distance_bias;
};

/**
 * Checks a description against a call; NULL hides nothing. On OK the plan refers to description (or to a
 * constant for NULL).
 */
attnzoo_status attnzoo_mask_resolve(struct attnzoo_mask_plan *plan, const struct attnzoo_mask_description *description,
                                    int64_t batch_count, int64_t head_count, int64_t query_count, int64_t key_count);

/** Gives a plan a bias by distance, which must outlive it. */
void attnzoo_mask_add_distance_bias(struct attnzoo_mask_plan *plan, const struct attnzoo_distance_bias *bias);

/** Whether some bias may be -infinity, which hides. */
static inline bool attnzoo_mask_biases_may_hide(const struct attnzoo_mask_plan *plan)
{
    return plan->description->bias.is_set || (plan->distance_bias != NULL && plan->distance_bias->may_hide);
}

/** row[i] = the bias by distance of a query and key first_key + i, for plans that have one: mask_distance.c. */
void attnzoo_mask_fill_distance_row(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t head, int64_t query,
                                    int64_t first_key, int64_t count, float *row);

/**
 * What positions and lengths leave query i of a batch: neither end ever falls as i grows, but that queries past
 * their length have an empty span.
 */
struct attnzoo_key_span attnzoo_mask_span(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t query);

/** Whether positions, lengths or spans of heads or queries hide anything: if not, every span is all keys. */
bool attnzoo_mask_has_spans(const struct attnzoo_mask_plan *plan);

/** attnzoo_mask_span() for a query of a head, whose own spans count too. */
struct attnzoo_key_span attnzoo_mask_head_span(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t head,
                                               int64_t query);

/** The keys that positions and lengths leave any query of a batch. What lies outside is never to be read. */
struct attnzoo_key_span attnzoo_mask_batch_span(const struct attnzoo_mask_plan *plan, int64_t batch);

/** Keys from this index of a batch on are padding. */
int64_t attnzoo_mask_key_length(const struct attnzoo_mask_plan *plan, int64_t batch);

/** Where a query of a batch stands among the keys; clamped far outside every key rather than wrapped. */
int64_t attnzoo_mask_position(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t query);

/** Queries from this index of a batch on see nothing. */
int64_t attnzoo_mask_query_length(const struct attnzoo_mask_plan *plan, int64_t batch);

/** A rectangle of scores: some heads of one batch, one after another, each with the same queries and keys. */
struct attnzoo_tile {
    int64_t batch;
    int64_t first_head;
    int64_t head_count;
    int64_t first_query;
    int64_t query_count;
    int64_t first_key;
    int64_t key_count;
    /** Its rows meet it a few at a time, in products so small that the BLAS does not copy their operands. */
    bool has_short_strips;
};

/** What the dense constraints (boolean mask and segments) do to a tile. */
enum attnzoo_tile_cover { ATTNZOO_TILE_HIDDEN, ATTNZOO_TILE_MIXED, ATTNZOO_TILE_CLEAR };

/** segments_are_spans: segments hide nothing within the spans. */
enum attnzoo_tile_cover attnzoo_mask_tile_cover(const struct attnzoo_mask_plan *plan, const struct attnzoo_tile *tile,
                                                bool segments_are_spans);

/* Segments, for plans that have them: mask_segments.c. */

/**
 * Narrows the spans of a block's rows to the keys of each query's own segment, where these lie side by side. Returns
 * whether they do for all rows: then segments hide nothing more within the spans.
 */
bool attnzoo_mask_narrow_to_segments(const struct attnzoo_mask_plan *plan, const struct attnzoo_tile *block,
                                     struct attnzoo_key_span *spans);

enum attnzoo_tile_cover attnzoo_mask_segments_cover(const struct attnzoo_mask_plan *plan,
                                                    const struct attnzoo_tile *tile);

/** allowed[i] = whether key first_key + i is of the query's segment. */
void attnzoo_mask_fill_segment_row(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t query,
                                   int64_t first_key, int64_t count, uint8_t *allowed);

bool attnzoo_mask_is_one_segment(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t query, int64_t key);

/** Memory that applying a mask to rows of up to so many keys needs, in floats. */
int64_t attnzoo_mask_row_floats(int64_t key_count);

/**
 * Applies biases and, unless is_clear, dense constraints to the scores of one query against keys [first_key,
 * first_key + count). Hidden keys become -infinity; the others stay, or become, at least the lowest float. Does
 * nothing for a plan that is not dense. memory: attnzoo_mask_row_floats(count).
 */
void attnzoo_mask_apply(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t head, int64_t query,
                        int64_t first_key, int64_t count, bool is_clear, float *scores, float *memory);

/** Has what dense masks say of a query and some keys read ahead of its time. */
void attnzoo_mask_prefetch(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t head, int64_t query,
                           int64_t first_key, int64_t count);

/** Whether a query sees a key: spans, dense constraints and biases of -infinity together. */
bool attnzoo_mask_sees(const struct attnzoo_mask_plan *plan, int64_t batch, int64_t head, int64_t query, int64_t key);

#endif
