"""What is taken for an array: element types, strides, alignment, byte order, and what is refused."""
import array
import gc
import weakref

import numpy as np
import pytest

import attnzoo


def attend(query, key, value, **options):
    return attnzoo.scaled_dot_product(query, key, value, **options)


@pytest.fixture
def inputs(draw):
    return draw(1, 2, 6, 4), draw(1, 2, 8, 4), draw(1, 2, 8, 4)


def variants(plain):
    """The same numbers in memory of many kinds, none of them compact."""
    reversed_copy = plain[..., ::-1, ::-1].copy()
    wide = np.zeros((*plain.shape[:-1], 3 * plain.shape[-1]), plain.dtype)
    wide[..., 1::3] = plain
    frozen = plain.copy()
    frozen.flags.writeable = False
    return {
        "reversed": reversed_copy[..., ::-1, ::-1],
        "every third": wide[..., 1::3],
        "transposed": plain.transpose(0, 2, 1, 3).copy().transpose(0, 2, 1, 3),
        "column-major": np.asfortranarray(plain),
        "read-only": frozen,
    }


@pytest.mark.parametrize("kind", ["reversed", "every third", "transposed", "column-major", "read-only"])
def test_strides(inputs, kind):
    query, key, value = inputs
    expected = attend(query, key, value)
    views = [variants(plain)[kind] for plain in inputs]
    # Other strides may be summed in another order.
    np.testing.assert_allclose(attend(*views), expected, rtol=0, atol=1e-5)


def test_repeated_axes(draw):
    query, key = draw(1, 2, 3, 4), draw(1, 2, 5, 4)
    row = np.broadcast_to(draw(1, 1, 1, 4), (1, 2, 5, 4))
    np.testing.assert_allclose(attend(query, key, row), np.broadcast_to(row[:, :, :1], (1, 2, 3, 4)), rtol=0, atol=1e-6)


def test_nothing_is_copied(draw, monkeypatch):
    """The library sees the very memory of float32 and float16 arrays, whatever their strides."""
    import attnzoo._views as views
    shown = []
    show = views.View.show
    monkeypatch.setattr(views.View, "show", lambda self, operand, writable=False: (
        shown.append(operand.array.ctypes.data), show(self, operand, writable))[1])
    for kind in (np.float32, np.float16):
        base = draw(1, 2, 8, 8).astype(kind)
        strided = base[:, :, ::2, ::-2]
        shown.clear()
        attend(base, base, strided[..., :1, :].repeat(8, 2))
        assert shown[0] == base.ctypes.data
        shown.clear()
        attend(strided, strided, strided)
        assert shown[0] == strided.ctypes.data and len(shown) == 2


def test_16_bits(inputs):
    half = [plain.astype(np.float16) for plain in inputs]
    wide = [plain.astype(np.float32) for plain in half]
    np.testing.assert_allclose(attend(*half, dtype=np.float32), attend(*wide), rtol=0, atol=1e-5)


def test_bfloat16(inputs):
    brain = [attnzoo.BFloat16Array.rounded(plain) for plain in inputs]
    wide = [np.asarray(plain) for plain in brain]
    assert all(np.abs(rounded - plain).max() <= 2.0**-8 * np.abs(plain).max() for rounded, plain in zip(wide, inputs))
    context = attend(*brain)
    assert context.dtype == np.float32
    np.testing.assert_allclose(context, attend(*wide), rtol=0, atol=1e-5)
    out = attnzoo.BFloat16Array(np.zeros((1, 2, 6, 4), np.uint16))
    assert attend(*brain, out=out) is out
    np.testing.assert_array_equal(out.bits, attnzoo.BFloat16Array.rounded(context).bits)


def test_bfloat16_rounding():
    values = np.array([1.0, 1 + 2.0**-8, 1 + 3 * 2.0**-8, -np.inf, np.finfo(np.float32).max, np.nan], np.float32)
    bits = attnzoo.BFloat16Array.rounded(values).bits
    assert bits[:5].tolist() == [0x3F80, 0x3F80, 0x3F82, 0xFF80, 0x7F80]
    assert np.isnan(np.asarray(attnzoo.BFloat16Array(bits))[5])
    with pytest.raises(TypeError, match="uint16"):
        attnzoo.BFloat16Array(values)


