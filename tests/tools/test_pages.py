#!/usr/bin/env python3
"""Holds the pages in doc/ to what they say: runs their command lines, compiles their C, looks for the names and links.

    test_pages.py PATH/TO/attnzoo C_COMPILER [unittest options]
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ATTNZOO = COMPILER = None
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "doc").glob("*.md"))

# What a snippet finds declared, so that it can leave out what all programs have.
PREAMBLE = """
#include <attnzoo/attnzoo.h>
#include <stdio.h>
int snippet(HANDLES attnzoo_executor *executor, attnzoo_tensor *query, attnzoo_tensor *key, attnzoo_tensor *value,
            attnzoo_tensor *memory, attnzoo_tensor *prompt, attnzoo_tensor *token, attnzoo_tensor *table,
            attnzoo_tensor *context, attnzoo_tensor *attention, attnzoo_tensor *weight, attnzoo_tensor *query_weight,
            attnzoo_tensor *key_weight, attnzoo_tensor *score_weight, attnzoo_mask *causal, const float *in_proj,
            int64_t steps, int64_t frame_count, int64_t key_count, int64_t model_size);
int snippet(HANDLES attnzoo_executor *executor, attnzoo_tensor *query, attnzoo_tensor *key, attnzoo_tensor *value,
            attnzoo_tensor *memory, attnzoo_tensor *prompt, attnzoo_tensor *token, attnzoo_tensor *table,
            attnzoo_tensor *context, attnzoo_tensor *attention, attnzoo_tensor *weight, attnzoo_tensor *query_weight,
            attnzoo_tensor *key_weight, attnzoo_tensor *score_weight, attnzoo_mask *causal, const float *in_proj,
            int64_t steps, int64_t frame_count, int64_t key_count, int64_t model_size)
{
"""


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


class TestPages(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attnzoo-pages-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "attnzoo").symlink_to(ATTNZOO)
        for name in ("examples", "tests", "doc"):
            (self.folder / name).symlink_to(ROOT / name)

    def run_shell(self, text):
        environment = dict(os.environ, PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}")
        done = subprocess.run(["sh", "-eu", "-c", text], cwd=self.folder, env=environment, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""), text)
        return done.stdout

    def mechanisms(self):
        return [line.split()[0] for line in self.run_shell("attnzoo list").splitlines()]

    def described(self, mechanism, title):
        """The names under a title of `attnzoo describe`."""
        text = self.run_shell(f"attnzoo describe {mechanism}")
        section = re.search(rf"^{title}[^\n]*\n(.*?)(?=^\S|\n\n|\Z)", text, re.MULTILINE | re.DOTALL).group(1)
        return [name for name in re.findall(r"^  (\S+)", section, re.MULTILINE) if name != "none"]

    def test_command_lines_run(self):
        count = 0
        for page in PAGES:
            for block in blocks(page, "sh"):
                count += 1
                self.run_shell(block)
                for picture in re.findall(r"--heatmap (\S+)", block):
                    self.assertEqual((self.folder / picture).read_bytes()[:4], b"\x89PNG", page.name)
        self.assertGreaterEqual(count, len(PAGES))

    def test_weights_under_other_names_are_the_same(self):
        wanted = np.load(ROOT / "tests/conformance/cases/pytorch/torch_mha_0/context.npy")
        for block in blocks(ROOT / "doc" / "weights.md", "sh"):
            setting, *commands = block.split("attnzoo run")
            for command in commands:
                self.run_shell(setting + "attnzoo run" + command)
                # The case's own tolerance.
                np.testing.assert_allclose(np.load(self.folder / "context.npy"), wanted, rtol=2e-5, atol=2e-5)
                (self.folder / "context.npy").unlink()

    def test_the_hand_made_decoder_walks_from_key_to_key(self):
        command, = blocks(ROOT / "doc" / "location_aware.md", "sh")
        self.run_shell(command.rstrip() + " --attention attention.npy")
        attention = np.load(self.folder / "attention.npy")
        self.assertEqual(list(attention.argmax(axis=-1)), list(range(1, 11)))
        self.assertGreater(attention.max(axis=-1).min(), 0.9)

    def test_snippets_compile(self):
        for page in PAGES:
            for number, block in enumerate(blocks(page, "c")):
                handles = [f"attnzoo_{kind} *{kind}, " for kind in ("module", "mask", "state")
                           if f"attnzoo_{kind} *{kind} =" not in block]
                source = self.folder / f"{page.stem}_{number}.c"
                source.write_text(PREAMBLE.replace("HANDLES ", "".join(handles)) + block + "return failed;\n}\n")
                done = subprocess.run([COMPILER, "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                                       "-Wno-unused-parameter", "-I", str(ROOT / "include"), str(source)],
                                      capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)

    def test_every_mechanism_has_its_page(self):
        index = (ROOT / "doc" / "README.md").read_text(encoding="utf-8")
        mechanisms = self.mechanisms()
        for mechanism in mechanisms:
            self.assertIn(f"[{mechanism}]({mechanism}.md)", index)
        self.assertEqual({page.stem for page in PAGES} - {"README", "weights"}, set(mechanisms))

    def test_every_name_is_explained(self):
        for mechanism in self.mechanisms():
            text = (ROOT / "doc" / f"{mechanism}.md").read_text(encoding="utf-8")
            for title in ("Options", "Parameters", "State"):
                for name in self.described(mechanism, title):
                    self.assertIn(f"`{name}`", text, mechanism)
            for title in ("Inputs", "Outputs"):
                for name in self.described(mechanism, title):
                    self.assertIn(name, text, mechanism)

    def test_no_name_is_made_up(self):
        """What the tables of options and parameters name, the mechanism has."""
        for mechanism in self.mechanisms():
            text = (ROOT / "doc" / f"{mechanism}.md").read_text(encoding="utf-8")
            for title in ("Options", "Parameters"):
                section = re.search(rf"^## {title}\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
                cells = re.findall(r"^\| (`[^|]*`) \|", section.group(1), re.MULTILINE) if section else []
                for name in re.findall(r"`([^`]*)`", " ".join(cells)):
                    self.assertIn(name, self.described(mechanism, title), mechanism)

    def test_links_lead_somewhere(self):
        for page in PAGES:
            for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
                if not link.startswith("https://"):
                    self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")


if __name__ == "__main__":
    ATTNZOO, COMPILER = str(pathlib.Path(sys.argv.pop(1)).resolve()), sys.argv.pop(1)
    unittest.main()
