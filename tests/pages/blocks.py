"""The pages of the repository and their fenced code blocks: finds them and says what is to be done with each.

How a block is run stands in sessions.py (on the build) and installed.py (on an installed tree), what the pages must
say in test_pages.py. Python's standard library only.
"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATTERNS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "doc/*.md", "bindings/*/README.md", "bindings/*/*/README.md",
            "examples/*/README.md", "examples/data/*/README.md", "benchmarks/README.md", "packaging/README.md", "packaging/*/README.md",
            "tests/conformance/README.md")

# What each language of a block comes to. A language that is not here fails the tests.
TESTED = ("sh", "c", "cpp", "python", "cmake")
INSTALLED = ("rust", "go", "build")
LISTINGS = ("", "text", "output", "listing")
SHOWN = ("console", "toml")

FENCE = re.compile(r"^( *)(`{3,}|~{3,})[ \t]*([^`\n]*)$")
# A command that builds or installs the whole project, or takes root: no part of a test of the build.
BUILDS = re.compile(r"^\s*(sudo |cmake |scripts/|packaging/|bindings/\w+/test|\.ci/|dpkg-|apt|ctest)", re.MULTILINE)


class Block:
    """A fenced block: its page, the line of its fence, its language and text, and what it is said to print."""

    def __init__(self, page, line, language, text):
        self.page, self.line, self.language, self.text = page, line, language, text
        self.output = self.number = self.section = None
        self.is_output = False
        if language == "sh" and BUILDS.search(text):
            self.language = "build"

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def is_program(self):
        """Whether it is whole; other blocks of C and C++ are fragments, which need a program around them."""
        return re.search(r"^(int|auto) main\(|^fn main\(|^func main\(", self.text, re.MULTILINE) is not None


def page_paths(root=ROOT):
    """The pages, by their paths from the repository's top folder."""
    return [path.relative_to(root).as_posix() for pattern in PATTERNS for path in sorted(root.glob(pattern))]


def read_blocks(page, root=ROOT):
    """The fenced blocks of a page in order. An unlabelled one right behind code is what the code prints."""
    blocks, opened, gap, section = [], None, [], 0
    for number, line in enumerate((root / page).read_text(encoding="utf-8").splitlines(), start=1):
        match = FENCE.match(line)
        if opened is None:
            if match:
                opened = (number, match, [])
            else:
                gap.append(line)
                section += line.startswith("#")
            continue
        start, fence, lines = opened
        if match and match[2].startswith(fence[2]) and not match[3].strip():
            words = fence[3].split()
            block = Block(page, start, words[0] if words else "", "".join(f"{text}\n" for text in lines))
            block.section = section
            before = blocks[-1] if blocks else None
            if block.language == "" and before and not "".join(gap).strip() and before.language in TESTED + INSTALLED:
                before.output, block.is_output = block.text, True
            blocks.append(block)
            opened, gap = None, []
        else:
            lines.append(line[len(fence[1]):] if line.startswith(fence[1]) else line)
    if opened is not None:
        raise SystemExit(f"{page}:{opened[0]}: the block is not closed")
    for language in {block.language for block in blocks}:
        for count, block in enumerate((block for block in blocks if block.language == language), start=1):
            block.number = count
    return blocks


def prints(output, wanted):
    """Whether output is what a block of output shows, in which ... stands for anything."""
    def tidy(text):
        return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    pattern = re.escape(tidy(wanted)).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, tidy(output), re.DOTALL) is not None
