/*
 * kernels/few_rows_template.h: the products of a few rows for one element type of keys and values. Included by
 * vectors_template.h once a type, with
 *
 *   ELEMENT            the type
 *   LINE               how many of them fill 64 bytes, which is what a CPU fetches at once
 *   NAMED(name)        the type's name for a function
 *   WIDEN(source)      lanes from LANES elements
 *
 * A product is made of small pieces whose sums stay in registers: each is written once, with sizes that are constants
 * where it is called, so that the compiler unrolls it. Keys to come are fetched ahead: several rows are read side by
 * side, which a CPU's own foresight does not follow well. Where rows take turns with the same keys, the first fetches.
 * Fetched keys are not wanted again soon: on their way out they need not pass through the larger caches.
 */

/* Numbers of lanes are multiplied as int and added to places as int64_t; all of them are small.
 * NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result) */

/* The first count elements, the rest 0. */
static inline lanes NAMED(widen_part)(const ELEMENT *source, int64_t count)
{
    ELEMENT part[LANES] = {0};
    memcpy(part, source, (size_t)count * sizeof(ELEMENT));
    return WIDEN(part);
}

/* Which rows to fetch while count rows from key on are read. */
static inline const ELEMENT *NAMED(coming_keys)(const struct attnzoo_few_rows *product, int64_t key, int64_t count)
{
    int64_t coming = key + product->keys_ahead, last = product->key_count - count;
    return (const ELEMENT *)product->keys + (coming < last ? coming : last) * product->key_step;
}

/* The scores of rows x keys, both at most PIECE. coming: keys to fetch, NULL for none. */
INLINED void NAMED(score_piece)(int rows, int keys, const struct attnzoo_few_rows *product, const ELEMENT *key,
                                const ELEMENT *coming, const float *query, int64_t query_step, float *scores)
{
    lanes sums[PIECE][PIECE];
    int64_t column = 0, left = product->columns % LANES;
    UNROLLED
    for (int row = 0; row < rows; row++)
        UNROLLED
    for (int i = 0; i < keys; i++)
        sums[row][i] = splat(0.0f);
    for (; column + LANES <= product->columns; column += LANES) {
        lanes widened[PIECE];
        UNROLLED
        for (int i = 0; i < keys; i++) {
            if (coming != NULL && column % LINE == 0)
                __builtin_prefetch(coming + i * product->key_step + column, 0, NOT_AGAIN);
            widened[i] = WIDEN(key + i * product->key_step + column);
        }
        UNROLLED
        for (int row = 0; row < rows; row++) {
            lanes part = load(query + row * query_step + column);
            UNROLLED
            for (int i = 0; i < keys; i++)
                sums[row][i] += part * widened[i];
        }
    }
    for (int row = 0; row < rows && left > 0; row++)
        for (int i = 0; i < keys; i++)
            sums[row][i] += load_part(query + row * query_step + column, left, 0.0f) *
                            NAMED(widen_part)(key + i * product->key_step + column, left);
    UNROLLED
    for (int row = 0; row < rows; row++)
        UNROLLED
    for (int i = 0; i < keys; i++)
        scores[row * product->score_step + i] = sum_of_lanes(sums[row][i]) * product->scale;
}

INLINED void NAMED(score_keys)(int keys, const struct attnzoo_few_rows *product, int64_t first, const float *queries,
                               int64_t query_step)
{
    const ELEMENT *key = (const ELEMENT *)product->keys + first * product->key_step;
    const ELEMENT *coming = NAMED(coming_keys)(product, first, keys);
    float *scores = product->scores + first;
    for (int64_t row = 0, rows; row < product->row_count; row += rows) {
        rows = product->row_count - row >= SCORE_ROWS ? SCORE_ROWS : 1;
        if (rows == SCORE_ROWS)
            NAMED(score_piece)
        (SCORE_ROWS, keys, product, key, coming, queries + row * query_step, query_step,
         scores + row * product->score_step);
        else NAMED(score_piece)(1, keys, product, key, coming, queries + row * query_step, query_step,
                                scores + row * product->score_step);
        coming = NULL;
    }
}

