#!/usr/bin/env python3
"""Checks that the C++ headers wrap the whole C interface, and that the tests have been through all of it.

    check_coverage.py --include DIR [--program FILE --nm NM [--unreached WORD]]

Every function of the C headers must be called by the C++ headers, or stand in LEFT_OUT with the reason; every public constant
must have its name there. With a program, which is that of the C++ tests, every function must also be among the symbols
it takes from the library: a wrapper that no test has made the compiler look at is not there. --unreached passes over the
functions with WORD in their name, whose test was left out of the program.
"""
import argparse
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "abi"))
from public_functions import COMMENT, cpp_header_files, declared_functions, header_files  # noqa: E402

# Functions that C++ has no need of, each with the reason. None so far.
LEFT_OUT = {}
ENUMERATOR = re.compile(r"^\s+(ATTNZOO_[A-Z0-9_]+) = ", re.MULTILINE)


def code(headers):
    return "\n".join(COMMENT.sub("", header.read_text(encoding="utf-8")) for header in headers)


def missing_functions(include, text):
    called = set(re.findall(r"\battnzoo_\w+\b", text))
    for name in declared_functions(include):
        if name in LEFT_OUT and name in called:
            yield f"{name} is called, yet it stands in LEFT_OUT"
        if name not in LEFT_OUT and name not in called:
            yield f"{name} is not wrapped, and does not stand in LEFT_OUT"
    for name in set(LEFT_OUT) - set(declared_functions(include)):
        yield f"{name} stands in LEFT_OUT, but the C headers do not declare it"


def missing_constants(include, text):
    used = set(re.findall(r"\bATTNZOO_\w+\b", text))
    constants = ENUMERATOR.findall(code(header_files(include)))
    if not constants:
        yield "no constants were found in the C headers"
    for name in constants:
        if name not in used:
            yield f"{name} has no name in C++"


def unreached_functions(include, program, nm, passed_over):
    done = subprocess.run([nm, "--undefined-only", program], capture_output=True, text=True, check=True)
    reached = set(re.findall(r"\bU (attnzoo_\w+)", done.stdout))
    for name in declared_functions(include):
        if passed_over and passed_over in name:
            print(f"not looked for in the tests: {name}")
        elif name not in LEFT_OUT and name not in reached:
            yield f"{name} is not reached by the tests of the C++ interface"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", required=True)
    parser.add_argument("--program")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--unreached", default="")
    options = parser.parse_args()
    text = code(cpp_header_files(options.include))
    problems = [*missing_functions(options.include, text), *missing_constants(options.include, text)]
    if options.program:
        problems += unreached_functions(options.include, options.program, options.nm, options.unreached)
    for problem in problems:
        print(problem)
    print(f"{len(declared_functions(options.include))} functions, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
