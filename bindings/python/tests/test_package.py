"""The package as a whole: what it offers, its texts, its version, its errors."""
import ctypes
import doctest
import importlib
import inspect
import pathlib
import pickle
import pkgutil
import re
import subprocess
import sys

import pytest

import attnzoo


def modules():
    return [importlib.import_module(f"attnzoo.{entry.name}") for entry in pkgutil.iter_modules(attnzoo.__path__)]


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.__name__)
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0
    assert module.__doc__


def test_everything_public_is_documented():
    for name in attnzoo.__all__:
        thing = getattr(attnzoo, name)
        if name == "__version__":
            continue
        assert thing.__doc__, name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, (property, classmethod))):
                    assert inspect.getdoc(getattr(thing, member)), f"{name}.{member}"


def test_versions():
    assert attnzoo.library_version().split(".")[0] == attnzoo.__version__.split(".")[0] == "1"
    assert attnzoo.library_version() in attnzoo.build_information()


def test_the_version_is_the_libraries(repository):
    header = (repository / "include" / "attnzoo" / "version.h").read_text()
    numbers = [re.search(f"ATTNZOO_VERSION_{part} ([0-9]+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH")]
    assert attnzoo.__version__ == ".".join(numbers)
    assert (repository / "LICENSE").read_text() == (repository / "bindings" / "python" / "LICENSE").read_text()


def test_numbers_are_those_of_the_headers(repository):
    from attnzoo import _library, _mask
    headers = "".join(path.read_text() for path in (repository / "include" / "attnzoo").glob("*.h"))
    numbers = dict(re.findall(r"ATTNZOO_([A-Z0-9_]+) = (-?[0-9]+)", headers))
    for name, number in vars(_library).items():
        if name.split("_")[0] in ("DTYPE", "ITEM", "FIELD", "OUTPUT", "RANK", "GLIMPSE") and isinstance(number, int):
            assert numbers[name] == str(number), name
    for name, number in _mask._ALIGNMENTS.items():
        assert numbers["ALIGNMENT_" + name.upper().replace("-", "_")] == str(number)
    from attnzoo._errors import BY_STATUS
    statuses = {int(number) for name, number in numbers.items() if name.startswith("STATUS_")}
    assert set(BY_STATUS) == statuses - {0}


def test_functions_are_declared_as_in_the_headers(repository):
    """Each function is called with as many arguments as its declaration has, and all are of the same kinds, what it
    returns included (P69)."""
    from attnzoo import _library
    headers = "".join(path.read_text() for path in (repository / "include" / "attnzoo").glob("*.h"))
    headers = re.sub(r"/\*.*?\*/", "", headers, flags=re.DOTALL)
    declared = {name: (result.strip(), parameters) for result, name, parameters
                in re.findall(r"ATTNZOO_API ([^;()]*?)attnzoo_(\w+)\(([^;]*)\);", headers)}
    checked = 0
    for library in (_library.slow_library, _library.quick_library):
        for name, function in vars(library).items():
            if not name.startswith("attnzoo_"):
                continue
            result, text = declared[name[8:]]
            assert function.restype is RESULTS[result], f"{name} returns {result}"
            parameters = [] if text == "void" else split_parameters(text)
            assert len(parameters) == len(function.argtypes), name
            for parameter, kind in zip(parameters, function.argtypes):
                assert kind_of(parameter) is kind, f"{name}: {parameter}"
            checked += 1
    assert checked > 40


RESULTS = {"attnzoo_status": ctypes.c_int32, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64,
           "const char *": ctypes.c_char_p, "const void *": ctypes.c_void_p, "void": None}


def split_parameters(text):
    return [parameter.strip() for parameter in text.split(",")]


def kind_of(parameter):
    if "int64_t *" in parameter:
        return ctypes.POINTER(ctypes.c_int64)
    if "int32_t *" in parameter:
        return ctypes.POINTER(ctypes.c_int32)
    if parameter.startswith("const char *"):
        return ctypes.c_char_p
    if "**" in parameter or "*const *" in parameter:
        return ctypes.POINTER(ctypes.c_void_p)
    if "*" in parameter:
        return ctypes.c_void_p
    return {"int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "double": ctypes.c_double}[parameter.split()[0]]


@pytest.mark.parametrize("name, base", [
    ("InvalidArgumentError", ValueError), ("ShapeError", ValueError), ("DtypeError", TypeError),
    ("UnsupportedError", ValueError), ("OutOfMemoryError", MemoryError), ("BadStateError", RuntimeError),
    ("UnknownNameError", KeyError), ("OverlapError", ValueError), ("SystemCallError", OSError),
])
def test_exceptions(name, base):
    error = getattr(attnzoo, name)("what was wrong")
    assert isinstance(error, attnzoo.Error) and isinstance(error, base)
    assert str(error) == error.message == "what was wrong" and error.status > 0
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and (again.message, again.status) == (error.message, error.status)


def test_a_status_of_a_later_library():
    assert pickle.loads(pickle.dumps(attnzoo.Error("new", 99))).status == 99


def test_out_of_memory():
    layer = attnzoo.MultiHead(parameters={f"{name}_proj.weight": [[1.0]] for name in ("query", "key", "value")})
    with pytest.raises(MemoryError):
        layer.state(batch=1, capacity=2**55)


def test_it_is_typed():
    assert (pathlib.Path(attnzoo.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize("arguments", [[], ["one", "two", "three"]], ids=len)
def test_the_example_tells_its_usage(repository, arguments):
    run = subprocess.run([sys.executable, repository / "examples" / "speech_attention.py", *arguments], text=True,
                         capture_output=True)
    assert run.returncode == 2 and run.stdout == ""
    assert re.fullmatch(r"usage: \S+ FOLDER \[PICTURE\] .*\n", run.stderr)
