#!/usr/bin/env python3
"""Compiles what the C++ interface must refuse, and looks that it is refused, with the words that a user should read.

    check_refused.py --include DIR --cxx CXX --standard c++17|c++20

Each snippet is one mistake; the same with the mistake mended must compile, so that nothing is refused for another reason.
"""
import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

INCLUDES = """
#include <attnzoo/attnzoo.hpp>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif
struct wide { float re, im; };
struct narrow { std::uint16_t bits; };
template <> struct attnzoo::element_type<wide> { static constexpr attnzoo::dtype value = attnzoo::dtype::float32; };
template <> struct attnzoo::element_type<narrow> { static constexpr attnzoo::dtype value = attnzoo::dtype::float16; };
struct buffer { void *data() const; std::size_t size() const; };
inline std::vector<float> make() { return std::vector<float>(6); }
"""

FUNCTION = """
static void snippet_{number}(std::vector<float> &numbers, const std::vector<float> &constant, attnzoo::module &module,
                             const attnzoo::const_tensor &query, const attnzoo::tensor &fixed, attnzoo::tensor &context)
{{
    static_cast<void>(numbers); static_cast<void>(constant); static_cast<void>(module);
    static_cast<void>(query); static_cast<void>(fixed); static_cast<void>(context);
    {code}
}}
"""

TEMPORARY = "a view of a temporary container would outlive its memory"
CONST = "const memory cannot be shown by a tensor"
OPTION = "an option is a bool, an integer, a float or double, or text"
ELEMENT = "views show float, bool, int32_t and int64_t"
DELETED = "deleted"
# The words depend on the compiler where no static_assert speaks.
ANY = ""

