"""Single values on their way to C, which would cut what is too large: every place that takes one."""
import numpy as np
import pytest

import attnzoo


@pytest.fixture
def layer(weights):
    return attnzoo.MultiHead(2, parameters=weights(query_proj=(8, 8), key_proj=(8, 8), value_proj=(8, 8)))


#: What takes a whole number, the name that it has there, and its bits.
PLACES = {
    "capacity": (lambda layer, number: layer.state(1, number), "capacity", 64),
    "batch": (lambda layer, number: layer.state(number), "batch", 64),
    "length": (lambda layer, number: layer.state(1, 4).truncate(number), "length", 64),
    "copy": (lambda layer, number: layer.state(1, 4).copy(number), "capacity", 64),
    "threads": (lambda layer, number: attnzoo.Executor(number), "threads", 32),
    "option": (lambda layer, number: attnzoo.MultiHead(number), "num_heads", 64),
    "left": (lambda layer, number: attnzoo.Mask(window=(number, 0)), "left", 64),
    "right": (lambda layer, number: attnzoo.Mask(window=(0, number)), "right", 64),
    "query_offset": (lambda layer, number: attnzoo.Mask(query_offset=number), "query_offset", 64),
    "num_heads": (lambda layer, number: attnzoo.Mask.from_torch(attn_mask=np.zeros((2, 3, 3)), num_heads=number),
                  "num_heads", 64),
    "rows": (lambda layer, number: attnzoo.sinusoidal_positions(number, 4), "rows", 64),
    "size": (lambda layer, number: attnzoo.sinusoidal_positions(2, number), "size", 64),
    "first": (lambda layer, number: attnzoo.sinusoidal_positions(2, 4, first=number), "first", 64),
    "step": (lambda layer, number: attnzoo.sinusoidal_positions(2, 4, step=number), "step", 64),
    "queries": (lambda layer, number: attnzoo.relative_positions(number, 2, 4), "queries", 64),
    "keys": (lambda layer, number: attnzoo.relative_positions(2, number, 4), "keys", 64),
}


@pytest.mark.parametrize("place", PLACES)
def test_whole_numbers_that_c_cannot_hold(layer, place):
    use, name, bits = PLACES[place]
    for number in (2**(bits - 1), 2**bits + 1, -2**bits + 1, 2**bits, 10**5000):
        with pytest.raises(attnzoo.InvalidArgumentError, match=name) as caught:
            use(layer, number)
        assert (str(number) if number < 10**4000 else "bits") in str(caught.value)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", [1.0, np.float32(2), "many", True, np.True_, b"1", 1j], ids=repr)
def test_what_is_no_whole_number(layer, place, value):
    use, name, _ = PLACES[place]
    with pytest.raises(attnzoo.InvalidArgumentError, match=name) as caught:
        use(layer, value)
    assert repr(value) in str(caught.value) or repr(value)[1:-1] in str(caught.value)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint64, lambda number: np.array(number, np.int32)],
                         ids=["int8", "int64", "uint64", "array of no axes"])
def test_whole_numbers_of_numpy(layer, place, kind):
    PLACES[place][0](layer, kind(1))


@pytest.mark.parametrize("call", [lambda: attnzoo.sinusoidal_positions(-1, 4), lambda: attnzoo.sinusoidal_positions(4, -1),
                                  lambda: attnzoo.sinusoidal_positions(2**62, 2**62),
                                  lambda: attnzoo.relative_positions(-1, 2, 4), lambda: attnzoo.Mask(window=(-2, 0))])
def test_numbers_out_of_bounds(call):
    with pytest.raises(attnzoo.InvalidArgumentError):
        call()


