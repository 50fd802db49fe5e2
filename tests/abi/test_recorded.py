#!/usr/bin/env python3
"""Shows that check_recorded.py catches what it should, and lets pass what it should.

    test_recorded.py --include DIR --map FILE --recorded DIR --cc CC --machine NAME --work DIR

Each case changes a copy of the headers, makes a library of it whose functions do nothing, and compares that with the
real record: unchanged headers make a library that the record fits, though its opaque structs hold something else.
"""
import argparse
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from check_recorded import BROKEN, GROWN, SAME, UNKNOWN
from interface import read_headers

SETTER = "attnzoo_mask_set_window(attnzoo_mask *mask, int64_t left, int64_t right);"
NEW_FUNCTION = "ATTNZOO_API attnzoo_status attnzoo_mask_set_dilation(attnzoo_mask *mask, int64_t step);\n\n"
DESTROY = "ATTNZOO_API void attnzoo_mask_destroy(attnzoo_mask *mask);\n"

FUNCTION_OF_TYPE = "ATTNZOO_API attnzoo_status attnzoo_mask_set_dilation(attnzoo_mask *mask, {});\n\n"
MACRO = "#define ATTNZOO_LIMIT 7\n"
HANDLE = "typedef struct attnzoo_mask attnzoo_mask;\n"
INPUTS = """const attnzoo_tensor *query, const attnzoo_tensor *key,
                                                  const attnzoo_tensor *value, const attnzoo_mask *mask,"""
SIZES = """int64_t batch,
                                                int64_t capacity);"""

# Name; header and what becomes what in it; the result; whether the library's dump alone tells it, too.
CASES = [
    ("nothing", "mask.h", SETTER, SETTER, SAME, False),
    ("other spaces and comments", "mask.h", SETTER, SETTER.replace(", int64_t", ",  /* more */\n  int64_t"), SAME, False),
    ("another name for an argument", "mask.h", SETTER, SETTER.replace("left", "before"), GROWN, False),
    ("two arguments of one type that changed places", "mask.h", SETTER,
     SETTER.replace("left, int64_t right", "right, int64_t left"), BROKEN, False),
    ("a name that moved to another argument", "mask.h", SETTER,
     SETTER.replace("left, int64_t right", "right, int64_t after"), BROKEN, False),
    ("query and key that changed places", "module.h", INPUTS,
     INPUTS.replace("query", "KEY").replace("*key", "*query").replace("KEY", "key"), BROKEN, False),
    ("batch and capacity that changed places", "state.h", SIZES,
     SIZES.replace("batch", "BATCH").replace("capacity", "batch").replace("BATCH", "capacity"), BROKEN, False),
    ("a function gone", "mask.h", DESTROY, "", BROKEN, True),
    ("a function renamed", "mask.h", "attnzoo_mask_destroy(", "attnzoo_mask_free(", BROKEN, True),
    ("an argument of another type", "mask.h", SETTER, SETTER.replace("int64_t left", "int32_t left"), BROKEN, True),
    ("an argument of the same type by another name", "mask.h", "attnzoo_mask *mask, int32_t enabled",
     "attnzoo_mask *mask, attnzoo_status enabled", BROKEN, False),
    ("an argument more", "mask.h", SETTER, SETTER.replace("right)", "right, int32_t flags)"), BROKEN, True),
    ("an argument less", "mask.h", SETTER, SETTER.replace(", int64_t right", ""), BROKEN, True),
    ("another result", "status.h", "const char *attnzoo_status_name", "char *attnzoo_status_name", BROKEN, False),
    ("a wider status", "status.h", "typedef int32_t attnzoo_status", "typedef int64_t attnzoo_status", BROKEN, False),
    ("another number", "status.h", "ATTNZOO_STATUS_SYSTEM = 9", "ATTNZOO_STATUS_SYSTEM = 10", BROKEN, False),
    ("a constant gone", "tensor.h", "ATTNZOO_DTYPE_BOOL = 4,", "", BROKEN, False),
    ("a handle that became a number", "mask.h", HANDLE, "typedef int64_t attnzoo_mask;\n", BROKEN, True),
    ("a new constant", "tensor.h", "ATTNZOO_DTYPE_INT64 = 6", "ATTNZOO_DTYPE_INT64 = 6, ATTNZOO_DTYPE_INT8 = 7", GROWN,
     False),
    ("a new macro", "mask.h", HANDLE, HANDLE + MACRO, GROWN, False),
    ("a new handle", "mask.h", HANDLE, HANDLE + HANDLE.replace("mask", "plan"), GROWN, False),
    ("a new function", "mask.h", DESTROY, DESTROY + NEW_FUNCTION, GROWN, True),
    ("a new function and one gone", "mask.h", DESTROY, NEW_FUNCTION, BROKEN, True),
    ("another version", "version.h", "VERSION_MINOR 0", "VERSION_MINOR 1", SAME, False),
    # What is refused.
    ("long in the place of int64_t", "mask.h", SETTER, SETTER.replace("int64_t", "long"), UNKNOWN, False),
    ("int in the place of int32_t", "status.h", "typedef int32_t attnzoo_status", "typedef int attnzoo_status", UNKNOWN,
     False),
    *((f"a new function with {of_type}", "mask.h", DESTROY, DESTROY + FUNCTION_OF_TYPE.format(of_type), UNKNOWN, False)
      for of_type in ("size_t step", "unsigned step", "int64_t", "int64_t steps[4]", "void (*report)(long step)", "...",
                      "enum attnzoo_more more")),
    ("a macro without a number", "mask.h", HANDLE, HANDLE + "#define ATTNZOO_LIMIT (1 + 6)\n", UNKNOWN, False),
    ("a macro with arguments", "mask.h", HANDLE, HANDLE + "#define ATTNZOO_LIMIT(x) 7\n", UNKNOWN, False),
    ("a macro of another prefix", "mask.h", HANDLE, HANDLE + "#define LIMIT 7\n", UNKNOWN, False),
    ("a constant without a number", "tensor.h", "ATTNZOO_DTYPE_INT64 = 6", "ATTNZOO_DTYPE_INT64", UNKNOWN, False),
    ("a condition", "mask.h", HANDLE, HANDLE + "#ifdef __LP64__\n#endif\n", UNKNOWN, False),
    ("an enum with a name", "mask.h", HANDLE, HANDLE + "enum attnzoo_more { ATTNZOO_MORE = 1 };\n", UNKNOWN, False),
    ("a type that is an enum", "mask.h", HANDLE, HANDLE + "typedef enum { ATTNZOO_MORE = 1 } attnzoo_more;\n", UNKNOWN,
     False),
    ("a struct with members", "mask.h", HANDLE, HANDLE + "struct attnzoo_pair { int32_t left; };\n", UNKNOWN, False),
    ("a type that is a struct", "mask.h", HANDLE, HANDLE + "typedef struct { int32_t left; } attnzoo_pair;\n", UNKNOWN,
     False),
    ("a union", "mask.h", HANDLE, HANDLE + "union attnzoo_any { int32_t left; };\n", UNKNOWN, False),
    ("a variable", "mask.h", HANDLE, HANDLE + "ATTNZOO_API extern int32_t attnzoo_count;\n", UNKNOWN, False),
    ("a function that is not exported", "mask.h", HANDLE, HANDLE + "int32_t attnzoo_count(void);\n", UNKNOWN, False),
    ("a function with a body", "mask.h", HANDLE, HANDLE + "static inline int32_t attnzoo_count(void) { return 1; }\n",
     UNKNOWN, False),
    ("a constant twice", "tensor.h", "ATTNZOO_DTYPE_INT64 = 6", "ATTNZOO_DTYPE_INT64 = 6, ATTNZOO_RANK_MAX = 9", UNKNOWN,
     False),
]

