#!/usr/bin/env python3
"""Checks that headers, version script and libraries name exactly the same functions, and nothing else.

    check_symbols.py --include DIR --map FILE [--shared FILE] [--static FILE] [--nm NM]
"""
import argparse
import pathlib
import re
import subprocess
import sys

from public_functions import declared_functions

def map_symbols(path):
    """The version node of each symbol in the version script, by the symbol's name; patterns are refused."""
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(path).read_text(encoding="utf-8"), flags=re.DOTALL)
    symbols = {}
    for node, body in re.findall(r"(\w[\w.]*)\s*\{(.*?)\}\s*[\w.]*\s*;", text, re.DOTALL):
        for entry in body.split("local:")[0].replace("global:", "").split(";"):
            name = entry.strip()
            if name and not re.fullmatch(r"attnzoo_\w+", name):
                raise SystemExit(f"{path}: '{name}' in {node} is not the plain name of a function")
            if name in symbols:
                raise SystemExit(f"{path}: {name} stands there twice")
            if name:
                symbols[name] = node
    if not re.search(r"local:\s*\*\s*;", text):
        raise SystemExit(f"{path}: does not hide everything else with 'local: *;'")
    return symbols


def nm_symbols(command):
    """Type letter and name of each symbol that nm lists; its lines are 'address letter name'."""
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [tuple(line.split()[1:]) for line in output.splitlines() if len(line.split()) == 3]


def compare(what, expected, found):
    problems = [f"{what} lacks {name}" for name in sorted(expected - found)]
    return problems + [f"{what} has {name}, which is not public" for name in sorted(found - expected)]


def shared_problems(path, nm, in_map):
    problems, names = [], set()
    for kind, symbol in nm_symbols([nm, "-D", "--defined-only", "--with-symbol-versions", path]):
        name, _, version = symbol.partition("@@")
        if kind == "A" and symbol in in_map.values():
            continue  # the version node itself
        names.add(name)
        if version != in_map.get(name):
            problems.append(f"{path}: {symbol} is not of version {in_map.get(name)}")
        if kind != "T":
            problems.append(f"{path}: {symbol} is of kind {kind}, not a function")
    return problems + compare(path, set(in_map), names)


def static_problems(path, nm, expected):
    names = {name for kind, name in nm_symbols([nm, "--defined-only", "--extern-only", path])}
    # With these i386 learns where it is: gcc writes them, hidden, and the linker keeps one of each.
    foreign = sorted(name for name in names if not name.startswith(("attnzoo_", "__x86.get_pc_thunk.")))
    problems = [f"{path}: {name} lacks the prefix attnzoo_" for name in foreign]
    return problems + [f"{path} lacks {name}" for name in sorted(expected - names)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", required=True)
    parser.add_argument("--map", required=True)
    parser.add_argument("--shared")
    parser.add_argument("--static")
    parser.add_argument("--nm", default="nm")
    options = parser.parse_args()

    expected = set(declared_functions(options.include))
    in_map = map_symbols(options.map)
    problems = compare(options.map, expected, set(in_map))
    if options.shared:
        problems += shared_problems(options.shared, options.nm, in_map)
    if options.static:
        problems += static_problems(options.static, options.nm, expected)
    for problem in problems:
        print(problem)
    print(f"{len(expected)} public functions, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
