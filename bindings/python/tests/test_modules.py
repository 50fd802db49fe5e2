"""Modules: each mechanism against float64, options, parameters, and that introspection is all the package knows."""
import inspect

import numpy as np
import pytest

import attnzoo
import reference

CLASSES = {
    "scaled_dot_product": attnzoo.ScaledDotProduct,
    "multi_head": attnzoo.MultiHead,
    "relative_multi_head": attnzoo.RelativeMultiHead,
    "additive": attnzoo.Additive,
    "location_aware": attnzoo.LocationAware,
}


def assert_close(got, expected, length):
    bound = reference.tolerance(length, max(1.0, np.abs(expected).max(initial=0.0)))
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=0, atol=bound)


@pytest.fixture
def sequences(draw):
    return draw(2, 5, 12), draw(2, 7, 10), draw(2, 7, 9)


@pytest.fixture
def heads(weights):
    return weights(query_proj=(16, 12), key_proj=(8, 10), value_proj=(6, 9), out_proj=(11, 12))


@pytest.mark.parametrize("mechanism", attnzoo.mechanisms())
def test_a_class_has_the_options_of_its_mechanism(mechanism):
    """A mechanism without a class is served by Module alone; a class must not lag behind the library."""
    if mechanism not in CLASSES:
        pytest.skip(f"{mechanism} has no class of its own")
    arguments = set(inspect.signature(CLASSES[mechanism]).parameters) - {"parameters"}
    assert arguments == {option.name for option in attnzoo.describe(mechanism).options}


@pytest.mark.parametrize("mechanism", attnzoo.mechanisms())
def test_description_and_options_by_introspection(mechanism):
    description = attnzoo.describe(mechanism)
    assert description.name == mechanism and description.summary and description.source and description.formula
    assert [slot.name for slot in description.inputs][:3] == ["query", "key", "value"]
    assert description.outputs[0].name == "context"
    for option in description.options:
        # A default that is a formula follows from the inputs, and one that is a name from that option.
        if option.type in ("float", "int") and not option.default.lstrip("-").replace(".", "").isdigit():
            continue
        value = {"float": float, "int": int, "bool": "true".__eq__}.get(option.type, str)(option.default)
        module = attnzoo.Module(mechanism, **{option.name: value})
        assert module.options == {option.name: value}
    for parameter in description.parameters:
        attnzoo.Module(mechanism).set_parameter(parameter.name, np.zeros((1,) * (parameter.shape.count(",") + 1)))
        assert parameter.name in str(description)


def test_multi_head(sequences, heads):
    expected, weights = reference.multi_head(*sequences, heads, 4, 2)
    layer = attnzoo.MultiHead(4, num_kv_heads=2, parameters=heads)
    context, attention = layer(*sequences, return_attention=True)
    assert_close(context, expected, 12)
    assert_close(attention, weights, 12)
    averaged = attnzoo.MultiHead(4, num_kv_heads=2, average_heads=True, parameters=heads)
    assert_close(averaged(*sequences, return_attention=True)[1], weights.mean(1), 12)
    seen = reference.visible(2, 4, 5, 7, causal=True, key_lengths=[7, 3])
    expected, _ = reference.multi_head(*sequences, heads, 4, 2, seen)
    assert_close(layer(*sequences, causal=True, key_lengths=[7, 3]), expected, 12)


def test_any_mechanism_through_module(sequences, heads):
    layer = attnzoo.MultiHead(4, num_kv_heads=2, parameters=heads)
    generic = attnzoo.Module("multi_head", parameters=heads, num_heads=4, num_kv_heads=2)
    inputs = dict(zip(("query", "key", "value"), sequences))
    results = generic.forward(inputs, ["attention"])
    context, attention = layer(*sequences, return_attention=True)
    assert list(results) == ["context", "attention"]
    np.testing.assert_array_equal(results["context"], context)
    np.testing.assert_array_equal(results["attention"], attention)
    out = np.empty_like(context)
    assert generic.forward(inputs, out={"context": out})["context"] is out
    with pytest.raises(attnzoo.UnknownNameError, match="query, key, value"):
        generic.forward({"quarry": out})
    with pytest.raises(attnzoo.UnsupportedError, match="context, attention"):
        generic.forward(inputs, ["glory"])
    with pytest.raises(attnzoo.InvalidArgumentError, match="query"):
        generic.forward({})


