#!/usr/bin/env python3
"""Checks how the shared library was linked: its SONAME, what it needs, and its hardening.

    check_binary.py --shared FILE [--readelf READELF]
"""
import argparse
import re
import subprocess
import sys

SONAME = "libattnzoo.so.1"
BLAS = r"lib(open|flexi|c)?blas\w*\.so\.\d+|libblis\w*\.so\.\d+|libmkl_rt\.so\.\d+"
SYSTEM = r"libc\.so\.\d+|libm\.so\.\d+|libpthread\.so\.\d+|ld(-linux[\w-]*|64)\.so\.\d+"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", required=True)
    parser.add_argument("--readelf", default="readelf")
    options = parser.parse_args()

    def readelf(what):
        command = [options.readelf, "--wide", what, options.shared]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    dynamic, segments = readelf("--dynamic"), readelf("--program-headers")
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    stack = re.search(r"GNU_STACK\s+(?:0x[0-9a-f]+\s+){5}([RWE ]{3})", segments)
    rules = [
        (re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) == [SONAME], f"the SONAME is {SONAME}"),
        (all(re.fullmatch(f"{BLAS}|{SYSTEM}", name) for name in needed), "only a BLAS, libm and libc are needed"),
        (any(re.fullmatch(BLAS, name) for name in needed), "the BLAS is among what is needed"),
        ("(RPATH)" not in dynamic and "(RUNPATH)" not in dynamic, "no run path is built in"),
        ("GNU_RELRO" in segments, "relocations become read-only"),
        (re.search(r"BIND_NOW|FLAGS_1.*\bNOW\b", dynamic) is not None, "symbols are bound at load time"),
        (stack is not None and "E" not in stack.group(1), "the stack is not executable"),
        ("(TEXTREL)" not in dynamic, "no code is relocated"),
    ]
    broken = [rule for holds, rule in rules if not holds]
    for rule in broken:
        print(f"{options.shared}: it does not hold that {rule}")
    print(f"needs {', '.join(needed)}; {len(rules)} rules, {len(broken)} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