def test_bfloat16_of_ml_dtypes(inputs):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    brain = [plain.astype(ml_dtypes.bfloat16) for plain in inputs]
    context = attend(*brain)
    assert context.dtype == ml_dtypes.bfloat16
    expected = attend(*[attnzoo.BFloat16Array(plain.view(np.uint16)) for plain in brain])
    np.testing.assert_array_equal(context.view(np.uint16), attnzoo.BFloat16Array.rounded(expected).bits)


def test_bfloat16_without_axes():
    one = attnzoo.BFloat16Array(np.array(0x3F80, np.uint16))
    assert isinstance(one.__array__(), np.ndarray) and np.asarray(one).shape == () and np.asarray(one) == 1
    assert repr(attnzoo.BFloat16Array.rounded([1.5, 2])[0]) == "BFloat16Array(array(1.5, dtype=float32))"
    assert attnzoo.BFloat16Array.rounded(-2.0).bits == 0xC000


@pytest.mark.parametrize("use", [
    lambda masked: attend(masked, *[np.zeros((2, 2), np.float32)] * 2),
    lambda masked: attend(list(masked), *[np.zeros((2, 2), np.float32)] * 2),
    lambda masked: attend([(row, [0, 0]) for row in masked], *[np.zeros((2, 2, 2), np.float32)] * 2),
    lambda masked: attend([[0.0, masked[0, 0]]], *[np.zeros((2, 2), np.float32)] * 2),
    lambda masked: attnzoo.Mask(boolean=list(masked.astype(bool))),
    lambda masked: attnzoo.Mask(key_lengths=masked[0].astype(int)),
    lambda masked: attnzoo.Mask.from_torch(masked),
    lambda masked: attnzoo.Mask.from_torch(attn_mask=masked.astype(bool)),
    lambda masked: attnzoo.BFloat16Array.rounded(masked),
    lambda masked: attnzoo.BFloat16Array.rounded([masked[0]]),
    lambda masked: attnzoo.BFloat16Array(masked.astype(np.uint16)),
    lambda masked: attnzoo.Additive().set_parameter("score_proj.weight", masked),
])
def test_masked_arrays_are_refused_wherever_they_are(use):
    masked = np.ma.masked_array(np.zeros((2, 2), np.float32), np.eye(2))
    with pytest.raises(attnzoo.DtypeError, match="masked"):
        use(masked)


@pytest.mark.parametrize("use", [lambda masked: attnzoo.Mask(query_offset=masked), lambda masked: attnzoo.Executor(masked),
                                 lambda masked: attnzoo.MultiHead(scale=masked)])
def test_masked_numbers_are_refused(use):
    for masked in (np.ma.masked_array(3, True), np.ma.masked_array(3, False), np.ma.masked):
        with pytest.raises(attnzoo.InvalidArgumentError):
            use(masked)


@pytest.mark.parametrize("convert", [
    lambda plain: plain.astype(np.float64), lambda plain: plain.astype(">f4"), lambda plain: plain.tolist(),
    lambda plain: plain.astype(np.longdouble), lambda plain: memoryview(plain),
    lambda plain: misaligned(plain),
])
def test_other_real_numbers_are_taken_as_float32(inputs, convert):
    expected = attend(*inputs)
    context = attend(*[convert(plain) for plain in inputs])
    assert context.dtype == np.float32
    np.testing.assert_array_equal(context, expected)


def misaligned(plain):
    raw = np.zeros(plain.nbytes + 1, np.uint8)[1:]
    view = raw.view(plain.dtype).reshape(plain.shape)
    view[...] = plain
    assert not view.flags.aligned
    return view


def test_whole_numbers_and_buffers():
    numbers = array.array("f", [1, 2, 3, 4])
    rows = memoryview(numbers).cast("B").cast("f", [2, 2])
    expected = attend(*[np.array([[1, 2], [3, 4]], np.float32)] * 3)
    np.testing.assert_array_equal(attend(rows, rows, rows), expected)
    whole = np.array([[1, 2], [3, 4]])
    np.testing.assert_array_equal(attend(whole, whole.astype(np.uint8), whole), expected)


def test_half_in_other_byte_order(inputs):
    half = [plain.astype(np.float16) for plain in inputs]
    context = attend(*[plain.astype(">f2") for plain in half])
    np.testing.assert_array_equal(context.astype(np.float32), attend(*half).astype(np.float32))
    assert context.dtype == np.float16