def test_self_attention_and_cross_attention(draw, weights):
    parameters = weights(query_proj=(8, 8), key_proj=(8, 8), value_proj=(8, 8))
    layer = attnzoo.MultiHead(2, parameters=parameters)
    tokens, memory = draw(1, 4, 8), draw(1, 6, 8)
    # One view for equal inputs is one product of another size, which may round otherwise.
    assert_close(layer(tokens), reference.multi_head(tokens, tokens, tokens, parameters, 2)[0], 8)
    assert_close(layer(tokens, memory), reference.multi_head(tokens, memory, memory, parameters, 2)[0], 8)
    assert_close(layer(tokens, memory, tokens[:, :1].repeat(6, 1)),
                 reference.multi_head(tokens, memory, tokens[:, :1].repeat(6, 1), parameters, 2)[0], 8)


@pytest.mark.parametrize("causal", [False, True])
def test_transformer_xl(draw, weights, causal):
    parameters = weights(query_proj=(8, 8), key_proj=(8, 8), value_proj=(8, 8), out_proj=(8, 8), pos_proj=(8, 6),
                         u_bias=(2, 4), v_bias=(2, 4))
    tokens, memory = draw(1, 3, 8), draw(1, 5, 8)
    layer = attnzoo.RelativeMultiHead(2, parameters=parameters)
    position = attnzoo.relative_positions(3, 5, 6, causal=causal)
    assert position.shape == (5 if causal else 7, 6)
    full = attnzoo.relative_positions(3, 5, 6)
    seen = reference.visible(1, 2, 3, 5, causal=causal)
    expected, attention = reference.transformer_xl(tokens, memory, memory, full, parameters, 2, seen)
    context, got = layer(tokens, memory, position=position, causal=causal, return_attention=True)
    assert_close(context, expected, 8)
    assert_close(got, attention, 8)
    with pytest.raises(attnzoo.InvalidArgumentError, match="position"):
        layer(tokens, memory)


def test_shaw(draw, weights):
    parameters = weights(query_proj=(8, 8), key_proj=(8, 8), value_proj=(6, 8), out_proj=(8, 6), relative_key=(5, 4),
                         relative_value=(5, 3))
    tokens, memory = draw(2, 3, 8), draw(2, 6, 8)
    layer = attnzoo.RelativeMultiHead(2, flavor="shaw", parameters=parameters)
    expected, attention = reference.shaw(tokens, memory, memory, parameters, 2)
    context, got = layer(tokens, memory, return_attention=True)
    assert_close(context, expected, 8)
    assert_close(got, attention, 8)


def test_additive(sequences, weights):
    parameters = weights(query_proj=(13, 12), key_proj=(13, 10), score_proj=(1, 13), bias=(13,))
    expected, attention = reference.additive(*sequences, parameters)
    context, got = attnzoo.Additive(parameters=parameters)(*sequences, return_attention=True)
    assert_close(context, expected, 13)
    assert_close(got, attention, 13)


def test_location_aware(sequences, weights):
    parameters = weights(query_proj=(13, 12), key_proj=(13, 10), score_proj=(1, 13), location_proj=(13, 3),
                         location_conv=(3, 1, 5))
    parameters.pop("location_conv.bias")
    # The reference has tanh over all, as the paper does; the library's option is on U f alone, and is off.
    expected, attention = reference.location_aware(*sequences, parameters)
    context, got = attnzoo.LocationAware(parameters=parameters)(*sequences, return_attention=True)
    assert_close(context, expected, 13)
    assert_close(got, attention, 13)


