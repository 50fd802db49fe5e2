#!/usr/bin/env python3
"""Runs the command attnzoo from outside: what it prints, writes and leaves behind, and how it ends.

    test_command.py PATH/TO/attnzoo [unittest options]
"""
import errno
import json
import os
import pathlib
import pty
import resource
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

ATTNZOO = None


def attention_of(query, key, value, scale=None, allowed=None, bias=0.0):
    """Scaled dot-product attention in float64: context and attention."""
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    scale = 1 / np.sqrt(query.shape[-1]) if scale is None else scale
    scores = scale * query @ np.swapaxes(key, -1, -2) + bias
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    highest = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(highest), 0.0, highest))
    total = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return weights @ value, weights


def write_safetensors(path, tensors):
    """Writes {name: (type, array)}."""
    header, data = {}, b""
    for name, (kind, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attnzoo-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        random = np.random.default_rng(1)
        self.query, self.key, self.value = (
            random.standard_normal(shape).astype(np.float32) for shape in ((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6)))
        for name in ("query", "key", "value"):
            np.save(self.folder / f"{name}.npy", getattr(self, name))

    def call(self, *words, **options):
        return subprocess.run([ATTNZOO, *words], cwd=self.folder, capture_output=True, text=True, timeout=120,
                              **options)

    def run_words(self, *words, context="context.npy"):
        return ["run", "scaled_dot_product", "--query", "query.npy", "--key", "key.npy", "--value", "value.npy",
                "--context", context, *words]

    def run_well(self, *words, **options):
        """Runs with the inputs of setUp() and returns the context."""
        done = self.call(*self.run_words(*words), **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.load("context.npy")

    def check_failure(self, done, status, part):
        """Exit status, nothing on standard output, one line on standard error that says `part`."""
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Aattnzoo: [^\n]+\n\Z")
        self.assertNotRegex(done.stderr, "attnzoo_[a-z_]+: ", "a C function, which the user has not called")
        self.assertIn(part, done.stderr)

    def load(self, name):
        array = np.load(self.folder / name)
        self.assertEqual(array.dtype, np.dtype("<f4"))
        self.assertTrue(array.flags.c_contiguous)
        return array

    def grouped(self, name):
        """Key or value with each head repeated for the query heads that share it."""
        return np.repeat(getattr(self, name), 2, axis=1)

    def expected(self, **options):
        return attention_of(self.query, self.grouped("key"), self.grouped("value"), **options)

    def assert_close(self, got, wanted):
        self.assertEqual(got.shape, wanted.shape)
        # All arithmetic is float32 on numbers of about 1 in sums of a few terms.
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())


class TestInformation(CommandTest):
    def test_list_has_a_mechanism_a_line(self):
        done = self.call("list")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertIn("scaled_dot_product", [line.split()[0] for line in lines])
        self.assertTrue(all(len(line.split()) > 2 for line in lines))

    def test_every_listed_mechanism_can_be_described(self):
        for line in self.call("list").stdout.splitlines():
            done = self.call("describe", line.split()[0])
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for title in ("Formula", "Source", "Options", "Parameters", "Inputs", "Outputs"):
                self.assertIn(f"\n{title}", done.stdout)

    def test_describe_scaled_dot_product(self):
        text = self.call("describe", "scaled_dot_product").stdout
        for part in ("scale  float, default 1/sqrt(D)", "softcap", "arXiv 1706.03762", "[B, G, M, Dv]",
                     "Parameters (--weights)\n  none\n", "(optional)"):
            self.assertIn(part, text)

    def test_version_and_help(self):
        done = self.call("--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\Aattnzoo \d+\.\d+\.\d+\nlibattnzoo .+\n\Z")
        for words in (("--help",), ("-h",), ("help",), ("run", "--help"), ("run", "-h"), ("describe", "--help"),
                      ("describe", "-h")):
            done = self.call(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for part in ("--query-offset N|F", "--state-out", "--heatmap F.png", "--threads N", "--prefix", "--rename",
                         "Exit status", "as many as the process may use"):
                self.assertIn(part, done.stdout)

    def test_standard_output_that_cannot_be_written(self):
        for words in (("list",), ("describe", "scaled_dot_product"), ("--help",), ("--version",)):
            with open("/dev/full", "w") as full:
                done = subprocess.run([ATTNZOO, *words], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr), (1, "attnzoo: standard output: No space left on device\n"))

    def test_closed_standard_streams(self):
        done = subprocess.run(["sh", "-c", '"$0" list >&-', ATTNZOO], capture_output=True, text=True)
        self.check_failure(done, 1, "standard output")
        # With all three closed, the outputs get their numbers, and must still hold nothing but what is theirs.
        words = [ATTNZOO, *self.run_words("--time")]
        subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *words], cwd=self.folder)
        self.assert_close(self.load("context.npy"), self.expected()[0])
        self.assertEqual((self.folder / "context.npy").stat().st_size, 128 + 2 * 4 * 3 * 6 * 4)


