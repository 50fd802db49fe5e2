#!/usr/bin/env python3
"""Holds the help texts of the command attnzoo to what the command does: runs their examples, tries their options.

    test_help.py PATH/TO/attnzoo [unittest options]
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import wave
import zlib

import numpy as np

ATTNZOO = None
COMMANDS = ("list", "describe", "run", "compare", "glimpse")


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, array in tensors.items():
        raw = array.tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_png(pixels):
    """A PNG of [H, W, 3], of which numbers from 0 to 1 are colours."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (np.clip(pixels, 0, 1) * 255).astype(np.uint8)
    head = struct.pack(">IIBBBBB", rows.shape[1], rows.shape[0], 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


class TestHelp(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attnzoo-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def call(self, *words, **options):
        return subprocess.run([ATTNZOO, *words], cwd=self.folder, capture_output=True, text=True, timeout=120,
                              **options)

    def text_of(self, *words):
        done = self.call(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout

    def options_of(self, command):
        """The options that stand in the left column of a command's help."""
        return re.findall(r"^  (--[a-z-]+)", self.text_of(command, "--help"), re.MULTILINE)

    def test_every_way_to_ask(self):
        for command in COMMANDS:
            text = self.text_of(command, "--help")
            self.assertEqual(self.text_of(command, "-h"), text)
            self.assertEqual(self.text_of("help", command), text)
            self.assertIn(f"\n  attnzoo {command}", text)
        for words in (("-h",), ("help",), ("help", "help"), ("help", "--help")):
            self.assertEqual(self.text_of(*words), self.text_of("--help"))
        # Help is wanted, whatever else is wrong.
        self.assertEqual(self.text_of("compare", "x", "--help"), self.text_of("compare", "--help"))
        for words in (("multi_head", "--help"), ("multi_head", "-h"), ("--help", "multi_head"), ("nope", "x", "-h")):
            self.assertEqual(self.text_of("describe", *words), self.text_of("describe", "--help"))

    def test_texts_fit_the_screen(self):
        for words in (("--help",), *((command, "--help") for command in COMMANDS)):
            lines = self.text_of(*words).splitlines()
            self.assertLessEqual(max(map(len, lines)), 80, words)
            self.assertEqual([line for line in lines if line != line.rstrip()], [])
        self.assertLessEqual(len(self.text_of("--help").splitlines()), 24)

    def test_what_labels_cannot_be_is_said(self):
        page = pathlib.Path(__file__).resolve().parents[2] / "tools" / "attnzoo.1"
        for text in (self.text_of("run", "--help"), page.read_text(encoding="utf-8")):
            text = " ".join(text.split())
            self.assertIn("abels are drawn from left to right, letter by letter", text)
            self.assertIn("unless libgd is built with raqm", text)

    def test_every_command_is_listed(self):
        text = self.text_of("--help")
        for command in COMMANDS:
            self.assertRegex(text, rf"(?m)^  {command}\b")

    def test_options_are_taken(self):
        """Each option of the help is known to the command: with it twice, that is what is complained of."""
        for command in ("run", "compare", "glimpse"):
            for option in set(self.options_of(command)) - {"--help", "--set", "--rename", "--input", "--output"}:
                words = [option] if option in ("--causal", "--time", "--grey", "--mono") else [f"{option}=1"]
                done = self.call(command, *words, *words)
                self.assertEqual((done.returncode, done.stderr),
                                 (2, f"attnzoo: {option}: given more than once\n"), option)

    def test_options_are_listed(self):
        """Each option in the command's own table, as its sources spell it, stands in the help."""
        for command, name, least in (("run", "arguments.c", 20), ("glimpse", "glimpse_arguments.c", 10)):
            source = pathlib.Path(__file__).resolve().parents[2] / "tools" / name
            table = re.findall(r'^    (?:TEXT\(|FLAG\(|\{)"([a-z-]+)", ?(?!")', source.read_text(encoding="utf-8"),
                               re.MULTILINE)
            self.assertGreater(len(table), least)
            self.assertEqual(sorted("--" + name for name in table), sorted(self.options_of(command)))

    def test_limits_of_pictures_are_told(self):
        layout = (pathlib.Path(__file__).resolve().parents[2] / "tools" / "heat_layout.c").read_text(encoding="utf-8")
        limit = lambda name: re.search(rf"^    {name} = (\d+),$", layout, re.MULTILINE)[1]
        text = " ".join(self.text_of("run", "--help").split())
        self.assertIn(f"the first {limit('HEADS_MAX')} heads, or of several batches the first "
                      f"{limit('HEADS_MAX_OF_BATCHES')} heads of the first {limit('BATCHES_MAX')}", text)

    def test_examples_run(self):
        random = np.random.default_rng(1)
        normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
        np.save(self.folder / "query.npy", normal(2, 3, 8))
        for name in ("key", "value"):
            np.save(self.folder / f"{name}.npy", normal(2, 5, 8))
        np.save(self.folder / "tokens.npy", normal(1, 5, 8))
        (self.folder / "words.txt").write_text("the\nsmall\nzoo\nis\nopen\n")
        (self.folder / "picture.png").write_bytes(write_png(normal(16, 24, 3)))
        with wave.open(str(self.folder / "speech.wav"), "wb") as sound:
            sound.setparams((1, 2, 16000, 0, "NONE", ""))
            sound.writeframes(bytes(4000))
        prefix = "layers.0.self_attn."
        write_safetensors(self.folder / "model.safetensors", {
            prefix + "in_proj_weight": normal(24, 8), prefix + "in_proj_bias": normal(24),
            prefix + "out_proj.weight": normal(8, 8), prefix + "out_proj.bias": normal(8),
            "layers.0.norm1.weight": np.ones(8, np.float32), "layers.0.norm2.weight": np.ones(8, np.float32)})
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "attnzoo").symlink_to(ATTNZOO)
        environment = dict(os.environ, PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}")
        count = 0
        for command in ("help", "run", "describe", "list", "compare", "glimpse"):
            examples = re.search(r"^Examples\n(.*)\Z", self.text_of(command, *(["--help"] * (command != "help"))),
                                 re.MULTILINE | re.DOTALL).group(1)
            for line in re.split(r"\n(?=  attnzoo)", examples.rstrip()):
                if "expected.npy" in line:
                    shutil.copy(self.folder / "context.npy", self.folder / "expected.npy")
                done = subprocess.run(["sh", "-c", line], cwd=self.folder, env=environment, capture_output=True,
                                      text=True, timeout=120)
                self.assertEqual((done.returncode, done.stderr), (0, ""), line)
                count += 1
        self.assertGreaterEqual(count, 8)
        self.assertEqual((self.folder / "heat.png").read_bytes()[:4], b"\x89PNG")

    def test_help_of_a_mechanism(self):
        for line in self.text_of("list").splitlines():
            mechanism = line.split()[0]
            text = self.text_of("run", mechanism, "--help")
            self.assertEqual(self.text_of("run", "--causal", mechanism, "-h"), text)
            # What is told of options and the rest is what `describe` tells.
            described = self.text_of("describe", mechanism)
            inputs = re.search(r"^Inputs\n(.*?)\n\n", described, re.MULTILINE | re.DOTALL).group(1).splitlines()
            own = ("query", "key", "value", "position")
            needed = [line.split()[0] for line in inputs if not line.endswith("optional)")]
            synopsis = " ".join(f"--{name} F" if name in own else f"--input {name}=F" for name in needed)
            self.assertTrue(text.startswith(f"attnzoo run {mechanism} {synopsis} "), text)
            for title in ("Options", "Parameters", "State"):
                section = re.search(rf"^{title} .*?(?=^\S|\Z)", described, re.MULTILINE | re.DOTALL).group(0)
                self.assertIn(section, text)
        self.assertIn(" --value F --weights F --context F", self.text_of("run", "multi_head", "--help"))
        self.assertNotIn("--weights F", self.text_of("run", "scaled_dot_product", "--help"))

    def test_refusals(self):
        for words, part in ((["help", "nope"], "help: nope: no such command"),
                            (["help", "run", "list"], "help: list: not expected"),
                            (["run", "nope", "--help"], 'there is no mechanism "nope"')):
            done = self.call(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, r"\Aattnzoo: [^\n]+\n\Z")
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