@pytest.mark.parametrize("options, error, words", [
    (dict(num_heads="many"), ValueError, "whole number"),
    (dict(num_heads="4"), ValueError, "'num_heads' is '4', must be a whole number"),
    (dict(num_heads=2.0), ValueError, "whole number"),
    (dict(num_heads=True), ValueError, "number"),
    (dict(num_heads=2**70), ValueError, "63 bits"),
    (dict(num_heads=0), ValueError, "num_heads"),
    (dict(average_heads=1), ValueError, "True or False"),
    (dict(average_heads="true"), ValueError, "True or False"),
    (dict(scale="1"), ValueError, "'scale' is '1', must be a number"),
    (dict(scale=float("nan")), ValueError, "scale"),
    (dict(num_head=8), KeyError, "num_heads"),
    (dict(flavor=3), KeyError, "flavor"),
])
def test_options_that_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        attnzoo.Module("multi_head", **options)


def test_options_of_numpy_types():
    module = attnzoo.Module("multi_head", num_heads=np.int32(2), scale=np.float32(0.5), average_heads=np.bool_(True),
                            softcap=None)
    assert repr(module) == "Module('multi_head', num_heads=2, scale=0.5, average_heads=True)"
    with pytest.raises(TypeError):
        module.options["scale"] = 1.0


def test_parameters_that_are_refused(draw, weights):
    layer = attnzoo.MultiHead(2)
    with pytest.raises(KeyError, match="query_proj.weight"):
        layer.set_parameter("query.weight", draw(4, 4))
    with pytest.raises(attnzoo.ShapeError):
        layer.set_parameter("query_proj.weight", draw(4))
    with pytest.raises(attnzoo.InvalidArgumentError, match="query_proj.weight"):
        layer(draw(1, 2, 4))
    for name in ("query", "key", "value"):
        layer.set_parameter(f"{name}_proj.weight", draw(4, 4))
    assert layer.parameter_shapes == {f"{name}_proj.weight": (4, 4) for name in ("query", "key", "value")}
    # What failed to prepare can be mended; what was prepared cannot change.
    layer(draw(1, 2, 4))
    with pytest.raises(attnzoo.BadStateError):
        layer.set_parameter("query_proj.weight", draw(4, 4))
    odd = attnzoo.MultiHead(3, parameters=weights(query_proj=(4, 4), key_proj=(4, 4), value_proj=(4, 4)))
    with pytest.raises(ValueError, match="3"):
        odd.prepare()


def test_parameters_are_copied(draw):
    eye = np.eye(4, dtype=np.float32)
    layer = attnzoo.MultiHead(parameters={f"{name}_proj.weight": eye for name in ("query", "key", "value")}).prepare()
    tokens = draw(1, 3, 4)
    before = layer(tokens)
    eye[:] = np.nan
    np.testing.assert_array_equal(layer(tokens), before)


def test_inputs_that_a_mechanism_does_not_have(draw):
    module = attnzoo.ScaledDotProduct()
    for name, words in {"causl": r"did you mean causal\?$", "is_causal": r"did you mean causal\?$",
                        "quarry": r"did you mean query\?$", "xyz": "it has query, key, value, mask, causal, key_lengths,",
                        "key_padding_mask": r"mask=attnzoo.Mask.from_torch\(key_padding_mask=...\)$",
                        "attn_mask": r"mask=attnzoo.Mask.from_torch\(attn_mask=...\)$"}.items():
        with pytest.raises(TypeError, match=f"scaled_dot_product has no input '{name}'; .*{words}"):
            module(draw(2, 2), **{name: True})
    with pytest.raises(attnzoo.UnsupportedError):
        attnzoo.Additive(parameters={"score_proj.weight": draw(1, 4)})(draw(2, 4), return_log_sum_exp=True)
    for options in (dict(state=1), dict(executor=1)):
        with pytest.raises(TypeError, match="must be a"):
            module(draw(2, 2), **options)


