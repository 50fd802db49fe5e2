"""Inputs and outputs by name: whatever a mechanism has, from what introspection tells of it alone."""
import importlib.util

import numpy as np
import pytest

import attnzoo


@pytest.fixture
def feeding(repository):
    specification = importlib.util.spec_from_file_location("feeding", repository / "tests" / "tools" / "feeding.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(params=attnzoo.mechanisms())
def fed(request, feeding, random):
    """A module with what it needs, and inputs by name that it takes."""
    description = attnzoo.describe(request.param)
    parameters = [feeding.Item(item.name, item.shape, item.required, False) for item in description.parameters]
    inputs = [feeding.Item(slot.name, slot.shape, slot.required, slot.type == "integer") for slot in description.inputs]

    def split(arrays):
        names = {item.name for item in inputs}
        module = attnzoo.Module(request.param, parameters={name: array for name, array in arrays.items()
                                                           if name not in names})
        return module, {name: array for name, array in arrays.items() if name in names}

    def attempt(arrays):
        try:
            module, given = split(arrays)
            module.forward(given)
        except attnzoo.Error as error:
            return str(error)
        return None

    try:
        return split(feeding.feed(parameters + inputs, attempt, random))
    except feeding.Hungry as hungry:
        pytest.skip(f"{request.param} cannot be fed: {hungry}")


def test_every_output_by_name(fed):
    module, inputs = fed
    slots = module.description.outputs
    names = [slot.name for slot in slots if slot.name != "context"]
    together = module.forward(inputs, names)
    assert list(together) == ["context", *names]
    called = module(**inputs, outputs=names)
    context, *others = called if names else [called]
    for slot, array in zip(slots, [context, *others]):
        assert array.dtype == (np.int64 if slot.type == "integer" else np.float32)
        np.testing.assert_array_equal(array, together[slot.name])
        if slot.name == "context":
            continue
        np.testing.assert_array_equal(module(**inputs, outputs=slot.name)[1], array)
        # Into arrays that are there already, of any type that the output may have.
        out = np.empty(array.shape, np.int32 if slot.type == "integer" else np.float32)
        assert module(**inputs, outputs=(slot.name,), out=(None, out))[1] is out
        np.testing.assert_array_equal(out, array)
    halves = module.forward({name: np.float16(array) if array.dtype == np.float32 else array
                             for name, array in inputs.items()}, names)
    assert [halves[slot.name].dtype for slot in slots] == [
        np.int64 if slot.type == "integer" else np.float16 if slot.name in ("context", "attention") else np.float32
        for slot in slots]


def test_inputs_have_their_types(fed):
    module, inputs = fed
    for slot in module.description.inputs:
        assert slot.type in ("float", "integer")
        wrong = np.zeros((1,), complex) if slot.type == "float" else np.zeros((1,), np.float32)
        with pytest.raises(attnzoo.DtypeError, match=f"^{slot.name} has the element type"):
            module.forward({**inputs, slot.name: wrong})
        if slot.type == "integer" and slot.name in inputs:
            given = {**inputs, slot.name: inputs[slot.name].astype(np.uint8)}
            np.testing.assert_array_equal(module(**given), module(**inputs))


def test_what_is_not_needed_is_not_given(fed):
    """Key and value follow the query only where the mechanism cannot do without."""
    module, inputs = fed
    required = {slot.name for slot in module.description.inputs if slot.required}
    extra = {name: array for name, array in inputs.items() if name not in ("query", "key", "value")}
    if not {"key", "value"} & set(inputs):
        np.testing.assert_array_equal(module(inputs["query"], **extra), module.forward(inputs)["context"])
    elif "key" not in inputs and "key" not in required:
        np.testing.assert_array_equal(module(inputs["query"], value=inputs["value"], **extra),
                                      module.forward(inputs)["context"])
    else:
        memory = inputs["key"]
        np.testing.assert_array_equal(module(inputs["query"], memory, **extra),
                                      module.forward({**inputs, "value": memory})["context"])


def test_outputs_that_are_none(draw):
    query = draw(1, 2, 3, 4)
    module = attnzoo.ScaledDotProduct()
    with pytest.raises(attnzoo.UnsupportedError, match="no output 'index'; it has context, attention, log_sum_exp"):
        module(query, outputs="index")
    with pytest.raises(attnzoo.InvalidArgumentError, match="context comes first"):
        module(query, outputs=("attention", "context"))
    with pytest.raises(attnzoo.InvalidArgumentError, match="attention is asked for twice"):
        module(query, outputs=["attention", "attention"])
    with pytest.raises(attnzoo.InvalidArgumentError, match="log_sum_exp is asked for twice"):
        module(query, return_log_sum_exp=True, outputs="log_sum_exp")
    with pytest.raises(attnzoo.DtypeError, match="out has the element type int64"):
        module(query, outputs="log_sum_exp", out=(None, np.empty((1, 2, 3), np.int64)))
    context, sums, attention = module(query, outputs=("log_sum_exp", "attention"))
    for array, wanted in zip((context, attention, sums),
                             module(query, return_attention=True, return_log_sum_exp=True)):
        np.testing.assert_array_equal(array, wanted)


def test_types_are_described():
    for mechanism in attnzoo.mechanisms():
        description = attnzoo.describe(mechanism)
        for slot in description.inputs + description.outputs + description.state:
            told = [line for line in str(description).splitlines() if f" {slot.name} {slot.shape}" in line]
            assert any(("(integers" in line) == (slot.type == "integer") for line in told)
