#!/usr/bin/env python3
"""Runs every code block of the pages on a build: each page is a test, and the blocks run in the page's order.

    test_blocks.py --cmake CMAKE --build FOLDER --c CC [--cpp CXX] [--flags FLAGS] [--without-binding REASON]
                   [unittest options]

A block of Python that needs a module which this machine does not have is left out, and with it the Python behind it and
such command lines below the same heading as fail without it; the page's test is then skipped and says so. Blocks of Rust
and Go and those that build the whole project are left to installed.py; the list at the end says so.
"""
import argparse
import pathlib
import re
import shlex
import sys
import tempfile
import unittest

import numpy as np

from blocks import INSTALLED, LISTINGS, ROOT, SHOWN, TESTED, prints, page_paths, read_blocks
from sessions import BlockFailed, Installed, LeftOut, Session, install, remove

OPTIONS = None
# What was done with each block: (place, language, outcome).
REPORT = []


class TestPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(tempfile.mkdtemp(prefix="attnzoo-pages-"))
        cls.addClassCleanup(remove, cls.top)
        prefix = install(OPTIONS.cmake, OPTIONS.build, cls.top)
        cls.installed = Installed(prefix, cls.top, {"c": OPTIONS.c, "cpp": OPTIONS.cpp}, shlex.split(OPTIONS.flags))
        if OPTIONS.without_binding:
            cls.installed.missing["attnzoo"] = OPTIONS.without_binding

    def open_session(self):
        session = Session(self.installed, tempfile.mkdtemp(dir=self.top))
        self.addCleanup(session.close)
        return session

    def run_page(self, page):
        session = self.open_session()
        left_out, sections = [], set()
        for block in read_blocks(page):
            outcome = "ran"
            if block.language in LISTINGS:
                outcome = "output, compared" if block.is_output else "a listing"
            elif block.language in SHOWN:
                outcome = "shown, not to be run"
            elif block.language in INSTALLED:
                outcome = "left to installed.py"
            elif block.language not in TESTED:
                self.fail(f"{block.place}: nobody knows how to test a block of '{block.language}'")
            elif block.language == "python" and sections:
                outcome = "LEFT OUT: it needs the one before"
            else:
                try:
                    session.run(block)
                except LeftOut as reason:
                    outcome = f"LEFT OUT: {reason}"
                except BlockFailed as failure:
                    if block.language != "sh" or block.section not in sections:
                        self.fail(str(failure))
                    outcome = "LEFT OUT: it needs the one before"
            if outcome.startswith("LEFT OUT"):
                sections.add(block.section)
                left_out.append(f"{block.place}: {outcome}")
            REPORT.append((block.place, block.language or "-", outcome))
        if left_out:
            self.skipTest("; ".join(left_out))

    def test_weights_under_other_names_are_the_same(self):
        wanted = np.load(ROOT / "tests/conformance/cases/pytorch/torch_mha_0/context.npy")
        session = self.open_session()
        count = 0
        for block in read_blocks("doc/weights.md"):
            if block.language != "sh" or "torch_mha_0" not in block.text:
                continue
            setting, *commands = block.text.split("attnzoo run")
            for command in commands:
                count += 1
                block.text = setting + "attnzoo run" + command
                session.run(block)
                # The case's own tolerance.
                np.testing.assert_allclose(np.load(session.folder / "context.npy"), wanted, rtol=2e-5, atol=2e-5)
                (session.folder / "context.npy").unlink()
        self.assertGreaterEqual(count, 4)

    def test_the_hand_made_decoder_walks_from_key_to_key(self):
        session = self.open_session()
        block, = [block for block in read_blocks("doc/location_aware.md") if block.language == "sh"]
        block.text = block.text.rstrip() + " --attention attention.npy"
        session.run(block)
        attention = np.load(session.folder / "attention.npy")
        self.assertEqual(list(attention.argmax(axis=-1)), list(range(1, 11)))
        self.assertGreater(attention.max(axis=-1).min(), 0.9)

    def test_every_fragment_is_used(self):
        """A program that no page fills is one that stayed behind."""
        wanted = {f"{'_'.join(page[:-3].split('/')[-2 if page.endswith('README.md') else -1:])}_{block.number}"
                  f".{block.language}" for page in page_paths() for block in read_blocks(page)
                  if block.language in ("c", "cpp") and not block.is_program}
        there = {path.name for path in (ROOT / "tests/pages/fragments").glob("*_*[0-9].*")}
        self.assertEqual(there, wanted)

    def test_output_is_compared(self):
        self.assertTrue(prints("a 1\nb 2  \n", "a 1\nb 2\n"))
        self.assertTrue(prints("a 1\nb 2\nc\n", "a ...\nc\n"))
        self.assertFalse(prints("a 1\nb 2\n", "a 1\nb 3\n"))
        self.assertFalse(prints("a 1\n", ""))


def add_page_tests():
    for page in page_paths():
        name = "test_" + re.sub(r"\W", "_", page)
        assert not hasattr(TestPages, name)
        setattr(TestPages, name, lambda self, page=page: self.run_page(page))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("cmake", "build", "c"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--cpp")
    parser.add_argument("--flags", default="")
    parser.add_argument("--without-binding", metavar="REASON")
    global OPTIONS
    OPTIONS, others = parser.parse_known_args()
    add_page_tests()
    program = unittest.main(argv=[sys.argv[0], *others], exit=False, verbosity=2)
    for place, language, outcome in REPORT:
        print(f"{place:44} {language:8} {outcome}")
    return 0 if program.result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
