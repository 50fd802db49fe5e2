"""Writes the interface as it is recorded in recorded/: functions with their arguments, constants with their numbers, and
types.

    recorded_interface.py --include DIR --output FILE      writes the record that every compiler can check

The record is a C file that declares each function and type again and asserts each constant, so that compiling it beside
the headers tells whether both still say the same; and it is read as the headers are, so that their texts can be compared
(interface.py). The dumps beside it are abidw's, one a processor; scripts/update-abi writes both.
"""
import argparse
import pathlib
import sys

from interface import Refused, read_headers

RECORD = """\
/*
 * The binary interface as it is recorded: written by scripts/update-abi, not by hand. It compiles only beside headers
 * that declare the same. See recorded_interface.py.
 */
#include <attnzoo/attnzoo.h>

_Static_assert(sizeof(attnzoo_status) == 4 && (attnzoo_status)-1 < 0, "attnzoo_status is an int32_t");

{types}

{constants}

{functions}
"""


def record_text(interface):
    asserts = [f'_Static_assert({name} == {number}, "{name} is {number}");'
               for name, number in sorted(interface.constants.items())]
    types, functions = ([f"{declaration};" for _, declaration in sorted(kind.items())]
                        for kind in (interface.types, interface.functions))
    return RECORD.format(types="\n".join(types), constants="\n".join(asserts), functions="\n".join(functions))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    try:
        text = record_text(read_headers(options.include))
    except Refused as refused:
        sys.exit(f"not recorded: {refused}")
    options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