# What it is, the mistake, the same without it, the words.
REFUSED = [
    ("a temporary vector", "attnzoo::tensor view(std::vector<float>(6), {2, 3});",
     "attnzoo::tensor view(numbers, {2, 3});", TEMPORARY),
    ("a vector that a function returns", "attnzoo::const_tensor view(make(), {2, 3});",
     "const auto made = make(); attnzoo::const_tensor view(made, {2, 3});", TEMPORARY),
    ("a vector that is moved", "attnzoo::const_tensor view(std::move(numbers), {2, 3});",
     "attnzoo::const_tensor view(numbers, {2, 3});", TEMPORARY),
    ("a temporary array", "attnzoo::const_tensor view(std::array<float, 2>{1, 2}, {2});",
     "std::array<float, 2> two{1, 2}; attnzoo::const_tensor view(two, {2});", TEMPORARY),
    ("a temporary vector, assigned", "context.assign(make(), {2, 3});", "context.assign(numbers, {2, 3});", TEMPORARY),
    ("a temporary vector, pointed at", "context.set_data(make());", "context.set_data(numbers);", TEMPORARY),
    ("a temporary vector with a dtype", "attnzoo::tensor v(std::vector<std::uint16_t>(6), attnzoo::dtype::float16, {6});",
     "std::vector<std::uint16_t> w(6); attnzoo::tensor v(w, attnzoo::dtype::float16, {6});", TEMPORARY),
    ("std::vector<bool>", "std::vector<bool> bits(6); attnzoo::const_tensor view(bits, {6});",
     "std::array<bool, 6> bits{}; attnzoo::const_tensor view(bits, {6});", "std::vector<bool> packs its elements"),
    ("std::vector<bool> with a dtype",
     "std::vector<bool> bits(6); attnzoo::const_tensor view(bits, attnzoo::dtype::boolean, {6});",
     "std::vector<unsigned char> bits(6); attnzoo::const_tensor view(bits, attnzoo::dtype::boolean, {6});",
     "std::vector<bool> packs its elements"),
    ("a const vector to be written", "attnzoo::tensor view(constant, {2, 3});",
     "attnzoo::const_tensor view(constant, {2, 3});", CONST),
    ("a const pointer to be written", "attnzoo::tensor view(constant.data(), {2, 3});",
     "attnzoo::tensor view(numbers.data(), {2, 3});", CONST),
    ("const memory, assigned", "context.assign(constant, {2, 3});", "context.assign(numbers, {2, 3});", CONST),
    ("const memory, pointed at", "context.set_data(constant);", "context.set_data(numbers);", CONST),
    ("a const_tensor as an output", "attnzoo::const_tensor out(numbers, {2, 3}); module.forward(query, query, query, out);",
     "attnzoo::tensor out(numbers, {2, 3}); module.forward(query, query, query, out);", ANY),
    ("a const tensor as an output", "module.forward(query, query, query, fixed);",
     "module.forward(query, query, query, context);", ANY),
    ("a const_tensor as an output by place",
     "attnzoo::const_tensor out(numbers, {6}); attnzoo::output_views outputs{out};",
     "attnzoo::tensor out(numbers, {6}); attnzoo::output_views outputs{out};", ANY),
    ("a const_tensor as an output by place of a call", "module.forward({query, query, query}, {nullptr, query});",
     "module.forward({query, query, query}, {nullptr, context});", ANY),
    ("a tensor of a const_tensor", "attnzoo::const_tensor in(numbers, {6}); attnzoo::tensor out(std::move(in));",
     "attnzoo::tensor in(numbers, {6}); attnzoo::const_tensor out(std::move(in));", ANY),
    ("double", "std::vector<double> wide(6); attnzoo::tensor view(wide, {6});", "attnzoo::tensor view(numbers, {6});",
     ELEMENT),
    ("double by name", "std::vector<double> wide(6); attnzoo::tensor view(wide, attnzoo::dtype::int64, {6});",
     "std::vector<std::int64_t> wide(6); attnzoo::tensor view(wide, attnzoo::dtype::int64, {6});", "views show no double"),
    ("uint16_t without a dtype", "std::vector<std::uint16_t> bits(6); attnzoo::tensor view(bits, {6});",
     "std::vector<std::uint16_t> bits(6); attnzoo::tensor view(bits, attnzoo::dtype::bfloat16, {6});", ELEMENT),
    ("unsigned lengths", "std::vector<unsigned> lengths(1); attnzoo::const_tensor view(lengths, {1});",
     "std::vector<int> lengths(1); attnzoo::const_tensor view(lengths, {1});", ELEMENT),
    ("bytes without a dtype", "std::vector<char> bytes(6); attnzoo::const_tensor view(bytes, {6});",
     "std::vector<char> bytes(6); attnzoo::const_tensor view(bytes, attnzoo::dtype::boolean, {6});", ELEMENT),
    ("void without a dtype", "void *data = numbers.data(); attnzoo::tensor view(data, {6});",
     "void *data = numbers.data(); attnzoo::tensor view(data, attnzoo::dtype::float32, {6});", "void does not tell"),
    ("elements that are no plain memory",
     "std::vector<std::string> texts(6); attnzoo::tensor view(texts, attnzoo::dtype::float32, {6});",
     "attnzoo::tensor view(numbers, attnzoo::dtype::float32, {6});", "elements of a view are plain memory"),
    ("a container of void", "buffer bytes; attnzoo::const_tensor view(bytes, attnzoo::dtype::float32, {4});",
     "buffer bytes; attnzoo::const_tensor view(bytes.data(), attnzoo::dtype::float32, {4});", "what its size() counts"),
    ("a container of void, pointed at", "buffer bytes; context.set_data(bytes);",
     "buffer bytes; context.set_data(bytes.data());", "what its size() counts"),
    ("a type of another size than its dtype", "std::vector<wide> w(6); attnzoo::tensor view(w, {6});",
     "std::vector<narrow> w(6); attnzoo::tensor view(w, {6});", "a dtype of another size"),
    ("what is no container", "int number = 6; attnzoo::tensor view(number, {6});",
     "int number = 6; attnzoo::tensor view(&number, {1});", "whose elements lie side by side"),
    ("nine axes", "attnzoo::shape sizes(1, 1, 1, 1, 1, 1, 1, 1, 1);", "attnzoo::shape sizes(1, 1, 1, 1, 1, 1, 1, 1);",
     "at most attnzoo::rank_max axes"),
    ("a size that is no integer", "attnzoo::tensor view(numbers, {2.0, 3.0});", "attnzoo::tensor view(numbers, {2, 3});",
     ANY),
    ("an option by pointer", "int number = 8; module.set_option(\"num_heads\", &number);",
     "int number = 8; module.set_option(\"num_heads\", number);", OPTION),
    ("an option by nullptr", "module.set_option(\"flavor\", nullptr);", "module.set_option(\"flavor\", \"shaw\");", OPTION),
    ("an option by character", "module.set_option(\"num_heads\", '8');", "module.set_option(\"num_heads\", \"8\");", OPTION),
    ("a shape by text", "attnzoo::tensor view(numbers, \"ab\");", "attnzoo::tensor view(numbers, {2, 3});", ANY),
    ("a shape by characters", "attnzoo::tensor view(numbers, {'b', 'c'});", "attnzoo::tensor view(numbers, {2, 3});", ANY),
    ("a shape by characters and numbers", "attnzoo::shape sizes('b', 3);", "attnzoo::shape sizes(2u, 3);", ANY),
    ("an option by long double", "module.set_option(\"scale\", 1.0L);", "module.set_option(\"scale\", 1.0);", OPTION),
    ("an option by enumeration", "module.set_option(\"num_heads\", attnzoo::dtype::float32);",
     "module.set_option(\"num_heads\", 1);", OPTION),
    ("a temporary view kept as an input", "attnzoo::input_view kept = attnzoo::const_tensor(numbers, {6});",
     "attnzoo::const_tensor view(numbers, {6}); attnzoo::input_view kept = view;", DELETED),
    ("a view that is moved, kept as an input", "attnzoo::input_view kept = std::move(context);",
     "attnzoo::input_view kept = context;", DELETED),
    ("a temporary view kept as an output", "attnzoo::output_view kept = attnzoo::tensor(numbers, {6});",
     "attnzoo::tensor view(numbers, {6}); attnzoo::output_view kept = view;", DELETED),
    ("a temporary view kept among inputs", "attnzoo::input_views kept{attnzoo::const_tensor(numbers, {6})};",
     "attnzoo::const_tensor view(numbers, {6}); attnzoo::input_views kept{view, nullptr, query};", ANY),
    ("a temporary view kept among outputs", "attnzoo::output_views kept{attnzoo::tensor(numbers, {6})};",
     "attnzoo::tensor view(numbers, {6}); attnzoo::output_views kept{view, nullptr, context};", ANY),
    ("a temporary view set among inputs",
     "attnzoo::input_views kept; kept.set(attnzoo::input::query, attnzoo::const_tensor(numbers, {6}));",
     "attnzoo::input_views kept; kept.set(attnzoo::input::query, query); kept.set(1, nullptr);", DELETED),
    ("a temporary view set among outputs",
     "attnzoo::output_views kept; kept.set(attnzoo::output::context, attnzoo::tensor(numbers, {6}));",
     "attnzoo::output_views kept; kept.set(attnzoo::output::context, context);", DELETED),
    ("an argument that was kept", "attnzoo::input_argument kept = query; module.forward(kept, query, query, context);",
     "attnzoo::input_view kept = query; module.forward(kept, query, query, context);", ANY),
    ("arguments that were kept", "attnzoo::input_arguments kept{query}; static_cast<void>(module.output_shape(kept));",
     "attnzoo::input_views kept{query}; static_cast<void>(module.output_shape(kept));", ANY),
    ("a copy of a module", "attnzoo::module copy(module);", "attnzoo::module moved(std::move(module));", ANY),
    ("a state of a temporary module", "attnzoo::state state(attnzoo::module(\"multi_head\"), 1, 1);",
     "attnzoo::state state(module, 1, 1);", ANY),
    ("a dtype as a number", "attnzoo::tensor view(numbers.data(), 1, {6});",
     "attnzoo::tensor view(numbers.data(), attnzoo::dtype::float32, {6});", ANY),
]
IN_CXX20 = [
    ("an option by UTF-8 character", "module.set_option(\"num_heads\", u8'8');", "module.set_option(\"num_heads\", 8);",
     OPTION),
    ("a span of const memory to be written", "attnzoo::tensor view(std::span<const float>(constant), {6});",
     "attnzoo::const_tensor view(std::span<const float>(constant), {6});", CONST),
]


