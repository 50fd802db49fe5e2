#!/usr/bin/env python3
"""Checks that allocation_every_function_test.c has every function of the public headers, as one that allocates nothing
(QUIET) or as one whose allocations fail in turn (SWEPT), and none as both.

    check_allocations.py --include DIR TEST
"""
import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "abi"))
from public_functions import declared_functions  # noqa: E402


def problems(include, text):
    quiet = set(re.findall(r"\bQUIET\((attnzoo_\w+)", text))
    swept = set(re.findall(r"\bSWEPT\((attnzoo_\w+)", text))
    declared = set(declared_functions(include))
    yield from (f"{name} is in neither list" for name in sorted(declared - quiet - swept))
    yield from (f"{name} is in both lists" for name in sorted(quiet & swept))
    yield from (f"{name} is in no header" for name in sorted((quiet | swept) - declared))
    print(f"{len(quiet)} functions allocate nothing, {len(swept)} are made to fail")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", required=True)
    parser.add_argument("test")
    options = parser.parse_args()
    found = list(problems(options.include, pathlib.Path(options.test).read_text(encoding="utf-8")))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
