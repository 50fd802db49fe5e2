#!/usr/bin/env python3
"""Checks that instructions of AVX and newer stand only in the files of the static library that are built for them, so
that a library built on a new machine starts on an old one.

    check_instructions.py --static FILE [--objdump OBJDUMP]

For x86-64 whose compiler does not make such instructions by itself: the build asks only then.
"""
import argparse
import re
import subprocess
import sys

# Files that are entered only where the processor has what they are built for (src/cpu/features.c).
BUILT_FOR_NEWER = {"vectors_avx2.c.o", "vectors_avx512.c.o"}
MEMBER = re.compile(r"^(\S+):\s+file format ")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
# All of them have names that begin with v; of the baseline's, those for segments and virtual machines do.
NEWER = re.compile(r"^\s*[0-9a-f]+:\s+(?:\{\w+\} )?(v(?!er[rw]\b|m(?:call|launch|resume|xoff|xon|read|write|clear|ptrl|ptrst"
                   r"|func|run|load|save|mcall|gexit)\b)\w+)")


def newer_instructions(path, objdump):
    """For each member of the archive, the functions that have such instructions, each with the first."""
    command = [objdump, "--disassemble", "--no-show-raw-insn", path]
    found, member, function = {}, None, None
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        if match := MEMBER.match(line):
            member = match[1]
            found[member] = {}
        elif match := FUNCTION.match(line):
            function = match[1]
        elif match := NEWER.match(line):
            found[member].setdefault(function, match[1])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--static", required=True)
    parser.add_argument("--objdump", default="objdump")
    options = parser.parse_args()

    found = newer_instructions(options.static, options.objdump)
    problems = [f"{member}: {function} has {instruction}, which older processors do not know"
                for member, functions in found.items() if member not in BUILT_FOR_NEWER
                for function, instruction in functions.items()]
    # Were the disassembly read wrongly, nothing would be found anywhere.
    problems += [f"{member} has no instruction of AVX or newer, though it is built for them"
                 for member in sorted(BUILT_FOR_NEWER) if not found.get(member)]
    for problem in problems:
        print(problem)
    print(f"{len(found)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
