/*
 * blas/products.c: the products, split to what a BLAS int holds. Threads are in threads.c.
 */
#include "blas/blas.h"

#include "base/checked.h"

#include <cblas.h>

/* Below INT_MAX by enough that a BLAS may round a size up to its block. */
enum { LARGEST = 1 << 30 };

void attnzoo_blas_multiply_transposed_split(int64_t largest, int64_t rows, int64_t columns, int64_t inner, float scale,
                                            const float *a, int64_t a_step, const float *b, int64_t b_step, float *c,
                                            int64_t c_step)
{
    if (inner == 0)
        for (int64_t row = 0; row < rows; row++)
            for (int64_t column = 0; column < columns; column++)
                c[row * c_step + column] = 0.0f;
    for (int64_t i = 0; i < rows; i += largest)
        for (int64_t j = 0; j < columns; j += largest)
            for (int64_t k = 0; k < inner; k += largest) {
                int m = (int)attnzoo_base_minimum(rows - i, largest);
                int n = (int)attnzoo_base_minimum(columns - j, largest);
                int depth = (int)attnzoo_base_minimum(inner - k, largest);
                float keep = k == 0 ? 0.0f : 1.0f;
                const float *a_part = a + i * a_step + k;
                const float *b_part = b + j * b_step + k;
                float *c_part = c + i * c_step + j;
                if (m == 1)
                    cblas_sgemv(CblasRowMajor, CblasNoTrans, n, depth, scale, b_part, (int)b_step, a_part, 1, keep,
                                c_part, 1);
                else
                    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, depth, scale, a_part, (int)a_step,
                                b_part, (int)b_step, keep, c_part, (int)c_step);
            }
}

void attnzoo_blas_multiply_add_split(int64_t largest, int64_t rows, int64_t columns, int64_t inner, const float *a,
                                     int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_step)
{
    for (int64_t i = 0; i < rows; i += largest)
        for (int64_t j = 0; j < columns; j += largest)
            for (int64_t k = 0; k < inner; k += largest) {
                int m = (int)attnzoo_base_minimum(rows - i, largest);
                int n = (int)attnzoo_base_minimum(columns - j, largest);
                int depth = (int)attnzoo_base_minimum(inner - k, largest);
                const float *a_part = a + i * a_step + k;
                const float *b_part = b + k * b_step + j;
                float *c_part = c + i * c_step + j;
                if (m == 1)
                    cblas_sgemv(CblasRowMajor, CblasTrans, depth, n, 1.0f, b_part, (int)b_step, a_part, 1, 1.0f,
                                c_part, 1);
                else
                    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, depth, 1.0f, a_part, (int)a_step,
                                b_part, (int)b_step, 1.0f, c_part, (int)c_step);
            }
}

void attnzoo_blas_multiply_transposed(int64_t rows, int64_t columns, int64_t inner, float scale, const float *a,
                                      int64_t a_step, const float *b, int64_t b_step, float *c, int64_t c_step)
{
    attnzoo_blas_multiply_transposed_split(LARGEST, rows, columns, inner, scale, a, a_step, b, b_step, c, c_step);
}

void attnzoo_blas_multiply_add(int64_t rows, int64_t columns, int64_t inner, const float *a, int64_t a_step,
                               const float *b, int64_t b_step, float *c, int64_t c_step)
{
    attnzoo_blas_multiply_add_split(LARGEST, rows, columns, inner, a, a_step, b, b_step, c, c_step);
}
