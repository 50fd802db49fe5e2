#!/usr/bin/env python3
"""Holds the man pages to the command and the headers: attnzoo.1 has the options and commands of --help and no others,
its examples run, and there is a page of section 3 for each function, which says of its parameters what the header says.

    test_man_pages.py PATH/TO/attnzoo [unittest options]

That pages are sound as pages is for scripts/check-documentation.
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

from blocks import ROOT

sys.path.insert(0, str(ROOT / "doc" / "reference"))
import headers  # noqa: E402
import write_man_pages  # noqa: E402

ATTNZOO = None
PAGE = (ROOT / "tools" / "attnzoo.1").read_text(encoding="utf-8")


def help_of(*words):
    return subprocess.run([ATTNZOO, *words, "--help"], check=True, capture_output=True, text=True).stdout


class TestCommandPage(unittest.TestCase):
    def commands_of_the_page(self):
        synopsis = re.search(r"^\.Sh SYNOPSIS\n(.*?)^\.Sh", PAGE, re.MULTILINE | re.DOTALL)[1]
        return set(re.findall(r"^\.Cm (\w+)", synopsis, re.MULTILINE))

    def test_commands_are_those_of_the_help(self):
        told = set(re.findall(r"^  (?:attnzoo )?(\w+)(?: |$)", help_of().split("Examples")[0].split("Files")[0],
                              re.MULTILINE))
        self.assertTrue({"list", "describe", "run"} <= told, told)
        self.assertEqual(self.commands_of_the_page(), told)

    def test_options_are_those_of_the_help(self):
        told = {"--version", "--help"}
        for command in self.commands_of_the_page() - {"help"}:
            told |= set(re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", help_of(command)))
        # The help writes --name for any option.
        told -= {"--name"}
        described = set()
        for line in re.findall(r"^\.It (Fl .*)", PAGE, re.MULTILINE):
            described |= {f"-{name}" for name in re.findall(r"Fl (-[\w-]+)", line)}
        self.assertEqual(described, told)

    def test_examples_run(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="attnzoo-pages-"))
        self.addCleanup(shutil.rmtree, folder)
        (folder / "bin").mkdir()
        (folder / "bin" / "attnzoo").symlink_to(ATTNZOO)
        case = ROOT / "tests/conformance/cases/pytorch/torch_mha_0"
        for name in ("query", "key", "value"):
            np.save(folder / f"{name}.npy", np.load(case / f"{name}.npy"))
        np.save(folder / "tokens.npy", np.load(case / "query.npy"))
        (folder / "words.txt").write_text("attention\n")
        shutil.copy(ROOT / "examples/data/names/pytorch.safetensors", folder / "model.safetensors")
        environment = dict(os.environ, PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
        examples = PAGE.split(".Sh EXAMPLES")[1].split(".Sh")[0]
        examples = re.findall(r"^(?:\.Dl )?(attnzoo (?:.*\\e\n)*.*)$", examples, re.MULTILINE)
        self.assertGreaterEqual(len(examples), 4)
        for example in examples:
            example = example.replace("\\e", "\\")
            done = subprocess.run(["sh", "-c", example], cwd=folder, env=environment, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), example)
            if "--context" in example:
                shutil.copy(folder / "context.npy", folder / "expected.npy")


class TestLibraryPages(unittest.TestCase):
    def test_every_function_has_its_page(self):
        sys.path.insert(0, str(ROOT / "tests" / "abi"))
        from public_functions import declared_functions
        pages = {page.name: page for page in write_man_pages.make_pages(ROOT / "include", "January 1, 2000")}
        functions = declared_functions(ROOT / "include")
        self.assertLessEqual(set(functions), set(pages))
        self.assertEqual({name for name in pages if name not in functions},
                         {"libattnzoo"} | {f"attnzoo_{name}" for name in (
                             header.stem for header in (ROOT / "include/attnzoo").glob("*.h"))
                             if f"attnzoo_{name}" in pages})
        for header in headers.read_headers(ROOT / "include"):
            for function in header.functions:
                text = pages[function.name].text().replace("\\%", "")
                for _, name in function.parameters:
                    self.assertIn(f".It Fa {name}\n", text)
                for said in function.comment.parameters.values():
                    first = re.match(r"(?:(?!attnzoo_)[\w ,])*", said)[0]
                    self.assertIn(first[1:], text.replace("\n", " "), function.name)
                if function.type != "void":
                    self.assertIn(".Sh RETURN VALUES\n", text)

    def test_names_say_what_pages_are_about(self):
        """In a line and to the end of a clause, for apropos and whatis."""
        for page in write_man_pages.make_pages(ROOT / "include", "January 1, 2000"):
            told = re.search(r"^\.Nd (.*)$", page.text(), re.MULTILINE)[1]
            self.assertGreaterEqual(len(told.split()), 2, page.name)
            self.assertLessEqual(len(told), 120, page.name)
            self.assertNotRegex(told, r"[:;,.(]$", page.name)
            plain = re.sub(r"\\\(..", "", told)
            self.assertEqual(plain.count("("), plain.count(")"), page.name)
            self.assertNotRegex(told, "arXiv|http", page.name)
        self.assertEqual(headers.headline("Computes much: " + "of this, of that, " * 10 + "and more."), "Computes much")
        self.assertEqual(headers.headline("Adds (Press et al. 2022, arXiv 1) to x (y):"), "Adds to x (y)")

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_names_are_not_hyphenated(self):
        """Whatever the width; what groff breaks within a name can be neither searched for nor copied."""
        header = next(header for header in headers.read_headers(ROOT / "include") if header.name == "attnzoo/module.h")
        text = write_man_pages.group_page(header, "January 1, 2000").text()
        for width in range(40, 100, 3):
            lines = subprocess.run(["groff", "-mdoc", "-Tutf8", f"-rLL={width}n", "-P-cbou"], input=text, check=True,
                                   capture_output=True, encoding="utf-8").stdout.splitlines()
            broken = [line.split()[-1] + below.split()[0] for line, below in zip(lines, lines[1:])
                      if line.endswith("\u2010")]
            self.assertEqual([word for word in broken if re.search(r"_|\.h\b", word)], [], width)

    def test_what_is_not_described_ends_the_build(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="attnzoo-pages-"))
        self.addCleanup(shutil.rmtree, folder)
        shutil.copytree(ROOT / "include", folder / "include")
        mask = folder / "include" / "attnzoo" / "mask.h"
        whole = mask.read_text(encoding="utf-8")
        for taken in (" * @param enabled  1 sets the constraint, 0 removes it.\n",
                      " * @return OK; INVALID_ARGUMENT: mask is NULL, enabled is neither 0 nor 1.\n",
                      "    /** offset = 0: the first query stands at the first key. */\n",
                      "/** Where the queries' positions start. An int32_t wherever one is passed. */\n"):
            self.assertIn(taken, whole)
            mask.write_text(whole.replace(taken, ""), encoding="utf-8")
            with self.assertRaisesRegex(headers.Unclear, "attnzoo_mask_set_causal|TOP_LEFT|some constants"):
                headers.read_headers(folder / "include")


if __name__ == "__main__":
    ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
