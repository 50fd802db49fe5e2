"""The conformance cases of the repository, which other implementations computed, through the package."""
import json
import pathlib

import numpy as np
import pytest

import attnzoo
from conftest import REPOSITORY

FOLDERS = [REPOSITORY / "tests" / "conformance" / "cases", REPOSITORY / "examples" / "data"]
CASES = sorted(path.parent for folder in FOLDERS for path in folder.rglob("case.json"))
MASKS = {"--key-lengths": "key_lengths", "--query-lengths": "query_lengths", "--mask": "boolean", "--bias": "bias",
         "--alibi": "linear_bias", "--segments": "segments"}
PREFIXES = {"--prefix", "--rename", "--weights"}


def read(case, text):
    file, colon, name = text.partition(":")
    return attnzoo.read_safetensors(case / file)[name] if colon else np.load(case / file)


class Arguments:
    """The command line of a case, as arguments of the package."""

    def __init__(self, case, arguments):
        self.mechanism, *rest = arguments
        self.inputs, self.options, self.mask, self.past, self.state = {}, {}, {}, {}, {}
        self.weights = None
        rest = iter(rest)
        for flag in rest:
            if flag == "--causal":
                self.mask["causal"] = True
            else:
                self.take(case, flag, next(rest))

    def take(self, case, flag, value):
        if flag in ("--query", "--key", "--value", "--position"):
            self.inputs[flag[2:]] = read(case, value)
        elif flag == "--input":
            name, _, file = value.partition("=")
            self.inputs[name] = read(case, file)
        elif flag == "--set":
            name, _, text = value.partition("=")
            self.options[name] = text
        elif flag == "--weights":
            self.weights = case / value
        elif flag in MASKS:
            self.mask[MASKS[flag]] = read(case, value)
        elif flag == "--window":
            self.mask["window"] = [int(side) for side in value.split(",")]
        elif flag == "--align":
            self.mask["alignment"] = value
        elif flag == "--query-offset":
            self.mask["query_offset"] = read(case, value) if (case / value).is_file() else int(value)
        elif flag in ("--past-key", "--past-value"):
            self.past[flag[7:]] = read(case, value)
        elif flag == "--state-in":
            self.state = dict(attnzoo.read_safetensors(case / value))
        elif flag not in ("--context", "--attention", "--output", "--threads"):
            pytest.skip(f"the case uses {flag}, which is the command's")


@pytest.mark.skipif(not CASES, reason="the tests are not in the repository, whose cases these are")
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_case(case):
    spec = json.loads((case / "case.json").read_text(encoding="utf-8"))
    arguments = Arguments(case, spec["args"])
    # The command's options are texts.
    kinds = {option.name: {"float": float, "int": int, "bool": "true".__eq__}.get(option.type, str)
             for option in attnzoo.describe(arguments.mechanism).options}
    module = attnzoo.Module(arguments.mechanism, **{name: kinds[name](text) for name, text in arguments.options.items()})
    if arguments.weights:
        module.load_safetensors(arguments.weights)
    for name, past in arguments.past.items():
        arguments.inputs[name] = np.concatenate([past, arguments.inputs[name]], axis=-2)
    state = None
    if arguments.state:
        # T or M is where a field has its keys; some have none.
        axes = {field.name: field.shape.strip("[]").split(", ") for field in module.description.state}
        held = [array.shape[axes[name].index(letter)] for name, array in arguments.state.items() for letter in "TM"
                if letter in axes[name]]
        brought = [arguments.inputs[name].shape[-2] for name in ("key", "value") if name in arguments.inputs]
        state = module.state(next(iter(arguments.state.values())).shape[0], max(held, default=0) + max(brought, default=0))
        state.set(arguments.state)
    wanted = [name for name in spec["expected"] if name in {slot.name for slot in module.description.outputs}]
    results = module.forward(arguments.inputs, wanted, mask=attnzoo.Mask(**arguments.mask), state=state)
    for name in wanted:
        expected = np.load(case / spec["expected"][name]).astype(np.float64)
        got = results[name].astype(np.float64)
        assert got.shape == expected.shape
        error = np.abs(got - expected) / np.maximum(1.0, np.abs(expected))
        assert np.array_equal(np.isfinite(got), np.isfinite(expected))
        assert error[np.isfinite(expected)].max(initial=0.0) <= spec["tolerance"]
    assert wanted