static void NAMED(score)(const struct attnzoo_few_rows *product, const float *queries, int64_t query_step)
{
    int64_t key = 0;
    for (; key + PIECE <= product->key_count; key += PIECE)
        NAMED(score_keys)(PIECE, product, key, queries, query_step);
    for (; key < product->key_count; key++)
        NAMED(score_keys)(1, product, key, queries, query_step);
}

/* rows x vectors of the context += the weights of keys [first, end) times those columns of them. */
INLINED void NAMED(add_piece)(int rows, int vectors, const struct attnzoo_few_rows *product, int64_t first, int64_t end,
                              int64_t first_row, int64_t column, float *context, int64_t context_step)
{
    const float *weights = product->scores + first_row * product->score_step;
    float *destination = context + first_row * context_step + column;
    lanes sums[ADD_ROWS][ADD_VECTORS];
    UNROLLED
    for (int row = 0; row < rows; row++)
        UNROLLED
    for (int i = 0; i < vectors; i++)
        sums[row][i] = load(destination + row * context_step + i * LANES);
    for (int64_t key = first; key < end; key++) {
        const ELEMENT *value = (const ELEMENT *)product->keys + key * product->key_step + column;
        const ELEMENT *coming = first_row == 0 ? NAMED(coming_keys)(product, key, 1) + column : NULL;
        lanes widened[ADD_VECTORS];
        UNROLLED
        for (int i = 0; i < vectors; i++) {
            if (coming != NULL && i * LANES % LINE == 0)
                __builtin_prefetch(coming + i * LANES, 0, NOT_AGAIN);
            widened[i] = WIDEN(value + i * LANES);
        }
        UNROLLED
        for (int row = 0; row < rows; row++) {
            float weight = weights[row * product->score_step + key];
            UNROLLED
            for (int i = 0; i < vectors; i++)
                sums[row][i] += weight * widened[i];
        }
    }
    UNROLLED
    for (int row = 0; row < rows; row++)
        UNROLLED
    for (int i = 0; i < vectors; i++)
        store(destination + row * context_step + i * LANES, sums[row][i]);
}

/* The columns that fill no vector, of one row. */
static void NAMED(add_rest)(const struct attnzoo_few_rows *product, int64_t first, int64_t end, const float *weights,
                            int64_t column, float *context)
{
    int64_t left = product->columns - column;
    lanes sum = load_part(context + column, left, 0.0f);
    for (int64_t key = first; key < end; key++)
        sum +=
            weights[key] * NAMED(widen_part)((const ELEMENT *)product->keys + key * product->key_step + column, left);
    store_part(context + column, sum, left);
}

INLINED void NAMED(add_rows)(int rows, int vectors, const struct attnzoo_few_rows *product, int64_t first, int64_t end,
                             int64_t first_row, float *context, int64_t context_step)
{
    int64_t column = 0;
    for (; column + vectors * LANES <= product->columns; column += vectors * LANES)
        NAMED(add_piece)(rows, vectors, product, first, end, first_row, column, context, context_step);
    for (; column + LANES <= product->columns; column += LANES)
        NAMED(add_piece)(rows, 1, product, first, end, first_row, column, context, context_step);
    for (int64_t row = first_row; row < first_row + rows && column < product->columns; row++)
        NAMED(add_rest)
    (product, first, end, product->scores + row * product->score_step, column, context + row * context_step);
}

static void NAMED(add)(const struct attnzoo_few_rows *product, float *context, int64_t context_step)
{
    for (int64_t first = 0; first < product->key_count; first += KEYS_AT_A_TIME) {
        int64_t end = first + KEYS_AT_A_TIME, row = 0;
        if (end > product->key_count)
            end = product->key_count;
        for (; row + ADD_ROWS <= product->row_count; row += ADD_ROWS)
            NAMED(add_rows)(ADD_ROWS, VECTORS_OF_ROWS, product, first, end, row, context, context_step);
        for (; row < product->row_count; row++)
            NAMED(add_rows)(1, ADD_VECTORS, product, first, end, row, context, context_step);
    }
}

#undef ELEMENT
#undef LINE
#undef NAMED
#undef WIDEN

/* NOLINTEND(bugprone-implicit-widening-of-multiplication-result) */
