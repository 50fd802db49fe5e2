"""`mask & other` and what a call adds to its mask: just what either hides, for every shape, or an error."""
import itertools

import numpy as np
import pytest

import attnzoo
from attnzoo import Mask

SHAPES = [(1, queries, keys) for queries in range(1, 4) for keys in range(1, 5)] + [(2, 3, 4)]


def hidden_by(batch, queries, keys, options):
    """What a mask hides, [B, N, M]; None where its arrays do not fit the call. By what attnzoo/mask.h says."""
    options = {name: np.asarray(value) if isinstance(value, list) else value for name, value in options.items()}
    lengths = {"key_lengths": np.full(batch, keys), "query_lengths": np.full(batch, queries)}
    for name, most in (("key_lengths", keys), ("query_lengths", queries)):
        if name in options:
            if options[name].shape != (batch,) or options[name].max() > most:
                return None
            lengths[name] = options[name]
    offset = np.full(batch, keys - queries)
    if options.get("alignment") == "top-left":
        offset[:] = 0
    elif options.get("alignment") == "lengths":
        offset = lengths["key_lengths"] - lengths["query_lengths"]
    elif "query_offset" in options:
        if np.ndim(options["query_offset"]) and len(options["query_offset"]) != batch:
            return None
        offset = np.broadcast_to(options["query_offset"], batch)
    p = (offset[:, None] + np.arange(queries))[:, :, None]
    j = np.broadcast_to(np.arange(keys), (batch, queries, keys))
    hidden = (j >= lengths["key_lengths"][:, None, None]) | (
        np.arange(queries)[:, None] >= lengths["query_lengths"][:, None, None])
    if options.get("causal"):
        hidden |= j > p
    left, right = options.get("window", (-1, -1))
    hidden |= ((left >= 0) & (j < p - left)) | ((right >= 0) & (j > p + right))
    if "boolean" in options:
        try:
            hidden |= ~np.broadcast_to(options["boolean"], (batch, queries, keys))
        except ValueError:
            return None
    if "segments" in options:
        ids = options["segments"]
        if ids.shape not in ((batch, keys),) + (((keys,),) if batch == 1 else ()):
            return None
        inside = np.arange(queries) < lengths["query_lengths"][:, None]
        if ((p[:, :, 0] < 0) | (p[:, :, 0] >= keys))[inside].any():
            return None
        ids = ids.reshape(batch, keys)
        hidden |= np.take_along_axis(ids, p[:, :, 0].clip(0, keys - 1), 1)[:, :, None] != ids[:, None]
    return hidden


def seen_with(batch, queries, keys, *arguments, **options):
    query, key = np.zeros((batch, 1, queries, 1), np.float32), np.zeros((batch, 1, keys, 1), np.float32)
    return attnzoo.scaled_dot_product(query, key, key, *arguments, return_attention=True, **options)[1][:, 0] > 0


PLACES = [{}, {"alignment": "bottom-right"}, {"alignment": "top-left"}, {"alignment": "lengths"}, {"query_offset": 0},
          {"query_offset": 1}, {"query_offset": [0]}, {"query_offset": [-1]}, {"query_offset": [1, 0]}]
LENGTHS = [{}, {"key_lengths": [1]}, {"key_lengths": [2]}, {"key_lengths": [3]}, {"query_lengths": [1]}, {"key_lengths": [2], "query_lengths": [1]},
           {"key_lengths": [4, 2], "query_lengths": [3, 2]}, {"key_lengths": [3, 2], "query_lengths": [3, 1]}]
CONSTRAINTS = [{}, {"causal": True}, {"window": (1, -1)}, {"window": (0, 1)}, {"window": (-1, -1)},
               {"segments": [0, 0, 1, 1]}, {"segments": [0, 1, 1, 0]}, {"boolean": [[True, False, True, True]]}]
KINDS = [{**place, **lengths, **constraint} for place, lengths, constraint
         in itertools.product(PLACES, LENGTHS, CONSTRAINTS)]


#: Those that say nothing of positions.
SILENT = [kind for kind in KINDS if set(kind) <= {"key_lengths", "query_lengths", "boolean"}]


def pairs(random):
    """Some of all pairs, as many that say the same of positions, and all of lengths among lengths that may be lower."""
    for number in range(3000):
        one = KINDS[random.integers(len(KINDS))]
        alike = [kind for kind in KINDS if all(kind.get(name) == one.get(name) for name in ("alignment", "query_offset"))]
        others = alike if number % 2 else KINDS
        yield one, others[random.integers(len(others))]
    yield from itertools.product([kind for kind in KINDS if kind.get("alignment") == "lengths"], SILENT)


