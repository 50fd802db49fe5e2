#!/usr/bin/env python3
"""Runs the command attnzoo from outside: what it prints, writes and leaves behind, and how it ends.

    test_command.py PATH/TO/attnzoo [unittest options]
"""
import errno
import json
import os
import pathlib
import pty
import re
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


def limit_memory():
    """Options for a run that may have 1 GiB; none where the command has a sanitizer inside it, which needs far more."""
    if re.search(rb"__[at]san_init", pathlib.Path(ATTNZOO).read_bytes()):
        return {}
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))}


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

    def test_version(self):
        done = self.call("--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\Aattnzoo \d+\.\d+\.\d+\nlibattnzoo .+\n\Z")

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
        if not shutil.which("localedef"):
            self.skipTest("NOT CHECKED: there is no localedef to make a locale with")
        # The one of the library's own test; few machines have one installed.
        source = pathlib.Path(__file__).resolve().parents[1] / "core" / "locale"
        subprocess.run(["localedef", "-c", "-i", source / "comma.src", "-f", source / "ascii.charmap",
                        self.folder / "comma"], capture_output=True)
        environment = {name: value for name, value in os.environ.items() if name != "LANG" and name[:3] != "LC_"}
        environment |= {"LC_NUMERIC": "comma", "LOCPATH": str(self.folder)}
        # It would be none if what prints by the user's locale knew nothing of it.
        printed = subprocess.run(["printf", "%.1f", "0,5"], env=environment, capture_output=True, text=True)
        self.assertEqual(printed.stdout, "0,5", printed.stderr)
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

    def test_heat_map_with_labels(self):
        (self.folder / "queries.txt").write_text("the\nsmall\nzoo\n")
        (self.folder / "keys.txt").write_text("\u2581the\nGr\u00f6\u00dfe\n\u4e2d\u6587\n&lt;\n\U0001f600", encoding="utf-8")
        words = ("--query-labels", "queries.txt", "--key-labels", "keys.txt")
        pictures = set()
        # fontconfig complains of a file that is not there; the user has nothing to do with that.
        for environment in ({}, {"FONTCONFIG_FILE": "/nonexistent/fonts.conf"}):
            for given in ((), words[:2], words[2:], words):
                self.run_well("--heatmap", "map.png", *given, env={**os.environ, **environment})
                pictures.add((self.folder / "map.png").read_bytes())
        self.assertGreaterEqual(len(pictures), 4)

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

    def test_outputs_to_standard_output(self):
        """It is a pipe without a name, which a path leads to all the same; or a file, which is then replaced."""
        for name in ("/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"):
            if not os.path.exists(name):
                self.skipTest(f"there is no {name}")
            done = subprocess.run([ATTNZOO, *self.run_words(context=name)], cwd=self.folder, capture_output=True)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            (self.folder / "piped.npy").write_bytes(done.stdout)
            self.assert_close(self.load("piped.npy"), self.expected()[0])
            done = subprocess.run([ATTNZOO, *self.run_words("--heatmap", name)], cwd=self.folder, capture_output=True)
            self.assertEqual((done.returncode, done.stderr, done.stdout[:4]), (0, b"", b"\x89PNG"))
            with open(self.folder / "file.npy", "wb") as file:
                subprocess.run([ATTNZOO, *self.run_words(context=name)], cwd=self.folder, stdout=file, check=True)
            self.assert_close(self.load("file.npy"), self.expected()[0])


class FailureTest(CommandTest):
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


