#!/usr/bin/env python3
"""Runs each mechanism of the library by the command attnzoo, from what `attnzoo describe` tells of it alone: every input
goes in and every output comes out by its name. Mechanisms that join the library are tested without a word here.

    test_slots.py PATH/TO/attnzoo [unittest options]
"""
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

from feeding import BATCH, KEYS, QUERIES, SIZE, Hungry, Item, feed, make

ATTNZOO = None


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, array in tensors.items():
        raw = array.tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class SlotTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attnzoo-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.random = np.random.default_rng(7)

    def call(self, *words):
        return subprocess.run([ATTNZOO, *words], cwd=self.folder, capture_output=True, text=True, timeout=120)

    def mechanisms(self):
        return [line.split()[0] for line in self.call("list").stdout.splitlines()]

    def items(self, mechanism, title):
        """What stands below a title of `attnzoo describe`."""
        text = self.call("describe", mechanism).stdout
        section = re.search(rf"^{title}[^\n]*\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)[1]
        return [Item(name, shape, not line.endswith("optional)"), "(integers" in line)
                for line in section.splitlines() for name, shape in re.findall(r"^  (\S+) +(\[[^\]]*\])", line)]

    def words(self, mechanism, arrays):
        """A command line for arrays by name, without outputs."""
        parameters = {item.name for item in self.items(mechanism, "Parameters")}
        weights = {name: array for name, array in arrays.items() if name in parameters}
        write_safetensors(self.folder / "weights.safetensors", weights)
        words = ["run", mechanism, *(["--weights", "weights.safetensors"] if weights else [])]
        # Said, so that there is no note that it was not.
        if re.search(r"^  num_heads  ", self.call("describe", mechanism).stdout, re.MULTILINE):
            words += ["--set", "num_heads=1"]
        for name, array in arrays.items():
            if name not in parameters:
                np.save(self.folder / f"{name}.npy", array)
                words += ["--input", f"{name}={name}.npy"]
        return words

    def fed(self, mechanism, *options):
        """Arrays that the mechanism takes, by name. A mechanism for which none are found is shown as skipped."""
        items = self.items(mechanism, "Parameters") + self.items(mechanism, "Inputs")

        def attempt(arrays):
            done = self.call(*self.words(mechanism, arrays), "--context", "context.npy", *options)
            return None if done.returncode == 0 else done.stderr

        try:
            return feed(items, attempt, self.random)
        except Hungry as hungry:
            if options:
                self.fail(f"{mechanism} cannot be fed with {' '.join(options)}: {hungry}")
            self.skipTest(f"{mechanism} cannot be fed: {hungry}")


class TestEveryMechanism(SlotTest):
    def test_every_output_by_name(self):
        fed = 0
        for mechanism in self.mechanisms():
            with self.subTest(mechanism):
                words = self.words(mechanism, self.fed(mechanism))
                fed += 1
                outputs = self.items(mechanism, "Outputs")
                asked = [word for item in outputs for word in ("--output", f"{item.name}={item.name}.npy")]
                done = self.call(*words, *asked)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
                for item in outputs:
                    array = np.load(self.folder / f"{item.name}.npy")
                    self.assertEqual(array.dtype, np.dtype("<i8" if item.is_integer else "<f4"), item.name)
                    self.assertTrue(item.is_integer or not np.isnan(array).any(), item.name)
                    if item.name == "context":
                        continue
                    # Asked for alone, it is no different.
                    done = self.call(*words, "--context", "alone.npy", "--output", f"{item.name}=same.npy")
                    self.assertEqual((done.returncode, done.stderr), (0, ""), item.name)
                    self.assertEqual(np.load(self.folder / "same.npy").tobytes(), array.tobytes(), item.name)
                if any(item.name == "attention" for item in outputs):
                    done = self.call(*words, "--context", "context.npy", "--heatmap", "map.png")
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertGreaterEqual(fed, 5)

    def test_states_go_out_and_in(self):
        """What --state-out writes --state-in takes, for as many batches and no other number."""
        with_state = 0
        for mechanism in self.mechanisms():
            fields = self.items(mechanism, "State")
            if not fields:
                continue
            with self.subTest(mechanism):
                # What can be fed can be fed with a state.
                self.fed(mechanism)
                arrays = self.fed(mechanism, "--state-out", "state.safetensors")
                with_state += 1
                words = self.words(mechanism, arrays)
                for options in (["--state-out", "state.safetensors"],
                                ["--state-in", "state.safetensors", "--state-out", "next.safetensors", "--time"]):
                    if "position" in arrays and "--state-in" in options:
                        np.save(self.folder / "position.npy", np.resize(arrays["position"], (2 * KEYS + QUERIES - 1, SIZE)))
                    done = self.call(*words, "--context", "context.npy", *options)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), options)
                listed = self.call("list", "next.safetensors").stdout
                self.assertEqual([line.split()[0] for line in listed.splitlines()], [item.name for item in fields])
                # Another batch is no state for this call, and then nothing is written.
                for name, array in arrays.items():
                    if any(item.name == name for item in self.items(mechanism, "Inputs")) and array.shape[0] == BATCH:
                        np.save(self.folder / f"{name}.npy", array[:1])
                done = self.call(*words, "--context", "none.npy", "--state-in", "state.safetensors")
                self.assertEqual(done.returncode, 1)
                self.assertFalse((self.folder / "none.npy").exists())
        self.assertGreaterEqual(with_state, 3)

    def test_names_that_are_none(self):
        for mechanism in self.mechanisms():
            for option, kind, title in (("--input", "input", "Inputs"), ("--output", "output", "Outputs")):
                done = self.call("run", mechanism, "--context", "context.npy", option, "nope=x.npy")
                names = ", ".join(item.name for item in self.items(mechanism, title))
                told = f"attnzoo: {option} nope: {mechanism} has no such {kind}; it has {names}\n"
                needed = "attnzoo: --query is missing"
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertTrue(done.stderr == told or (option == "--output" and done.stderr.startswith(needed)),
                                done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_is_missing_is_spelled_as_it_is_typed(self):
        own = ("query", "key", "value", "position")
        for mechanism in self.mechanisms():
            needed = [item.name for item in self.items(mechanism, "Inputs") if item.is_required]
            for name in needed:
                others = [word for other in needed if other != name for word in ("--input", f"{other}=x.npy")]
                done = self.call("run", mechanism, "--context", "context.npy", *others)
                spelled = f"--{name}" if name in own else f"--input {name}"
                self.assertEqual((done.returncode, done.stderr),
                                 (2, f"attnzoo: {spelled} is missing: {mechanism} needs it\n"))

    def test_wrong_types(self):
        for mechanism in self.mechanisms():
            with self.subTest(mechanism):
                arrays = self.fed(mechanism)
                (self.folder / "context.npy").unlink()
                for item in self.items(mechanism, "Inputs"):
                    kind = np.float32 if item.is_integer else np.int64
                    done = self.call(*self.words(mechanism, {**arrays, item.name: make(item, self.random).astype(kind)}),
                                     "--context", "context.npy")
                    self.assertEqual((done.returncode, done.stdout), (1, ""))
                    allowed = "int32 or int64" if item.is_integer else "float32, float16 or bfloat16"
                    self.assertIn(f"--input {item.name}={item.name}.npy: the array is {np.dtype(kind)}, must be {allowed}; "
                                  "save it with .astype('", done.stderr)
                    self.assertFalse((self.folder / "context.npy").exists())


class TestScaledDotProduct(SlotTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(2)
        for name, rows in (("query", QUERIES), ("key", KEYS), ("value", KEYS)):
            np.save(self.folder / f"{name}.npy", random.standard_normal((BATCH, 2, rows, 8)).astype(np.float32))

    def run_words(self, *words):
        return self.call("run", "scaled_dot_product", "--input", "query=query.npy", "--key", "key.npy",
                         "--input=value=value.npy", *words)

    def test_log_sum_exp(self):
        done = self.run_words("--output=context=context.npy", "--output", "log_sum_exp=sum.npy")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        query, key, value = (np.load(self.folder / f"{name}.npy").astype(np.float64) for name in ("query", "key", "value"))
        weights = np.exp(query @ key.swapaxes(-1, -2) / np.sqrt(8))
        # Sums of 8 products of numbers of about 1, in float32.
        np.testing.assert_allclose(np.load(self.folder / "sum.npy"), np.log(weights.sum(axis=-1)), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(np.load(self.folder / "context.npy"),
                                   weights / weights.sum(axis=-1, keepdims=True) @ value, rtol=1e-5, atol=1e-6)

    def check_refused(self, status, part, *words):
        (self.folder / "context.npy").write_text("old")
        before = sorted(self.folder.iterdir())
        done = self.run_words(*words)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Aattnzoo: [^\n]+\n\Z")
        self.assertIn(part, done.stderr)
        self.assertEqual((self.folder / "context.npy").read_text(), "old")
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_one_fails_and_none_appears(self):
        self.check_refused(2, "two outputs cannot go to one file", "--context", "context.npy", "--output",
                           "log_sum_exp=context.npy")
        self.check_refused(2, "--output log_sum_exp=query.npy: this is the file that --input query reads", "--context",
                           "context.npy", "--output", "log_sum_exp=query.npy")
        self.check_refused(2, "--context key.npy: this is the file that --key reads", "--context", "key.npy")
        self.check_refused(1, "none/sum.npy: ", "--context", "context.npy", "--output", "log_sum_exp=none/sum.npy")
        self.check_refused(1, "/dev/full: writing: ", "--context", "context.npy", "--output", "attention=attention.npy",
                           "--output", "log_sum_exp=/dev/full")

    def test_wrong_words(self):
        self.check_refused(2, "--context is missing", "--output", "log_sum_exp=sum.npy")
        self.check_refused(2, "--key: given more than once", "--context", "context.npy", "--input", "key=key.npy")
        self.check_refused(2, "--output nope: ", "--context", "context.npy", "--output", "nope=sum.npy")
        self.check_refused(2, "--position: scaled_dot_product has no such input; it has query, key, value", "--context",
                           "context.npy", "--position", "query.npy")


if __name__ == "__main__":
    ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
