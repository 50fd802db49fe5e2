#!/usr/bin/env python3
"""Runs conformance cases through the command attnzoo and compares its outputs with those of other implementations.

    run.py --attnzoo COMMAND [NAME ...]

NAMEs choose the cases whose folder names contain one of them; without any, all are run. README.md says what a case is.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
CASE_FOLDERS = [HERE / "cases", HERE.parents[1] / "examples" / "data"]
SECONDS = 300


def difference(got, expected, tolerance):
    """What is wrong with the array `got`, or None."""
    if got.shape != expected.shape:
        return f"its shape is {got.shape}, not {expected.shape}"
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(expected)
    if not np.array_equal(got[~finite], expected[~finite], equal_nan=True):
        return "NaN or infinity is not where it should be"
    error = np.abs(got[finite] - expected[finite]) / np.maximum(1.0, np.abs(expected[finite]))
    if not np.all(error <= tolerance):
        return f"it is off by {error.max():.3g}, more than {tolerance:.3g}"
    return None


def argument_of(case, text):
    """An argument in which a file of the case, by itself or behind NAME=, is named by its path."""
    name, equals, file = text.rpartition("=")
    return f"{name}{equals}{case / file}" if (case / file).is_file() else text


def read_output(scratch, name):
    """NAME.out.npy, or for state:FIELD that field of state.out.safetensors; None if it was not written."""
    state, _, field = name.rpartition(":")
    written = scratch / (f"{state}.out.safetensors" if state else f"{name}.out.npy")
    if not written.exists():
        return None
    if not state:
        return np.load(written)
    content = written.read_bytes()
    data = 8 + int.from_bytes(content[:8], "little")
    entry = json.loads(content[8:data])[field]
    first, end = entry["data_offsets"]
    return np.frombuffer(content[data + first:data + end], "<f4").reshape(entry["shape"])


def problems_of(command, case):
    spec = json.loads((case / "case.json").read_text(encoding="utf-8"))
    arguments = [argument_of(case, text) for text in spec["args"]]
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([command, "run", *arguments], cwd=scratch, capture_output=True, text=True,
                              timeout=SECONDS)
        if done.returncode != 0:
            return [f"exit status {done.returncode}: {done.stderr.strip()}"]
        problems = []
        for name, file in spec["expected"].items():
            got = read_output(pathlib.Path(scratch), name)
            if got is None:
                problems.append(f"{name} was not written")
                continue
            problem = difference(got, np.load(case / file), spec["tolerance"])
            if problem:
                problems.append(f"{name}: {problem}")
        return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnzoo", required=True, type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()

    cases = sorted(path.parent for folder in CASE_FOLDERS for path in folder.rglob("case.json"))
    cases = [case for case in cases if not options.names or any(name in case.name for name in options.names)]
    if not cases:
        raise SystemExit("no such case")
    failed = 0
    for case in cases:
        problems = problems_of(options.attnzoo, case)
        failed += bool(problems)
        for problem in problems:
            print(f"FAIL {case.name}: {problem}")
    print(f"{len(cases) - failed} conformance cases passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
