#!/usr/bin/env python3
"""Runs `attnzoo compare` from outside: what it prints, and how its exit status tells a difference from an error.

    test_compare.py PATH/TO/attnzoo [unittest options]
"""
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ATTNZOO = None


class TestCompare(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attnzoo-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.numbers = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        self.save("a", self.numbers)
        self.save("b", self.numbers)

    def save(self, name, array):
        np.save(self.folder / f"{name}.npy", array)

    def call(self, *words, **options):
        return subprocess.run([ATTNZOO, "compare", *words], cwd=self.folder, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.PIPE, timeout=120, **options)

    def check(self, status, part, *words):
        """Runs with a result that is told on standard output alone, and returns that."""
        done = self.call(*words)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        self.assertIn(part, done.stdout)
        return done.stdout

    def check_fails(self, status, part, *words):
        done = self.call(*words)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Aattnzoo: [^\n]+\n\Z")
        self.assertIn(part, done.stderr)

    def test_equal(self):
        text = self.check(0, "equal: all 24 elements\n", "a.npy", "b.npy")
        self.assertIn("A: float32 [2, 3, 4], a.npy\nB: float32 [2, 3, 4], b.npy\n", text)
        self.assertIn("largest absolute difference: 0\nlargest relative difference: 0\n", text)

    def test_where_they_differ(self):
        self.numbers[1, 0, 2] += 0.5
        self.numbers[0, 2, 3] += 0.25
        self.numbers[0, 0, 1] = np.nan
        self.save("a", self.numbers)
        text = self.check(1, "different: 3 of 24 elements are not equal; the first at [0, 0, 1]: nan in A, 1 in B\n",
                          "a.npy", "b.npy")
        self.assertIn("largest absolute difference: 0.5 at [1, 0, 2]: 14.5 in A, 14 in B\n", text)
        self.assertIn("largest relative difference: 0.0357 at [1, 0, 2]", text)
        self.assertIn("NaN: 1 in A alone, 0 in B alone, 0 in both\n", text)

    def test_zeros_and_nans_are_told(self):
        self.save("a", np.array([5, 1], np.float32))
        self.save("b", np.array([0, 1], np.float32))
        text = self.check(1, "largest absolute difference: 5 at [0]: 5 in A, 0 in B\n", "a.npy", "b.npy")
        self.assertIn("largest relative difference: inf at [0]: 5 in A, 0 in B\n", text)
        for a, b in ((np.nan, 2), (2, np.nan)):
            self.save("a", np.array([1, a, np.nan], np.float32))
            self.save("b", np.array([1, b, np.nan], np.float32))
            text = self.check(1, "1 of 3 elements", "a.npy", "b.npy")
            for what in ("absolute", "relative"):
                self.assertIn(f"largest {what} difference: nan at [1]: {a} in A, {b} in B\n", text)
        self.save("a", np.array([np.nan], np.float32))
        self.check(0, "largest absolute difference: 0\nlargest relative difference: 0\n", "a.npy", "a.npy")

    def test_help_defines_what_is_printed(self):
        page = pathlib.Path(__file__).resolve().parents[2] / "tools" / "attnzoo.1"
        for text in (self.call("--help").stdout, page.read_text(encoding="utf-8").replace("\\-", "-")):
            text = " ".join(text.split())
            self.assertIn("|A - B| / |B|: inf where B is 0 and A is not", text)
            self.assertIn("nan, where these are equal but a NaN stands in one array alone", text)

    def test_tolerances(self):
        self.numbers[1, 0, 2] += 0.5
        self.save("a", self.numbers)
        for words, status in ((["--absolute-tolerance", "0.5"], 0), (["--absolute-tolerance=0.4999"], 1),
                              (["--relative-tolerance", "0.036"], 0), (["--relative-tolerance=.035"], 1),
                              (["--absolute-tolerance", "25e-2", "--relative-tolerance", "0.018"], 0)):
            text = self.check(status, "", "a.npy", *words, "b.npy")
            self.assertIn("\nwithin the tolerance: none of 24" if status == 0 else "\ndifferent: 1 of 24", text)

    def test_shapes_and_types(self):
        self.save("flat", self.numbers.reshape(1, 2, 3, 4))
        self.check(1, "different: the shapes are not the same\n", "a.npy", "flat.npy")
        self.save("turned", np.ascontiguousarray(self.numbers.transpose(0, 2, 1)))
        self.check(1, "B: float32 [2, 4, 3]", "a.npy", "turned.npy")
        for kind in (np.float16, np.int32, np.int64):
            self.save("b", self.numbers.astype(kind))
            self.check(0, "equal", "a.npy", "b.npy")
        self.save("b", np.asfortranarray(self.numbers.astype(">f4")))
        self.check(0, "equal", "a.npy", "b.npy")
        for array in (np.array(3.0, np.float32), np.zeros((2, 0), np.float32)):
            self.save("a", array)
            self.check(0, "equal", "a.npy", "a.npy")
        self.save("a", np.array(3))
        self.save("b", np.array(4))
        self.check(1, "1 of 1 elements are not equal; the first at []: 3 in A, 4 in B", "a.npy", "b.npy")

    def test_names_control_no_terminal(self):
        name = "\x1b[2J\u009b3m\n\u00a0b\u015b"
        self.save(name, self.numbers)
        text = self.check(0, "B: float32 [2, 3, 4], ?[2J?3m?\u00a0b\u015b.npy\n", "a.npy", f"{name}.npy")
        self.assertEqual(len(text.splitlines()), 5)
        self.check_fails(1, "x??.npy: No such file", "a.npy", "x\u0085\x7f.npy")

    def test_names_behind_the_end_of_the_options(self):
        for name in ("-a", "--help", "--"):
            self.save(name, self.numbers)
        self.check(0, "equal", "--", "-a.npy", "--help.npy")
        self.check(0, "equal", "a.npy", "--", "--.npy")
        self.check(0, "within", "--absolute-tolerance", "1", "a.npy", "--", "-a.npy")
        self.check_fails(2, "--absolute-tolerance: not expected", "--", "a.npy", "b.npy", "--absolute-tolerance")
        self.check_fails(1, "--: No such file", "a.npy", "--", "--")
        self.check_fails(2, "say which two arrays", "a.npy", "--")

    def test_safetensors(self):
        text = json.dumps({"x": {"dtype": "F32", "shape": [2, 3, 4], "data_offsets": [0, 96]}}).encode()
        (self.folder / "w.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + self.numbers.tobytes())
        self.check(0, "equal", "w.safetensors:x", "a.npy")
        self.check_fails(2, "w.safetensors: say which tensor", "w.safetensors", "a.npy")
        self.check_fails(1, "no tensor", "a.npy", "w.safetensors:y")

    def test_errors(self):
        self.check_fails(1, "missing.npy: No such file", "a.npy", "missing.npy")
        self.check_fails(2, "compare: say which two arrays", "a.npy")
        self.check_fails(2, "c.npy: not expected", "a.npy", "b.npy", "c.npy")
        self.check_fails(2, "--relative-tolerence: no such option; did you mean --relative-tolerance?", "a.npy", "b.npy",
                         "--relative-tolerence", "1")
        self.check_fails(2, "--absolute-tolerance: its value is missing", "a.npy", "b.npy", "--absolute-tolerance")
        self.check_fails(2, "value is missing", "--absolute-tolerance", "--relative-tolerance", "1", "a.npy", "b.npy")
        self.check_fails(2, "given more than once", "--absolute-tolerance", "1", "--absolute-tolerance=1", "a.npy")
        for value in ("-1", "nan", "inf", "1e999", "x", "", "1x", "0,1", " 1", "0x1p3", "0x8", "0X1", "1e",
                      "+1", "1d", "."):
            self.check_fails(2, f"--relative-tolerance {value}: must be a number", f"--relative-tolerance={value}",
                             "a.npy", "b.npy")

    def test_output_that_cannot_be_written(self):
        """A difference that nobody was told of is an error."""
        self.save("b", self.numbers + 1)
        for right in ("a.npy", "b.npy"):
            with open("/dev/full", "w") as full:
                done = subprocess.run([ATTNZOO, "compare", "a.npy", right], cwd=self.folder, stdout=full,
                                      stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr), (1, "attnzoo: standard output: No space left on device\n"))


if __name__ == "__main__":
    ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
