#!/usr/bin/env python3
"""Writes what Doxygen makes the site of: the public headers with comments in its own commands, and the pages with links
that lead from page to page of the site. The same repository gives the same bytes. Standard library only.

    write_site_sources.py --source REPOSITORY --output FOLDER

Links to files of the repository that are no part of the site become plain text. Programs of examples/ are pages of the
site.
"""
import argparse
import pathlib
import posixpath
import re
import shutil
import sys

from headers import COMMENT_AND_CODE, Unclear, comment_lines, paragraphs, read_headers, sentence

PAGES = ("README.md", "doc/*.md", "benchmarks/README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
         "examples/data/*/README.md")
# What Doxygen colours; anything else would be coloured as C.
COLOURED = {"c": "c", "cpp": "cpp", "python": "py"}
LINK = re.compile(r"(!?)\[((?:[^\]\[]|\[[^\]]*\]|!\[[^\]]*\]\([^)]*\))*)\]\(([^)\s]+)\)")


def page_id(path):
    return "index" if path == "README.md" else "page_" + re.sub(r"\W", "_", path[:-3]).lower()


def anchor_of(text):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Site:
    def __init__(self, source, output):
        self.source, self.output = source, output
        self.pages = [path.relative_to(source).as_posix() for pattern in PAGES
                      for path in sorted(source.glob(pattern))]
        self.examples = sorted(path.name for path in (source / "examples").glob("*.c"))

    def link(self, page, match):
        """A link of a page as Doxygen takes it."""
        is_picture, text, target = match[1] == "!", match[2], match[3]
        if not is_picture:
            text = LINK.sub(lambda inner: self.link(page, inner), text)
        if target.startswith(("https://", "http://", "mailto:")):
            return f"{match[1]}[{text}]({target})"
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
        if is_picture:
            name = posixpath.basename(path)
            shutil.copyfile(self.source / path, self.output / "pictures" / name)
            alternative = text.replace('"', "&quot;")
            return f'<img src="{name}" alt="{alternative}"/>'
        if path + "/README.md" in self.pages:
            path += "/README.md"
        if path in self.pages:
            identity = page_id(path)
            return f"[{text}](@ref {identity + '_' + anchor if anchor else identity})"
        if path in ("include/attnzoo", "include/attnzoo/cpp"):
            return f"[{text}](files.html)"
        if path.startswith("include/attnzoo/"):
            return f"[{text}](@ref {posixpath.basename(path)})"
        if path.startswith("examples/") and posixpath.basename(path) in self.examples:
            name = posixpath.basename(path).replace(".c", "_8c")
            return f"[{text}]({name}-example.html)"
        return text

    def write_page(self, page):
        pieces, lines, is_code = [], [], False
        # Code goes as it is; the text between is taken as a whole, for a link may go on in the next line.
        for line in (self.source / page).read_text(encoding="utf-8").splitlines():
            fence = re.match(r"( *)```(\w*)", line)
            if fence:
                pieces.append((is_code, lines))
                opening = f"{{.{COLOURED.get(fence[2], 'unparsed')}}}" if not is_code else ""
                pieces.append((True, [f"{fence[1]}~~~~{opening}"]))
                lines, is_code = [], not is_code
            else:
                lines.append(line)
        pieces.append((is_code, lines))
        seen, written = [], []
        for is_code, lines in pieces:
            if is_code:
                written += lines
            elif lines:
                identities = [self.heading_id(page, line, seen) for line in lines]
                text = LINK.sub(lambda match: self.link(page, match), "\n".join(lines))
                written += [f"{line} {{#{identity}}}" if identity else line
                            for line, identity in zip(text.split("\n"), identities)]
        name = page_id(page) + ".md"
        (self.output / "pages" / name).write_text("\n".join(written) + "\n", encoding="utf-8")

    def heading_id(self, page, line, seen):
        """The name of a heading; "" for a line that is none, and for that of the main page."""
        heading = re.match(r"#+ (.*)", line)
        if not heading:
            return ""
        identity = f"{page_id(page)}_{anchor_of(heading[1])}" if seen else page_id(page)
        seen.append(identity)
        if seen.count(identity) > 1:
            return f"{identity}-{seen.count(identity) - 1}"
        return "" if identity == "index" else identity


def text_lines(parts):
    """Paragraphs as Doxygen's Markdown."""
    lines = []
    for kind, content in parts:
        if kind == "text":
            lines += [dox(content), ""]
        elif kind == "code":
            lines += ["@code{.unparsed}", *content, "@endcode", ""]
        elif kind == "table":
            lines += ["| | |", "|-|-|", *(f"| {dox(term)} | {dox(text).replace('|', '&vert;')} |"
                                         for term, text in content), ""]
        else:
            lines += [*(f"- {dox(item)}" for item in content), ""]
    return lines


def dox(text):
    """Text that means itself: no commands, no tags, no emphasis. What stands between backticks is left."""
    parts = re.split(r"(`[^`]*`)", text)
    for place in range(0, len(parts), 2):
        part = re.sub(r"([\\@*#%])", r"\\\1", parts[place])
        # Not the end of a sentence.
        part = part.replace("et al. ", "et al.\\ ")
        parts[place] = part.replace("<", "\\<").replace(">", "\\>")
    return "".join(parts)


