/*
 * blas/products.c: the products, split to what a BLAS int holds. Threads are in threads.c.
 */
#include "blas/blas.h"

#include "base/checked.h"

#include <cblas.h>

/* Below INT_MAX by enough that a BLAS may round a size up to its block. */
enum { LARGEST = 1 << 30 };

/* c = keep * c + scale * a * b, b [inner, columns] or, transposed, [columns, inner]. */
struct product {
    bool is_transposed;
    float scale;
    float keep;
    const float *a;
    int64_t a_step;
    const float *b;
    int64_t b_step;
    float *c;
    int64_t c_step;
};

/* One BLAS call. A single row is a product of a matrix and a vector, which a BLAS does faster as such. */
static void multiply_part(const struct product *part, int rows, int columns, int inner)
{
    int a_step = (int)part->a_step, b_step = (int)part->b_step, c_step = (int)part->c_step;
    if (rows > 1)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, part->is_transposed ? CblasTrans : CblasNoTrans, rows, columns, inner,
                    part->scale, part->a, a_step, part->b, b_step, part->keep, part->c, c_step);
    else if (part->is_transposed)
        cblas_sgemv(CblasRowMajor, CblasNoTrans, columns, inner, part->scale, part->b, b_step, part->a, 1, part->keep,
                    part->c, 1);
    else
        cblas_sgemv(CblasRowMajor, CblasTrans, inner, columns, part->scale, part->b, b_step, part->a, 1, part->keep,
                    part->c, 1);
}

static void multiply(const struct product *whole, int64_t largest, int64_t rows, int64_t columns, int64_t inner)
{
    for (int64_t i = 0; i < rows; i += largest)
        for (int64_t j = 0; j < columns; j += largest)
            for (int64_t k = 0; k < inner; k += largest) {
                struct product part = *whole;
                part.a += i * part.a_step + k;
                part.b += whole->is_transposed ? j * part.b_step + k : k * part.b_step + j;
                part.c += i * part.c_step + j;
                part.keep = k == 0 ? whole->keep : 1.0f;
                multiply_part(&part, (int)attnzoo_base_minimum(rows - i, largest),
                              (int)attnzoo_base_minimum(columns - j, largest),
                              (int)attnzoo_base_minimum(inner - k, largest));
            }
}

static void clear_without_inner(int64_t rows, int64_t columns, int64_t inner, float *c, int64_t c_step)
{
    for (int64_t row = 0; inner == 0 && row < rows; row++)
        for (int64_t column = 0; column < columns; column++)
            c[row * c_step + column] = 0.0f;
}

void attnzoo_blas_multiply_transposed_split(int64_t largest, int64_t rows, int64_t columns, int64_t inner, float scale,
                                            const float *a, int64_t a_step, const float *b, int64_t b_step, float *c,
                                            int64_t c_step)
{
    clear_without_inner(rows, columns, inner, c, c_step);
    const struct product product = {true, scale, 0.0f, a, a_step, b, b_step, c, c_step};
    multiply(&product, largest, rows, columns, inner);
}

void attnzoo_blas_multiply_add_split(int64_t largest, int64_t rows, int64_t columns, int64_t inner, const float *a,
                                     int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_step)
{
    const struct product product = {false, 1.0f, 1.0f, a, a_step, b, b_step, c, c_step};
    multiply(&product, largest, rows, columns, inner);
}

void attnzoo_blas_multiply_transposed(int64_t rows, int64_t columns, int64_t inner, float scale, const float *a,
                                      int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_step)
{
    attnzoo_blas_multiply_transposed_split(LARGEST, rows, columns, inner, scale, a, a_step, b, b_step, c, c_step);
}

void attnzoo_blas_multiply(int64_t rows, int64_t columns, int64_t inner, float scale, const float *a, int64_t a_step,
                           const float *b, int64_t b_step, float *c, int64_t c_step)
{
    clear_without_inner(rows, columns, inner, c, c_step);
    const struct product product = {false, scale, 0.0f, a, a_step, b, b_step, c, c_step};
    multiply(&product, LARGEST, rows, columns, inner);
}

void attnzoo_blas_multiply_add(int64_t rows, int64_t columns, int64_t inner, const float *a, int64_t a_step,
                               const float *b, int64_t b_step, float *c, int64_t c_step)
{
    attnzoo_blas_multiply_add_split(LARGEST, rows, columns, inner, a, a_step, b, b_step, c, c_step);
}

void attnzoo_blas_multiply_transposed_add(int64_t rows, int64_t columns, int64_t inner, const float *a, int64_t a_step,
                                          const float *b, int64_t b_step, float *c, int64_t c_step)
{
    const struct product product = {true, 1.0f, 1.0f, a, a_step, b, b_step, c, c_step};
    multiply(&product, LARGEST, rows, columns, inner);
}