@pytest.mark.parametrize("wrong", [
    np.zeros((2, 2), complex), np.zeros((2, 2), bool), np.zeros((2, 2), object), np.array([["a", "b"]]),
    np.zeros((2, 2), "datetime64[s]"), [["a", "b"]], None, "text", object(),
    np.ma.masked_array(np.zeros((2, 2), np.float32), np.eye(2)),
    np.zeros((2, 2), [("x", np.float32)]),
])
def test_what_is_no_real_number_is_refused(wrong):
    right = np.zeros((2, 2), np.float32)
    with pytest.raises(TypeError, match="query"):
        attend(wrong, right, right)


def test_ragged_lists_are_refused():
    right = np.zeros((2, 2), np.float32)
    with pytest.raises((ValueError, TypeError)):
        attend([[1.0], [1.0, 2.0]], right, right)


def test_numbers_beyond_float32_are_infinite():
    """With no warning (which the tests take for an error), as in the library's own arithmetic."""
    big = np.array([[1e300, -1e300]])
    assert attend([[0.0]], [[0.0]], big).tolist() == [[np.inf, -np.inf]]
    assert attend([[0.0]], [[0.0]], big.astype(np.longdouble)).tolist() == [[np.inf, -np.inf]]
    assert attnzoo.BFloat16Array.rounded(big).bits.tolist() == [[0x7F80, 0xFF80]]
    slopes = attnzoo.Mask(linear_bias=np.array([3e38], np.float32))
    assert attend([[0.0]], [[0.0]], [[1.0]], mask=slopes & slopes).tolist() == [[1.0]]


def test_float64_beyond_float32_hides_less_than_infinity():
    """The lowest float64, a common "hidden" in float64 code, must not become -infinity, which NaN-free rows rely on."""
    query, key, value = np.ones((1, 2), np.float32), np.ones((3, 2), np.float32), np.eye(3, dtype=np.float32)
    context = attend(query, key, value, bias=np.full((1, 3), np.finfo(np.float64).min))
    np.testing.assert_allclose(context, 1 / 3, rtol=1e-6)
    hidden = attend(query, key, value, bias=np.array([[-np.inf, 0.0, 0.0]]))
    assert hidden[0, 0] == 0


def test_nine_axes_and_none():
    with pytest.raises(ValueError):
        attend(np.zeros((1,) * 9, np.float32), np.zeros((1, 1), np.float32), np.zeros((1, 1), np.float32))
    with pytest.raises(ValueError):
        attend(np.float32(1.0), np.zeros((1, 1), np.float32), np.zeros((1, 1), np.float32))


def test_inputs_are_let_go_after_an_error(draw):
    """At once, by their counts of references: an error that is kept with its own frame would be a cycle."""
    query, key = draw(2, 2), draw(2, 3)
    watched = weakref.ref(query)
    gc.disable()
    try:
        try:
            attend(query, key, key, out=np.zeros((2, 3), np.float32))
        except attnzoo.ShapeError:
            pass
        del query
        assert watched() is None
    finally:
        gc.enable()


def test_inputs_are_let_go_after_the_call(draw):
    class Array(np.ndarray):
        """One that can be watched."""

    query = draw(2, 2).view(Array)
    watched = weakref.ref(query)
    attend(query, query, query)
    del query
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize("name, use", [
    ("query", lambda ragged: attnzoo.scaled_dot_product(ragged, [[1.0]], [[1.0]])),
    ("value", lambda ragged: attnzoo.scaled_dot_product([[1.0]], [[1.0]], ragged)),
    ("query_proj.weight", lambda ragged: attnzoo.MultiHead(parameters={"query_proj.weight": ragged})),
    ("boolean", lambda ragged: attnzoo.Mask(boolean=ragged)),
    ("key_lengths", lambda ragged: attnzoo.Mask(key_lengths=ragged)),
    ("query_offset", lambda ragged: attnzoo.Mask(query_offset=ragged)),
    ("attn_mask", lambda ragged: attnzoo.Mask.from_torch(attn_mask=ragged)),
])
def test_lists_of_different_lengths_are_named(name, use):
    if np.lib.NumpyVersion(np.__version__) < "1.24.0":
        pytest.skip("NumPy before 1.24 makes an array of objects of such lists")
    with pytest.raises(attnzoo.ShapeError, match=f"^{name} makes no array: .*inhomogeneous"):
        use([[1, 2], [3]])
