"""Reads the public headers: what they declare, and what their comments say of it, for the man pages and the site.

The comments are written for people who read the header, so some of what a page of its own needs is taken from the rules
that they follow: "As f()" passes on what f says of a parameter of the same name and of errors; a handle that is not
described is described by its type (const is only read); a function without @return returns what its text begins with.
Whatever is then still not described ends the build. Python's standard library only.
"""
import pathlib
import re

HANDLES = {"attnzoo_module": "module", "attnzoo_mask": "mask", "attnzoo_tensor": "tensor view",
           "attnzoo_state": "state", "attnzoo_executor": "executor"}
COMMENT_AND_CODE = re.compile(
    r"/\*\*(?P<comment>(?:(?!\*/).)*)\*/\s*(?P<code>ATTNZOO_API\b[^;]*;|typedef [^;]*;|"
    r"enum \{.*?\};|#define \w+ [^\n]*)", re.DOTALL)
FUNCTION = re.compile(r"ATTNZOO_API\s+(?P<type>.*?)(?P<name>attnzoo_\w+)\((?P<parameters>.*)\);", re.DOTALL)


class Unclear(Exception):
    """A header does not say what a page needs."""


def comment_lines(text):
    """The lines of a comment without their stars."""
    lines = [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in text.strip("*").strip().splitlines()]
    return lines


def paragraphs(lines):
    """Runs of lines between empty ones; code (indented) and lists ("- " or " - ") are kept line by line.

    Gives pairs: ("text", a string), ("code", lines without their margin), ("table", pairs) or ("list", strings).
    """
    found, run = [], []
    for line in [*lines, ""]:
        if line:
            run.append(line)
        elif run:
            found += split_run(run)
            run = []
    return found


def split_run(run):
    groups = []
    for line in run:
        if re.match(r" ?- ", line):
            kind = "list"
        elif line.startswith("  ") and not (groups and groups[-1][0] == "list"):
            kind = "code"
        elif line.startswith(" ") and groups and groups[-1][0] == "list":
            groups[-1][1][-1] += " " + line.strip()
            continue
        else:
            kind = "text"
        if not groups or groups[-1][0] != kind:
            groups.append((kind, []))
        groups[-1][1].append(re.sub(r"^ ?- ", "", line) if kind == "list" else line)
    result = []
    for kind, lines in groups:
        if kind == "text":
            lines = " ".join(line.strip() for line in lines)
        elif kind == "code":
            margin = min(len(line) - len(line.lstrip()) for line in lines)
            lines = [line[margin:] for line in lines]
            if is_table(lines):
                kind, lines = "table", rows_of(lines)
        result.append((kind, lines))
    return result


TERM = re.compile(r"([^\s=(]+)  +(\S.*)")


def is_table(lines):
    """Whether lines are terms, each with an explanation some spaces further, which may go on below itself."""
    return TERM.match(lines[0]) is not None and len(lines) > 1 and all(
        TERM.match(line) or line.startswith("  ") for line in lines)


def rows_of(lines):
    rows = []
    for line in lines:
        match = TERM.match(line)
        if match:
            rows.append((match[1], re.sub(r" {2,}(?=attnzoo/)", ": ", match[2])))
        else:
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
    return rows


