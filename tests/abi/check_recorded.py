#!/usr/bin/env python3
"""Checks that the binary interface is the one that is recorded, and says what to do where it is not.

    check_recorded.py --include DIR --recorded DIR --cc CC [--shared FILE --machine NAME [--abidiff ABIDIFF]]

The headers are compared with recorded/interface.c, on every machine, by their text and by the compiler: the text tells
int64_t from long where both are one type, and two arguments of one type that changed places. With --shared the library,
built with debugging information, is also compared with the dump of its processor, recorded/NAME.abi; where there is
none, that is said.

Exit status: 0 the same, 1 changed so that programs break, 3 only grown (or arguments have other names), 2 it could not
be told, or the headers have something that the record has no place for.
"""
import argparse
import pathlib
import shlex
import subprocess
import sys

from interface import Refused, argument_names, read_headers, read_record, types_alone

SAME, BROKEN, UNKNOWN, GROWN = 0, 1, 2, 3

BROKEN_TEXT = """
THE BINARY INTERFACE CHANGED SO THAT PROGRAMS BREAK that were built against it. Either
  - take the change back: leave the function or the constant as it was, and add another beside it; or,
  - only for a new major version, or while nothing with this SONAME has been released (CHANGELOG.md tells): if there was a
    release, raise SOVERSION in src/CMakeLists.txt and SONAME in tests/abi/check_binary.py; say what changed in an `abi:`
    line in CHANGELOG.md; and run `scripts/update-abi --incompatible`.
"""
REFUSED_TEXT = """
THE HEADERS HAVE SOMETHING THAT THE RECORD HAS NO PLACE FOR: nobody would see it change, so it cannot stay as it is.
What the record knows:
  - functions, on which ATTNZOO_API stands, whose arguments are named and of types that are as wide everywhere: int32_t,
    int64_t, double, char, handles, pointers to them, and callbacks of the same;
  - handles (typedef struct attnzoo_thing attnzoo_thing;), structs that are only named, and other names for such types;
  - constants with their numbers written out: enumerators of enums without a name, and macros. An enum with a name, and a
    struct with members, are types whose size and layout programs would depend on: pass an int32_t, or a handle.
If the interface must have another kind, teach it to tests/abi/interface.py, with a case in tests/abi/test_recorded.py.
"""
GROWN_TEXT = """
THE BINARY INTERFACE HAS GROWN, and the record does not know it yet. Programs go on running. What is to do:
  - a new function stands in the node of src/attnzoo.map that is for the coming version (a new node, if the last one has
    been released), and its comment says since when; a new constant has a number that was never used;
  - an argument with another name means what it meant before; if not, that breaks programs, and a new function is needed;
  - CHANGELOG.md gets an `abi:` line;
  - `scripts/update-abi` records it; commit tests/abi/recorded with the change.
"""


def is_renamed(recorded, declared):
    """Whether nothing but names of arguments differs, and none of them has moved to another place."""
    before, now = argument_names(recorded), argument_names(declared)
    return types_alone(recorded) == types_alone(declared) and not any(
        old != new and new in before for old, new in zip(before, now))


def compare(what, in_headers, in_record):
    results = [SAME]
    for name in sorted(in_record.keys() | in_headers.keys()):
        recorded, declared = in_record.get(name), in_headers.get(name)
        if declared is None:
            print(f"gone: the {what} {name}")
            results.append(BROKEN)
        elif recorded is None:
            print(f"new, not recorded: the {what} {name}")
            results.append(GROWN)
        elif recorded != declared:
            is_grown = what == "function" and is_renamed(recorded, declared)
            print(f"{'an argument has another name' if is_grown else 'changed'}: the {what} {name}\n"
                  f"    recorded  {recorded}\n    now       {declared}")
            results.append(GROWN if is_grown else BROKEN)
    return results


def check_headers(options, headers):
    """Texts first, then what the compiler says of both together."""
    path = options.recorded / "interface.c"
    record = read_record(path)
    results = [*compare("type", headers.types, record.types), *compare("function", headers.functions, record.functions),
               *compare("constant", headers.constants, record.constants)]
    command = [*shlex.split(options.cc), "-std=c11", "-fsyntax-only", f"-I{options.include}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"the headers do not say what {path} says:\n{done.stderr}")
        results.append(BROKEN)
    return results


def abidiff(options, dump, *more):
    command = [options.abidiff, "--no-default-suppression", "--exported-interfaces-only",
               "--drop-private-types", "--headers-dir2", options.include, *more, str(dump), options.shared]
    return subprocess.run(command, capture_output=True, text=True)


def check_dump(options):
    """Anything that abidiff says of functions that are recorded counts: it takes some that break programs, such as an
    added argument, for mere changes. Opaque structs are private to the headers, so that these may grow."""
    dump = options.recorded / f"{options.machine}.abi"
    if not dump.is_file():
        print(f"NOT COMPARED: there is no dump for {options.machine} in {options.recorded}; the headers were, and "
              "`scripts/update-abi` makes one here")
        return SAME
    if b".debug_info" not in pathlib.Path(options.shared).read_bytes():
        print(f"{options.shared} has no debugging information to compare; build it with -g")
        return UNKNOWN
    for more, result in ((["--no-added-syms"], BROKEN), ([], GROWN)):
        done = abidiff(options, dump, *more)
        if done.returncode & 3 or done.returncode < 0:
            print(f"abidiff could not compare {dump} with {options.shared}:\n{done.stdout}{done.stderr}")
            return UNKNOWN
        if done.returncode != 0:
            print(f"abidiff, {dump.name} beside {options.shared}:\n{done.stdout}")
            return result
    return SAME


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", required=True)
    parser.add_argument("--recorded", type=pathlib.Path, required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--shared")
    parser.add_argument("--machine")
    parser.add_argument("--abidiff", default="abidiff")
    options = parser.parse_args()
    if bool(options.shared) != bool(options.machine):
        parser.error("--shared and --machine go together")

    try:
        headers = read_headers(options.include)
    except Refused as refused:
        print(f"{refused}\n{REFUSED_TEXT}")
        return UNKNOWN
    results = check_headers(options, headers)
    if options.shared:
        results.append(check_dump(options))
    for result, text in ((UNKNOWN, ""), (BROKEN, BROKEN_TEXT), (GROWN, GROWN_TEXT)):
        if result in results:
            print(text)
            return result
    print(f"{len(headers.functions)} functions, {len(headers.constants)} constants and {len(headers.types)} types are as "
          "recorded")
    return SAME


if __name__ == "__main__":
    sys.exit(main())
