#!/usr/bin/env python3
"""Compiles each public header alone, as C11 and as C++17, all warnings being errors.

    check_headers.py --include DIR --cc CC [--cxx CXX]

Each header is the first and only thing its file includes (twice, for the guard), and DIR is the only include path.
"""
import argparse
import shlex
import subprocess
import sys

from public_functions import header_files

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Werror"]
LANGUAGES = {
    "C11": ["-x", "c", "-std=c11", "-Wstrict-prototypes", *WARNINGS],
    "C++17": ["-x", "c++", "-std=c++17", "-Wold-style-cast", *WARNINGS],
}


def compiles(compiler, language, include, header):
    source = f"#include <attnzoo/{header.name}>\n" * 2
    command = [*shlex.split(compiler), *LANGUAGES[language], f"-I{include}", "-fsyntax-only", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{header.name} does not compile alone as {language}:\n{done.stderr}")
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx")
    options = parser.parse_args()

    compilers = {"C11": options.cc}
    if options.cxx:
        compilers["C++17"] = options.cxx
    results = [compiles(compiler, language, options.include, header)
               for header in header_files(options.include) for language, compiler in compilers.items()]
    print(f"{len(results)} compilations ({', '.join(compilers)}), {results.count(False)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
