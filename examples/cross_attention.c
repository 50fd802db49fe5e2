/*
 * Cross-attention: a trained layer of a speech recogniser, in which pieces of text ask and frames of sound answer. The
 * sound is 7 seconds of "The quick brown fox jumped over the lazy dog, and then it runs back home before the rain
 * starts."; what is drawn is where one head listens while the recogniser writes each piece of it.
 *
 *   cross_attention [FOLDER]     FOLDER is examples/data/speech_alignment unless given
 */
#include "example_data.h"

#include <stdio.h>

enum { HEADS = 8, PIECES = 24, FRAMES = 290, SIZE = 288, HEAD_DRAWN = 7, FRAMES_A_CHARACTER = 4 };

static const double seconds = 7.0;

/* Draws one head: a line for each piece of text, time from left to right. */
static void draw_head(const float *weights)
{
    printf("Head %d, 0 to %.0f seconds from left to right:\n", HEAD_DRAWN, seconds);
    for (int piece = 0; piece < PIECES; piece++) {
        const float *row = weights + piece * FRAMES;
        int loudest = 0;
        for (int frame = 1; frame < FRAMES; frame++) {
            if (row[frame] > row[loudest])
                loudest = frame;
        }
        printf("piece %2d |", piece);
        example_draw(row, FRAMES, FRAMES_A_CHARACTER);
        printf("| %.1f s\n", loudest * seconds / FRAMES);
    }
}

int main(int argument_count, char **arguments)
{
    const char *folder = argument_count > 1 ? arguments[1] : "examples/data/speech_alignment";
    const int64_t context_shape[] = {1, PIECES, SIZE}, attention_shape[] = {1, HEADS, PIECES, FRAMES};
    attnzoo_module *module = NULL;
    attnzoo_executor *executor = NULL;
    struct example_array query = {0}, memory = {0}, expected = {0}, context = {0}, attention = {0};

    /* A module: the mechanism, its options, its weights. The head size follows from the weights. */
    int failed = attnzoo_module_create(&module, "multi_head") ||
                 attnzoo_module_set_option_int(module, "num_heads", HEADS) ||
                 example_set_weights(module, folder, "weights.safetensors") || attnzoo_module_prepare(module);
    failed = failed || attnzoo_executor_create(&executor, 0) || example_read(&query, folder, "query.npy") ||
             example_read(&memory, folder, "memory.npy") || example_read(&expected, folder, "context.npy") ||
             example_make(&context, 3, context_shape) || example_make(&attention, 4, attention_shape);

    /* The text asks; the sound is both what is compared (key) and what is handed over (value). The attention is asked
     * for here so that it can be drawn; pass NULL instead, and it is never stored. */
    failed = failed || attnzoo_module_forward(module, executor, query.view, memory.view, memory.view, NULL, NULL,
                                              context.view, attention.view);
    if (failed) {
        fprintf(stderr, "%s\n", attnzoo_last_error());
    } else {
        draw_head(attention.data + HEAD_DRAWN * PIECES * FRAMES);
        printf("largest difference from what ONNX Runtime computes: %.1e\n",
               (double)example_largest_difference(&context, &expected));
    }

    example_free(&attention);
    example_free(&context);
    example_free(&expected);
    example_free(&memory);
    example_free(&query);
    attnzoo_executor_destroy(executor);
    attnzoo_module_destroy(module);
    return failed;
}
