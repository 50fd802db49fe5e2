#!/usr/bin/env python3
"""Writes glyphs.npy and location.safetensors into the current folder, from the line of print in ../ocr_line alone.

    make_weights.py PATH/TO/attnzoo

Nothing is trained: both are measured on the picture, as README.md says.
"""
import itertools
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from hand_written import write_safetensors  # noqa: E402

PICTURE = HERE.parent / "ocr_line" / "line.png"
TEXT = (HERE / "line.txt").read_text().rstrip("\n")
ALPHABET = " 0134aeghimnrstw"
TILE = 13
# A column with less ink than this, in black pixels, lies between letters: two t that touch share a little more than half
# a pixel.
BETWEEN = 0.65


def read_columns(command):
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "columns.npy"
        subprocess.run([command, "glimpse", "image", PICTURE, "--tile", "48,1", "--grey", "--output", made], check=True)
        return np.load(made)


def find_letters(columns):
    """First and last column of each letter of the text; of a space, of the gap."""
    has_ink = (1 - columns).sum(1) > BETWEEN
    runs = [[place for place, _ in run] for ink, run in itertools.groupby(enumerate(has_ink), lambda item: item[1]) if ink]
    printed = iter([(run[0], run[-1]) for run in runs])
    boxes = [None if letter == " " else next(printed) for letter in TEXT]
    assert next(printed, None) is None
    return [box or (boxes[i - 1][1] + 1, boxes[i + 1][0] - 1) for i, box in enumerate(boxes)]


def make_glyphs(columns, boxes):
    """[letters, 48 TILE]: a tile that begins one column before the letter; its product with the very letter is 1.

    Without its mean, so that bare paper and a black bar both give 0; with zeros behind the letter, so that its neighbour
    plays no part.
    """
    glyphs = np.zeros((len(ALPHABET), 48, TILE))
    for place, (letter, (first, last)) in enumerate(zip(TEXT, boxes)):
        # The first of its kind: before the last t there is a little of the t that touches it.
        if letter != " " and letter not in TEXT[:place]:
            cut = columns[max(first - 1, 0):min(last + 2, first - 1 + TILE)].T
            cut = cut - cut.mean()
            glyphs[ALPHABET.index(letter), :, :cut.shape[1]] = cut / (cut * cut).sum()
    return glyphs.reshape(len(ALPHABET), -1).astype(np.float32)


def make_window(boxes):
    """window_proj.weight [3, letters]: height 1, as wide as the letter, and how far it lies behind the one before."""
    middles = [(first + last) / 2 for first, last in boxes]
    # Each letter of the text is as far along as all letters up to it have moved: so the moves are a least-squares fit, in
    # which being off counts by the letter's width.
    widths = np.array([last - first + 1 for first, last in boxes])
    steps = np.array([[letter == other for letter in ALPHABET] for other in TEXT], float).cumsum(0)
    moves = np.linalg.lstsq(steps / widths[:, None], np.array(middles) / widths, rcond=None)[0]
    window = np.zeros((3, len(ALPHABET)))
    for index, letter in enumerate(ALPHABET):
        at = [i for i, other in enumerate(TEXT) if other == letter]
        window[1, index] = np.log(0.5 / (np.mean(widths[at]) / 4) ** 2)
        window[2, index] = np.log(moves[index])
    return window.astype(np.float32)


def main():
    columns = read_columns(sys.argv[1])
    boxes = find_letters(columns)
    np.save("glyphs.npy", make_glyphs(columns, boxes))
    write_safetensors("location.safetensors", {"window_proj.weight": make_window(boxes)})


if __name__ == "__main__":
    main()
