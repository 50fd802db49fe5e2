#!/usr/bin/env python3
"""Runs the code blocks of the pages that no test of the build runs: those of Rust and Go, on an installed tree and the
bindings in the repository, and those that build, install or test the whole project, in a copy of it.

    installed.py --languages rust,go,build [--prefix PREFIX] [--folder FOLDER]

Needs no network and no root: sudo puts what it installs into a staging folder here, and ldconfig does nothing.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from blocks import INSTALLED, ROOT, page_paths, prints, read_blocks

SECONDS = 1500


class BlockFailed(Exception):
    """A block did not run, or did not print what its page says."""


def call(block, command, folder, environment):
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise BlockFailed(f"{block.place}: {shlex.join(map(str, command))} ended with {done.returncode}\n"
                          f"{done.stdout}{done.stderr}")
    return done.stdout


class Language:
    """What the languages share: a folder of their own, and the installed library in the environment."""

    def __init__(self, prefix, folder):
        self.folder = folder
        folder.mkdir()
        self.environment = dict(os.environ)
        if prefix:
            library = next(prefix.rglob("libattnzoo.so.1"), None)
            if library is None:
                raise SystemExit(f"there is no libattnzoo.so.1 below {prefix}")
            libraries = library.parent
            self.environment.update(PKG_CONFIG_PATH=str(libraries / "pkgconfig"), LD_LIBRARY_PATH=str(libraries))


class Rust(Language):
    program, needs_prefix = "cargo", True

    def __init__(self, prefix, folder):
        super().__init__(prefix, folder)
        (folder / "src" / "bin").mkdir(parents=True)
        (folder / "examples").symlink_to(ROOT / "examples")
        (folder / "Cargo.toml").write_text(
            '[package]\nname = "pages"\nversion = "0.0.0"\nedition = "2021"\nautoexamples = false\n\n[dependencies]\n'
            f'attnzoo = {{ path = "{ROOT / "bindings/rust/attnzoo"}" }}\n\n[workspace]\n')
        self.environment.update(CARGO_TARGET_DIR=str(folder / "target"), CARGO_NET_OFFLINE="true",
                                RUSTFLAGS="-D warnings")

    def run(self, block):
        name = re.sub(r"\W", "_", f"{block.page}_{block.line}").lower()
        text = block.text
        if not block.is_program:
            # As rustdoc does it.
            text = f"fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{text}\nOk(())\n}}\n"
        (self.folder / "src" / "bin" / f"{name}.rs").write_text(text)
        return call(block, ["cargo", "run", "--quiet", "--offline", "--bin", name], self.folder, self.environment)


class Go(Language):
    program, needs_prefix = "go", True

    def __init__(self, prefix, folder):
        super().__init__(prefix, folder)
        binding = ROOT / "bindings" / "go"
        module = re.search(r"^module (\S+)", (binding / "go.mod").read_text(), re.MULTILINE).group(1)
        (folder / "go.mod").write_text(f"module pages\n\ngo 1.19\n\nrequire {module} v0.0.0\n\n"
                                       f"replace {module} => {binding}\n")
        (folder / "examples").symlink_to(ROOT / "examples")
        self.environment.update(GOFLAGS="-mod=mod", GOPROXY="off", GOTOOLCHAIN="local", GOWORK="off",
                                GOCACHE=str(folder / "cache"), GOPATH=str(folder / "path"))

    def run(self, block):
        if not block.is_program:
            raise BlockFailed(f"{block.place}: a block of Go must be a whole program")
        folder = self.folder / re.sub(r"\W", "_", f"{block.page}_{block.line}")
        folder.mkdir()
        (folder / "main.go").write_text(block.text)
        call(block, ["go", "vet", f"./{folder.name}"], self.folder, self.environment)
        program = folder / "program"
        call(block, ["go", "build", "-o", str(program), f"./{folder.name}"], self.folder, self.environment)
        return call(block, [str(program)], self.folder, self.environment)


class Build(Language):
    program, needs_prefix = "cmake", False

    def __init__(self, prefix, folder):
        super().__init__(None, folder)
        self.copy = folder / "attnzoo"
        shutil.copytree(ROOT, self.copy, symlinks=True, ignore=lambda where, names: [
            name for name in names if name in (".git", "build", "target", "__pycache__")])
        programs = folder / "programs"
        programs.mkdir()
        for name, text in (("sudo", f'DESTDIR="{folder / "stage"}" exec "$@"'), ("ldconfig", "exit 0")):
            (programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (programs / name).chmod(0o755)
        self.environment.update(PATH=f"{programs}:{os.environ['PATH']}")
        checks = re.findall(r"^step (\S+)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
        self.checks = set(checks)

    def run(self, block):
        if set(block.text.split("\n")) - {""} <= self.checks:
            # Running all tests here, too, would be running them twice.
            return f"(run by .ci/run: {block.text.strip()})"
        return call(block, ["sh", "-eu", "-c", block.text], self.copy, self.environment)


LANGUAGES = {"rust": Rust, "go": Go, "build": Build}
assert set(LANGUAGES) == set(INSTALLED)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--languages", required=True, help="of rust, go and build, with commas between")
    parser.add_argument("--prefix", type=lambda text: pathlib.Path(text).resolve(), help="the installed tree")
    parser.add_argument("--folder", type=pathlib.Path, help="an empty or new one to work in, which is kept")
    options = parser.parse_args()
    chosen = options.languages.split(",")
    for language in chosen:
        if language not in LANGUAGES:
            parser.error(f"no such language: {language}")
        if LANGUAGES[language].needs_prefix and not options.prefix:
            parser.error(f"{language} needs --prefix")
        if shutil.which(LANGUAGES[language].program) is None:
            raise SystemExit(f"{LANGUAGES[language].program} is missing; install it, or leave {language} out")
    with tempfile.TemporaryDirectory(prefix="attnzoo-pages-") as scratch:
        folder = pathlib.Path(options.folder or scratch).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        sys.exit(run_all(chosen, options.prefix, folder))


def run_all(chosen, prefix, folder):
    blocks = [block for page in page_paths() for block in read_blocks(page) if block.language in chosen]
    failed, languages = 0, {}
    for block in blocks:
        if block.language not in languages:
            languages[block.language] = LANGUAGES[block.language](prefix, folder / block.language)
        try:
            output = languages[block.language].run(block)
            if block.output is not None and not prints(output, block.output):
                raise BlockFailed(f"{block.place} printed\n{output}and the page shows\n{block.output}")
            print(f"ok   {block.place} {block.language}"
                  f"{' ' + output if output.startswith('(run by') else ''}", flush=True)
        except BlockFailed as failure:
            failed += 1
            print(f"FAIL {failure}", flush=True)
    print(f"{len(blocks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    main()
