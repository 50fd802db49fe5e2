/*
 * sound.h: sound from WAV files, and whatever else libsndfile reads.
 */
#ifndef TOOLS_SOUND_H
#define TOOLS_SOUND_H

#include "array.h"

/*
 * Reads a sound into float32 [samples, channels], or [samples], the mean of the channels; whole numbers come as -1 to 1.
 * Of a file that ends before its header says so, what is there.
 */
enum outcome sound_read(struct array *array, const char *path, bool is_mono);

#endif
