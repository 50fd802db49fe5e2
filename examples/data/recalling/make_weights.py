#!/usr/bin/env python3
"""Writes memory.npy and weights.safetensors into the current folder: what README.md tells, as numbers."""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from hand_written import write_safetensors  # noqa: E402

WORD, QUESTIONS = "neural", "RUN"
ALPHABET = WORD + "?" + QUESTIONS
READ, WRITE = 0, 1
# So far out that softmax and sigmoid give 1 and 0 to the last bit.
SURE = 200.0


def letters(which):
    return np.array([letter in which for letter in ALPHABET], float)


def make_weights():
    count, width = len(ALPHABET), len(WORD)
    key = np.zeros((2, width, count))
    for question in QUESTIONS:
        key[READ, WORD.index(question.lower()), ALPHABET.index(question)] = 1
    shift = np.zeros((2, 3, count))
    shift[READ, 1] = shift[WRITE, 2] = SURE * letters(WORD)
    shift[READ, 2] = shift[WRITE, 1] = SURE * letters("?" + QUESTIONS)
    return {
        "key_proj.weight": key.reshape(2 * width, count),
        "strength_proj.weight": np.zeros((2, count)),
        "strength_proj.bias": np.array([SURE, SURE]),
        "gate_proj.weight": np.stack([2 * SURE * letters(QUESTIONS), np.zeros(count)]),
        "gate_proj.bias": np.array([-SURE, -SURE]),
        "shift_proj.weight": shift.reshape(6, count),
        "sharpening_proj.weight": np.zeros((2, count)),
        "sharpening_proj.bias": np.array([-SURE, -SURE]),
        "erase_proj.weight": np.tile(SURE * (2 * letters(WORD) - 1), (width, 1)),
        "add_proj.weight": np.eye(width, count),
    }


if __name__ == "__main__":
    np.save("memory.npy", np.zeros((len(WORD) + 1, len(WORD)), np.float32))
    write_safetensors("weights.safetensors", make_weights())