class TestResults(CommandTest):
    def test_context_and_attention(self):
        context = self.run_well("--attention=attention.npy")
        wanted = self.expected()
        self.assert_close(context, wanted[0])
        self.assert_close(self.load("attention.npy"), wanted[1])

    def test_settings(self):
        self.assert_close(self.run_well("--set", "scale=0.125"), self.expected(scale=0.125)[0])

    def test_decimal_comma_locales(self):
        """P57: the user's locale changes neither what is read nor what is printed."""
        environment = dict(os.environ, LC_ALL="de_DE.UTF-8")
        if shutil.which("localedef") and pathlib.Path("/usr/share/i18n/locales/de_DE").exists():
            made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(self.folder / "de_DE.UTF-8")],
                                  capture_output=True)
            if made.returncode == 0:
                environment["LOCPATH"] = str(self.folder)
        self.assert_close(self.run_well("--set", "scale=0.125", env=environment), self.expected(scale=0.125)[0])
        done = self.call(*self.run_words("--time"), env=environment)
        self.assertRegex(done.stdout, r"median \d+\.\d{3} ms")
        self.check_failure(self.call(*self.run_words("--set", "scale=0,125"), env=environment), 2, "scale")

    def test_file_layouts(self):
        """P55: every byte order, memory order and width comes to the same."""
        wanted = self.expected()[0]
        for change in (np.asfortranarray, lambda array: array.astype(">f4"),
                       lambda array: np.asfortranarray(array.astype(">f4"))):
            for name in ("query", "key", "value"):
                np.save(self.folder / f"{name}.npy", change(getattr(self, name)))
            self.assert_close(self.run_well(), wanted)
        for version in ((2, 0), (3, 0)):
            with open(self.folder / "query.npy", "wb") as stream:
                np.lib.format.write_array(stream, self.query, version=version)
            self.assert_close(self.run_well(), wanted)

    def test_float16(self):
        for name in ("query", "key", "value"):
            half = getattr(self, name).astype(np.float16)
            setattr(self, name, half)
            np.save(self.folder / f"{name}.npy", half)
        self.assert_close(self.run_well(), self.expected()[0])

    def test_safetensors_inputs(self):
        """P56: also bfloat16, and data at no multiple of the element size."""
        upper = lambda array: (array.view(np.uint32) >> 16).astype("<u2")
        widen = lambda array: (upper(array).astype(np.uint32) << 16).view(np.float32)
        write_safetensors(self.folder / "in.safetensors", {
            "odd": ("BOOL", np.zeros(3, np.uint8)), "layer.query": ("F32", self.query),
            "key \u2713": ("BF16", upper(self.key)), "value": ("F16", self.value.astype(np.float16))})
        self.key, self.value = widen(self.key), self.value.astype(np.float16)
        done = self.call("run", "scaled_dot_product", "--query", "in.safetensors:layer.query", "--key",
                         "in.safetensors:key \u2713", "--value=in.safetensors:value", "--context", "context.npy")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_close(self.load("context.npy"), self.expected()[0])

    def test_leading_axes_left_out(self):
        self.query, self.key, self.value = self.query[0, 0], self.key[0, 0], self.value[0, 0]
        for name in ("query", "key", "value"):
            np.save(self.folder / f"{name}.npy", getattr(self, name))
        context = self.run_well("--attention", "attention.npy", "--heatmap", "map.png")
        self.assert_close(context, attention_of(self.query, self.key, self.value)[0])
        self.assertEqual(self.load("attention.npy").shape, (3, 5))

    def test_causal_and_alignments(self):
        row, column = np.arange(3)[:, None], np.arange(5)[None, :]
        np.save(self.folder / "one.npy", np.array([2, -1]))
        np.save(self.folder / "number.npy", np.array(1))
        per_batch = np.array([2, -1]).reshape(2, 1, 1, 1)
        for words, offset in ((["--causal"], 2), (["--causal", "--align", "bottom-right"], 2),
                              (["--causal", "--align=top-left"], 0), (["--causal", "--query-offset", "-1"], -1),
                              (["--causal", "--query-offset=1"], 1), (["--causal", "--query-offset", "number.npy"], 1),
                              (["--causal", "--query-offset", "one.npy"], per_batch)):
            self.assert_close(self.run_well(*words), self.expected(allowed=column <= row + offset)[0])
        position = row + 2
        for window, allowed in (("-1,1", column <= position + 1),
                                ("1,0", (column <= position) & (column >= position - 1)),
                                ("0,-1", column >= position)):
            self.assert_close(self.run_well("--window", window), self.expected(allowed=allowed)[0])

    def test_lengths(self):
        np.save(self.folder / "keys.npy", np.array([5, 2], np.int32))
        np.save(self.folder / "queries.npy", np.array([1, 3]))
        key_lengths, query_lengths = np.array([5, 2]).reshape(2, 1, 1, 1), np.array([1, 3]).reshape(2, 1, 1, 1)
        row, column = np.arange(3)[:, None], np.arange(5)[None, :]
        real = (column < key_lengths) & (row < query_lengths)
        words = ["--key-lengths", "keys.npy", "--query-lengths", "queries.npy"]
        self.assert_close(self.run_well(*words), self.expected(allowed=real)[0])
        causal = real & (column <= row + key_lengths - query_lengths)
        self.assert_close(self.run_well(*words, "--causal", "--align", "lengths"), self.expected(allowed=causal)[0])

    def test_masks_and_biases(self):
        random = np.random.default_rng(2)
        allowed = random.random((2, 1, 3, 5)) < 0.6
        bias = random.standard_normal((3, 5)).astype(np.float32)
        slopes = np.array([0.5, 0.25, 0.125, 1], np.float32)
        segments = np.array([[0, 0, 1, 1, 1], [2, 2, 2, 2, 3]])
        for name, array in (("allowed", allowed), ("bias", bias), ("slopes", slopes), ("segments", segments)):
            np.save(self.folder / f"{name}.npy", array)
        row, column = np.arange(3)[:, None], np.arange(5)[None, :]
        self.assert_close(self.run_well("--mask", "allowed.npy"), self.expected(allowed=allowed)[0])
        self.assert_close(self.run_well("--bias", "bias.npy"), self.expected(bias=bias)[0])
        distance = -slopes.reshape(4, 1, 1) * np.abs(row + 2 - column)
        self.assert_close(self.run_well("--alibi", "slopes.npy"), self.expected(bias=distance)[0])
        same = (segments[:, None, 2:, None] == segments[:, None, None, :])
        self.assert_close(self.run_well("--segments", "segments.npy"), self.expected(allowed=same)[0])

    def test_past(self):
        whole_key, whole_value = self.key, self.value
        np.save(self.folder / "past_key.npy", whole_key[:, :, :2])
        np.save(self.folder / "past_value.npy", np.asfortranarray(whole_value[:, :, :2]))
        np.save(self.folder / "key.npy", whole_key[:, :, 2:])
        np.save(self.folder / "value.npy", whole_value[:, :, 2:])
        context = self.run_well("--past-key", "past_key.npy", "--past-value", "past_value.npy")
        self.assert_close(context, self.expected()[0])

    def test_threads_do_not_change_the_result(self):
        one = self.run_well("--threads", "1")
        self.assertTrue(np.array_equal(one, self.run_well("--threads=3")))
        self.assertTrue(np.array_equal(one, self.run_well("--threads", "0")))

    def test_empty_axes(self):
        np.save(self.folder / "query.npy", self.query[:, :, :0])
        self.assertEqual(self.run_well("--heatmap", "map.png").shape, (2, 4, 0, 6))
        np.save(self.folder / "query.npy", self.query)
        np.save(self.folder / "key.npy", self.key[:, :, :0])
        np.save(self.folder / "value.npy", self.value[:, :, :0])
        self.assertEqual(np.abs(self.run_well("--attention", "attention.npy")).max(), 0)
        self.assertEqual(self.load("attention.npy").shape, (2, 4, 3, 0))

    def test_heat_map_is_a_png(self):
        self.run_well("--heatmap", "map.png")
        data = (self.folder / "map.png").read_bytes()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(data[-8:-4], b"IEND")
        self.assertNotIn("attention.npy", self.names())

    def test_time(self):
        done = self.call(*self.run_words("--time"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\Aforward: median [\d.]+ ms, [^\n]*threads?\)\n\Z")
        self.assert_close(self.load("context.npy"), self.expected()[0])

    def test_outputs_to_a_pipe(self):
        os.mkfifo(self.folder / "pipe")
        # The pipe holds more than is written, so that there need be no reader at the same time.
        reader = os.open(self.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        done = self.call(*self.run_words(context="pipe"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (self.folder / "piped.npy").write_bytes(os.read(reader, 1 << 16))
        self.assert_close(self.load("piped.npy"), self.expected()[0])
        self.assertTrue((self.folder / "pipe").is_fifo())


class TestFailures(CommandTest):
    def setUp(self):
        super().setUp()
        self.outputs = ("context.npy", "attention.npy", "map.png")
        for name in self.outputs:
            (self.folder / name).write_text("old")
        self.before = self.names()

    def check_nothing_happened(self):
        self.assertEqual(self.names(), self.before)
        for name in self.outputs:
            self.assertEqual((self.folder / name).read_text(), "old")

    def check_run_fails(self, status, part, *words, **options):
        words = self.run_words("--attention", "attention.npy", "--heatmap", "map.png", *words)
        self.before = self.names()
        self.check_failure(self.call(*words, **options), status, part)
        self.check_nothing_happened()

    def test_usage_errors(self):
        for words, part in (
                ([], "say what to do"), (["bogus"], "bogus: no such command"), (["lis"], "no such command"),
                (["list", "x"], "x: not expected"), (["--version", "x"], "not expected"),
                (["describe"], "say which mechanism"), (["describe", "nope"], "nope"),
                (["describe", "scaled_dot_product", "x"], "not expected"), (["run"], "say which mechanism"),
                (["run", "nope", "--context", "c"], "there is no mechanism \"nope\""),
                (["run", "scaled_dot_product", "--context", "c"], "--query is missing"),
                (["run", "scaled_dot_product", "--query", "query.npy"], "--context is missing"),
                (["run", "scaled_dot_product", "--context"], "value is missing")):
            self.check_failure(self.call(*words), 2, part)
        self.check_nothing_happened()

    def test_wrong_options(self):
        self.check_run_fails(2, "--caus: no such option", "--caus")
        self.check_run_fails(2, "--querylengths: no such option", "--querylengths", "x")
        self.check_run_fails(2, "given more than once", "--context", "other.npy")
        self.check_run_fails(2, "--causal: given more than once", "--causal", "--causal")
        self.check_run_fails(2, "--window 1: must be", "--window", "1")
        self.check_run_fails(2, "--position: scaled_dot_product has no such input", "--position", "query.npy")
        self.check_run_fails(2, "--threads: ", "--threads", "257")
        self.check_run_fails(2, "--prefix needs --weights", "--prefix", "x")

    def test_wrong_settings(self):
        """P60"""
        self.check_run_fails(2, "it has: scale, softcap", "--set", "num_head=8")
        self.check_run_fails(2, "attnzoo: --set scale=x: scale is \"x\", must be", "--set", "scale=x")
        self.check_run_fails(2, "--set scale=", "--set", "scale=")
        self.check_run_fails(2, "--set scale=1.5x", "--set", "scale=1.5x")
        self.check_run_fails(2, "--set softcap=-1", "--set", "softcap=-1")
        # A rule that is known only when the module is prepared.
        self.check_run_fails(2, "--set softcap=1e-40: ", "--set", "scale=2", "--set", "softcap=1e-40")

    def test_two_outputs_in_one_file(self):
        done = self.call(*self.run_words("--attention", "./context.npy"))
        self.check_failure(done, 2, "two outputs")
        self.check_nothing_happened()

    def test_outputs_in_the_place_of_inputs(self):
        """Each output against inputs of every kind, also by other names of the same file."""
        for name, array in (("lengths", np.array([5, 2])), ("allowed", np.ones((3, 5), bool)),
                            ("bias", np.zeros((3, 5), np.float32)), ("slopes", np.ones(4, np.float32)),
                            ("segments", np.zeros((2, 5), np.int64)), ("offset", np.array(0))):
            np.save(self.folder / f"{name}.npy", array)
        np.save(self.folder / "past.npy", self.value)
        write_safetensors(self.folder / "in.safetensors", {"bias": ("F32", np.zeros((3, 5), np.float32))})
        (self.folder / "link.npy").symlink_to("bias.npy")
        (self.folder / "here").symlink_to(".")
        files = {path: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        for output, target, option, *source in (
                ("--attention", "query.npy", "--query"), ("--attention", "./key.npy", "--key"),
                ("--heatmap", f"{self.folder}/value.npy", "--value"),
                ("--attention", "lengths.npy", "--key-lengths", "lengths.npy"),
                ("--attention", "lengths.npy", "--query-lengths", "here/lengths.npy"),
                ("--heatmap", "here/allowed.npy", "--mask", "allowed.npy"),
                ("--attention", "bias.npy", "--bias", "link.npy"), ("--attention", "link.npy", "--bias", "bias.npy"),
                ("--attention", "in.safetensors", "--bias", "in.safetensors:bias"),
                ("--heatmap", "in.safetensors", "--weights", "in.safetensors"),
                ("--attention", "slopes.npy", "--alibi", "slopes.npy"),
                ("--attention", "segments.npy", "--segments", "segments.npy"),
                ("--attention", "offset.npy", "--query-offset", "offset.npy"),
                ("--attention", "past.npy", "--past-key", "past.npy", "--past-value", "value.npy"),
                ("--heatmap", "past.npy", "--past-value", "past.npy", "--past-key", "key.npy")):
            words = [option, *source] if source else []
            self.check_failure(self.call(*self.run_words(output, target, *words)), 2,
                               f"{output} {target}: this is the file that {option} reads")
        self.check_failure(self.call(*self.run_words(context="query.npy")), 2, "--context query.npy: this is the file")
        self.assertEqual({path: path.read_bytes() for path in files}, files)
        # A number is no file, whatever there is of that name; and a file that is only there may be replaced.
        (self.folder / "1").write_text("old")
        done = self.call(*self.run_words("--query-offset", "1", "--causal", "--attention", "1", "--heatmap",
                                        "past.npy"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.folder / "past.npy").read_bytes()[:4], b"\x89PNG")

    def test_states_are_refused(self):
        self.check_run_fails(2, "--state-in: scaled_dot_product carries no state", "--state-in", "state.safetensors")
        self.check_run_fails(2, "--state-out: scaled_dot_product carries no state", "--state-out", "s.safetensors")

    def test_missing_and_malformed_inputs(self):
        self.check_run_fails(1, "missing.npy: No such file", "--mask", "missing.npy")
        (self.folder / "short.npy").write_bytes((self.folder / "key.npy").read_bytes()[:-1])
        self.check_run_fails(1, "short.npy: the file is too short", "--bias", "short.npy")
        (self.folder / "empty.npy").write_bytes(b"")
        self.check_run_fails(1, "empty.npy: the file is too short", "--bias", "empty.npy")
        np.save(self.folder / "double.npy", np.zeros((3, 5)))
        self.check_run_fails(1, "double.npy: dtype '<f8' is not supported; float32, float16, bool, int32 and int64 are; "
                             "save it with .astype('float32')\n", "--bias", "double.npy")
        np.save(self.folder / "swapped.npy", np.zeros((3, 5), ">f8"))
        self.check_run_fails(1, "'>f8' is not supported; float32, float16, bool, int32 and int64 are; save it",
                             "--bias", "swapped.npy")
        np.save(self.folder / "small.npy", np.zeros((3, 5), np.int16))
        self.check_run_fails(1, "dtype '<i2' is not supported; float32, float16, bool, int32 and int64 are\n", "--mask",
                             "small.npy")
        np.save(self.folder / "record.npy", np.zeros(3, [("a", "f4")]))
        self.check_run_fails(1, "record.npy: structured", "--bias", "record.npy")
        np.save(self.folder / "object.npy", np.array([None]), allow_pickle=True)
        self.check_run_fails(1, "object.npy: dtype '|O'", "--bias", "object.npy")
        np.save(self.folder / "number.npy", np.array(1.0, np.float32))
        self.check_run_fails(1, "number.npy: a single number", "--bias", "number.npy")
        self.check_run_fails(1, "number.npy: a query offset must be int", "--query-offset", "number.npy")
        self.check_run_fails(1, "x.safetensors: No such file", "--bias", "x.safetensors:a")
        self.check_run_fails(2, "FILE.safetensors:NAME", "--bias", "x.safetensors")
        self.check_run_fails(1, "two?lines", "--bias", "two\nlines")
        self.check_run_fails(1, ": File name too long", "--bias", "x" * 20000)

    def test_files_of_other_kinds(self):
        np.savez(self.folder / "arrays.npz", bias=np.zeros((3, 5), np.float32))
        shutil.copy(self.folder / "arrays.npz", self.folder / "archive.safetensors")
        shutil.copy(self.folder / "key.npy", self.folder / "array.safetensors")
        # The first bytes of what torch.save() writes, today and before PyTorch 1.6.
        (self.folder / "model.pt").write_bytes(b"PK\x03\x04\x00\x00\x08\x08" + bytes(100))
        (self.folder / "old.pt").write_bytes(bytes.fromhex("80028a0a6cfc9c46f9206aa850192e") + bytes(100))
        write_safetensors(self.folder / "double.safetensors", {"bias": ("F64", np.zeros((3, 5)))})
        write_safetensors(self.folder / "small.safetensors", {"bias": ("I16", np.zeros((3, 5), np.int16))})
        self.check_run_fails(1, "arrays.npz: not a .npy file but an archive, as .npz is; save each array by itself",
                             "--bias", "arrays.npz")
        for name in ("archive.safetensors", "model.pt"):
            self.check_run_fails(1, f"{name}: not a .safetensors file but a PyTorch or .npz archive; "
                                 "safetensors.torch.save_file writes .safetensors", "--weights", name)
        self.check_run_fails(1, "archive", "--bias", "archive.safetensors:bias")
        self.check_run_fails(1, "old.pt: not a .safetensors file but an old PyTorch file", "--weights", "old.pt")
        self.check_run_fails(1, "array.safetensors: not a .safetensors file but a .npy file; "
                             "safetensors.numpy.save_file writes", "--weights", "array.safetensors")
        self.check_run_fails(1, "'bias' is F64, which is not supported; F32, F16, BF16, BOOL, I32 and I64 are; save it "
                             "with .astype('float32')", "--bias", "double.safetensors:bias")
        self.check_run_fails(1, "BOOL, I32 and I64 are\n", "--bias", "small.safetensors:bias")

    def test_numbers_in_the_place_of_files(self):
        for option, value, content in (("--key-lengths", "5", "[B] integers"),
                                       ("--query-lengths", "3,3", "[B] integers"),
                                       ("--segments", "[0, 1]", "[B, M] integers"),
                                       ("--alibi", "0.5", "[H] float numbers")):
            self.check_run_fails(1, f"{option} {value}: there is no such file; a file of {content} is wanted", option,
                                 value)
        # Where there is a file of that name it is read.
        np.save(self.folder / "lengths.npy", np.array([5, 5]))
        (self.folder / "lengths.npy").rename(self.folder / "5")
        self.assert_close(self.run_well("--key-lengths", "5"), self.expected()[0])

    def test_inputs_that_do_not_fit(self):
        np.save(self.folder / "wrong.npy", np.zeros((3, 4), np.float32))
        self.check_run_fails(1, "scaled_dot_product: ", "--bias", "wrong.npy")
        self.check_run_fails(1, "wrong.npy: ", "--key-lengths", "wrong.npy")
        np.save(self.folder / "long.npy", np.array([5, 6]))
        self.check_run_fails(1, "batch 1", "--key-lengths", "long.npy")
        np.save(self.folder / "past.npy", self.key[:, :, :, :7])
        self.check_run_fails(1, "past.npy has shape", "--past-key", "past.npy", "--past-value", "past.npy")
        self.check_run_fails(2, "given together", "--past-key", "past.npy")
        np.save(self.folder / "half.npy", self.key.astype(np.float16))
        self.check_run_fails(1, "half.npy is float16 but key.npy is float32", "--past-key", "half.npy", "--past-value",
                             "half.npy")

    def test_weights_for_no_parameter(self):
        write_safetensors(self.folder / "w.safetensors", {"a.weight": ("F32", self.value)})
        self.check_run_fails(1, "'a.weight' is no parameter", "--weights", "w.safetensors")
        self.check_run_fails(1, "begins with 'b.'", "--weights", "w.safetensors", "--prefix", "b.")

    def test_outputs_that_cannot_be_written(self):
        for target in ("missing/context.npy", "query.npy/context.npy", "."):
            self.check_failure(self.call(*self.run_words("--attention", "attention.npy", context=target)), 1, target)
            self.check_nothing_happened()

    def test_dangling_links_are_written_through(self):
        (self.folder / "context.npy").unlink()
        (self.folder / "context.npy").symlink_to("real.npy")
        self.assert_close(self.run_well(), self.expected()[0])
        self.assertTrue((self.folder / "context.npy").is_symlink())
        self.assertTrue((self.folder / "real.npy").is_file())

    def test_replaced_outputs_keep_their_mode(self):
        for mode in (0o600, 0o640, 0o604):
            target = self.folder / "context.npy"
            target.touch()
            target.chmod(mode)
            self.run_well()
            self.assertEqual(target.stat().st_mode & 0o777, mode)

    def test_full_device(self):
        # A node of our own: were the command wrong and the user root, the one under /dev would be lost.
        try:
            os.mknod(self.folder / "full", stat.S_IFCHR | 0o600, os.makedev(1, 7))
            open(self.folder / "full", "wb").close()
        except OSError as error:
            self.skipTest(f"no device can be made here: {error}")
        self.before = self.names()
        words = self.run_words("--attention", "attention.npy", context="full")
        self.check_failure(self.call(*words), 1, "full: writing: No space left on device")
        self.check_nothing_happened()
        self.assertTrue(stat.S_ISCHR((self.folder / "full").stat().st_mode))

    def test_unwritable_folder(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        (self.folder / "locked").mkdir(mode=0o500)
        self.check_failure(self.call(*self.run_words(context="locked/context.npy")), 1, "Permission denied")

    def test_disk_full_in_the_middle(self):
        """P58: the last of the outputs fails, and none has changed."""
        size = 2 * 4 * 3 * 6 * 4 + 128 + 1
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        self.check_run_fails(1, "map.png: writing: File too large", preexec_fn=limit)

    def start_blocked(self, **options):
        """Starts a run that waits for its bias from a pipe, with the outputs open already."""
        os.mkfifo(self.folder / "pipe.npy")
        self.before = self.names()
        words = self.run_words("--attention", "attention.npy", "--heatmap", "map.png", "--bias", "pipe.npy")
        process = subprocess.Popen([ATTNZOO, *words], cwd=self.folder, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def open_pipe(self, process):
        """The writing end of the pipe, once the command has come so far as to read it."""
        while process.poll() is None:
            try:
                return os.fdopen(os.open(self.folder / "pipe.npy", os.O_WRONLY | os.O_NONBLOCK), "wb")
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            time.sleep(0.01)
        self.fail("the command ended before it read the pipe")

    def test_pipe_that_ends_too_early(self):
        """P55: the size of a pipe cannot be known in advance."""
        np.save(self.folder / "bias.npy", np.zeros((3, 5), np.float32))
        process = self.start_blocked(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with self.open_pipe(process) as pipe:
            pipe.write((self.folder / "bias.npy").read_bytes()[:-1])
        written, complaint = process.communicate(timeout=60)
        done = subprocess.CompletedProcess([], process.returncode, written, complaint)
        self.check_failure(done, 1, "pipe.npy: the file is too short: the array takes 60 bytes, 59 were left")
        self.check_nothing_happened()

    def test_interrupted(self):
        """P58: the run ends by the signal, with no temporary left and the old outputs whole."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start_blocked()
            with self.open_pipe(process):
                self.assertGreater(len(self.names()), len(self.before))
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=60), -number)
            self.check_nothing_happened()
            (self.folder / "pipe.npy").unlink()

    def read_terminal(self, control, seen, ending):
        """Reads on until `ending` comes, or to the end of the output."""
        while ending not in seen:
            ready, _, _ = select.select([control], [], [], 60)
            self.assertTrue(ready, seen)
            try:
                seen += os.read(control, 4096)
            except OSError:  # so Linux tells that nobody has the terminal open any more
                break
        return seen

    def test_progress_on_a_terminal(self):
        control, terminal = pty.openpty()
        self.addCleanup(os.close, control)
        process = self.start_blocked(stderr=terminal, stdout=subprocess.DEVNULL)
        os.close(terminal)
        np.save(self.folder / "bias.npy", np.zeros((3, 5), np.float32))
        with self.open_pipe(process) as pipe:
            seen = self.read_terminal(control, b"", b"reading, 1 s")
            pipe.write((self.folder / "bias.npy").read_bytes())
        self.assertEqual(process.wait(timeout=60), 0)
        seen = self.read_terminal(control, seen, b"no such text")
        self.assertIn(b"\rattnzoo: reading, 1 s", seen)
        self.assertTrue(seen.endswith(b"\r\x1b[K"), seen)


if __name__ == "__main__":
    ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
