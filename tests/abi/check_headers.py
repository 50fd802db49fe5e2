#!/usr/bin/env python3
"""Compiles each public header alone, all warnings being errors: those of C as C11 and C++17, those of C++ as C++17, C++20
and C++23. And looks that those of C++ define no macro but their guards.

    check_headers.py --include DIR --cc CC [--cxx CXX]

Each header is the first and only thing its file includes (twice, for the guard), and DIR is the only include path.
"""
import argparse
import re
import shlex
import subprocess
import sys

from public_functions import cpp_header_files, header_files

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef", "-Werror"]
CXX_WARNINGS = ["-Wold-style-cast", "-Wnon-virtual-dtor", *WARNINGS]
LANGUAGES = {
    "C11": ["-x", "c", "-std=c11", "-Wstrict-prototypes", *WARNINGS],
    "C++17": ["-x", "c++", "-std=c++17", *CXX_WARNINGS],
    "C++20": ["-x", "c++", "-std=c++20", *CXX_WARNINGS],
    # The name that compilers older than the standard know, too.
    "C++23": ["-x", "c++", "-std=c++2b", *CXX_WARNINGS],
}


def compiles(compiler, language, include, header):
    name = header.relative_to(include).as_posix()
    source = f"#include <{name}>\n" * 2
    command = [*shlex.split(compiler), *LANGUAGES[language], f"-I{include}", "-fsyntax-only", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{name} does not compile alone as {language}:\n{done.stderr}")
    return done.returncode == 0


def defines_its_guard_alone(include, header):
    name = header.relative_to(include).as_posix()
    parts = name.removeprefix("attnzoo/")
    guard = "ATTNZOO_" + re.sub(r"\W", "_", parts).upper()
    defined = re.findall(r"^\s*#\s*define\s+(\w+)", header.read_text(encoding="utf-8"), re.MULTILINE)
    if defined != [guard]:
        print(f"{name} defines {', '.join(defined) or 'nothing'}; it should define {guard} and no other macro")
    return defined == [guard]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx")
    options = parser.parse_args()

    cpp_headers = cpp_header_files(options.include)
    jobs = [(options.cc, "C11", header) for header in header_files(options.include)]
    if options.cxx:
        jobs += [(options.cxx, "C++17", header) for header in header_files(options.include)]
        jobs += [(options.cxx, language, header) for language in ("C++17", "C++20", "C++23") for header in cpp_headers]
    results = [compiles(compiler, language, options.include, header) for compiler, language, header in jobs]
    guards = [defines_its_guard_alone(options.include, header) for header in cpp_headers]
    languages = sorted({language for _, language, _ in jobs})
    print(f"{len(results)} compilations ({', '.join(languages)}), {results.count(False)} failed; "
          f"{len(guards)} C++ headers, {guards.count(False)} with macros of their own")
    return 0 if all(results) and all(guards) else 1


if __name__ == "__main__":
    sys.exit(main())
