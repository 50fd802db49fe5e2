#!/usr/bin/env python3
"""Writes the man pages of section 3 from the comments of the public headers: libattnzoo.3, a page for each header that
declares something, and a page for each function. The same headers give the same bytes. Standard library only.

    write_man_pages.py --include FOLDER --date-of MAN_PAGE --output FOLDER [--list]

The date in the pages is that of MAN_PAGE, attnzoo.1, so that there is one place for it. --list prints the names of the
pages that would be written, and writes none.
"""
import argparse
import pathlib
import re
import sys

from headers import Unclear, gist, headline, paragraphs, read_headers, sentence

OVERVIEW = "libattnzoo"
# Where what is no word begins, and so is not to be hyphenated: a name with an underscore or a header file, with whatever
# stands around it without a space.
NAME = re.compile(r"(?<!\S)(?=\S*(?:\w_\w|\w/\w+\.h\b))")
FUNCTION_NAME = re.compile(r"\b(attnzoo_\w+)\(\)")


def escape(text):
    """Text for a line of its own."""
    text = text.replace("\\", "\\e").replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti")
    text = re.sub(r"(?<![\w)])-(?=[\w\[])", r"\\-", text)
    text = NAME.sub(r"\\%", text)
    text = FUNCTION_NAME.sub(lambda match: f"\\fB{match[1]}\\fR()", text)
    return re.sub(r"^(?=[.'])", r"\\&", text)


def lines_of(text):
    """A paragraph, a sentence a line, as pages are written."""
    return [escape(line) for line in re.sub(r"(?<=[\w\])\"]\.) +(?=\S)(?<!et al\. )", "\n", text).splitlines()]


def body(parts):
    """Paragraphs as mdoc."""
    lines = []
    for number, (kind, content) in enumerate(parts):
        if kind == "text":
            lines += [".Pp"] if number and lines[-1] != ".Pp" else []
            lines += lines_of(content)
        elif kind == "code":
            lines += [".Bd -literal -offset indent", *(escape(line) for line in content), ".Ed"]
        elif kind == "table":
            lines.append(".Bl -tag -width Ds")
            for term, text in content:
                lines += [f".It {escape(term)}", *lines_of(text)]
            lines.append(".El")
        else:
            lines.append(".Bl -bullet")
            for item in content:
                lines += [".It", *lines_of(item)]
            lines.append(".El")
    return lines


def quoted(text):
    return '"' + text.replace('"', '\\(dq') + '"'


class Page:
    def __init__(self, name, date, brief, names=()):
        self.name = name
        # .Nd is the rest of a sentence: no capital, no full stop.
        brief = escape(brief[:1].lower() + brief[1:] if not re.match(r"[B-Z]\b|DLPack", brief) else brief)
        self.lines = ['.\\" Written by write_man_pages.py from the headers; change those.', f".Dd {date}",
                      f".Dt {name.upper()} 3", ".Os", ".nh", ".Sh NAME"]
        for other in names[:-1]:
            self.lines.append(f".Nm {other} ,")
        self.lines += [f".Nm {names[-1] if names else name}", f".Nd {brief}", ".Sh LIBRARY",
                       "Attention mechanisms (libattnzoo, \\-lattnzoo)", ".Sh SYNOPSIS", ".In attnzoo/attnzoo.h"]

    def add(self, title, lines):
        if lines:
            self.lines += [f".Sh {title}", *lines]

    def see_also(self, names):
        others = sorted({name for name in names if name != self.name}, key=lambda name: (name == "attnzoo", name))
        others.sort(key=lambda name: 1 if name == "attnzoo" else 3)
        lines = [f".Xr {name} {1 if name == 'attnzoo' else 3}" for name in others]
        self.add("SEE ALSO", [f"{line} ," for line in lines[:-1]] + lines[-1:])

    def text(self):
        return "\n".join(self.lines) + "\n"


def group_of(header):
    return "attnzoo_" + re.sub(r"\.h$", "", header.name.split("/")[1])


def declaration(function):
    lines = [f".Ft {quoted(function.type)}", f".Fo {function.name}"]
    return lines + [f".Fa {quoted(declared)}" for declared, _ in function.parameters or [("void", "")]] + [".Fc"]


