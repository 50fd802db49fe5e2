"""Reads the interface from headers: functions, constants and types, by name. Shared by the checks in this folder; Python's
standard library only. What it is compared with is written by recorded_interface.py.

Only the kinds of declarations below are known. All else is refused, so that nothing becomes part of the interface of
which nobody would see that it changed. Types are those whose width is the same everywhere: that int64_t is long on one
machine is no reason to take the one for the other.
"""
import re

from public_functions import COMMENT, header_files

FIXED_TYPES = {"void", "char", "float", "double",
               *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64))}

# What does not go by its text: the guards, the macros around declarations, and the version, which is another each time.
CONDITIONALS = ["#ifndef ATTNZOO_API\n#define ATTNZOO_API\n#endif\n", """\
#ifdef __cplusplus
#define ATTNZOO_BEGIN_DECLARATIONS extern "C" {
#define ATTNZOO_END_DECLARATIONS }
#else
#define ATTNZOO_BEGIN_DECLARATIONS
#define ATTNZOO_END_DECLARATIONS
#endif
"""]
VERSION = re.compile(r"ATTNZOO_VERSION_(MAJOR|MINOR|PATCH) \d+|ATTNZOO_VERSION_NUMBER "
                     r"\(ATTNZOO_VERSION_MAJOR \* 10000 \+ ATTNZOO_VERSION_MINOR \* 100 \+ ATTNZOO_VERSION_PATCH\)")

NUMBER = r"(ATTNZOO_\w+){}(-?(?:0x[0-9a-fA-F]+|\d+))"
INCLUDE = re.compile(r'#include (?:"(\w+\.h)"|<stdint\.h>|<stddef\.h>|<attnzoo/attnzoo\.h>)')
FUNCTION = re.compile(r"(?P<result>[\w *]*?[ *])(?P<name>attnzoo_\w+)\((?P<arguments>.*)\)")
ARGUMENT = re.compile(r"(?P<type>[\w *]*[ *])(?P<name>\w+)")
CALLBACK = re.compile(r"(?P<type>[\w *]*?[ *])\(\*(?P<name>\w+)\)\((?P<arguments>[^()]*)\)")
HANDLE = re.compile(r"typedef struct (?P<name>attnzoo_\w+) (?P=name)")
STRUCT = re.compile(r"struct (?P<name>\w+)")
ALIAS = re.compile(r"typedef (?P<type>\w+) (?P<name>attnzoo_\w+)")
ENUM = re.compile(r"enum ?\{(?P<body>[^{}]*)\}")
ASSERTION = re.compile(NUMBER.format(" == ") + r', "[^"]*"')


class Refused(Exception):
    """The headers have something of a kind that is not known here."""


