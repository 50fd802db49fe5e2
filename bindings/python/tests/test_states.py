"""States: caches and alignments, read, written, copied, cut."""
import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import attnzoo
import reference


@pytest.fixture
def layer(weights):
    return attnzoo.MultiHead(2, parameters=weights(query_proj=(8, 8), key_proj=(8, 8), value_proj=(8, 8), out_proj=(8, 8)))


@pytest.fixture
def decoder(weights):
    parameters = weights(query_proj=(6, 4), key_proj=(6, 5), score_proj=(1, 6), location_proj=(6, 2),
                         location_conv=(2, 1, 3))
    return attnzoo.LocationAware(parameters=parameters)


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=0, atol=reference.tolerance(16, 4))


def test_a_prompt_and_then_tokens_are_one_causal_call(layer, draw):
    tokens = draw(2, 9, 8)
    state = layer.state(batch=2, capacity=9)
    assert state.length == 0 and state.capacity == 9 and state.batch == 2 and state
    pieces = [layer(tokens[:, :4], causal=True, state=state)]
    pieces += [layer(tokens[:, i:i + 1], causal=True, state=state) for i in range(4, 9)]
    close(np.concatenate(pieces, 1), layer(tokens, causal=True))
    assert len(state) == 9
    with pytest.raises(attnzoo.InvalidArgumentError):
        layer(tokens[:, :1], state=state)
    assert len(state) == 9


def test_fields_continue_to_the_bit(layer, draw):
    tokens = draw(1, 5, 8)
    state = layer.state(capacity=8)
    layer(tokens[:, :4], causal=True, state=state)
    fields = state.fields()
    assert {name: array.shape for name, array in fields.items()} == {"key": (1, 2, 4, 4), "value": (1, 2, 4, 4)}
    other = attnzoo.State(layer, 1, 6)
    other.set(fields)
    branch = state.copy(capacity=5)
    expected = layer(tokens[:, 4:], causal=True, state=state)
    for continued in (other, branch):
        np.testing.assert_array_equal(layer(tokens[:, 4:], causal=True, state=continued), expected)
    assert state.fields(np.float16)["key"].dtype == np.float16
    with pytest.raises(TypeError):
        state.fields(np.int32)


def test_reset_truncate_copy(layer, draw):
    tokens = draw(1, 4, 8)
    state = layer.state(capacity=4)
    first = layer(tokens, causal=True, state=state)
    state.truncate(2)
    assert state.length == 2
    close(layer(tokens[:, 2:], causal=True, state=state), first[:, 2:])
    twin = copy.copy(state)
    state.reset()
    assert (state.length, twin.length) == (0, 4)
    with pytest.raises(attnzoo.InvalidArgumentError):
        twin.copy(capacity=3)
    with pytest.raises(ValueError):
        state.truncate(-1)
    with pytest.raises(TypeError):
        pickle.dumps(state)
    with pytest.raises(TypeError):
        copy.deepcopy(layer)


def test_set_refuses_what_does_not_fit(layer, draw):
    state = layer.state(capacity=4)
    key = draw(1, 2, 3, 4)
    state.set(key=key, value=key)
    assert state.length == 3
    for fields, error in ((dict(key=key), ValueError), (dict(key=key, value=draw(1, 2, 2, 4)), ValueError),
                          (dict(key=draw(1, 2, 5, 4), value=draw(1, 2, 5, 4)), ValueError),
                          (dict(keys=key), KeyError)):
        with pytest.raises(error):
            state.set(fields)
        assert state.length == 3
    with pytest.raises(ValueError):
        layer.state(batch=-1)


def test_a_state_serves_one_module(layer, decoder, draw):
    with pytest.raises(attnzoo.BadStateError):
        decoder(draw(1, 1, 4), draw(1, 3, 5), state=layer.state(capacity=4))
    with pytest.raises(attnzoo.UnsupportedError):
        attnzoo.ScaledDotProduct().state()
    with pytest.raises(attnzoo.UnsupportedError):
        decoder.state(capacity=3).truncate(0)