@pytest.mark.parametrize("use, words", [
    (lambda x: attnzoo.MultiHead(heads=4), "MultiHead has no argument 'heads'; did you mean num_heads?"),
    (lambda x: attnzoo.RelativeMultiHead(flavour="shaw"),
     "RelativeMultiHead has no argument 'flavour'; did you mean flavor?"),
    (lambda x: attnzoo.ScaledDotProduct(heads=4), "ScaledDotProduct has no argument 'heads'; it has scale, softcap"),
    (lambda x: attnzoo.Mask(is_causal=True), "Mask has no argument 'is_causal'; did you mean causal?"),
    (lambda x: attnzoo.Mask.from_torch(key_mask=x),
     "Mask.from_torch has no argument 'key_mask'; did you mean key_padding_mask?"),
    (lambda x: attnzoo.scaled_dot_product(x, x, x, is_causal=True),
     "scaled_dot_product has no argument 'is_causal'; did you mean causal?"),
])
def test_arguments_that_are_not_taken(draw, use, words):
    with pytest.raises(TypeError) as caught:
        use(draw(2, 2))
    assert str(caught.value) == words


def test_other_errors_of_type_stay_as_they_are(draw):
    with pytest.raises(TypeError, match="missing .* 'value'"):
        attnzoo.scaled_dot_product(draw(2, 2), draw(2, 2), causal=True)
    with pytest.raises(TypeError, match="executor must be an Executor"):
        attnzoo.scaled_dot_product(draw(2, 2), draw(2, 2), draw(2, 2), executor=1)


def test_what_is_made_is_not_made_again(draw):
    layer = attnzoo.MultiHead(2, parameters={f"{name}_proj.weight": draw(4, 4) for name in ("query", "key", "value")})
    state, mask, executor = layer.state(capacity=3), attnzoo.Mask(causal=True), attnzoo.Executor(1)
    tokens = draw(1, 3, 4)
    expected = layer(tokens, mask=mask, executor=executor)
    for again in (lambda: layer.__init__(1), lambda: state.__init__(layer, 2, 7), lambda: mask.__init__(window=(0, 0)),
                  lambda: executor.__init__(2)):
        with pytest.raises(attnzoo.BadStateError, match="made already"):
            again()
    np.testing.assert_array_equal(layer(tokens, mask=mask, executor=executor, state=state), expected)
    assert repr(layer) == "MultiHead(num_heads=2)" and repr(mask) == "Mask(causal=True)"
    assert state.capacity == 3 and executor.threads == 1


def test_unknown_mechanism():
    with pytest.raises(attnzoo.UnknownNameError, match="multi_head") as caught:
        attnzoo.Module("multihead")
    assert caught.value.status == 7 and str(caught.value) == caught.value.message


def test_errors_name_no_function_of_c(draw):
    for wrong in (lambda: attnzoo.MultiHead(0), lambda: attnzoo.MultiHead().prepare(),
                  lambda: attnzoo.scaled_dot_product(draw(3, 4), draw(3, 5), draw(3, 4)),
                  lambda: attnzoo.scaled_dot_product(draw(3, 4), draw(3, 4), draw(3, 4), key_lengths=[9]),
                  lambda: attnzoo.Mask(segments=np.zeros((1, 1, 2), int)), lambda: attnzoo.Executor(-1)):
        with pytest.raises(attnzoo.Error) as caught:
            wrong()
        assert caught.value.message and "attnzoo_" not in caught.value.message


def test_sinusoids():
    table = attnzoo.sinusoidal_positions(3, 5, first=7, step=-2)
    angles = (7 - 2 * np.arange(3))[:, None] / 10000.0**(2 * np.arange(3) / 5)
    expected = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(3, 6)[:, :5]
    np.testing.assert_allclose(table, expected, rtol=0, atol=2.0**-23)
    halves = attnzoo.sinusoidal_positions(3, 4, arrangement="halves", dtype=np.float16)
    assert halves.dtype == np.float16 and halves[0].tolist() == [0, 0, 1, 1]
    with pytest.raises(KeyError, match="halves"):
        attnzoo.sinusoidal_positions(3, 4, arrangement="quarters")
    with pytest.raises(TypeError):
        attnzoo.sinusoidal_positions(3, 4, dtype=np.int32)