def split(text, separator):
    """Parts of a text between separators that stand in no bracket."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "({[") - (character in ")}]")
        if character == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


class Interface:
    """The functions' declarations, the constants' numbers, and the declarations of the types, each by its name."""

    def __init__(self):
        self.functions, self.constants, self.types, self.handles = {}, {}, {}, []

    def add(self, where, name, value):
        if any(name in kind for kind in (self.functions, self.constants, self.types)):
            raise Refused(f"{name} is declared twice")
        where[name] = value

    def add_constant(self, written, separator, what):
        found = re.fullmatch(NUMBER.format(separator), written)
        if not found:
            raise Refused(f"{what} '{written}' has no number written out")
        self.add(self.constants, found[1], int(found[2], 0))

    def read_directive(self, line, guard):
        if line in (f"#ifndef {guard}", f"#define {guard}", "#endif") or INCLUDE.fullmatch(line):
            return
        if not line.startswith("#define "):
            raise Refused(f"'{line}' makes the interface depend on what is defined")
        macro = line.removeprefix("#define ")
        if not VERSION.fullmatch(macro):
            self.add_constant(macro, " ", "the macro")

    def read_declaration(self, text, in_record):
        exported = text.removeprefix("ATTNZOO_API ")
        if exported != text or (in_record and FUNCTION.fullmatch(text)):
            found = FUNCTION.fullmatch(exported)
            if not found:
                raise Refused(f"'{text}' is exported, but reads as no function")
            self.add(self.functions, found["name"], exported)
        elif found := ENUM.fullmatch(text):
            for entry in filter(None, split(found["body"], ",")):
                self.add_constant(entry, " = ", "the constant")
        elif found := HANDLE.fullmatch(text):
            self.add(self.types, found["name"], text)
            self.handles.append(found["name"])
        elif found := STRUCT.fullmatch(text) or ALIAS.fullmatch(text):
            if "type" in found.groupdict() and found["type"] not in FIXED_TYPES:
                raise Refused(f"'{text}': {found['type']} is not as wide everywhere")
            self.add(self.types, found["name"], text)
        elif in_record and text.startswith("_Static_assert("):
            found = ASSERTION.fullmatch(text.removeprefix("_Static_assert(").removesuffix(")"))
            if found:
                self.add(self.constants, found[1], int(found[2], 0))
        else:
            raise Refused(f"'{text}' is of a kind that the record does not have")

    def read(self, text, guard=None, in_record=False):
        """Directives first, since they end with their lines; the rest is declarations with a semicolon behind each."""
        text = re.sub(r"[ \t]+", " ", re.sub(r"\\\n", " ", COMMENT.sub(" ", text)))
        text = re.sub(r" ?\n(?: ?\n)* ?", "\n", text + "\n").replace("\n# ", "\n#").lstrip()
        for known in CONDITIONALS:
            text = text.replace(known, "")
        declarations = []
        for line in text.splitlines():
            if line.startswith("#"):
                self.read_directive(line, guard)
            elif line not in ("ATTNZOO_BEGIN_DECLARATIONS", "ATTNZOO_END_DECLARATIONS"):
                declarations.append(line)
        for declaration in filter(None, split(" ".join(declarations), ";")):
            self.read_declaration(declaration, in_record)

    def check_types(self):
        for name, declaration in self.functions.items():
            found = FUNCTION.fullmatch(declaration)
            self.check_type(name, found["result"])
            self.check_arguments(name, found["arguments"])

    def check_arguments(self, function, arguments):
        if arguments == "void":
            return
        for argument in split(arguments, ","):
            found = CALLBACK.fullmatch(argument)
            if found:
                self.check_arguments(function, found["arguments"])
            found = found or ARGUMENT.fullmatch(argument)
            if not found:
                raise Refused(f"{function}: the argument '{argument}' has no type and name that can be read")
            self.check_type(function, found["type"])

    def check_type(self, function, text):
        words = text.replace("*", " ").split()
        bare = [word for word in words if word not in ("const", "struct")]
        if len(bare) != 1 or bare[0] not in FIXED_TYPES | set(self.types):
            raise Refused(f"{function}: '{text.strip()}' is no handle, and not as wide everywhere as int64_t is")


def argument_names(declaration):
    """The names of a function's arguments, in their order."""
    arguments = split(FUNCTION.fullmatch(declaration)["arguments"], ",")
    found = [CALLBACK.fullmatch(argument) or ARGUMENT.fullmatch(argument) for argument in arguments]
    return [each["name"] for each in found if each]


def types_alone(declaration):
    """A function's declaration without the names of its arguments."""
    found = FUNCTION.fullmatch(declaration)
    arguments = []
    for argument in split(found["arguments"], ","):
        each = CALLBACK.fullmatch(argument)
        if each:
            arguments.append(f"{each['type']}(*)({types_alone('void attnzoo_(' + each['arguments'] + ')')})")
        else:
            each = ARGUMENT.fullmatch(argument)
            arguments.append(each["type"].strip() if each else argument)
    return f"{found['result']}{found['name']}({', '.join(arguments)})"


def read_headers(include):
    interface = Interface()
    for header in header_files(include):
        try:
            interface.read(header.read_text(encoding="utf-8"), f"ATTNZOO_{header.stem.upper()}_H")
        except Refused as refused:
            raise Refused(f"{header.name}: {refused}") from None
    interface.check_types()
    return interface


def read_record(path):
    interface = Interface()
    interface.read(path.read_text(encoding="utf-8"), in_record=True)
    return interface