class TestFailures(FailureTest):
    def test_usage_errors(self):
        for words, part in (
                ([], "say what to do"), (["bogus"], "bogus: no such command"), (["lis"], "no such command"),
                (["compra"], "did you mean compare?"), (["list", "x", "y"], "y: not expected"), (["list", "--x"], "--x: no such option"), (["--version", "x"], "not expected"),
                (["describe"], "say which mechanism"), (["describe", "nope"], "nope"),
                (["describe", "scaled_dot_product", "x"], "not expected"), (["run"], "say which mechanism"),
                (["run", "multihead"], 'there is no mechanism "multihead"'),
                (["run", "multihead", "--caus"], 'there is no mechanism "multihead"'),
                (["run", "multi_head", "--caus"], "--caus: no such option"), (["-V"], "did you mean --version?"),
                (["-v"], "did you mean --version?"), (["-x"], "did you mean -h?"),
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

    def test_wrong_labels(self):
        for option, count, what in (("--query-labels", 3, "queries"), ("--key-labels", 5, "keys")):
            (self.folder / "labels.txt").write_text("a\n" * (count - 1))
            self.check_run_fails(1, f"{option} labels.txt: the file has {count - 1} lines, but there are {count} {what}",
                                 option, "labels.txt")
            (self.folder / "labels.txt").write_text("a\n" * (count + 1))
            self.check_run_fails(1, f"{option} labels.txt: the file has more than {count} lines", option, "labels.txt")
            self.check_run_fails(1, "/dev/zero: line 1 is too long for a label", option, "/dev/zero", **limit_memory())
            (self.folder / "latin.txt").write_bytes(b"a\n\xe9\n")
            self.check_run_fails(1, "latin.txt: line 2 is not text in UTF-8", option, "latin.txt")
            self.check_run_fails(1, "missing.txt: No such file", option, "missing.txt")
            done = self.call(*self.run_words(option, "labels.txt"))
            self.check_failure(done, 2, f"{option} needs --heatmap")
            self.check_run_fails(2, f"did you mean {option}?", option[:-1] + "l")

    def test_words_behind_the_end_of_the_options(self):
        words = self.run_words()
        done = self.call("run", *words[2:], "--causal", "--", words[1])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.check_failure(self.call(*words, "--", "--causal"), 2, "--causal: not expected; the mechanism is")
        self.check_failure(self.call("run", *words[2:], "--", "--help"), 2, 'there is no mechanism "--help"')

    def test_pictures_of_other_kinds(self):
        for name in ("map.jpg", "map.JPEG", "a.png.svg", "map.gif", "map.pdf", "map.webp", "map.bmp", "map.tiff"):
            done = self.call(*self.run_words("--heatmap", name))
            self.check_failure(done, 2, f"--heatmap {name}: the picture is a PNG")
            self.check_nothing_happened()
        # Not every name has an ending, and not every ending is of a picture.
        for name in ("map", "map.PNG", "map.jpg.png", "jpg", "map.new", "folder.jpg/map"):
            (self.folder / "folder.jpg").mkdir(exist_ok=True)
            self.assertEqual(self.call(*self.run_words("--heatmap", name)).returncode, 0, name)

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
        (self.folder / "labels.txt").write_text("a\nb\nc\n")
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
                ("--heatmap", "past.npy", "--past-value", "past.npy", "--past-key", "key.npy"),
                ("--heatmap", "labels.txt", "--query-labels", "labels.txt"),
                ("--heatmap", "labels.txt", "--key-labels", "here/labels.txt")):
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

    def start_blocked(self, *more, **options):
        """Starts a run that waits for its bias from a pipe, with the outputs open already."""
        os.mkfifo(self.folder / "pipe.npy")
        self.before = self.names()
        words = self.run_words("--attention", "attention.npy", "--heatmap", "map.png", "--bias", "pipe.npy", *more)
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

    def run_on_a_terminal(self, awaited, *words, **environment):
        """What a run writes to its terminal, which is let go on once `awaited` has come; both streams go there."""
        control, terminal = pty.openpty()
        self.addCleanup(os.close, control)
        process = self.start_blocked(*words, stderr=terminal, stdout=terminal,
                                     env={**os.environ, "TERM": "xterm", **environment})
        os.close(terminal)
        np.save(self.folder / "bias.npy", np.zeros((3, 5), np.float32))
        with self.open_pipe(process) as pipe:
            seen = self.read_terminal(control, b"", awaited) if awaited else b""
            if not awaited:
                time.sleep(1.5)
            pipe.write((self.folder / "bias.npy").read_bytes())
        self.assertEqual(process.wait(timeout=60), 0)
        return self.read_terminal(control, seen, b"no such text")

    def test_progress_on_a_terminal(self):
        seen = self.run_on_a_terminal(b"reading pipe.npy, 1 s")
        self.assertTrue(seen.startswith(b"\rattnzoo: reading pipe.npy, 1 s\x1b[K"), seen)
        self.assertTrue(seen.endswith(b"\r\x1b[K"), seen)

    def test_progress_is_gone_before_anything_is_printed(self):
        seen = self.run_on_a_terminal(b"pipe.npy, 1 s", "--time")
        self.assertRegex(seen, rb"\r\x1b\[Kforward: median [^\r]*\r\n\Z")

    def test_no_progress_where_lines_cannot_be_erased(self):
        """It stays away by what is seen after the time at which it would come; only a slow machine could hide a fault."""
        self.assertEqual(self.run_on_a_terminal(None, TERM="dumb"), b"")


if __name__ == "__main__":
    ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
