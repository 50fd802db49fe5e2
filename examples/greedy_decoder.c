/*
 * A greedy decoder with location-aware attention: it spells a word, one letter a step. Key j says which letter stands
 * before place j, value j which letter stands there; the query says which letter was read last. So the content of
 * keys answers "what follows a t?", to which "attention" has three answers. The location tells which of them is next:
 * a filter shifts the last alignment one key forward, and that place gets a higher score.
 */
#include "example_data.h"

#include <stdio.h>
#include <string.h>

static const char word[] = "^attention$", letters[] = "^atenio$";

/* M keys of E features, one feature a letter; hidden size A: a feature for each letter, and one for the location. */
enum { M = sizeof word - 1, E = sizeof letters - 1, A = E + 1, STEPS_MAX = M };

static int letter_index(char letter)
{
    return (int)(strchr(letters, letter) - letters);
}

/* Sets a parameter to zeros, then to `number` at diagonal places [i, i] for first <= i < last. */
static int set_diagonal(attnzoo_module *module, const char *name, int64_t rows, int64_t columns, float number,
                        int first, int last)
{
    struct example_array weight = {0};
    int failed = example_make(&weight, 2, (const int64_t[]){rows, columns});
    for (int i = first; i < last && !failed; i++)
        weight.data[i * columns + i] = number;
    failed = failed || attnzoo_module_set_parameter(module, name, weight.view);
    example_free(&weight);
    return failed;
}

static int set_numbers(attnzoo_module *module, const char *name, int32_t rank, const int64_t *shape,
                       const float *numbers)
{
    attnzoo_tensor *view = NULL;
    int failed = attnzoo_tensor_create_readonly(&view, numbers, ATTNZOO_DTYPE_FLOAT32, rank, shape, NULL) ||
                 attnzoo_module_set_parameter(module, name, view);
    attnzoo_tensor_destroy(view);
    return failed;
}

/*
 * The weights. With q the letter of the query and k that of the key, hidden feature a is
 *   tanh(2 [q = a] + 2 [k = a] - 3)  above zero only where both are a: content
 *   tanh(3 f_j)                      for the last one, f_j being the last alignment at j - 1: location
 * and the score is 2 for each of the former and `pull` for the latter.
 */
static int set_weights(attnzoo_module *module, float pull)
{
    float bias[A], location[A] = {0}, score[A];
    for (int i = 0; i < A; i++) {
        bias[i] = i < E ? -3.0f : 0.0f;
        score[i] = i < E ? 2.0f : pull;
    }
    location[E] = 3.0f;
    return set_diagonal(module, "query_proj.weight", A, E, 2.0f, 0, E) ||
           set_diagonal(module, "key_proj.weight", A, E, 2.0f, 0, E) ||
           set_numbers(module, "bias", 1, (const int64_t[]){A}, bias) ||
           /* One filter of three taps over one channel: what is seen at j is the left neighbour's weight. */
           set_numbers(module, "location_conv.weight", 3, (const int64_t[]){1, 1, 3}, (const float[]){1, 0, 0}) ||
           set_numbers(module, "location_proj.weight", 2, (const int64_t[]){A, 1}, location) ||
           set_numbers(module, "score_proj.weight", 2, (const int64_t[]){1, A}, score);
}

/* Spells the word with one call a step, drawing each step's alignment; reads at most STEPS_MAX letters. */
static int decode(const attnzoo_module *module, attnzoo_state *state, struct example_array *arrays)
{
    struct example_array *query = &arrays[0], *key = &arrays[1], *value = &arrays[2], *context = &arrays[3],
                         *attention = &arrays[4];
    int last = letter_index('^');
    char spelt[STEPS_MAX + 1] = "";
    for (int step = 0; step < STEPS_MAX && letters[last] != '$'; step++) {
        memset(query->data, 0, E * sizeof(float));
        query->data[last] = 1.0f;
        if (attnzoo_module_forward(module, NULL, query->view, key->view, value->view, NULL, state, context->view,
                                   attention->view))
            return 1;
        /* Greedy: the letter that the context has most of, the first of equals. */
        last = 0;
        for (int i = 1; i < E; i++) {
            if (context->data[i] > context->data[last] + 1e-3f)
                last = i;
        }
        spelt[step] = letters[last];
        printf("  %c |", letters[last]);
        example_draw(attention->data, M, 1);
        printf("|\n");
    }
    printf("read: %s\n\n", spelt);
    return 0;
}

static int run(const char *title, float pull)
{
    const int64_t shapes[][2] = {{1, E}, {M, E}, {M, E}, {1, E}, {1, M}};
    struct example_array arrays[5] = {{0}};
    attnzoo_module *module = NULL;
    attnzoo_state *state = NULL;
    /* Before the first step, all attention is on the first key, the mark ^ in front of the word. */
    int failed = attnzoo_module_create(&module, "location_aware") ||
                 attnzoo_module_set_option_text(module, "initial", "first") || set_weights(module, pull) ||
                 attnzoo_module_prepare(module) || attnzoo_state_create(&state, module, 1, M);
    for (int i = 0; i < 5 && !failed; i++)
        failed = example_make(&arrays[i], 2, shapes[i]);
    for (int place = 0; place < M && !failed; place++) {
        if (place > 0)
            arrays[1].data[place * E + letter_index(word[place - 1])] = 1.0f;
        arrays[2].data[place * E + letter_index(word[place])] = 1.0f;
    }
    printf("%s\n     %s\n", title, word);
    failed = failed || decode(module, state, arrays);
    if (failed)
        fprintf(stderr, "%s\n", attnzoo_last_error());
    for (int i = 0; i < 5; i++)
        example_free(&arrays[i]);
    attnzoo_state_destroy(state);
    attnzoo_module_destroy(module);
    return failed;
}

int main(void)
{
    return run("With location, the alignment walks along the keys:", 5.0f) ||
           run("Without, it stays where a t follows a t:", 0.0f);
}