def return_values(function):
    if function.type == "void":
        return []
    statuses = function.statuses()
    if statuses is None:
        return lines_of(sentence(function.returns))
    lines = [".Bl -tag -width Ds"]
    for status, reason in statuses:
        lines.append(f".It Dv ATTNZOO_STATUS_{status}")
        is_name = reason.split()[0] in [name for _, name in function.parameters]
        lines += lines_of((reason if is_name else sentence(reason)).rstrip(".") + ".")
    return [*lines, ".El", ".Pp", *lines_of(function.on_error().strip()), "What was wrong, in words, is told by",
            ".Xr attnzoo_last_error 3 ."]


def function_page(function, date, known):
    page = Page(function.name, date, function.brief())
    page.lines += declaration(function)
    lines = body(function.comment.paragraphs)
    if function.parameters:
        lines += [".Ss Parameters", ".Bl -tag -width Ds"]
        for _, name in function.parameters:
            lines += [f".It Fa {name}", *lines_of(sentence(function.described[name]))]
        lines.append(".El")
    page.add("DESCRIPTION", lines)
    page.add("RETURN VALUES", return_values(function))
    page.add("THREADS", lines_of(function.threads) if function.threads else
             ["Any; but a handle that one call changes may not be used by another at that time."])
    mentioned = set(FUNCTION_NAME.findall(" ".join([function.comment.description, *function.described.values()])))
    page.see_also({OVERVIEW, group_of(function.header), *(mentioned & known)})
    page.add("HISTORY", [".Nm", f"appeared in libattnzoo {function.since}."])
    return page


def constants(header):
    """What a header declares beside functions, as it stands there."""
    lines = []
    for comment, code in header.items:
        if code.startswith("ATTNZOO_API"):
            continue
        lines += [".Pp"] if lines else []
        lines += body(comment.paragraphs)
        if code.startswith("enum"):
            lines.append(".Bl -tag -width Ds")
            for text, name, value in re.findall(r"/\*\* ((?:(?!\*/).)*) \*/\s*(ATTNZOO_\w+) = (-?\w+)", code, re.DOTALL):
                lines += [f".It Dv {name} No = {escape(value)}", *lines_of(" ".join(re.sub(r"\n\s*\*", " ", text).split()))]
            lines.append(".El")
        else:
            lines += [".Bd -literal", *(escape(line) for line in code.splitlines()), ".Ed"]
    return lines


def function_list(functions):
    lines = [".Bl -tag -width Ds"]
    for function in functions:
        lines += [f".It Xr {function.name} 3", *lines_of(function.brief() + ".")]
    return [*lines, ".El"]


def group_page(header, date):
    page = Page(group_of(header), date, gist(header.title))
    for function in header.functions:
        page.lines += declaration(function)
    parts = paragraphs([header.title]) + header.paragraphs
    parts[0] = (parts[0][0], sentence(parts[0][1]))
    page.add("DESCRIPTION", body(parts))
    page.add("TYPES AND CONSTANTS", constants(header))
    page.add("FUNCTIONS", function_list(header.functions))
    page.see_also({OVERVIEW, *(function.name for function in header.functions)})
    return page


def overview_page(headers, date):
    overview, = [header for header in headers if header.name == "attnzoo/attnzoo.h"]
    groups = [header for header in headers if header.functions]
    page = Page(OVERVIEW, date, "attention mechanisms behind one stable C interface")
    page.add("DESCRIPTION", body(overview.paragraphs))
    for header in groups:
        page.lines += [f".Ss {sentence(headline(header.title))}", "See", f".Xr {group_of(header)} 3 .",
                       *function_list(header.functions)]
    page.add("EXAMPLES", ["To compile a program:", ".Pp",
                          ".Dl cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs attnzoo)"])
    page.see_also({"attnzoo", *(group_of(header) for header in groups)})
    return page


def make_pages(include, date):
    headers = read_headers(include)
    functions = [function for header in headers for function in header.functions]
    known = {function.name for function in functions}
    pages = [overview_page(headers, date)]
    pages += [group_page(header, date) for header in headers if header.functions]
    pages += [function_page(function, date, known) for function in functions]
    return pages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", required=True)
    parser.add_argument("--date-of", required=True)
    parser.add_argument("--output")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    date = re.search(r"^\.Dd (.*)$", pathlib.Path(options.date_of).read_text(encoding="utf-8"), re.MULTILINE)[1]
    try:
        pages = make_pages(options.include, date)
    except Unclear as problem:
        raise SystemExit(f"write_man_pages.py: {problem}")
    if options.list:
        print("\n".join(f"{page.name}.3" for page in pages))
        return
    output = pathlib.Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("*.3"):
        old.unlink()
    for page in pages:
        (output / f"{page.name}.3").write_text(page.text(), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
