#!/usr/bin/env python3
"""A trained layer from Python, with the package attnzoo.

    speech_attention.py FOLDER [PICTURE]    the folder examples/data/speech_alignment

Runs the cross-attention of a speech recogniser, compares it with what ONNX Runtime computed, and then hides half of the
sound. With PICTURE it draws where each head listened (that takes matplotlib).
"""
import pathlib
import sys

import numpy as np

import attnzoo


def main():
    if len(sys.argv) not in (2, 3):
        print(f"usage: {sys.argv[0]} FOLDER [PICTURE]    FOLDER is examples/data/speech_alignment", file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1])
    text, sound, expected = (np.load(folder / f"{name}.npy") for name in ("query", "memory", "attention"))
    layer = attnzoo.MultiHead(num_heads=8).load_safetensors(folder / "weights.safetensors")

    # Cross-attention: the sound is key and value at once.
    context, attention = layer(text, sound, return_attention=True)
    difference = np.abs(attention - expected).max()
    print(f"attention {attention.shape}: largest difference from ONNX Runtime {difference:.1e}")
    if len(sys.argv) > 2:
        from attnzoo.plot import plot_attention
        plot_attention(attention, query_name="piece of text", key_name="frame of sound").savefig(sys.argv[2])

    # True means attend. Another memory order is read where it lies, too.
    first_half = np.arange(sound.shape[1]) < sound.shape[1] // 2
    context, attention = layer(text, np.asfortranarray(sound), mask=first_half, return_attention=True)
    hidden = attention[..., ~first_half].max()
    print(f"weight on the hidden half: {hidden}, on the other: {attention.sum(axis=-1).mean():.3f}")

    # What does not fit is an exception that says what and why.
    message = None
    try:
        attnzoo.MultiHead(num_heads=7).load_safetensors(folder / "weights.safetensors").prepare()
    except attnzoo.Error as error:
        message = str(error)
    print(f"seven heads: {message}")
    # The tolerance is that of case.json in the folder.
    return 0 if difference < 1e-4 and hidden == 0 and message is not None else 1


if __name__ == "__main__":
    sys.exit(main())
