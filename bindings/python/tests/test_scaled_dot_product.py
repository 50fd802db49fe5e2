"""scaled_dot_product against float64, over shapes, types, strides and masks."""
import numpy as np
import pytest

import attnzoo
import reference

SHAPES = [
    # B, H, G, N, M, D, Dv
    (1, 1, 1, 1, 1, 1, 1),
    (2, 4, 2, 5, 7, 8, 3),
    (1, 3, 1, 17, 33, 80, 96),
    (2, 2, 2, 64, 129, 15, 257),
    (1, 8, 8, 1, 300, 64, 64),
]
MASKS = [
    dict(causal=True),
    dict(window=(2, 0)),
    dict(window=(-1, 1)),
    dict(key_lengths=[0, 3]),
    dict(query_lengths=[2, 4]),
    dict(causal=True, key_lengths=[5, 2], window=(3, -1)),
]


def operands(draw, batch, heads, kv_heads, queries, keys, size, value_size):
    return draw(batch, heads, queries, size), draw(batch, kv_heads, keys, size), draw(batch, kv_heads, keys, value_size)


def assert_close(got, expected, length, rounding=0.0):
    bound = reference.tolerance(length, max(1.0, np.abs(expected).max(initial=0.0)), rounding)
    assert got.shape == expected.shape
    np.testing.assert_allclose(np.asarray(got, np.float64), expected, rtol=0, atol=bound)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_formula(draw, shape):
    query, key, value = operands(draw, *shape)
    context, attention = attnzoo.scaled_dot_product(query, key, value, return_attention=True)
    expected, weights = reference.scaled_dot_product(query, key, value)
    assert context.dtype == attention.dtype == np.float32
    assert_close(context, expected, max(shape))
    assert_close(attention, weights, max(shape))
    alone = attnzoo.scaled_dot_product(query, key, value)
    assert_close(alone, expected, max(shape))


@pytest.mark.parametrize("options", MASKS, ids=str)
def test_masks(draw, options):
    query, key, value = operands(draw, 2, 4, 2, 5, 7, 8, 3)
    seen = reference.visible(2, 4, 5, 7, **options)
    expected, weights = reference.scaled_dot_product(query, key, value, seen)
    context, attention = attnzoo.scaled_dot_product(query, key, value, mask=attnzoo.Mask(**options),
                                                    return_attention=True)
    assert_close(context, expected, 8)
    assert_close(attention, weights, 8)
    assert not attention[~seen].any()


def test_scale_softcap_bias_and_causal(draw):
    query, key, value = operands(draw, 1, 2, 2, 4, 4, 8, 8)
    bias = draw(2, 1, 4)
    seen = reference.visible(1, 2, 4, 4, causal=True)
    expected, _ = reference.scaled_dot_product(query, key, value, seen, bias, scale=0.7, softcap=1.5)
    context = attnzoo.scaled_dot_product(query, key, value, causal=True, scale=0.7, softcap=1.5, bias=bias)
    assert_close(context, expected, 8)


def test_a_bare_array_as_mask_is_boolean(draw):
    query, key, value = operands(draw, 2, 1, 1, 3, 5, 4, 4)
    allowed = np.array([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0]], bool)[:, None, None, :]
    seen = reference.visible(2, 1, 3, 5, boolean=allowed)
    expected, _ = reference.scaled_dot_product(query, key, value, seen)
    for mask in (allowed, allowed.astype(np.uint8), allowed.astype(np.int64), allowed.astype(np.int16), allowed.tolist()):
        context = attnzoo.scaled_dot_product(query, key, value, mask=mask)
        assert_close(context, expected, 5)
        assert not context[1].any()


def test_log_sum_exp_and_merge(draw):
    query, key, value = operands(draw, 1, 2, 2, 3, 9, 4, 5)
    whole, total = attnzoo.scaled_dot_product(query, key, value, return_log_sum_exp=True)
    scores = np.einsum("bhnd,bhmd->bhnm", query.astype(float), key) / 2
    assert_close(total, np.log(np.exp(scores).sum(-1)), 9)
    parts = [attnzoo.scaled_dot_product(query, key[:, :, part], value[:, :, part], return_log_sum_exp=True)
             for part in (slice(0, 4), slice(4, 9))]
    context, merged = attnzoo.merge(*parts[0], *parts[1])
    assert_close(context, whole.astype(float), 9)
    assert_close(merged, total.astype(float), 9)
    into = parts[0]
    same = attnzoo.merge(*parts[0], *parts[1], out=into)
    assert same[0] is into[0] and same[1] is into[1]
    np.testing.assert_array_equal(into[0], context)