def test_texts_with_nul_are_not_cut(weights):
    eye = np.eye(4, dtype=np.float32)
    for call in (lambda: attnzoo.RelativeMultiHead(flavor="shaw\0junk"),
                 lambda: attnzoo.MultiHead().set_parameter("query_proj.weight\0junk", eye),
                 lambda: attnzoo.Module("multi_head", **{"num_heads\0junk": 2})):
        with pytest.raises(attnzoo.InvalidArgumentError, match="NUL"):
            call()
    for name in ("multi_head\0junk", "\ud800"):
        with pytest.raises(attnzoo.UnknownNameError):
            attnzoo.Module(name)
        with pytest.raises(attnzoo.UnknownNameError):
            attnzoo.describe(name)
    with pytest.raises(attnzoo.InvalidArgumentError, match="Unicode"):
        attnzoo.RelativeMultiHead(flavor="\ud800")


def test_names_that_are_no_texts():
    eye = np.eye(4, dtype=np.float32)
    with pytest.raises(TypeError, match="name of a parameter"):
        attnzoo.MultiHead().set_parameter(3, eye)
    with pytest.raises(TypeError, match="texts, and 1 is none"):
        attnzoo.MultiHead().load_state_dict({"query_proj.weight": eye, 1: eye})
    with pytest.raises(attnzoo.UnknownNameError):
        attnzoo.Mask(alignment=["top-left"])
    with pytest.raises(attnzoo.UnknownNameError):
        attnzoo.sinusoidal_positions(1, 2, arrangement=[])


@pytest.mark.parametrize("make", [lambda scale: attnzoo.MultiHead(scale=scale),
                                  lambda scale: attnzoo.scaled_dot_product([[1.0]], [[1.0]], [[1.0]], scale=scale),
                                  lambda scale: attnzoo.scaled_dot_product([[1.0]], [[1.0]], [[1.0]], softcap=scale)],
                         ids=["module", "scale", "softcap"])
def test_real_numbers(make):
    # True is 1 to a cache that knows 1 already, and must not be.
    make(1.0)
    for value in (True, np.True_, np.array(True), [1], 1j, np.array([0.5]), b"1", "1", "1\0", object(), 10**400):
        with pytest.raises(attnzoo.InvalidArgumentError, match="option 's"):
            make(value)
    for value in (1, np.float32(0.5), np.int8(1), np.array(0.5)):
        make(value)


@pytest.mark.parametrize("name, use", [
    ("causal", lambda x, value: attnzoo.scaled_dot_product(x, x, x, causal=value)),
    ("causal", lambda x, value: attnzoo.scaled_dot_product(x, x, x, causal=value, key_lengths=[2])),
    ("causal", lambda x, value: attnzoo.scaled_dot_product(x, x, x, causal=value, mask=attnzoo.Mask())),
    ("causal", lambda x, value: attnzoo.Mask(causal=value)),
    ("causal", lambda x, value: attnzoo.relative_positions(2, 2, 2, causal=value)),
    ("return_attention", lambda x, value: attnzoo.ScaledDotProduct()(x, return_attention=value)),
    ("return_log_sum_exp", lambda x, value: attnzoo.scaled_dot_product(x, x, x, return_log_sum_exp=value)),
])
def test_flags(name, use):
    x = np.eye(2, dtype=np.float32)
    for value in ("yes", "", 2, 1, 0, None, [True], np.array([True])):
        with pytest.raises(attnzoo.InvalidArgumentError, match=f"^{name} is .*, must be True or False"):
            use(x, value)
    for value in (True, False, np.True_, np.False_):
        use(x, value)


def test_options_are_kept_as_what_was_set():
    scale = np.array(0.5)
    module = attnzoo.MultiHead(np.int8(2), scale=scale)
    scale[...] = 2
    assert repr(module) == "MultiHead(num_heads=2, scale=0.5)"


@pytest.mark.parametrize("name, shape", [("key_padding_mask", ()), ("key_padding_mask", (1, 2, 3)), ("attn_mask", ()),
                                         ("attn_mask", (3,)), ("attn_mask", (1, 1, 2, 3))])
@pytest.mark.parametrize("kind", [bool, np.float32])
def test_axes_of_masks_of_torch(name, shape, kind):
    with pytest.raises(attnzoo.ShapeError, match=name):
        attnzoo.Mask.from_torch(**{name: np.zeros(shape, kind)}, num_heads=1)
