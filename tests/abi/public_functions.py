"""What the public headers declare. Shared by the checks in this folder; Python's standard library only."""
import pathlib
import re

DECLARATION = re.compile(r"^ATTNZOO_API\b[^;{]*?\b(attnzoo_\w+)\s*\(", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def header_files(include):
    """The public headers below the folder `include`, in a fixed order."""
    headers = sorted(pathlib.Path(include, "attnzoo").glob("*.h"))
    if not headers:
        raise SystemExit(f"no headers in {include}/attnzoo")
    return headers


def cpp_header_files(include):
    """The public C++ headers below the folder `include`, parts included, in a fixed order."""
    headers = sorted(pathlib.Path(include, "attnzoo").rglob("*.hpp"))
    if not headers:
        raise SystemExit(f"no C++ headers in {include}/attnzoo")
    return headers


def declared_functions(include):
    """The names of all functions that the public headers declare, sorted."""
    names = []
    for header in header_files(include):
        text = COMMENT.sub("", header.read_text(encoding="utf-8"))
        found = DECLARATION.findall(text)
        exported = len(re.findall(r"^ATTNZOO_API\b", text, re.MULTILINE))
        if len(found) != exported:
            raise SystemExit(f"{header}: {exported} exports, but {len(found)} read as functions")
        names += found
    if len(names) != len(set(names)):
        raise SystemExit("a function is declared twice")
    return sorted(names)
