#!/usr/bin/env python3
"""Compiles the C++ interface as programs do that are built otherwise than the tests.

    check_header.py --include DIR --cxx CXX --standard c++17|c++20

Function-like macros min and max, as some systems' headers have them; no run-time types; the warnings of -Weffc++; and no
exceptions, which is refused in words.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys

PROGRAM = """
#include <attnzoo/attnzoo.hpp>
void use(attnzoo::module &module, std::vector<float> &numbers)
{
    const attnzoo::const_tensor query(numbers, {2, 3}, {3, 1});
    attnzoo::tensor context(numbers, {2, 3});
    context.set_data(numbers);
    const attnzoo::input_views inputs{query, query, query};
    module.set_option("scale", std::size_t{1});
    module.forward(inputs, {context});
    module.forward(query, query, query, context, {nullptr});
    static_cast<void>(attnzoo::element_count(module.output_shape(inputs)));
}
"""
MACROS = "#define min(a, b) min_was_taken_for_a_macro\n#define max(a, b) max_was_taken_for_a_macro\n"
NO_EXCEPTIONS = "needs exceptions"


def standard_headers(include):
    """What the headers include themselves: after the macros, those would undefine or trip over them."""
    text = "".join(header.read_text(encoding="utf-8") for header in sorted(include.rglob("*.h*")))
    names = set(re.findall(r"^#include <([a-z_.]+)>", text, re.MULTILINE))
    return "".join(f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in sorted(names))


def compile_program(options, source, *flags):
    command = [*shlex.split(options.cxx), f"-std={options.standard}", f"-I{options.include}", "-Wall", "-Wextra", "-Werror",
               "-fsyntax-only", *flags, "-x", "c++", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, env=dict(os.environ, LC_ALL="C"))
    return done.returncode == 0, done.stderr


def problems(options):
    for what, source, flags in [("as it is", PROGRAM, []),
                                ("with macros min and max", standard_headers(options.include) + MACROS + PROGRAM, []),
                                ("with -fno-rtti", PROGRAM, ["-fno-rtti"]),
                                ("with -Weffc++", PROGRAM, ["-Weffc++"])]:
        compiled, said = compile_program(options, source, *flags)
        if not compiled:
            yield f"it does not compile {what}:\n{said}"
    compiled, said = compile_program(options, PROGRAM, "-fno-exceptions")
    if compiled or NO_EXCEPTIONS not in said:
        yield f"-fno-exceptions is not refused with \"{NO_EXCEPTIONS}\":\n{said}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", required=True, type=pathlib.Path)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--standard", required=True)
    found = list(problems(parser.parse_args()))
    for text in found:
        print(f"FAIL {text}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
