#!/usr/bin/env python3
"""Compares the version in every place that states it with include/attnzoo/version.h.

    check_versions.py SOURCE_FOLDER
"""
import pathlib
import re
import sys

# Where else the version stands, and what stands around it.
PLACES = {
    "CMakeLists.txt": r"^project\(attnzoo VERSION ([\d.]+)",
    "CHANGELOG.md": r"^## ([\d.]+)",
    "bindings/python/src/attnzoo/_version.py": r'^version = "([\d.]+)"',
    "bindings/rust/attnzoo/Cargo.toml": r'^version = "([\d.]+)"',
    "bindings/rust/attnzoo-sys/Cargo.toml": r'^version = "([\d.]+)"',
    "packaging/debian/changelog": r"^attnzoo \(([\d.]+)-",
    "packaging/rpm/attnzoo.spec": r"^Version:\s+([\d.]+)",
}


def stated(path, pattern):
    found = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1) if found else "nothing that reads as a version"


def main():
    root = pathlib.Path(sys.argv[1])
    header = (root / "include/attnzoo/version.h").read_text(encoding="utf-8")
    wanted = ".".join(re.search(rf"VERSION_{part} (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH"))
    problems = 0
    for place, pattern in PLACES.items():
        version = stated(root / place, pattern)
        if version != wanted:
            problems += 1
            print(f"{place} says {version}, version.h {wanted}")
    print(f"{len(PLACES)} places, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
