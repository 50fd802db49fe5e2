"""Masks: every kind against what the contract says of each pair, their combination, and PyTorch's polarity."""
import gc

import numpy as np
import pytest

import attnzoo
import reference
from attnzoo import Mask

B, H, N, M, D = 2, 2, 4, 6, 5


@pytest.fixture
def inputs(draw):
    return draw(B, H, N, D), draw(B, H, M, D), draw(B, H, M, D)


def attention_of(inputs, mask):
    return attnzoo.scaled_dot_product(*inputs, mask=mask, return_attention=True)[1]


def assert_sees(inputs, mask, seen):
    """Weights are 0 just where nothing may be seen, and right elsewhere."""
    attention = attention_of(inputs, mask)
    np.testing.assert_array_equal(attention != 0, seen)
    _, expected = reference.scaled_dot_product(*inputs, seen)
    np.testing.assert_allclose(attention, expected, rtol=0, atol=reference.tolerance(M, 1))


@pytest.mark.parametrize("options, offset", [
    (dict(causal=True), M - N),
    (dict(causal=True, alignment="top-left"), 0),
    (dict(causal=True, alignment="bottom-right"), M - N),
    (dict(causal=True, alignment="lengths", key_lengths=[6, 3], query_lengths=[4, 2]), [2, 1]),
    (dict(causal=True, query_offset=-1), -1),
    (dict(causal=True, query_offset=[-2, 3]), [-2, 3]),
    (dict(window=(0, 0)), M - N),
    (dict(window=(1, None)), M - N),
    (dict(window=(None, 0), query_offset=np.int32(1)), 1),
    (dict(segments=[[0, 0, 1, 1, 2, 2], [5, 5, 5, 5, 5, 7]]), M - N),
    (dict(query_lengths=np.array([0, 3], np.uint8)), M - N),
    (dict(key_lengths=np.array([2, 6], ">i4")), M - N),
], ids=str)
def test_constraints(inputs, options, offset):
    plain = {name: value for name, value in options.items() if name not in ("alignment", "query_offset")}
    if "window" in plain:
        plain["window"] = [-1 if side is None else side for side in plain["window"]]
    assert_sees(inputs, Mask(**options), reference.visible(B, H, N, M, offset=offset, **plain))


@pytest.mark.parametrize("shape", [(N, M), (B, 1, N, M), (1, H, 1, M), (B, 1, 1, M), (N, 1), (H, N, M), (M,)])
def test_boolean_broadcasts_from_the_right(inputs, random, shape):
    allowed = random.random(shape) < 0.6
    assert_sees(inputs, Mask(boolean=allowed), reference.visible(B, H, N, M, boolean=allowed))


def test_boolean_that_does_not_fit(inputs):
    with pytest.raises(attnzoo.ShapeError):
        attention_of(inputs, Mask(boolean=np.ones((B, M), bool)))
    with pytest.raises(attnzoo.ShapeError):
        Mask(boolean=np.ones((1, 1, 1, 1, 1), bool))


def test_biases(inputs, draw):
    bias, slopes = draw(H, N, M), np.array([0.5, 0.25])
    distance = np.abs(np.arange(N)[:, None] + M - N - np.arange(M))
    expected, _ = reference.scaled_dot_product(*inputs, bias=bias - slopes[:, None, None] * distance)
    context = attnzoo.scaled_dot_product(*inputs, mask=Mask(bias=bias, linear_bias=slopes))
    np.testing.assert_allclose(context, expected, rtol=0, atol=reference.tolerance(M, 4))


def test_a_mask_reads_its_arrays_in_each_call(inputs):
    allowed = np.ones((N, M), bool)
    mask = Mask(boolean=allowed)
    assert (attention_of(inputs, mask) != 0).all()
    allowed[:, 2:] = False
    assert_sees(inputs, mask, reference.visible(B, H, N, M, boolean=allowed))


