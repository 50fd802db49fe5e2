"""Arrays of other libraries by DLPack: what is read, who frees it and how often, what is refused (P71)."""
import gc

import numpy as np
import pytest

import attnzoo
from dlpack_producer import Producer

KINDS = [dict(versioned=True), dict(versioned=False), dict(versioned=False, knows_versions=False)]


def attend(*arrays, **options):
    return attnzoo.scaled_dot_product(*arrays, **options)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_numbers_and_the_deleter(draw, kind):
    plain = draw(2, 3, 4)
    producer = Producer(plain, **kind)
    expected = attend(plain, plain, plain)
    np.testing.assert_array_equal(attend(producer, plain, plain), expected)
    gc.collect()
    assert producer.deleted == 1
    assert producer.asked == [{"max_version": (1, 0)} if kind.get("knows_versions", True) else {}]


def test_one_object_for_two_inputs_is_asked_once(draw):
    producer = Producer(draw(3, 4))
    attend(producer, producer, producer)
    assert len(producer.asked) == producer.deleted == 1


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_strides_and_byte_offset(draw, kind):
    plain = draw(3, 5, 8)
    expected = attend(plain, plain, plain)
    np.testing.assert_array_equal(attend(Producer(plain, compact=True, **kind), plain, plain), expected)
    np.testing.assert_array_equal(attend(Producer(plain, byte_offset=64, **kind), plain, plain), expected)
    strided = draw(5, 8, 3).transpose(2, 0, 1)[:, ::-1]
    np.testing.assert_array_equal(attend(Producer(strided, **kind), strided, strided), attend(strided, strided, strided))


def test_element_types(draw):
    plain = draw(3, 4)
    half = plain.astype(np.float16)
    context = attend(Producer(half), half, half)
    assert context.dtype == np.float16
    np.testing.assert_array_equal(context, attend(half, half, half))
    brain = attnzoo.BFloat16Array.rounded(plain)
    context = attend(Producer(brain.bits, code=4), brain, brain)
    assert context.dtype == np.float32
    np.testing.assert_array_equal(context, attend(brain, brain, brain))
    lengths = Producer(np.array([2], np.int64))
    np.testing.assert_array_equal(attend(plain, plain, plain, key_lengths=lengths),
                                  attend(plain, plain, plain, key_lengths=[2]))
    allowed = np.array([True, False, True])
    np.testing.assert_array_equal(attend(plain, plain, plain, mask=Producer(allowed)),
                                  attend(plain, plain, plain, mask=allowed))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("wrong, error", [
    (dict(device=2), ValueError),
    (dict(device=10), ValueError),
    (dict(lanes=4), TypeError),
    (dict(code=5), TypeError),
])
def test_refused_is_freed_once_by_its_producer(draw, kind, wrong, error):
    plain = draw(3, 4)
    producer = Producer(plain, **kind, **wrong)
    with pytest.raises(error) as caught:
        attend(producer, plain, plain)
    assert isinstance(caught.value, attnzoo.Error)
    if "device" in wrong:
        assert "CPU" in str(caught.value) and producer.asked == []
    else:
        del caught
        gc.collect()
        assert producer.deleted == 1


def test_another_major_version_is_refused(draw):
    plain = draw(3, 4)
    producer = Producer(plain, major=2)
    with pytest.raises(attnzoo.UnsupportedError):
        attend(producer, plain, plain)
    gc.collect()
    assert producer.deleted == 1


def test_a_call_that_fails_later_frees_once(draw):
    producer = Producer(draw(3, 4))
    with pytest.raises(attnzoo.ShapeError):
        attend(producer, draw(3, 5), draw(3, 5))
    gc.collect()
    assert producer.deleted == 1


def test_a_mask_holds_what_it_was_given(draw):
    plain = draw(3, 4)
    producer = Producer(np.array([[0.0, -np.inf, 0.0]], np.float32))
    mask = attnzoo.Mask(bias=producer)
    gc.collect()
    assert producer.deleted == 0
    combined = mask & attnzoo.Mask(causal=True)
    del mask
    gc.collect()
    assert producer.deleted == 0
    np.testing.assert_array_equal(attend(plain, plain, plain, mask=combined),
                                  attend(plain, plain, plain, causal=True, mask=np.array([True, False, True])))
    del combined
    gc.collect()
    assert producer.deleted == 1


def test_an_output(draw):
    plain, out = draw(3, 4), np.zeros((3, 4), np.float32)
    producer = Producer(out)
    assert attend(plain, plain, plain, out=producer) is producer
    np.testing.assert_array_equal(out, attend(plain, plain, plain))
    frozen = Producer(np.zeros((3, 4), np.float32), flags=1)
    with pytest.raises(attnzoo.InvalidArgumentError, match="read-only"):
        attend(plain, plain, plain, out=frozen)
    assert not frozen.array.any()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_empty_arrays_have_no_memory(draw, kind):
    keys, none = draw(3, 4), np.zeros((0, 4), np.float32)
    producers = [Producer(none, **kind) for _ in range(4)]
    for producer in producers:
        producer.managed.tensor.data = None
    assert attend(producers[0], keys, keys).shape == (0, 4)
    np.testing.assert_array_equal(attend(keys, producers[1], producers[2]), np.zeros((3, 4)))
    assert attend(none, keys, keys, out=producers[3]) is producers[3]
    gc.collect()
    assert [producer.deleted for producer in producers] == [1, 1, 1, 1]


def test_a_read_only_input_is_fine(draw):
    plain = draw(3, 4)
    np.testing.assert_array_equal(attend(Producer(plain, flags=1), plain, plain), attend(plain, plain, plain))


def test_no_capsule_and_a_used_one(draw):
    class Liar:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **arguments):
            return "no capsule"

    with pytest.raises(TypeError, match="capsule"):
        attend(Liar(), draw(2, 2), draw(2, 2))
