#!/usr/bin/env python3
"""Breaks a copy of the tree in the ways that mutations.toml lists, one at a time, and shows that the tests notice.

    run.py ROOT FOLDER [--only WORD] [--jobs N]

FOLDER keeps the copy and its build from run to run. The tests named for a mutation are run on the copy as it is first,
and must pass; then each mutation must make at least one of its own fail. It is an error if a mutation survives, does not
compile, or no longer fits the source.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import tomllib

# The longest test takes a tenth of this; a mutation may make one wait for ever.
TIMEOUT = 60


def copy_tree(root, tree):
    """Makes the copy like the tree: what git knows and what it would take. Files that are the same stay untouched."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True).stdout.decode().split("\0")
    wanted = {name for name in listed if name and (root / name).is_file()}
    for path in [path for path in tree.rglob("*") if path.is_file() or path.is_symlink()]:
        if str(path.relative_to(tree)) not in wanted:
            path.unlink()
    for name in wanted:
        source, target = root / name, tree / name
        content = source.read_bytes()
        if target.is_file() and target.read_bytes() == content:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(source.stat().st_mode)


class Build:
    def __init__(self, tree, folder, jobs):
        self.folder, self.jobs = folder, jobs
        # Quick to compile, and fast enough to test. Programs need no new link when the shared library changes.
        self.call("cmake", "-S", tree, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1",
                  "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON", "-DATTNZOO_BUILD_BENCHMARKS=OFF", "-DATTNZOO_BUILD_EXAMPLES=OFF",
                  "-DATTNZOO_BUILD_TESTS=ON", "-DATTNZOO_BUILD_TOOLS=ON", f"-DATTNZOO_TEST_TIMEOUT={TIMEOUT}")
        # ctest knows the command of a test only once it is built.
        self.call("ninja", "-C", folder, f"-j{jobs}")
        listed = json.loads(self.call("ctest", "--test-dir", folder, "--show-only=json-v1"))
        self.commands = {test["name"]: test.get("command", []) for test in listed["tests"]}
        self.targets = set(line.split(":")[0] for line in
                           self.call("ninja", "-C", folder, "-t", "targets", "all").splitlines())

    @staticmethod
    def call(*words):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
        return done.stdout

    def tests(self, patterns):
        """The names of the tests that the patterns mean. A pattern that means none is an error."""
        found = []
        for pattern in patterns:
            names = [name for name in self.commands if re.fullmatch(pattern, name)]
            if not names:
                sys.exit(f"no test is called {pattern}")
            found += [name for name in names if name not in found]
        return found

    def make(self, tests):
        """Builds what the tests run, and the libraries; returns what went wrong."""
        targets = {"attnzoo_shared", "attnzoo_command"}
        for name in tests:
            for word in self.commands[name]:
                place = os.path.relpath(word, self.folder) if os.path.isabs(word) else word
                if place in self.targets:
                    targets.add(place)
        done = subprocess.run(["ninja", "-C", self.folder, f"-j{self.jobs}", *sorted(targets)], capture_output=True,
                              text=True)
        return "" if done.returncode == 0 else done.stdout

    def failing(self, tests, stop=True):
        """The tests that fail; with stop, no more than the first."""
        log = self.folder / "failed.txt"
        log.unlink(missing_ok=True)
        pattern = "^(" + "|".join(map(re.escape, tests)) + ")$"
        done = subprocess.run(["ctest", "--test-dir", self.folder, "--tests-regex", pattern, "--no-tests=error",
                               "--timeout", str(TIMEOUT), "--parallel", str(self.jobs),
                               *(["--stop-on-failure"] if stop else [])], capture_output=True, text=True)
        if done.returncode == 0:
            return []
        failed = re.findall(r"^\s*\d+/\d+ Test\s+#\d+: (\S+) .*\*\*\*", done.stdout, re.MULTILINE)
        if not failed:
            sys.exit(f"ctest failed, but no test did\n{done.stdout}{done.stderr}")
        return failed


def apply(tree, mutation):
    """Changes the file; returns what it held, or None where the mutation does not fit."""
    path = tree / mutation["file"]
    text = path.read_text() if path.is_file() else ""
    if text.count(mutation["old"]) != 1:
        return None
    path.write_text(text.replace(mutation["old"], mutation["new"]))
    return text


def try_mutation(build, tree, mutation):
    tests = build.tests(mutation["tests"])
    before = apply(tree, mutation)
    if before is None:
        return "DOES NOT FIT", ""
    try:
        problem = build.make(tests)
        if problem:
            print(problem, file=sys.stderr)
            return "DOES NOT COMPILE", ""
        failed = build.failing(tests)
    finally:
        (tree / mutation["file"]).write_text(before)
    return ("caught", failed[0]) if failed else ("SURVIVED", " ".join(tests))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="", help="only mutations that have this in file, breaks or tests")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    root, folder = arguments.root.resolve(), arguments.folder.resolve()
    mutations = [mutation for mutation in
                 tomllib.loads((root / "tests/mutations/mutations.toml").read_text())["mutation"]
                 if arguments.only in f"{mutation['file']} {mutation['breaks']} {mutation['tests']}"]
    tree = folder / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    copy_tree(root, tree)
    build = Build(tree, folder / "build", arguments.jobs)
    every = build.tests(pattern for mutation in mutations for pattern in mutation["tests"])
    failed = build.failing(every, stop=False)
    if failed:
        sys.exit(f"without any mutation: {' '.join(failed)}")
    print(f"{len(every)} tests pass without any mutation")
    results = []
    for mutation in mutations:
        started = time.monotonic()
        result, by = try_mutation(build, tree, mutation)
        results.append(result)
        print(f"{result:9} {time.monotonic() - started:5.1f} s  {mutation['file']}: {mutation['breaks']} [{by}]",
              flush=True)
    files = len({mutation["file"] for mutation in mutations})
    print(f"{len(results)} mutations of {files} files: {results.count('caught')} caught, "
          f"{len(results) - results.count('caught')} not")
    return 0 if results and set(results) == {"caught"} else 1


sys.exit(main())
