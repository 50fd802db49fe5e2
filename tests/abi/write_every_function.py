#!/usr/bin/env python3
"""Writes a C program that takes the address of every function the public headers declare.

    write_every_function.py --include DIR --output FILE

Linked against the shared library, it shows that each one can be reached through the header.
"""
import argparse
import pathlib

from public_functions import declared_functions

PROGRAM = """\
/* Written by write_every_function.py from the public headers. */
#include <attnzoo/attnzoo.h>

#include <stdio.h>

typedef void (*function)(void);

static const function every_function[] = {{
{rows}
}};

int main(void)
{{
    size_t count = sizeof every_function / sizeof every_function[0];
    for (size_t i = 0; i < count; i++) {{
        const volatile function *reached = &every_function[i];
        if (*reached == NULL)
            return 1;
    }}
    printf("%zu functions\\n", count);
    return count == {count} ? 0 : 1;
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    names = declared_functions(options.include)
    rows = "\n".join(f"    (function){name}," for name in names)
    options.output.write_text(PROGRAM.format(rows=rows, count=len(names)), encoding="utf-8")


if __name__ == "__main__":
    main()