class Comment:
    """What a comment says: description (paragraphs), parameters, returns, threads, since."""

    def __init__(self, text):
        body, self.parameters, returned = [], {}, []
        place = body
        for line in comment_lines(text):
            parameter = re.match(r"@param (\w+) +(.*)", line)
            if parameter:
                place = self.parameters.setdefault(parameter[1], [])
                line = parameter[2]
            elif line.startswith("@return "):
                place, line = returned, line[len("@return "):]
            elif line and not line.startswith(" ") and not any(place is known for known in (body, returned)):
                # Text at the margin behind parameters is about the call as a whole.
                body.append("")
                place = body
            place.append(line)
        self.parameters = {name: join(lines) for name, lines in self.parameters.items()}
        self.returns = join(returned)
        self.since = self.threads = None
        self.description = "\n".join(body)
        self.returns = self.take_tail(self.returns)
        self.description = self.take_tail(self.description)
        self.paragraphs = paragraphs(self.description.splitlines())

    def take_tail(self, text):
        """Takes "Threads: ..." and "Since ..." off the end of a text."""
        since = re.search(r"\s*\bSince (\d+\.\d+)\.\s*$", text)
        if since:
            self.since, text = since[1], text[:since.start()]
        threads = re.search(r"\s*\bThreads: (.*)$", text, re.DOTALL)
        if threads:
            self.threads, text = sentence(" ".join(threads[1].split())), text[:threads.start()]
        return text


def join(lines):
    return " ".join(" ".join(lines).split())


def sentence(text):
    return text[:1].upper() + text[1:]


def headline(text):
    """The first sentence of a text without its sources, or so many of its clauses as fit a line."""
    text = re.sub(r" \([^()]*(?:arXiv|https?:)[^()]*\)", "", text)
    text = re.match(r".*?(?<!et al)\.(?= |$)|.*", text)[0].rstrip(".:")
    if len(text) <= 100:
        return text
    places = [text.rfind(end, 10, 100) for end in ("; ", ": ")] + [text.find(end, 30, 100) for end in (" (", ", ")]
    return text[:next((place for place in places if place > 0), None)]


def gist(title):
    """What a header is about, as headline(); where its title has but a word or two, what is said of that next."""
    first, _, rest = title.partition(". ")
    return headline(rest if rest and len(first.split()) < 3 else title)


class Function:
    """A function: name, type, parameters (pairs of declaration and name), and what is said of it, complete."""

    def __init__(self, header, comment, code):
        match = FUNCTION.fullmatch(" ".join(code.split()))
        if not match:
            raise Unclear(f"{header.name}: no function: {code}")
        self.header, self.name, self.comment = header, match["name"], comment
        self.type = match["type"].strip()
        self.parameters = [(declared, parameter_name(declared)) for declared in split_parameters(match["parameters"])]
        self.described = dict(comment.parameters)
        self.returns = comment.returns
        self.threads, self.since = comment.threads, comment.since
        for name in self.described:
            if name not in [name for _, name in self.parameters]:
                raise Unclear(f"{header.name}: {self.name} has no parameter {name}")

    def complete(self, functions):
        """Adds what the comment leaves to its rules."""
        models = [functions[name] for name in re.findall(r"\b[Aa]s\s+(attnzoo_\w+)\(\)", self.comment.description)
                  if name in functions]
        for model in models:
            model.complete(functions) if not model.is_complete() else None
        for declared, name in self.parameters:
            for model in models:
                if name not in self.described and name in model.described:
                    self.described[name] = model.described[name]
            if name not in self.described:
                self.described[name] = self.describe_handle(declared, name)
        for model in models:
            self.returns = self.returns or model.returns
            self.threads = self.threads or model.threads
        if not self.returns and self.type == "attnzoo_status":
            raise Unclear(f"{self.header.name}: {self.name} does not say which statuses it returns")
        if not self.returns and self.type != "void":
            self.returns = self.first_sentences()
        if not self.since:
            raise Unclear(f"{self.header.name}: {self.name} does not say since which version it is there")

    def is_complete(self):
        return len(self.described) == len(self.parameters) and (self.returns or self.type == "void")

    def describe_handle(self, declared, name):
        match = re.fullmatch(r"(const )?(attnzoo_\w+) \*\w+", declared)
        if not match or match[2] not in HANDLES:
            raise Unclear(f"{self.header.name}: {self.name} does not describe its parameter {name}")
        if self.name.endswith("_destroy"):
            return f"the {HANDLES[match[2]]} to free, or NULL."
        return f"the {HANDLES[match[2]]}{'; it is only read.' if match[1] else ' that the call is about.'}"

    def first_sentences(self):
        kind, text = self.comment.paragraphs[0]
        if kind != "text":
            raise Unclear(f"{self.header.name}: {self.name} does not say what it returns")
        return text

    def brief(self):
        """The first sentence, or so much of it as fits a line."""
        return headline(self.first_sentences())

    def on_error(self):
        """What @return says at its end of all errors; "" where it does not."""
        match = re.search(r"(?<=\.) (On error .*)$", self.returns)
        return match[0] if match else ""

    def statuses(self):
        """Pairs of a status and when it is returned, where the function returns one; None where it does not say so."""
        if not self.returns.startswith("OK;"):
            return None
        found = []
        for part in re.split(r"; (?=[A-Z_]{5,}\b)", self.returns[:len(self.returns) - len(self.on_error())]):
            match = re.fullmatch(r"([A-Z_]+)(?:: (.*))?", part.rstrip("."), re.DOTALL)
            if not match:
                match = re.fullmatch(r"([A-Z_]+)()\. (.*)", part)
                if not match:
                    raise Unclear(f"{self.header.name}: {self.name}: not a status: {part}")
            reason = match[2] or ("success." if match[1] == "OK" else self.status_meanings[match[1]])
            found.append((match[1], join(reason.splitlines())))
        return found