def test_and_hides_just_what_either_hides(random):
    joined_count = compared = refused = 0
    for one, other in pairs(random):
        try:
            joined = Mask(**one) & Mask(**other)
        except (attnzoo.InvalidArgumentError, attnzoo.ShapeError):
            refused += 1
            continue
        joined_count += 1
        for shape in SHAPES:
            hidden = [hidden_by(*shape, options) for options in (one, other)]
            if any(each is None for each in hidden):
                continue
            compared += 1
            np.testing.assert_array_equal(seen_with(*shape, mask=joined), ~(hidden[0] | hidden[1]), f"{one} & {other}")
    assert joined_count > 1000 and compared > 2000 and refused > 100


def test_the_expectation_itself(random):
    """Of single masks the library and the expectation agree, also on which do not fit the call."""
    for number in random.choice(len(KINDS), 400, replace=False):
        for shape in SHAPES:
            hidden = hidden_by(*shape, KINDS[number])
            if hidden is None:
                with pytest.raises(attnzoo.Error):
                    seen_with(*shape, mask=Mask(**KINDS[number]))
            else:
                np.testing.assert_array_equal(seen_with(*shape, mask=Mask(**KINDS[number])), ~hidden, str(KINDS[number]))


@pytest.mark.parametrize("call", [{"key_lengths": [2]}, {"causal": True}, {"key_lengths": [2], "causal": True}])
def test_what_a_call_adds_is_a_mask_of_its_own(call):
    refused = 0
    for own in KINDS:
        for shape in SHAPES:
            hidden = [hidden_by(*shape, options) for options in (own, call)]
            if any(each is None for each in hidden):
                continue
            try:
                seen = seen_with(*shape, mask=Mask(**own), **call)
            except attnzoo.InvalidArgumentError:
                refused += 1
                continue
            np.testing.assert_array_equal(seen, ~(hidden[0] | hidden[1]), f"{own} and {call}")
    assert refused > 0


@pytest.mark.parametrize("one, other, words", [
    ({"causal": True}, {"window": (1, 0), "alignment": "top-left"}, "positions of queries"),
    ({"causal": True}, {"alignment": "top-left"}, "positions of queries"),
    ({"segments": [0, 1]}, {"causal": True, "query_offset": 1}, "query_offset=1"),
    ({"causal": True, "alignment": "lengths", "key_lengths": [6]}, {"key_lengths": [3]}, "its own lengths"),
    ({"causal": True, "alignment": "lengths"}, {"key_lengths": [3]}, "its own lengths"),
])
def test_what_one_mask_cannot_say(one, other, words):
    for left, right in ((one, other), (other, one)):
        with pytest.raises(attnzoo.InvalidArgumentError, match=words):
            Mask(**left) & Mask(**right)


@pytest.mark.parametrize("name, one, other", [
    ("key_lengths", [1], [1, 2]), ("boolean", np.ones((2, 3), bool), np.ones((2, 4), bool)), ("segments", [0, 1], [0, 1, 2]),
    ("bias", np.ones((2, 3)), np.ones((2, 4))), ("linear_bias", [1.0], [1.0, 2.0])])
def test_arrays_that_do_not_fit_each_other(name, one, other):
    with pytest.raises(attnzoo.ShapeError, match=name):
        Mask(**{name: one}) & Mask(**{name: other})


def test_positions_that_are_said_in_other_words():
    assert repr(Mask(causal=True, alignment="top-left") & Mask(window=(1, 1), query_offset=0)) == (
        "Mask(causal=True, window=(1, 1), alignment='top-left')")
    assert repr(Mask(boolean=[[True]], alignment="top-left") & Mask(key_lengths=[1])) == (
        "Mask(alignment='top-left', key_lengths=int64[1], boolean=bool[1, 1])")


def test_lengths_stay_where_they_are_read():
    """Nothing is joined with them, so that the mask goes on reading them in each call."""
    lengths = np.array([2])
    joined = Mask(causal=True, alignment="lengths", key_lengths=lengths) & Mask(boolean=[[True]])
    lengths[0] = 3
    np.testing.assert_array_equal(seen_with(1, 1, 4, mask=joined), [[[True, True, True, False]]])
    offset = np.array([0])
    joined = Mask(causal=True, query_offset=offset) & Mask(window=(1, -1), query_offset=offset.copy())
    offset[0] = 3
    np.testing.assert_array_equal(seen_with(1, 1, 4, mask=joined), [[[True, False, False, False]]])
