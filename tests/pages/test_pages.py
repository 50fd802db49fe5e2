#!/usr/bin/env python3
"""Holds the pages to what `attnzoo describe` says, and their links to what they point at.

    test_pages.py PATH/TO/attnzoo [unittest options]

That their code runs is for test_blocks.py.
"""
import pathlib
import re
import subprocess
import sys
import unittest

from blocks import ROOT, page_paths, read_blocks

ATTNZOO = None
PICTURE_OR_LINK = re.compile(r"!?\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def run(*arguments):
    return subprocess.run([ATTNZOO, *arguments], check=True, capture_output=True, text=True).stdout


def prose(page):
    """The text of a page without its code: no link is looked for in that."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    for block in read_blocks(page):
        for number in range(block.line - 1, block.line + block.text.count("\n") + 1):
            lines[number] = ""
    return re.sub(r"`[^`\n]*`", lambda match: match.group() if "](" not in match.group() else "", "\n".join(lines))


def anchors(page):
    """The anchors that GitHub gives the headings of a page."""
    found = []
    for heading in re.findall(r"^#+ (.*?) *#*$", prose(page), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.append(anchor if anchor not in found else f"{anchor}-{found.count(anchor)}")
    return found


class TestPages(unittest.TestCase):
    def mechanisms(self):
        return [line.split()[0] for line in run("list").splitlines()]

    def described(self, mechanism, title):
        """The names under a title of `attnzoo describe`."""
        text = run("describe", mechanism)
        section = re.search(rf"^{title}[^\n]*\n(.*?)(?=^\S|\n\n|\Z)", text, re.MULTILINE | re.DOTALL).group(1)
        return [name for name in re.findall(r"^  (\S+)", section, re.MULTILINE) if name != "none"]

    def test_every_mechanism_has_its_page(self):
        index = (ROOT / "doc" / "README.md").read_text(encoding="utf-8")
        mechanisms = self.mechanisms()
        for mechanism in mechanisms:
            self.assertIn(f"[{mechanism}]({mechanism}.md)", index)

    def test_every_page_is_in_the_index(self):
        index = (ROOT / "doc" / "README.md").read_text(encoding="utf-8")
        for page in (ROOT / "doc").glob("*.md"):
            if page.name != "README.md":
                self.assertIn(f"]({page.name})", index)

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
        count = 0
        for page in page_paths():
            for _, link in PICTURE_OR_LINK.findall(prose(page)):
                path, _, anchor = link.partition("#")
                if link.startswith(("https://", "http://", "mailto:")):
                    continue
                count += 1
                target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
                self.assertTrue(target.exists(), f"{page}: {link}")
                self.assertTrue(target.is_relative_to(ROOT), f"{page}: {link} leaves the repository")
                if anchor:
                    self.assertIn(anchor, anchors(target.relative_to(ROOT)), f"{page}: {link}")
        self.assertGreater(count, 50)


if __name__ == "__main__":
    ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