def test_a_mask_keeps_its_arrays_alive(inputs):
    masks = [Mask(boolean=np.eye(N, M, dtype=bool), key_lengths=np.array([M, M]), bias=np.zeros((N, M), np.float32))
             for _ in range(50)]
    gc.collect()
    # Memory that was let go would be taken by these.
    noise = [np.zeros((N, M), np.uint8) for _ in range(200)]
    for mask in masks:
        assert_sees(inputs, mask, reference.visible(B, H, N, M, boolean=np.eye(N, M, dtype=bool)))
    del noise


def test_and_hides_what_either_hides(inputs, random):
    one, other = random.random((N, M)) < 0.7, random.random((B, 1, 1, M)) < 0.7
    both = (Mask(boolean=one, key_lengths=[6, 4], window=(3, -1), query_lengths=[4, 4]) &
            Mask(boolean=other, key_lengths=[5, 6], window=(-1, 0), query_lengths=[3, 4], causal=True))
    seen = reference.visible(B, H, N, M, causal=True, window=(3, 0), key_lengths=[5, 4], query_lengths=[3, 4])
    assert_sees(inputs, both, seen & one & other)


def test_and_takes_the_narrower_window(inputs):
    both = Mask(window=(3, 1)) & Mask(window=(1, 2))
    assert_sees(inputs, both, reference.visible(B, H, N, M, window=(1, 1)))
    assert_sees(inputs, Mask(window=(-1, -1)) & Mask(window=(2, -1)), reference.visible(B, H, N, M, window=(2, -1)))


def test_and_adds_biases(inputs, draw):
    one, other = draw(N, M), attnzoo.BFloat16Array.rounded(draw(1, H, 1, M))
    expected = attnzoo.scaled_dot_product(*inputs, bias=one + np.asarray(other))
    context = attnzoo.scaled_dot_product(*inputs, mask=Mask(bias=one) & Mask(bias=other))
    np.testing.assert_array_equal(context, expected)
    slopes = Mask(linear_bias=[1.0, 2.0]) & Mask(linear_bias=[0.5, 0.5])
    np.testing.assert_array_equal(attention_of(inputs, slopes), attention_of(inputs, Mask(linear_bias=[1.5, 2.5])))


def test_two_lowest_biases_hide_less_than_infinity(inputs):
    """P06: their sum must not overflow to -infinity, which would make zeros of rows that should be uniform."""
    lowest = Mask(bias=np.full((N, M), np.finfo(np.float32).min))
    np.testing.assert_allclose(attention_of(inputs, lowest & lowest), 1 / M, rtol=1e-6)


def test_masks_that_contradict_each_other():
    with pytest.raises(ValueError, match="alignment"):
        Mask(alignment="top-left") & Mask(alignment="lengths")
    with pytest.raises(ValueError, match="query_offset"):
        Mask(alignment="top-left", query_offset=1)
    with pytest.raises(ValueError, match="query_offset"):
        Mask(alignment="top-left") & Mask(query_offset=1)
    with pytest.raises(TypeError):
        Mask() & None


@pytest.mark.parametrize("options, error", [
    (dict(window=(1,)), ValueError),
    (dict(window="11"), ValueError),
    (dict(window=3), ValueError),
    (dict(window=(-2, 0)), ValueError),
    (dict(alignment="left"), KeyError),
    (dict(key_lengths=[1.5]), TypeError),
    (dict(key_lengths=[[1, 2]]), ValueError),
    (dict(key_lengths=[True]), TypeError),
    (dict(key_lengths=np.array([2**63], np.uint64)), TypeError),
    (dict(boolean=np.zeros((N, M), np.float32)), TypeError),
    (dict(bias=np.zeros((N, M), bool)), TypeError),
    (dict(query_offset=1.5), ValueError),
    (dict(query_offset=True), ValueError),
    (dict(query_offset=[1.5]), TypeError),
    (dict(segments=np.zeros((1, 1, M), int)), ValueError),
], ids=str)
def test_what_is_no_mask(options, error):
    with pytest.raises(error):
        Mask(**options)


