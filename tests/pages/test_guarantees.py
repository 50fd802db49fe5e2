#!/usr/bin/env python3
"""Holds doc/guarantees.md to the tests that it names: each guarantee names one, and each is there and is run.

    test_guarantees.py [unittest options]

Whether a test holds what its line says is for whoever writes the line to look at.
"""
import re
import unittest

from blocks import ROOT

PAGE = ROOT / "doc" / "guarantees.md"
ROW = re.compile(r"^\| (?P<promise>[^|]+) \| (?P<tests>[^|]+) \|$", re.MULTILINE)
# How a case is written in each kind of file, and where it is told to be run; {} is its name.
CASES = {
    ".c": [r"^static void {0}\(void \*\*\w+\)", r"\({0}\)|\b{0},"],
    ".cpp": [r"^TEST\({0}\)"],
    ".go": [r"^func {0}\("],
    ".py": [r"^ *def {0}\("],
    ".rs": [r"#\[test\]\n(?:#.*\n)*fn {0}\("],
    ".txt": [r"add_test\(NAME {0}(?![a-z0-9_])"],
    "": [r"^ *check \"{0}\""],
}


def sections():
    """The tables of guarantees, by their headings."""
    text = PAGE.read_text(encoding="utf-8")
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    return {heading: body for heading, body in zip(parts[1::2], parts[2::2]) if "| guaranteed |" in body}


def rows():
    return [(match["promise"], match["tests"]) for body in sections().values() for match in ROW.finditer(body)
            if match["promise"] not in ("guaranteed", "---")]


def named_tests():
    """File and case of each test that the page names; the case is None where the file as a whole is meant."""
    for _, cell in rows():
        for span in re.findall(r"`([^`]+)`", cell):
            path, _, cases = span.partition(": ")
            # The checks of tests/install/run are sentences, with commas of their own.
            split = [cases] if path == "tests/install/run" else cases.split(", ")
            for case in split if cases else [None]:
                yield path, case


def has_case(path, case):
    """Whether the file has the case, in the class before the dot if there is one, and has it run."""
    text = (ROOT / path).read_text(encoding="utf-8")
    owner, _, name = case.rpartition(".")
    if owner:
        found = re.search(rf"^class {re.escape(owner)}\b.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
        text = found.group() if found else ""
    patterns = CASES[(ROOT / path).suffix]
    return all(re.search(pattern.format(re.escape(name)), text, re.MULTILINE) for pattern in patterns)


def is_built(path):
    """Whether the build of the tests knows the file: by its name, or by what of it tells it from others."""
    stem = re.sub(r"^test_|_test$", "", (ROOT / path).stem)
    lists = "".join(each.read_text(encoding="utf-8") for each in (ROOT / "tests").rglob("CMakeLists.txt"))
    return re.search(rf"(?<![a-z]){re.escape(stem)}(?![a-z])", lists) is not None


class TestGuarantees(unittest.TestCase):
    def test_every_guarantee_names_a_test(self):
        self.assertGreater(len(rows()), 70)
        for heading, body in sections().items():
            lines = [line for line in body.splitlines() if line.startswith("|")]
            self.assertEqual(len(ROW.findall(body)), len(lines) - 1, f"{heading}: a line is no row of two cells")
        for promise, cell in rows():
            self.assertRegex(cell, r"`(tests|scripts|bindings)/", promise)
            self.assertEqual(re.sub(r"`[^`]+`", "", cell).strip("; "), "", f"{promise}: only tests stand in the second cell")

    def test_every_figure_has_a_source(self):
        figures = PAGE.read_text(encoding="utf-8").partition("\n## Figures\n")[2]
        lines = re.findall(r"^\|(.*)\|(.*)\|(.*)\|$", figures, re.MULTILINE)[2:]
        self.assertGreater(len(lines), 8)
        for what, how_much, source in lines:
            self.assertRegex(how_much, "[0-9]", what)
            for path in re.findall(r"`([^`]+)`", source) or ["nothing"]:
                self.assertTrue((ROOT / path).is_file(), f"{what}: {path}")

    def test_every_test_that_is_named_is_there(self):
        named = list(named_tests())
        self.assertGreater(len(named), 150)
        for path, case in named:
            self.assertTrue((ROOT / path).is_file(), path)
            if case is not None:
                self.assertTrue(has_case(path, case), f"{path} has no test {case}, or does not run it")

    def test_every_file_of_tests_is_built(self):
        for path in {path for path, _ in named_tests() if re.match(r"tests/.*\.(c|cpp|py)$", path)}:
            self.assertTrue(is_built(path), f"{path} is in no CMakeLists.txt of the tests")

    def test_no_guarantee_is_given_twice(self):
        promises = [promise for promise, _ in rows()]
        self.assertEqual(len(promises), len(set(promises)))


if __name__ == "__main__":
    unittest.main()