class Compiler:
    """Compiles functions below the includes, which it has precompiled: they are most of the work."""

    def __init__(self, options, folder):
        self.command = [*shlex.split(options.cxx), f"-std={options.standard}", f"-I{options.include}", "-Wall", "-Wextra",
                        "-Werror", "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-unused-function"]
        self.header = folder / "includes.hpp"
        self.header.write_text(INCLUDES, encoding="utf-8")
        subprocess.run([*self.command, "-x", "c++-header", self.header, "-o", f"{self.header}.gch"], check=True)

    def compile(self, codes):
        """Whether it compiles, and what the compiler said."""
        source = "".join(FUNCTION.format(number=number, code=code) for number, code in enumerate(codes))
        done = subprocess.run([*self.command, "-include", self.header, "-x", "c++", "-fsyntax-only", "-"], input=source,
                              capture_output=True, text=True, env=dict(os.environ, LC_ALL="C"))
        return done.returncode == 0, done.stderr


def problem(compiler, mistake, words):
    compiled, said = compiler.compile([mistake])
    if compiled:
        return "compiles"
    if words not in said:
        return f"is refused without saying \"{words}\":\n{said}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--standard", required=True)
    options = parser.parse_args()
    cases = REFUSED + (IN_CXX20 if options.standard != "c++17" else [])
    with tempfile.TemporaryDirectory(prefix="attnzoo-refused-") as folder:
        compiler = Compiler(options, pathlib.Path(folder))
        compiled, said = compiler.compile([mended for _, _, mended, _ in cases])
        if not compiled:
            print(f"what is no mistake does not compile:\n{said}")
            return 1
        found = [(what, problem(compiler, mistake, words)) for what, mistake, _, words in cases]
    failed = [(what, text) for what, text in found if text]
    for what, text in failed:
        print(f"FAIL {what}: {text}")
    print(f"{len(cases)} mistakes, {len(cases) - len(failed)} refused as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
