"""State dicts and what their names mean: PyTorch's, Hugging Face's, one's own."""
import numpy as np
import pytest

import attnzoo


@pytest.fixture
def native(weights):
    return weights(query_proj=(8, 8), key_proj=(8, 8), value_proj=(8, 8), out_proj=(8, 8))


@pytest.fixture
def tokens(draw):
    return draw(1, 5, 8)


@pytest.fixture
def expected(native, tokens):
    return attnzoo.MultiHead(2, parameters=native)(tokens)


def pytorch_names(native):
    kinds = [f"{name}_proj" for name in ("query", "key", "value")]
    return {
        "in_proj_weight": np.concatenate([native[f"{kind}.weight"] for kind in kinds]),
        "in_proj_bias": np.concatenate([native[f"{kind}.bias"] for kind in kinds]),
        "out_proj.weight": native["out_proj.weight"],
        "out_proj.bias": native["out_proj.bias"],
    }


def load(state_dict, **options):
    return attnzoo.MultiHead(2).load_state_dict(state_dict, **options)


def test_native_names_with_a_prefix(native, tokens, expected):
    whole = {f"model.layers.0.{name}": array for name, array in native.items()}
    whole["model.layers.1.query_proj.weight"] = whole["head"] = "not looked at"
    np.testing.assert_array_equal(load(whole, prefix="model.layers.0.")(tokens), expected)


def test_pytorch_names_need_no_rule(native, tokens, expected):
    np.testing.assert_array_equal(load(pytorch_names(native))(tokens), expected)
    np.testing.assert_array_equal(load(pytorch_names(native), rename="pytorch")(tokens), expected)
    apart = {f"{name[0]}_proj_weight": native[f"{name}_proj.weight"] for name in ("query", "key", "value")}
    apart["in_proj_bias"] = pytorch_names(native)["in_proj_bias"]
    apart.update({name: native[name] for name in native if name.startswith("out")})
    np.testing.assert_array_equal(load(apart)(tokens), expected)


def test_huggingface_names(native, tokens, expected):
    bert = {name.replace("query_proj", "self.query").replace("key_proj", "self.key").replace(
        "value_proj", "self.value").replace("out_proj", "output.dense"): array for name, array in native.items()}
    bert["output.LayerNorm.weight"] = np.zeros(8, complex)
    rules = ["huggingface", "output.LayerNorm.*="]
    np.testing.assert_array_equal(load(bert, rename=rules)(tokens), expected)
    with pytest.raises(KeyError, match="LayerNorm"):
        load(bert, rename="huggingface")
    with pytest.raises(KeyError, match="rename='huggingface'"):
        load({"layer.self.query.weight": native["query_proj.weight"]}, prefix="layer.")


@pytest.mark.parametrize("rename", [
    ["qkv.*[1/3]=query_proj.*", "qkv.*[2/3]=key_proj.*", "qkv.*[3/3]=value_proj.*", "proj.*=out_proj.*"],
    {"qkv.*[0:8]": "query_proj.*", "qkv.*[8:16]": "key_proj.*", "qkv.*[16:24]": "value_proj.*", "proj.*": "out_proj.*"},
])
def test_rules_of_ones_own(native, tokens, expected, rename):
    packed = pytorch_names(native)
    names = {"qkv.weight": packed["in_proj_weight"], "qkv.bias": packed["in_proj_bias"],
             "proj.weight": packed["out_proj.weight"], "proj.bias": packed["out_proj.bias"]}
    np.testing.assert_array_equal(load(names, rename=rename)(tokens), expected)


def test_leaving_out(native, tokens, expected):
    more = {**native, "rotary.inv_freq": np.zeros(3), "norm.weight": np.zeros(8)}
    np.testing.assert_array_equal(load(more, rename={"rotary.*": None, "norm.weight": ""})(tokens), expected)
    with pytest.raises(KeyError, match="rotary.inv_freq"):
        load(more)


def test_16_bit_weights(native, tokens):
    brain = {name: attnzoo.BFloat16Array.rounded(array) for name, array in pytorch_names(native).items()}
    wide = {name: np.asarray(array) for name, array in brain.items()}
    np.testing.assert_array_equal(load(brain)(tokens), load(wide)(tokens))


