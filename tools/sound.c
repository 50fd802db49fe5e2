/*
 * sound.c: reads pieces, so that no memory is taken for samples that a header promises alone.
 */
#include "sound.h"

#include "input_file.h"
#include "progress.h"

#include <sndfile.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PIECE = 1 << 14 };

/* Reads to the end; `samples` counts all channels of a moment as one. NULL after a failure. */
static float *read_samples(SNDFILE *sound, int channels, const char *path, int64_t *samples)
{
    float *values = NULL;
    *samples = 0;
    for (int64_t room = FIRST_PIECE;; room *= 2) {
        size_t bytes;
        float *grown = NULL;
        if (!__builtin_mul_overflow((size_t)room * (size_t)channels, sizeof(float), &bytes))
            grown = realloc(values, bytes);
        if (grown == NULL) {
            fail("%s: not enough memory for the sound", path);
            break;
        }
        values = grown;
        sf_count_t got = sf_readf_float(sound, grown + *samples * channels, room - *samples);
        if (sf_error(sound) != SF_ERR_NO_ERROR) {
            fail("%s: %s", path, sf_strerror(sound));
            break;
        }
        *samples += got < 0 ? 0 : got;
        if (*samples < room)
            return values;
    }
    free(values);
    return NULL;
}

static void fill_array(struct array *array, const float *values, int channels, bool is_mono)
{
    float *out = array->data;
    int64_t count = array_element_count(array);
    if (!is_mono && count > 0)
        memcpy(out, values, (size_t)count * sizeof *out);
    for (int64_t index = 0; is_mono && index < count; index++) {
        double sum = 0.0;
        for (int channel = 0; channel < channels; channel++)
            sum += (double)values[index * channels + channel];
        out[index] = (float)(sum / channels);
    }
}

enum outcome sound_read(struct array *array, const char *path, bool is_mono)
{
    *array = (struct array){0};
    struct input_file file;
    SF_INFO information = {0};
    float *values = NULL;
    int64_t samples = 0;
    progress_set("reading", path);
    enum outcome outcome = input_file_open(&file, path);
    SNDFILE *sound = NULL;
    if (outcome == OUTCOME_OK)
        sound = sf_open_fd(fileno(file.stream), SFM_READ, &information, 0);
    if (outcome == OUTCOME_OK && sound == NULL)
        outcome = fail("%s: no sound that can be read: %s", path, sf_strerror(NULL));
    if (outcome == OUTCOME_OK && information.channels < 1)
        outcome = fail("%s: the sound has no channels", path);
    if (outcome == OUTCOME_OK) {
        values = read_samples(sound, information.channels, path, &samples);
        outcome = values == NULL ? OUTCOME_ERROR : OUTCOME_OK;
    }
    const int64_t shape[] = {samples, information.channels};
    if (outcome == OUTCOME_OK)
        outcome = array_allocate(array, ATTNZOO_DTYPE_FLOAT32, is_mono ? 1 : 2, shape, path);
    if (outcome == OUTCOME_OK)
        fill_array(array, values, information.channels, is_mono);
    if (sound != NULL)
        sf_close(sound);
    free(values);
    input_file_close(&file);
    return outcome;
}