ADVICE = {BROKEN: ["take the change back", "scripts/update-abi --incompatible"],
          GROWN: ["Programs go on running", "CHANGELOG.md gets", "`scripts/update-abi` records it"],
          UNKNOWN: ["What the record knows"], SAME: ["are as recorded"]}


class Guard:
    def __init__(self, options):
        self.options = options
        self.count = self.failed = 0

    def expect(self, name, holds, text=""):
        self.count += 1
        if not holds:
            self.failed += 1
            print(f"FAILED: {name}\n{text}")

    def change_headers(self, folder, header, old, new):
        """A copy of the headers, changed."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(pathlib.Path(self.options.include, "attnzoo"), folder / "include/attnzoo")
        path = folder / "include/attnzoo" / header
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise SystemExit(f"{header} has '{old}' {text.count(old)} times; mend the cases of this test")
        path.write_text(text.replace(old, new), encoding="utf-8")

    def write_map(self, folder):
        names = read_headers(folder / "include").functions
        script = pathlib.Path(self.options.map).read_text(encoding="utf-8")
        listed = re.findall(r"^\s+(attnzoo_\w+);", script, re.MULTILINE)
        for gone in set(listed) - set(names):
            script = re.sub(rf"^\s+{gone};\n", "", script, flags=re.MULTILINE)
        extra = "".join(f"        {name};\n" for name in sorted(set(names) - set(listed)))
        (folder / "map").write_text(script + (f"test_new {{\n    global:\n{extra}}};\n" if extra else ""),
                                    encoding="utf-8")

    def build(self, folder, members="int nothing;"):
        """A library of functions that do nothing, whose opaque structs have the given members."""
        self.write_map(folder)
        include = folder / "include"
        interface = read_headers(include)
        structs = [f"struct {name} {{ {members} }};" for name in interface.handles]
        functions = [f"{text} {{ {'' if text.startswith('void ') else 'return 0;'} }}"
                     for text in interface.functions.values()]
        source = folder / "functions.c"
        source.write_text("\n".join(["#include <attnzoo/attnzoo.h>", *structs, *functions]) + "\n", encoding="utf-8")
        library = folder / "libattnzoo.so.1"
        subprocess.run([*shlex.split(self.options.cc), "-std=c11", "-g", "-O1", "-fPIC", "-shared", f"-I{include}",
                        "-Wl,-soname,libattnzoo.so.1", f"-Wl,--version-script={folder / 'map'}", str(source), "-o",
                        str(library)], check=True)
        return library

    def check(self, folder, *more, recorded=None):
        script = pathlib.Path(__file__).with_name("check_recorded.py")
        command = [sys.executable, "-B", str(script), "--include", str(folder / "include"), "--recorded",
                   str(recorded or self.options.recorded), "--cc", self.options.cc, *more]
        return subprocess.run(command, capture_output=True, text=True)

    def folder_of(self, name):
        return self.options.work / re.sub(r"\W+", "-", name)

    def expect_result(self, name, done, result):
        text = done.stdout + done.stderr
        self.expect(name, done.returncode == result, text)
        for advice in ADVICE[result]:
            self.expect(f"{name}: says '{advice}'", advice in done.stdout, text)

    def run_cases(self):
        for name, header, old, new, result, _ in CASES:
            folder = self.folder_of(name)
            self.change_headers(folder, header, old, new)
            self.expect_result(f"{name}, headers", self.check(folder), result)
            if result == UNKNOWN:
                self.run_record_of_what_is_refused(name, folder)
                continue
            library = self.build(folder)
            done = self.check(folder, "--shared", str(library), "--machine", self.options.machine)
            self.expect_result(name, done, result)

    def run_record_of_what_is_refused(self, name, folder):
        script = pathlib.Path(__file__).with_name("recorded_interface.py")
        command = [sys.executable, "-B", str(script), "--include", str(folder / "include"), "--output",
                   str(folder / "interface.c")]
        done = subprocess.run(command, capture_output=True, text=True)
        self.expect(f"{name}: is not recorded", done.returncode == 1 and not (folder / "interface.c").exists(),
                    done.stderr)

    def run_macros(self):
        """A macro that was recorded, and then changed: the real record has none."""
        folder = self.folder_of("macros")
        self.change_headers(folder, "mask.h", HANDLE, HANDLE + MACRO)
        recorded = folder / "recorded"
        recorded.mkdir()
        script = pathlib.Path(__file__).with_name("recorded_interface.py")
        subprocess.run([sys.executable, "-B", str(script), "--include", str(folder / "include"), "--output",
                        str(recorded / "interface.c")], check=True)
        for name, new, result in (("a macro as recorded", MACRO, SAME), ("a macro gone", "", BROKEN),
                                  ("a macro of another number", MACRO.replace("7", "8"), BROKEN)):
            self.change_headers(folder / "changed", "mask.h", HANDLE, HANDLE + new)
            self.expect_result(name, self.check(folder / "changed", recorded=recorded), result)

    def run_dump_alone(self):
        """The dump notices by itself what the compiler notices in the headers: beside the old headers, as though
        only the library had changed."""
        for name, _, _, _, result, is_in_dump in CASES:
            if not is_in_dump:
                continue
            folder = self.folder_of(name)
            shutil.rmtree(folder / "include")
            shutil.copytree(pathlib.Path(self.options.include, "attnzoo"), folder / "include/attnzoo")
            done = self.check(folder, "--shared", str(folder / "libattnzoo.so.1"), "--machine", self.options.machine)
            self.expect(f"{name}, library alone", done.returncode == result, done.stdout + done.stderr)

    def run_opaque_structs(self):
        folder = self.options.work / "opaque"
        self.change_headers(folder, "mask.h", SETTER, SETTER)
        small = self.build(folder).rename(folder / "small.so")
        grown = self.build(folder, "long a[50]; double b;")
        done = self.check(folder, "--shared", str(grown), "--machine", self.options.machine)
        self.expect("grown opaque structs pass", done.returncode == SAME, done.stdout + done.stderr)
        plain = subprocess.run(["abidiff", str(small), str(grown)], capture_output=True, text=True)
        self.expect("grown opaque structs are seen where nobody says that they are private", plain.returncode & 4,
                    plain.stdout)

    def run_other_conditions(self):
        folder = self.options.work / "opaque"
        library = folder / "libattnzoo.so.1"
        subprocess.run(["strip", "--strip-debug", str(library)], check=True)
        done = self.check(folder, "--shared", str(library), "--machine", self.options.machine)
        self.expect("without debugging information nothing passes", done.returncode == UNKNOWN, done.stdout)
        done = self.check(folder, "--shared", str(library), "--machine", "pdp11")
        self.expect("another processor is said not to be compared",
                    done.returncode == SAME and "NOT COMPARED" in done.stdout, done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("include", "map", "cc", "machine"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--recorded", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    options = parser.parse_args()
    if not (options.recorded / f"{options.machine}.abi").is_file():
        print(f"SKIPPED: there is no dump for {options.machine} to try the guard on")
        return 0
    guard = Guard(options)
    guard.run_cases()
    guard.run_macros()
    guard.run_dump_alone()
    guard.run_opaque_structs()
    guard.run_other_conditions()
    print(f"the guard itself: {guard.count} checks, {guard.failed} failed")
    return 1 if guard.failed else 0


if __name__ == "__main__":
    sys.exit(main())
