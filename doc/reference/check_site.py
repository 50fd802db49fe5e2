#!/usr/bin/env python3
"""Checks the site that Doxygen made: every link within it leads to a page and an anchor that are there, everything that
a page loads is in the site itself, and no page names a folder of the machine. Standard library only.

    check_site.py HTML_FOLDER [FORBIDDEN_TEXT]...
"""
import html.parser
import pathlib
import sys
import urllib.parse

# What is loaded with a page, rather than followed from it.
LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.without_text = set(), [], 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            if name in ("href", "src") and value is not None:
                self.links.append((tag, name, value))
        if tag == "img" and not any(name == "alt" for name, _ in attributes):
            self.without_text += 1


def problems_of(name, page, pages, folder):
    for tag, attribute, link in page.links:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or parts.netloc:
            if (tag, attribute) in LOADED:
                yield f"{name}: loads {link} from elsewhere"
            elif parts.scheme not in ("http", "https", "mailto", "javascript"):
                yield f"{name}: a link of an unknown kind: {link}"
            continue
        target = urllib.parse.unquote(parts.path) or name
        if not (folder / target).is_file():
            yield f"{name}: {link} is not there"
        elif parts.fragment and target in pages:
            if urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                yield f"{name}: {link}: {target} has no such anchor"
    if page.without_text:
        yield f"{name}: {page.without_text} pictures without a text in their place"


def main():
    folder, forbidden = pathlib.Path(sys.argv[1]), sys.argv[2:]
    pages = {path.name: Page(path) for path in sorted(folder.glob("*.html"))}
    problems = [problem for name, page in pages.items() for problem in problems_of(name, page, pages, folder)]
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            problems += [f"{path.name}: names {text}" for text in forbidden if text.encode() in content]
            if path.suffix == ".css" and (b"@import" in content or b"url(http" in content or b"url(//" in content):
                problems.append(f"{path.name}: loads something from elsewhere")
    links = sum(len(page.links) for page in pages.values())
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages, {links} links, {len(problems)} problems")
    return 1 if problems or links < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
