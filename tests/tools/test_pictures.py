#!/usr/bin/env python3
"""Draws the pictures of the pages as scripts/demo does, and holds the pages to them, and what is said of them to the arrays
behind them.

    test_pictures.py PATH/TO/attnzoo [unittest options]
"""
import importlib.util
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ATTNZOO = None
ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "examples" / "data"
# Where the three t of the line begin, and the row of the text that asks for one.
T_PLACES, T_QUERY = [237, 315, 328], 12


def load_module(path):
    specification = importlib.util.spec_from_file_location(path.parent.name + "_weights", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    return {name: np.frombuffer(data[start:], "<f4", (entry["data_offsets"][1] - entry["data_offsets"][0]) // 4,
                                entry["data_offsets"][0]).reshape(entry["shape"])
            for name, entry in json.loads(data[8:start]).items()}


def has_fonts():
    """Whether heat maps can have the labels that they have in the pages."""
    return shutil.which("fc-list") is not None and \
        "DejaVu Sans" in subprocess.run(["fc-list"], capture_output=True, text=True, check=True).stdout


class PicturesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="attnzoo-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "scratch").mkdir()
        script = 'set -euo pipefail; root=$0 attnzoo=$1 scratch=scratch; heading() { :; }; ' \
                 '. "$root/scripts/lib/pictures.sh"; draw_pictures'
        subprocess.run(["bash", "-c", script, ROOT, ATTNZOO], cwd=cls.folder, check=True, stdout=subprocess.DEVNULL)

    def array(self, name):
        return np.load(self.folder / "scratch" / f"{name}.npy")

    def pixels(self, path):
        width, height = struct.unpack(">II", path.read_bytes()[16:24])
        subprocess.run([ATTNZOO, "glimpse", "image", path, "--tile", f"{height},{width}", "--output", "pixels.npy"],
                       cwd=self.folder, check=True)
        return np.load(self.folder / "pixels.npy").reshape(height, width, 3)


class TestPages(PicturesTest):
    def test_every_picture_is_drawn(self):
        made = {path.name for path in self.folder.glob("*.png")}
        self.assertEqual(made, {path.name for path in (ROOT / "examples").glob("*.png")})
        pages = [ROOT / "README.md", *(ROOT / "doc").glob("*.md")]
        shown = {name for page in pages for name in re.findall(r"\]\((?:\.\./)?examples/(\w+\.png)\)", page.read_text())}
        self.assertEqual(made, shown)
        site = (ROOT / "cmake" / "AttnzooDocumentation.cmake").read_text()
        self.assertLessEqual(made, set(re.findall(r"sources/pictures/(\w+\.png)", site)))

    def test_pictures_are_those_of_the_pages(self):
        for path in sorted(self.folder.glob("*.png")):
            shown = ROOT / "examples" / path.name
            is_drawn_on_a_picture = path.name in ("finding_soft.png", "finding_hard.png")
            if path.read_bytes() == shown.read_bytes() or not (is_drawn_on_a_picture or has_fonts()):
                continue
            made, expected = self.pixels(path), self.pixels(shown)
            self.assertEqual(made.shape, expected.shape, path.name)
            difference = abs(made - expected).max(-1)
            if is_drawn_on_a_picture:
                self.assertLess(difference.max(), 0.02, path.name)
            else:
                # Another release of the font or of what draws it moves the edges of letters.
                self.assertLess((difference > 0.1).mean(), 0.02, path.name)


class TestFinding(PicturesTest):
    def test_soft_is_shared_by_all_t(self):
        soft = self.array("soft")
        np.testing.assert_allclose(soft.sum(1), 1, rtol=1e-5)
        np.testing.assert_allclose(soft[T_QUERY, T_PLACES], [0.312, 0.313, 0.310], atol=1e-3)

    def test_hard_chooses_the_likeliest(self):
        hard, index, soft = self.array("hard"), self.array("index"), self.array("soft")
        np.testing.assert_array_equal(hard, np.eye(hard.shape[1])[index])
        np.testing.assert_array_equal(self.array("chosen"), self.array("tiles")[index])
        # Where letters are alike to the last pixel, rounding chooses.
        np.testing.assert_allclose(soft[np.arange(len(index)), index], soft.max(1), rtol=1e-4)
        self.assertEqual(index[T_QUERY], T_PLACES[1])

    def test_seeds_of_the_page(self):
        for seed, place in ((7, T_PLACES[0]), (8, T_PLACES[2])):
            subprocess.run([ATTNZOO, "run", "hard", "--query", "scratch/looks.npy", "--key", "scratch/tiles.npy", "--value",
                            "scratch/tiles.npy", "--set", "scale=20", "--set", "select=sample", "--set", f"seed={seed}",
                            "--context", "context.npy", "--output", "index=index.npy"], cwd=self.folder, check=True)
            self.assertEqual(np.load(self.folder / "index.npy")[T_QUERY], place)


class TestWhere(PicturesTest):
    def test_window(self):
        window, letters = self.array("window"), self.array("letters").astype(np.float64)
        weights = read_safetensors(DATA / "finding" / "location.safetensors")["window_proj.weight"].astype(np.float64)
        height, sharpness, move = np.exp(letters @ weights.T).T
        centres = move.cumsum()
        distance = centres[:, None] - np.arange(window.shape[1])
        np.testing.assert_allclose(window, height[:, None] * np.exp(-sharpness[:, None] * distance ** 2), atol=1e-3)
        # A Gaussian's area; half of the first and last ones may lie beyond the picture.
        np.testing.assert_allclose(window[1:-1].sum(1), np.sqrt(np.pi / sharpness[1:-1]), rtol=1e-2)

    def test_it_stands_on_each_letter(self):
        places = self.array("window").argmax(1)
        self.assertTrue((np.diff(places) > 0).all())
        finding = load_module(DATA / "finding" / "make_weights.py")
        boxes = np.array(finding.find_letters(self.array("columns")))
        self.assertTrue(((boxes[:, 0] <= places) & (places <= boxes[:, 1])).all())
        off = abs(places - boxes.mean(1))
        self.assertLessEqual(off[0], 8)
        self.assertLessEqual(off[1:].max(), 4)


class TestMemory(PicturesTest):
    def test_what_is_read(self):
        read = self.array("recalled")
        self.assertFalse(read[:6].any())
        np.testing.assert_array_equal(read[6:], np.eye(6)[["neural".index(letter) for letter in "neural" + "are"]])

    def test_heads(self):
        reads, writes = self.array("heads")
        self.assertEqual(reads.argmax(1).tolist(), [0] * 6 + [1, 2, 3, 4, 5, 6] + [5, 4, 2])
        self.assertEqual(writes.argmax(1).tolist(), [1, 2, 3, 4, 5, 6] + [6] * 9)


class TestWeights(PicturesTest):
    def make(self, name, *words):
        folder = self.folder / name
        folder.mkdir()
        subprocess.run([sys.executable, "-B", DATA / name / "make_weights.py", *words], cwd=folder, check=True)
        return folder

    def test_finding(self):
        made, kept = self.make("finding", ATTNZOO), DATA / "finding"
        np.testing.assert_allclose(np.load(made / "glyphs.npy"), np.load(kept / "glyphs.npy"), atol=1e-6)
        self.check_safetensors(made / "location.safetensors", kept / "location.safetensors")
        for name in ("line.txt", "line_labels.txt"):
            letters = (kept / name).read_text(encoding="utf-8").rstrip("\n")
            self.assertEqual(letters.replace("\n", ""), "weighing what matters 0431")

    def test_recalling(self):
        made, kept = self.make("recalling"), DATA / "recalling"
        np.testing.assert_array_equal(np.load(made / "memory.npy"), np.load(kept / "memory.npy"))
        self.check_safetensors(made / "weights.safetensors", kept / "weights.safetensors")

    def check_safetensors(self, made, kept):
        made, kept = read_safetensors(made), read_safetensors(kept)
        self.assertEqual(made.keys(), kept.keys())
        for name, array in made.items():
            np.testing.assert_allclose(array, kept[name], atol=1e-5, err_msg=name)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