def test_all_or_none(native, tokens, expected):
    """A fault in the last array leaves what was there, and the first arrays are not set."""
    others = {name: array + 1 for name, array in native.items()}
    last = list(native)[-1]
    for wrong in (np.zeros(native[last].shape, complex), np.zeros((1, *native[last].shape), np.float32),
                  np.zeros((1,) * 9, np.float32), object(), None):
        layer = load(native)
        with pytest.raises((TypeError, attnzoo.ShapeError), match=last):
            layer.load_state_dict({**others, last: wrong})
        assert layer.parameter_shapes == {name: array.shape for name, array in native.items()}
        np.testing.assert_array_equal(layer(tokens), expected)
        fresh = attnzoo.MultiHead(2)
        with pytest.raises((TypeError, attnzoo.ShapeError)):
            fresh.load_state_dict({**others, last: wrong})
        assert not fresh.parameter_shapes


@pytest.mark.parametrize("extra", ["bias_k", "bias_v", "deep.bias_k"])
def test_biases_of_keys_are_refused(native, extra):
    with pytest.raises(attnzoo.UnsupportedError, match="add_bias_kv"):
        load({**pytorch_names(native), extra: np.zeros((1, 1, 8), np.float32)})


@pytest.mark.parametrize("rename, words", [
    ("query", "OLD=NEW"),
    ("=query_proj.weight", "OLD=NEW"),
    ("a[2:1]=b", "A below B"),
    ("a[0/3]=b", "I from 1"),
    ("a[x]=b", "A below B"),
    ("[1/3]=b", "name in front"),
    ("a*b*=c", "once"),
    ("a=b*", "once"),
    (["x=query_proj.weight", "x=query_proj.weight"], "more than once"),
    ("nothing=query_proj.weight", "no such name"),
    ("query_proj.weight[0:9]=query_proj.weight", "8 rows"),
    ("query_proj.weight[1/3]=query_proj.weight", "8 rows"),
    ("key_proj.weight=query_proj.weight", "both"),
])
def test_rules_that_are_refused(native, rename, words):
    with pytest.raises(attnzoo.InvalidArgumentError, match=words):
        load(native, rename=rename)


def test_what_is_no_state_dict(native, tmp_path):
    class Layer:
        def state_dict(self):
            return native

    with pytest.raises(TypeError, match=r"not Layer: pass module.state_dict\(\)$"):
        load(Layer())
    with pytest.raises(TypeError, match=r"load_safetensors\(\) takes a path$"):
        load(str(tmp_path))
    for wrong in (None, list(native.items()), 3):
        with pytest.raises(TypeError, match="must be a mapping of names to arrays, not"):
            load(wrong)
    with pytest.raises(TypeError, match="prefix must be a text"):
        load(native, prefix=None)
    for prefix in ("", "decoder."):
        with pytest.raises(attnzoo.InvalidArgumentError, match="state_dict is empty"):
            load({}, prefix=prefix)


def test_a_wrong_prefix_is_told_the_right_ones(native):
    whole = {f"{prefix}{name}": array for prefix in ("encoder.0.", "encoder.1.") for name, array in native.items()}
    whole.update({"decoder.0.in_proj_weight": 0, "decoder.1.self.query.bias": 0, "decoder.2.bias_k": 0, "head.norm": 0})
    with pytest.raises(attnzoo.InvalidArgumentError) as caught:
        load(whole, prefix="encoders.0.")
    assert str(caught.value) == (
        "there is no name that begins with 'encoders.0.'; names that end as parameters of multi_head have the prefix "
        "'encoder.0.', 'encoder.1.', 'decoder.0.', 'decoder.1.', 'decoder.2.'")
    with pytest.raises(attnzoo.InvalidArgumentError, match=r"the prefix '0\.', .*'5\.' and 14 more$"):
        load({f"{number}.in_proj_weight": 0 for number in range(20)}, prefix="layer")
    with pytest.raises(attnzoo.InvalidArgumentError, match="; there is 'head', 'tail'$"):
        load({"head": 0, "tail": 0}, prefix="layer")
    # Names without a prefix have an empty one.
    with pytest.raises(attnzoo.InvalidArgumentError, match="the prefix ''$"):
        load(native, prefix="layer")


def test_names_that_are_refused(native):
    with pytest.raises(KeyError, match="prefix='encoder.'"):
        load({f"encoder.{name}": array for name, array in native.items()})
    with pytest.raises(KeyError, match="prefix='encoder.'"):
        load({"encoder.in_proj_weight": native["query_proj.weight"]})
    with pytest.raises(ValueError, match="begins with 'decoder.'"):
        load(native, prefix="decoder.")
    with pytest.raises(KeyError, match="renamed to 'quarry'"):
        load(native, rename="query_proj.weight=quarry")
    with pytest.raises(KeyError, match="score_proj.weight"):
        attnzoo.Additive().load_state_dict({"strange": native["query_proj.weight"]})
    assert not attnzoo.MultiHead(2).parameter_shapes
