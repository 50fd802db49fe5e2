/*
 * Self-attention: a trained layer of a text recogniser, whose strips of a picture look at each other. The picture is
 * the line "weighing what matters 0431", cut into 62 upright strips; the layer has 8 heads.
 *
 *   self_attention [FOLDER]     FOLDER is examples/data/ocr_line unless given
 */
#include "example_data.h"

#include <stdio.h>

enum { HEADS = 8, STRIPS = 62, SIZE = 120 };

/* Where in the picture the gaps between the words are, and the number at the end. */
static int is_gap(int strip)
{
    return strip == 19 || strip == 20 || strip == 31 || strip == 32 || strip == 49 || strip == 50;
}

static int is_number(int strip)
{
    return strip >= 51 && strip <= 60;
}

/* How much of their attention the strips that are (or are not) of a kind give to strips of that kind, in percent. */
static double share(const float *attention, int head, int (*is_kind)(int strip), int from_kind)
{
    double sum = 0.0;
    int strips = 0;
    for (int query = 0; query < STRIPS; query++) {
        if (is_kind(query) != from_kind)
            continue;
        strips++;
        for (int key = 0; key < STRIPS; key++)
            sum += is_kind(key) ? (double)attention[(head * STRIPS + query) * STRIPS + key] : 0.0;
    }
    return 100.0 * sum / strips;
}

int main(int argument_count, char **arguments)
{
    const char *folder = argument_count > 1 ? arguments[1] : "examples/data/ocr_line";
    const int64_t context_shape[] = {1, STRIPS, SIZE}, attention_shape[] = {1, HEADS, STRIPS, STRIPS};
    attnzoo_module *module = NULL;
    attnzoo_executor *executor = NULL;
    struct example_array glimpses = {0}, expected = {0}, context = {0}, attention = {0};

    /* A module: the mechanism, its options, its weights. The head size follows from the weights. */
    int failed = attnzoo_module_create(&module, "multi_head") ||
                 attnzoo_module_set_option_int(module, "num_heads", HEADS) ||
                 example_set_weights(module, folder, "weights.safetensors") || attnzoo_module_prepare(module);

    /* An executor: threads (0: as many as the process may use) and memory that is used again from call to call. */
    failed = failed || attnzoo_executor_create(&executor, 0) || example_read(&glimpses, folder, "glimpses.npy") ||
             example_read(&expected, folder, "context.npy") || example_make(&context, 3, context_shape) ||
             example_make(&attention, 4, attention_shape);

    /* One and the same view as query, key and value: the library sees that, and projects all three in one product. */
    failed = failed || attnzoo_module_forward(module, executor, glimpses.view, glimpses.view, glimpses.view, NULL, NULL,
                                              context.view, attention.view);
    if (failed) {
        fprintf(stderr, "%s\n", attnzoo_last_error());
    } else {
        printf("head 0: strips of the number give %.0f %% of their attention to the number, others %.0f %%\n",
               share(attention.data, 0, is_number, 1), share(attention.data, 0, is_number, 0));
        printf("head 6: gaps between words give %.0f %% of theirs to the gaps, other strips %.0f %%\n",
               share(attention.data, 6, is_gap, 1), share(attention.data, 6, is_gap, 0));
        printf("largest difference from what ONNX Runtime computes: %.1e\n",
               (double)example_largest_difference(&context, &expected));
    }

    example_free(&attention);
    example_free(&context);
    example_free(&expected);
    example_free(&glimpses);
    attnzoo_executor_destroy(executor);
    attnzoo_module_destroy(module);
    return failed;
}