def split_parameters(text):
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text + ","):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return [] if parts in (["void"], [""]) else parts


def parameter_name(declared):
    match = re.search(r"\(\*(\w+)\)", declared) or re.search(r"(\w+)(?:\[\])?$", declared)
    return match[1]


class Header:
    """A public header: its name, title, text (paragraphs), and what it declares in order: pairs (comment, code)."""

    def __init__(self, path):
        self.name, self.text = f"attnzoo/{path.name}", path.read_text(encoding="utf-8")
        first = re.match(r"/\*(.*?)\*/", self.text, re.DOTALL)
        lines = comment_lines(first[1])
        title, self.paragraphs = [], []
        while lines and lines[0]:
            title.append(lines.pop(0))
        self.title = re.sub(r"^attnzoo/\w+\.h(?:pp)?: ", "", join(title))
        self.paragraphs = paragraphs(lines)
        self.items = [(Comment(match["comment"]), match["code"])
                      for match in COMMENT_AND_CODE.finditer(self.text, first.end())]
        self.functions = [Function(self, comment, code) for comment, code in self.items
                          if code.startswith("ATTNZOO_API")]
        enumerations = [code for comment, code in self.items if code.startswith("enum")]
        if len(enumerations) != len(re.findall(r"^enum \{", self.text, re.MULTILINE)):
            raise Unclear(f"{self.name}: some constants have no comment of their own")
        for code in enumerations:
            self.require_described_constants(code)
        declared = len(re.findall(r"^ATTNZOO_API\b", self.text, re.MULTILINE))
        if declared != len(self.functions):
            raise Unclear(f"{self.name}: {declared} functions, {len(self.functions)} of them with a comment")

    def require_described_constants(self, code):
        lines = [line.strip() for line in code.splitlines()]
        for before, line in zip(lines, lines[1:]):
            if re.match(r"ATTNZOO_\w+ =", line) and not before.endswith("*/"):
                raise Unclear(f"{self.name}: {line.split()[0]} is not described")


def read_headers(include):
    """The headers below a folder in the order of their names, all functions complete."""
    headers = [Header(path) for path in sorted(pathlib.Path(include, "attnzoo").glob("*.h"))]
    functions = {function.name: function for header in headers for function in header.functions}
    Function.status_meanings = {
        name: comment for header in headers
        for comment, name in re.findall(r"/\*\* ([^/]*?) \*/\s*ATTNZOO_STATUS_(\w+) =", header.text)}
    for function in functions.values():
        function.complete(functions)
    return headers
