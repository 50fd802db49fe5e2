"""Runs the blocks of a page in order, in one scratch folder that looks like the repository's top folder.

sh, c, cpp, python and cmake, on the library as the build installs it. What is run where stands in blocks.py.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from blocks import ROOT, prints

HERE = pathlib.Path(__file__).resolve().parent
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
LANGUAGE_FLAGS = {"c": ["-std=c11"], "cpp": ["-std=c++17"]}
SECONDS = 120


class BlockFailed(Exception):
    """A block did not run, or did not print what its page says."""


class LeftOut(Exception):
    """A block needs something optional that this machine does not have."""


class Installed:
    """The library as installed below a prefix, and the compilers it goes with."""

    def __init__(self, prefix, folder, compilers, flags=()):
        self.prefix, self.compilers, self.flags = pathlib.Path(prefix), compilers, list(flags)
        library, = self.prefix.rglob("libattnzoo.so.1")
        cmake_package, = self.prefix.rglob("attnzooConfig.cmake")
        self.library, libraries = library, library.parent
        # The names that pages call programs by, so that the flags of the build (a sanitizer's, say) reach compilers, and
        # pkg-config finds what was installed here even if attnzoo.pc says /usr.
        programs = pathlib.Path(folder) / "programs"
        programs.mkdir()
        for name, program, flags in (("cc", compilers.get("c"), self.flags), ("c++", compilers.get("cpp"), self.flags),
                                     ("pkg-config", "pkg-config", [f"--define-variable=prefix={self.prefix}"])):
            if program and shutil.which(shlex.split(program)[0]):
                script = programs / name
                program, *given = shlex.split(program)
                # By its whole path: by its name alone the script would find itself.
                command = shlex.join([shutil.which(program), *given, *flags])
                script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
                script.chmod(0o755)
        # Modules of Python that cannot be had, and why; filled as pages ask for them.
        self.missing = {}
        # attnzoo_DIR is for a build whose libraries go where this system's CMake does not look (lib64 on Debian).
        self.environment = dict(
            os.environ, PATH=f"{programs}:{self.prefix / 'bin'}:{os.environ['PATH']}",
            LD_LIBRARY_PATH=str(libraries), PKG_CONFIG_PATH=str(libraries / "pkgconfig"),
            CMAKE_PREFIX_PATH=str(self.prefix), attnzoo_DIR=str(cmake_package.parent), ATTNZOO_LIBRARY=str(library),
            PYTHONPATH=str(ROOT / "bindings" / "python" / "src"), PYTHONDONTWRITEBYTECODE="1",
            MPLBACKEND="Agg", MPLCONFIGDIR=str(folder), CC="cc", CXX="c++")
        # A page's build is none of the jobs of the make that may have called the tests.
        for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
            self.environment.pop(name, None)

    def lacks(self, module):
        """Whether a module of Python cannot be had. That attnzoo itself can is for the pages to show."""
        if module not in self.missing:
            done = subprocess.run([sys.executable, "-c", f"import {module}"], env=self.environment, capture_output=True)
            absent = done.returncode != 0 and module != "attnzoo"
            self.missing[module] = f"Python has no module {module}" if absent else None
        return self.missing[module] is not None


class Session:
    """One page being run. close() ends its Python."""

    def __init__(self, installed, folder):
        self.installed, self.folder = installed, pathlib.Path(folder)
        self.python = None
        self.programs = {}
        for name in ("examples", "tests", "doc", "bindings", "scripts"):
            (self.folder / name).symlink_to(ROOT / name)

    def close(self):
        if self.python:
            self.python.stdin.close()
            self.python.wait(timeout=SECONDS)
            self.python.stdout.close()
            self.python = None

    def run(self, block):
        """Runs a block, and compares what it prints with what the page shows. Returns what it printed."""
        output = getattr(self, f"run_{block.language}")(block)
        if block.output is not None and not prints(output, block.output):
            raise BlockFailed(f"{block.place} printed\n{output}and the page shows\n{block.output}")
        return output

    def call(self, block, command, folder=None):
        done = subprocess.run(command, cwd=folder or self.folder, env=self.installed.environment, capture_output=True,
                              text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
        if done.returncode != 0 or done.stderr:
            raise BlockFailed(f"{block.place}: {shlex.join(map(str, command))} ended with {done.returncode}\n"
                              f"{done.stdout}{done.stderr}")
        return done.stdout

    def run_sh(self, block):
        # Where a command names a source file that is not there, the page means its last program in that language.
        for name, ending in re.findall(r"(?<![\w/.-])([\w-]+\.(c|cpp|py))\b", block.text):
            if not (self.folder / name).exists() and ending in self.programs:
                (self.folder / name).write_text(self.programs[ending])
        output = self.call(block, ["sh", "-eu", "-c", block.text])
        for picture in re.findall(r"--heatmap[ =](\S+)", block.text):
            if (self.folder / picture).read_bytes()[:4] != b"\x89PNG":
                raise BlockFailed(f"{block.place}: {picture} is no picture")
        return output

    def compile_and_run(self, block):
        compiler = self.installed.compilers.get(block.language)
        if not compiler:
            raise LeftOut("there is no compiler for it")
        page = block.page[:-3].replace("/", "_")
        source = self.folder / f"{page}_{block.number}.{block.language}"
        source.write_text(block.text)
        extra = []
        if block.is_program:
            self.programs[block.language] = block.text
        else:
            name = "_".join(block.page[:-3].split("/")[-2 if block.page.endswith("README.md") else -1:])
            fragment, source = source, HERE / "fragments" / f"{name}_{block.number}.{block.language}"
            if not source.exists():
                raise BlockFailed(f"{block.place}: no whole program, and no {source.relative_to(ROOT)} to run it in")
            extra = [f'-DFRAGMENT="{fragment}"', "-I", str(HERE / "fragments")]
        program = self.folder / f"{page}_{block.number}"
        self.call(block, [*shlex.split(compiler), *LANGUAGE_FLAGS[block.language], *WARNINGS, *self.installed.flags,
                          *extra, "-I", str(self.installed.prefix / "include"), str(source), "-o", str(program),
                          "-L", str(self.installed.library.parent), "-lattnzoo", "-lm", "-pthread"])
        return self.call(block, [str(program)])

    run_c = run_cpp = compile_and_run

    def run_python(self, block):
        self.programs["py"] = block.text
        for module in re.findall(r"^\s*(?:import|from) (\w+)", block.text, re.MULTILINE):
            if self.installed.lacks(module):
                raise LeftOut(self.installed.missing[module])
        if self.python is None:
            self.python = subprocess.Popen([sys.executable, str(HERE / "python_session.py")], cwd=self.folder,
                                           env=self.installed.environment, text=True, stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE)
        self.python.stdin.write(json.dumps({"place": block.place, "text": block.text}) + "\n")
        self.python.stdin.flush()
        line = self.python.stdout.readline()
        if not line:
            raise BlockFailed(f"{block.place}: Python died")
        answer = json.loads(line)
        if answer["failure"]:
            raise BlockFailed(f"{block.place}:\n{answer['output']}{answer['failure']}")
        return answer["output"]

    def run_cmake(self, block):
        """Builds what the block describes, with an empty program for each source that it names."""
        folder = self.folder / f"cmake_{block.page.replace('/', '_')}_{block.number}"
        folder.mkdir()
        text = block.text
        if "project(" not in text:
            text = "cmake_minimum_required(VERSION 3.18)\nproject(page LANGUAGES C)\n" + text
        if "cmake_minimum_required(" not in text:
            text = "cmake_minimum_required(VERSION 3.18)\n" + text
        for source in set(re.findall(r"[\w-]+\.(?:c|cpp)\b", text)):
            (folder / source).write_text("int main(void)\n{\n    return 0;\n}\n".replace(
                "void", "" if source.endswith("pp") else "void"))
            if source.endswith(".cpp"):
                text = text.replace("LANGUAGES C)", "LANGUAGES C CXX)")
        # The page may be about the sources being part of the other project.
        text = text.replace("add_subdirectory(attnzoo", f"add_subdirectory({ROOT} attnzoo")
        (folder / "CMakeLists.txt").write_text(text)
        for command in (["cmake", "-S", str(folder), "-B", str(folder / "build")],
                        ["cmake", "--build", str(folder / "build")]):
            self.call(block, command)
        return ""


def install(cmake, build, folder):
    """Installs a build below folder/prefix."""
    prefix = pathlib.Path(folder) / "prefix"
    done = subprocess.run([cmake, "--install", str(build), "--prefix", str(prefix)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{build} cannot be installed:\n{done.stdout}{done.stderr}")
    return prefix


def remove(folder):
    shutil.rmtree(folder)