def test_leading_axes_may_be_left_out(draw):
    query, key, value = draw(3, 4), draw(5, 4), draw(5, 2)
    whole = attnzoo.scaled_dot_product(query[None, None], key[None, None], value[None, None])
    np.testing.assert_array_equal(attnzoo.scaled_dot_product(query, key, value), whole[0, 0])


def test_no_keys_no_queries(draw):
    assert not attnzoo.scaled_dot_product(draw(1, 1, 3, 4), draw(1, 1, 0, 4), draw(1, 1, 0, 2)).any()
    assert attnzoo.scaled_dot_product(draw(1, 1, 0, 4), draw(1, 1, 3, 4), draw(1, 1, 3, 2)).shape == (1, 1, 0, 2)


def test_padding_may_hold_anything(draw):
    query, key, value = operands(draw, 2, 1, 1, 3, 5, 4, 4)
    clean = attnzoo.scaled_dot_product(query, key, value, key_lengths=[2, 5])
    key[0, :, 2:], value[0, :, 2:] = np.nan, np.inf
    np.testing.assert_array_equal(attnzoo.scaled_dot_product(query, key, value, key_lengths=[2, 5]), clean)
    # A NaN that is seen comes out.
    assert np.isnan(attnzoo.scaled_dot_product(query, key, value)[0]).all()


def test_out(draw):
    query, key, value = operands(draw, 1, 2, 2, 3, 5, 4, 6)
    expected, weights = attnzoo.scaled_dot_product(query, key, value, return_attention=True)
    out = np.full((1, 2, 3, 6), np.nan, np.float32)
    assert attnzoo.scaled_dot_product(query, key, value, out=out) is out
    np.testing.assert_array_equal(out, attnzoo.scaled_dot_product(query, key, value))
    interleaved = np.full((1, 3, 2, 6), np.nan, np.float32)
    attnzoo.scaled_dot_product(query, key, value, out=interleaved.transpose(0, 2, 1, 3))
    np.testing.assert_array_equal(interleaved.transpose(0, 2, 1, 3), out)
    context, attention = attnzoo.scaled_dot_product(query, key, value, return_attention=True, out=(out, None))
    assert context is out
    np.testing.assert_array_equal(attention, weights)
    half = np.empty((1, 2, 3, 6), np.float16)
    attnzoo.scaled_dot_product(query, key, value, out=half)
    assert_close(half, expected.astype(float), 8, rounding=2.0**-11)


def test_out_that_cannot_be(draw):
    query, key, value = operands(draw, 1, 1, 1, 3, 5, 4, 4)
    with pytest.raises(attnzoo.OverlapError):
        attnzoo.scaled_dot_product(query, key, value, out=query)
    with pytest.raises(attnzoo.ShapeError):
        attnzoo.scaled_dot_product(query, key, value, out=np.empty((1, 1, 2, 4), np.float32))
    with pytest.raises(TypeError, match="float64"):
        attnzoo.scaled_dot_product(query, key, value, out=np.empty((1, 1, 3, 4)))
    with pytest.raises(TypeError, match="write"):
        attnzoo.scaled_dot_product(query, key, value, out=[[0.0]])
    with pytest.raises(ValueError, match="as many"):
        attnzoo.scaled_dot_product(query, key, value, out=(query, query))
    frozen = np.zeros((1, 1, 3, 4), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        attnzoo.scaled_dot_product(query, key, value, out=frozen)
    assert not frozen.any()


def test_dtype(draw):
    query, key, value = operands(draw, 1, 1, 1, 3, 5, 4, 4)
    assert attnzoo.scaled_dot_product(query, key, value, dtype=np.float16).dtype == np.float16
    half = query.astype(np.float16)
    context, attention, total = attnzoo.scaled_dot_product(half, key, value, return_attention=True,
                                                           return_log_sum_exp=True)
    assert context.dtype == attention.dtype == np.float16 and total.dtype == np.float32
    assert attnzoo.scaled_dot_product(half, key, value, dtype="float32").dtype == np.float32
    with pytest.raises(TypeError, match="float32 or float16"):
        attnzoo.scaled_dot_product(query, key, value, dtype=np.float64)