def test_a_state_keeps_its_module(weights, draw):
    state = attnzoo.MultiHead(2, parameters=weights(query_proj=(8, 8), key_proj=(8, 8), value_proj=(8, 8))).state(capacity=2)
    state.module(draw(1, 2, 8), state=state)
    assert state.length == 2


def test_steps_of_a_decoder_are_one_call(decoder, draw):
    steps, keys = draw(1, 5, 4), draw(1, 7, 5)
    context, attention = decoder(steps, keys, return_attention=True)
    state = decoder.state(capacity=7)
    pieces = [decoder(steps[:, i:i + 1], keys, state=state, return_attention=True) for i in range(5)]
    np.testing.assert_array_equal(np.concatenate([piece[0] for piece in pieces], 1), context)
    fields = state.fields()
    np.testing.assert_array_equal(fields["alignment"][:, 0], attention[:, -1])
    close(fields["cumulative"][:, 0], attention.sum(1))
    assert state.field_names == ("alignment", "cumulative")
    again = decoder.state(capacity=7)
    again.set(alignment=fields["alignment"])
    close(decoder(steps[:, :1], keys, state=again), decoder(steps[:, :1], keys, state=state))


def test_a_decoder_is_not_fooled_by_memory_that_is_used_again(decoder, draw):
    """The library knows keys that it has projected by where they lie; new keys must never come to lie there."""
    steps, keys = draw(1, 1, 4), draw(1, 700, 5)
    state = decoder.state(capacity=700)
    for number in range(20):
        # Temporary arrays of one size, which NumPy's allocator gives the same memory where it can.
        scaled = keys * np.float32(number + 1)
        alone = decoder.state(capacity=700)
        if number > 0:
            alone.set(state.fields())
        expected = decoder(steps, scaled.copy(), state=alone)
        np.testing.assert_array_equal(decoder(steps, keys * np.float32(number + 1), state=state), expected)
        del scaled


def test_a_copy_is_not_fooled_either(decoder, draw):
    steps, keys = draw(1, 1, 4), draw(1, 700, 5)
    for number in range(20):
        state = decoder.state(capacity=700)
        seen = keys * np.float32(number + 1)
        decoder(steps, seen, state=state)
        branch, alone = state.copy(), decoder.state(capacity=700)
        alone.set(state.fields())
        del state, seen
        others = keys * np.float32(-1 - number)
        np.testing.assert_array_equal(decoder(steps, others, state=branch), decoder(steps, others.copy(), state=alone))


@pytest.mark.parametrize("empty", ["steps", "steps of other keys"])
def test_a_call_without_steps_lets_nothing_go_that_the_library_still_knows(decoder, draw, empty):
    """Such a call does nothing, so that the library goes on knowing the keys of the call before it."""
    steps, keys, values = draw(1, 1, 4), draw(1, 7, 5), draw(1, 7, 5)
    state = decoder.state(capacity=7)
    decoder(steps, keys, values, state=state)
    kept = weakref.ref(keys), weakref.ref(values)
    others = keys if empty == "steps" else draw(1, 7, 5)
    for _ in range(2):
        decoder(steps[:, :0], others, others, state=state)
    branch = state.copy()
    del keys, values, others
    gc.collect()
    assert all(array() is not None for array in kept)
    state.reset()
    assert all(array() is not None for array in kept)
    branch.reset()
    gc.collect()
    assert all(array() is None for array in kept)


def test_a_call_that_fails_lets_nothing_go_either(decoder, draw):
    keys = draw(1, 7, 5)
    state = decoder.state(capacity=7)
    decoder(draw(1, 1, 4), keys, state=state)
    kept = weakref.ref(keys)
    with pytest.raises(attnzoo.Error):
        decoder(draw(1, 1, 4), draw(1, 6, 5), state=state)
    with pytest.raises(attnzoo.DtypeError):
        decoder(draw(1, 1, 4), draw(1, 7, 5), state=state, out=np.zeros((1, 1, 5)))
    del keys
    gc.collect()
    assert kept() is not None
    decoder(draw(1, 1, 4), draw(1, 7, 5), state=state)
    gc.collect()
    assert kept() is None