@pytest.mark.parametrize("options, words", [
    (dict(key_lengths=3), r"key_lengths has no axes, must be \[B\]"),
    (dict(key_lengths=[[1, 2]]), r"key_lengths has the shape \[1, 2\], must be \[B\]"),
    (dict(query_lengths=np.int64(3)), r"query_lengths has no axes, must be \[B\]"),
    (dict(boolean=True), r"boolean has no axes, must broadcast to \[B, H, N, M\]"),
    (dict(bias=np.zeros((1,) * 5)), r"bias has the shape \[1, 1, 1, 1, 1\], must broadcast"),
    (dict(linear_bias=0.5), r"linear_bias has no axes, must be \[H\]"),
    (dict(segments=1), r"segments has no axes, must be \[B, M\]"),
    (dict(query_offset=[[1]]), r"query_offset has the shape \[1, 1\], must be a number"),
], ids=str)
def test_axes_that_are_refused_by_name(options, words):
    with pytest.raises(attnzoo.ShapeError, match=words):
        Mask(**options)


def test_what_a_mask_for_a_batch_needs(draw):
    """Where an axis is left out of the query it is the batch, which newcomers take the first axis for."""
    tokens = draw(2, 5, 8)
    for options in (dict(key_lengths=[5, 3]), dict(mask=np.ones((2, 1, 1, 5), bool))):
        with pytest.raises(attnzoo.ShapeError, match=r"; the query's 3 axes are \[H, N, D\], with \[B\] = \[1\]$"):
            attnzoo.scaled_dot_product(tokens, tokens, tokens, **options)
        attnzoo.scaled_dot_product(tokens[:, None], tokens[:, None], tokens[:, None], **options)
    with pytest.raises(attnzoo.ShapeError, match=r"\[B, 1, 1, M\]$"):
        attnzoo.scaled_dot_product(draw(2, 4, 5, 8), draw(2, 4, 5, 8), draw(2, 4, 5, 8), mask=np.ones((2, 5), bool))
    # Of a shape that does not fit the query itself no more is said.
    with pytest.raises(attnzoo.ShapeError) as caught:
        attnzoo.scaled_dot_product(tokens, draw(2, 5, 7), tokens, key_lengths=[5])
    assert "axes are" not in str(caught.value)


@pytest.mark.parametrize("options", [dict(key_lengths=[1, 7]), dict(key_lengths=[-1, 1]), dict(key_lengths=[1]),
                                     dict(query_lengths=[9, 0])], ids=str)
def test_lengths_that_do_not_fit_the_call(inputs, options):
    with pytest.raises(ValueError):
        attention_of(inputs, Mask(**options))


def test_options_of_the_call_join_the_mask(inputs):
    context = attnzoo.scaled_dot_product(*inputs, mask=Mask(window=(1, -1)), causal=True, key_lengths=[6, 4])
    expected = attnzoo.scaled_dot_product(*inputs, mask=Mask(window=(1, 0), key_lengths=[6, 4]))
    np.testing.assert_allclose(context, expected, rtol=0, atol=1e-6)


def test_from_torch_inverts(inputs):
    padding = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0]], bool)
    later = np.triu(np.ones((N, M), bool), M - N + 1)
    assert_sees(inputs, Mask.from_torch(padding, later),
                reference.visible(B, H, N, M, causal=True, key_lengths=[4, 6]))
    bias = np.where(later, -np.inf, 0)
    assert_sees(inputs, Mask.from_torch(attn_mask=bias), reference.visible(B, H, N, M, causal=True))
    many = np.stack([later, ~later] * B)
    assert_sees(inputs, Mask.from_torch(attn_mask=many, num_heads=H), ~many.reshape(B, H, N, M))
    with pytest.raises(ValueError, match="num_heads"):
        Mask.from_torch(attn_mask=many)
    with pytest.raises(ValueError, match="bool or floating"):
        Mask.from_torch(padding.astype(np.uint8))


def test_repr():
    mask = Mask(causal=True, window=(2, None), boolean=np.ones((3, 4), bool), alignment="top-left")
    assert repr(mask) == "Mask(causal=True, window=(2, -1), alignment='top-left', boolean=bool[3, 4])"