def function_comment(function):
    lines = text_lines(function.comment.paragraphs)
    for _, name in function.parameters:
        lines.append(f"@param {name} {dox(sentence(function.described[name]))}")
    if function.type != "void":
        statuses = function.statuses()
        if statuses is None:
            lines.append(f"@return {dox(sentence(function.returns))}")
        for status, reason in statuses or []:
            lines.append(f"@retval ATTNZOO_STATUS_{status} {dox(reason).rstrip('.')}.")
        if function.on_error():
            lines += ["@par On errors", dox(function.on_error().strip())]
    if function.threads:
        lines += ["@par Threads", dox(function.threads)]
    return lines + [f"@since {function.since}"]


def as_comment(lines):
    return "/**\n" + "\n".join(f" * {line}".rstrip() for line in lines) + "\n */"


def write_header(header, output):
    """The header with its comments made over, and every line of code as it was."""
    text = header.text
    by_code = {" ".join(code.split()): comment for comment, code in header.items}
    functions = {function.name: function for function in header.functions}
    first = re.match(r"/\*(.*?)\*/", text, re.DOTALL)
    lines = [f"@file {header.name.split('/')[1]}", "", dox(sentence(header.title)), "",
             *text_lines(header.paragraphs)]
    body = text[first.end():]

    def replaced(match):
        comment, code = by_code.get(" ".join(match["code"].split())), match["code"]
        if comment is None:
            return match[0]
        if code.startswith("ATTNZOO_API"):
            name = re.search(r"(attnzoo_\w+)\(", code)[1]
            return as_comment(function_comment(functions[name])) + "\n" + code
        code = re.sub(r"/\*\* (.*?) \*/", lambda inner: f"/** {dox(join_lines(inner[1]))} */", code, flags=re.DOTALL)
        return as_comment(text_lines(comment.paragraphs)) + "\n" + code

    body = COMMENT_AND_CODE.sub(replaced, body)
    (output / header.name).write_text(as_comment(lines) + body, encoding="utf-8")


def hide_detail(match):
    """A namespace that is nobody's business but for the class that every handle derives from."""
    before, base, after = match[0].partition("class handle\n")
    kept, end, after = after.partition("\n};\n")
    if not base:
        return f"/** @cond */\n{match[0]}/** @endcond */\n"
    return f"{before}{base}{kept}{end}/** @cond */\n{after}".replace(
        "} // namespace detail", "/** @endcond */\n} // namespace detail")


def write_cpp_header(source, name, output):
    """A header of the C++ interface. What its functions take stands in their text: they say what C says, in C++."""
    text = (source / "include" / name).read_text(encoding="utf-8")
    first = re.match(r"/\*(.*?)\*/", text, re.DOTALL)
    lines = comment_lines(first[1])
    lines[0] = sentence(re.sub(r"^attnzoo/\S+\.hpp: ", "", lines[0]))
    body = re.sub(r"(?m)^( *)/\*\*((?:(?!\*/).)*)\*/",
                  lambda match: as_comment(text_lines(paragraphs(comment_lines(match[2])))),
                  text[first.end():], flags=re.DOTALL)
    body = re.sub(r"^namespace detail\n.*?^\} // namespace detail\n", hide_detail, body, flags=re.DOTALL | re.MULTILINE)
    body = re.sub(r"^  private:\n(.*?)(?=^};)", r"  private:\n/** @cond */\n\1/** @endcond */\n", body,
                  flags=re.DOTALL | re.MULTILINE)
    # That a handle moves is said of its class.
    body = re.sub(r"^ +[^\n]*&&\) noexcept = default;\n", "", body, flags=re.MULTILINE)
    path = output / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(as_comment([f"@file {posixpath.basename(name)}", "", *text_lines(paragraphs(lines))]) + body,
                    encoding="utf-8")


def join_lines(text):
    return " ".join(" ".join(comment_lines(text)).split())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    options = parser.parse_args()
    source, output = options.source.resolve(), options.output
    if output.exists():
        shutil.rmtree(output)
    for folder in ("attnzoo", "pages", "pictures"):
        (output / folder).mkdir(parents=True)
    site = Site(source, output)
    try:
        for header in read_headers(source / "include"):
            if header.name != "attnzoo/api.h":
                write_header(header, output)
        for path in sorted((source / "include").rglob("*.hpp")):
            write_cpp_header(source, path.relative_to(source / "include").as_posix(), output)
    except Unclear as problem:
        raise SystemExit(f"write_site_sources.py: {problem}")
    for page in site.pages:
        site.write_page(page)
    lines = ["@namespace attnzoo", "The C++ interface: see attnzoo.hpp and @ref page_doc_cpp.", ""]
    (output / "pages" / "namespace.dox").write_text(as_comment(lines) + "\n", encoding="utf-8")
    lines = []
    for name in site.examples:
        comment = re.match(r"/\*(.*?)\*/", (source / "examples" / name).read_text(encoding="utf-8"), re.DOTALL)
        lines += [f"@example {name}", dox(join_lines(comment[1]).split(": ", 1)[-1]), ""]
        (output / "pages" / f"{name}.dox").write_text(as_comment(lines) + "\n", encoding="utf-8")
        lines = []


if __name__ == "__main__":
    sys.exit(main())
