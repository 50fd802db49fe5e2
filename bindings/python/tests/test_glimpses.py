"""Glimpses against plain loops: letters, rows of a table, tiles as views and copies, and tiles put back."""
import gc
import weakref

import numpy as np
import pytest

import attnzoo
from dlpack_producer import Producer

TYPES = [np.float32, np.float16]


def letters_by_loops(text, alphabet, other, columns):
    rows = []
    for letter in text:
        index = alphabet.index(letter) if letter in alphabet else other
        rows.append([1.0 if column == index else 0.0 for column in range(columns)])
    return np.array(rows).reshape(len(text), columns)


def starts(size, tile, step, edge):
    """Where the tiles along an axis start."""
    found, start = [], 0
    while start + tile <= size:
        found.append(start)
        start += step
    if edge == "pad" and size > 0:
        # One more at a time, until the last element is in one or the next would begin beyond it.
        while (not found or found[-1] + tile < size) and start < size:
            found.append(start)
            start += step
    return found


def corners(sizes, tile, step, edge):
    """The first element of each tile, row-major."""
    places = [()]
    for each in zip(sizes, tile, step):
        places = [place + (start,) for place in places for start in starts(*each, edge)]
    return places


def tiles_by_loops(array, tile, step, edge="drop", padding=0.0):
    """[B, N, E] of an array [B, axes, C]."""
    sizes, result = array.shape[1:-1], []
    for batch in array:
        glimpses = []
        for corner in corners(sizes, tile, step, edge):
            elements = []
            for inside in np.ndindex(*tile):
                place = tuple(np.add(corner, inside))
                is_there = all(at < size for at, size in zip(place, sizes))
                elements.extend(batch[place] if is_there else [padding] * array.shape[-1])
            glimpses.append(elements)
        result.append(glimpses)
    count, size = len(corners(sizes, tile, step, edge)), int(np.prod(tile)) * array.shape[-1]
    return np.array(result, dtype=np.float64).reshape(array.shape[0], count, size)


def untiled_by_loops(glimpses, shape, tile, step, edge="drop"):
    """[B, axes, C] of glimpses [B, N, E]."""
    sums, counts = np.zeros(shape), np.zeros(shape)
    for batch in range(shape[0]):
        for glimpse, corner in zip(glimpses[batch], corners(shape[1:-1], tile, step, edge)):
            elements = iter(glimpse.reshape(int(np.prod(tile)), shape[-1]))
            for inside in np.ndindex(*tile):
                place, values = tuple(np.add(corner, inside)), next(elements)
                if all(at < size for at, size in zip(place, shape[1:-1])):
                    sums[(batch, *place)] += values
                    counts[(batch, *place)] += 1
    return np.where(counts > 0, sums / np.maximum(counts, 1), 0)


def is_read_only(view):
    with pytest.raises(ValueError, match="read-only"):
        view[...] = 0
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True
    return not view.flags.writeable


class TestLetters:
    @pytest.mark.parametrize("text", ["", "zoo", "z\0ö𝄞z\n", "o" * 300])
    @pytest.mark.parametrize("alphabet", ["zo\0ö𝄞\n", "𝄞\nö\0oz"])
    @pytest.mark.parametrize("dtype", TYPES)
    def test_every_letter(self, text, alphabet, dtype):
        rows = attnzoo.glimpse_letters(text, alphabet, dtype=dtype)
        assert rows.dtype == dtype
        np.testing.assert_array_equal(rows, letters_by_loops(text, alphabet, None, len(alphabet)))
        indices = attnzoo.glimpse_letter_indices(text, alphabet)
        assert indices.dtype == np.int64 and indices.tolist() == [alphabet.index(letter) for letter in text]

    def test_other_letters(self):
        text, alphabet = "a?é!", "éa"
        for other, index in (("zero", -1), (0, 0), (1, 1), (2, 2), (np.int64(4), 4)):
            expected = letters_by_loops(text, alphabet, index, max(2, index + 1))
            np.testing.assert_array_equal(attnzoo.glimpse_letters(text, alphabet, other=other), expected)
            assert attnzoo.glimpse_letter_indices(text, alphabet, other=other).tolist() == [1, index, 0, index]
        np.testing.assert_array_equal(attnzoo.glimpse_letters(text, "", other="zero"), np.zeros((4, 0)))

    def test_the_size_may_be_larger(self):
        np.testing.assert_array_equal(attnzoo.glimpse_letters("ba", "ab", size=5), letters_by_loops("ba", "ab", None, 5))

    def test_into_an_array(self):
        memory = np.full((3, 8), np.nan, np.float16)
        out = memory[:, ::-2]
        assert attnzoo.glimpse_letters("zoo", "oz", out=out) is out
        np.testing.assert_array_equal(out, letters_by_loops("zoo", "oz", None, 4))
        assert np.isnan(memory[:, ::2]).all()

    def test_errors(self):
        def raises(error, message, *arguments, **options):
            with pytest.raises(error, match=message):
                attnzoo.glimpse_letters(*arguments, **options)
        raises(attnzoo.InvalidArgumentError, r"U\+00E9 at byte 2", "zoé", "zo")
        raises(attnzoo.InvalidArgumentError, r"U\+006F twice, as letter 0 and as letter 2", "zoo", "ozo")
        raises(attnzoo.InvalidArgumentError, "other is -1, must be at least 0", "zoo", "oz", other=-1)
        raises(attnzoo.InvalidArgumentError, "other is True", "zoo", "oz", other=True)
        raises(attnzoo.InvalidArgumentError, "no Unicode text", "\ud800", "oz")
        raises(attnzoo.InvalidArgumentError, "no Unicode text", "oz", "\udfff")
        raises(attnzoo.InvalidArgumentError, "size is -1", "zoo", "oz", size=-1)
        raises(attnzoo.UnknownNameError, "there are zero, refuse", "zoo", "oz", other="zeros")
        raises(attnzoo.ShapeError, r"\[3, 1\], must have \[3, 2 or more\]", "zoo", "oz", size=1)
        raises(attnzoo.ShapeError, r"too few columns for other, which is 2", "zoo", "oz", other=2, size=2)
        raises(attnzoo.ShapeError, r"\[2, 2\], must have \[3, 2 or more\]", "zoo", "oz", out=np.zeros((2, 2), np.float32))
        raises(attnzoo.ShapeError, r"\[3, 2\], but size is 3", "zoo", "oz", size=3, out=np.zeros((3, 2), np.float32))
        raises(attnzoo.DtypeError, "float64", "zoo", "oz", dtype=np.float64)
        raises(TypeError, "must be a text, not bytes", b"zoo", "oz")
        raises(TypeError, "did you mean other", "zoo", "oz", others=0)
        with pytest.raises(attnzoo.InvalidArgumentError, match=r"U\+007A at byte 0"):
            attnzoo.glimpse_letter_indices("zoo", "o")


class TestEmbedding:
    @pytest.mark.parametrize("shape", [(7,), (1,), (0,), (2, 3), (3, 1), (2, 0), (0, 4)])
    @pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
    def test_rows_are_gathered(self, draw, random, shape, kind):
        table = draw(5, 12)[::-1, ::3]
        indices = random.integers(0, 5, (*shape[:-1], 2 * shape[-1])).astype(kind)[..., ::2]
        for dtype in (None, np.float16):
            rows = attnzoo.glimpse_embedding(indices, table, dtype=dtype)
            assert rows.shape == (*shape, 4) and rows.dtype == (dtype or np.float32)
            for place in np.ndindex(*shape):
                np.testing.assert_array_equal(rows[place], table[indices[place]].astype(rows.dtype))

    def test_no_letter_is_zeros(self, draw):
        table = draw(2, 3)
        np.testing.assert_array_equal(attnzoo.glimpse_embedding([1, -1], table), [table[1], np.zeros(3)])

    def test_it_is_the_product_with_the_letters(self, draw):
        table = draw(4, 6)
        indices = attnzoo.glimpse_letter_indices("zoo!", "oz.", other=3)
        product = attnzoo.glimpse_letters("zoo!", "oz.", other=3) @ table
        np.testing.assert_array_equal(attnzoo.glimpse_embedding(indices, table), product)

    def test_other_types(self, draw):
        table = draw(3, 5)
        half = attnzoo.glimpse_embedding([2, 0], table.astype(np.float16))
        assert half.dtype == np.float16
        brain = attnzoo.BFloat16Array.rounded(table)
        rows = attnzoo.glimpse_embedding([2, 0], brain)
        assert rows.dtype == np.float32
        np.testing.assert_array_equal(rows, np.asarray(brain)[[2, 0]])
        out = np.empty((2, 5), np.float32)
        assert attnzoo.glimpse_embedding([2, 0], table, out=out) is out
        np.testing.assert_array_equal(out, table[[2, 0]])

    def test_errors(self, draw):
        table = draw(3, 2)
        for indices, error, message in (
                ([[0, 1], [2, 3]], attnzoo.InvalidArgumentError, "3 for glimpse 1 of batch 1, must be 0 to 2"),
                ([-2], attnzoo.InvalidArgumentError, "-2 for glimpse 0"),
                ([[[0]]], attnzoo.ShapeError, r"\[1, 1, 1\], must have \[N\] or \[B, N\]"),
                ([0.5], attnzoo.DtypeError, "float64, must be whole numbers")):
            with pytest.raises(error, match=message):
                attnzoo.glimpse_embedding(indices, table)
        with pytest.raises(attnzoo.ShapeError, match=r"table has shape \[6\], must have \[L, E\]"):
            attnzoo.glimpse_embedding([0], table.ravel())
        with pytest.raises(attnzoo.ShapeError, match=r"\[2, 3\], must have \[2, 2\]"):
            attnzoo.glimpse_embedding([0, 1], table, out=np.empty((2, 3), np.float32))
        with pytest.raises(attnzoo.OverlapError):
            attnzoo.glimpse_embedding([0, 1], table, out=table[:2])


def test_tile_counts():
    for size in range(12):
        for tile in range(1, 5):
            for step in range(1, 6):
                for edge in ("drop", "pad"):
                    assert attnzoo.glimpse_tile_count(size, tile, step, edge=edge) == len(starts(size, tile, step, edge))
    assert attnzoo.glimpse_tile_count(7, 3) == 2
    for arguments, message in (((-1, 1), "size is -1"), ((5, 0), "tile is 0"), ((5, 1, -3), "step is -3"),
                               ((5, 2.0), "tile is 2.0, must be a whole number"), ((2**63, 1), "passes 63 bits")):
        with pytest.raises(attnzoo.InvalidArgumentError, match=message):
            attnzoo.glimpse_tile_count(*arguments)
    with pytest.raises(attnzoo.UnknownNameError, match="there is no edge 'keep'; there are drop, pad"):
        attnzoo.glimpse_tile_count(5, 1, edge="keep")


#: Shape, whether it has batches and channels, tile, step.
CASES = [
    ((11,), False, False, (4,), None), ((11,), False, False, (4,), (3,)), ((3,), False, False, (4,), (1,)),
    ((0,), False, False, (2,), (1,)), ((13, 2), False, True, (5,), (2,)), ((2, 9, 3), True, True, (2,), (4,)),
    ((6, 8), False, False, (2, 4), None), ((7, 9, 3), False, True, (3, 2), (2, 3)), ((5, 4, 1), False, True, (5, 1), (1, 2)),
    ((2, 5, 7, 3), True, True, (2, 3), (1, 2)), ((0, 5, 7, 3), True, True, (2, 3), (1, 2)),
    ((5, 7, 0), False, True, (2, 3), None), ((4, 5, 6), False, False, (2, 2, 2), (1, 2, 3)),
    ((4, 5, 6, 2), False, True, (3, 2, 4), (1, 3, 2)), ((2, 3, 4, 5, 2), True, True, (2, 3, 2), (1, 1, 3)),
]


def lay_out(array, layout):
    """The same numbers elsewhere in memory."""
    if layout == "backwards":
        return np.ascontiguousarray(array[tuple(slice(None, None, -1) for _ in array.shape)])[
            tuple(slice(None, None, -1) for _ in array.shape)]
    if layout == "transposed":
        return np.ascontiguousarray(array.T).T
    if layout == "with gaps":
        wide = np.full(tuple(2 * size for size in array.shape), np.nan, array.dtype)
        gaps = wide[tuple(slice(None, None, 2) for _ in array.shape)]
        gaps[...] = array
        return gaps
    return array


@pytest.mark.parametrize("layout", ["compact", "backwards", "transposed", "with gaps"])
@pytest.mark.parametrize("shape, has_batches, has_channels, tile, step", CASES)
class TestTiles:
    def full(self, array, has_batches, has_channels):
        """The array as [B, axes, C]."""
        array = array if has_batches else array[None]
        return array if has_channels else array[..., None]

    def test_copies_and_back(self, draw, layout, shape, has_batches, has_channels, tile, step):
        array = lay_out(draw(*shape), layout)
        full, steps = self.full(array, has_batches, has_channels), step or tile
        for edge in ("drop", "pad"):
            expected = tiles_by_loops(full, tile, steps, edge, -2.5)
            glimpses = attnzoo.glimpse_tiles(array, tile, step, edge=edge, padding=-2.5)
            assert glimpses.dtype == np.float32
            np.testing.assert_array_equal(glimpses, expected if has_batches else expected[0])
            assert glimpses.shape == (expected.shape if has_batches else expected.shape[1:])
            changed = lay_out(glimpses + draw(*glimpses.shape), layout)
            back = attnzoo.glimpse_untile(changed, shape, tile, step, edge=edge)
            assert back.shape == shape
            wanted = untiled_by_loops(changed if has_batches else changed[None], full.shape, tile, steps, edge)
            np.testing.assert_allclose(back, wanted.reshape(shape), rtol=1e-6, atol=0)

    def test_views(self, draw, layout, shape, has_batches, has_channels, tile, step):
        full_tiles = tiles_by_loops(self.full(draw(*shape), has_batches, has_channels), tile, step or tile)
        for dtype in (np.float32, np.float64, np.uint8, np.int16, bool, np.complex64, ">i4"):
            array = lay_out((draw(*shape) * 50).astype(dtype), layout if np.dtype(dtype).kind in "fc" else "compact")
            view = attnzoo.glimpse_tile_view(array, tile, step)
            assert view.dtype == array.dtype and is_read_only(view)
            if view.size > 0:
                assert np.shares_memory(view, array)
            sizes = shape[1 if has_batches else 0:][:len(tile)]
            counts = tuple(len(starts(*each, "drop")) for each in zip(sizes, tile, step or tile))
            assert view.shape == shape[:1] * has_batches + counts + tile + shape[-1:] * has_channels
            if dtype is np.float32:
                expected = tiles_by_loops(self.full(array, has_batches, has_channels), tile, step or tile)
                np.testing.assert_array_equal(view.reshape(full_tiles.shape), expected)
            for place in np.ndindex(*counts):
                corner = tuple(slice(at * by, at * by + size) for at, by, size in zip(place, step or tile, tile))
                behind = (slice(None),) * has_batches
                np.testing.assert_array_equal(view[behind + place], array[behind + corner])


class TestViews:
    def test_windows_overlap_in_memory(self, draw):
        sound = draw(1000)
        windows = attnzoo.glimpse_tile_view(sound, 400, 160)
        assert windows.strides == (160 * 4, 4) and is_read_only(windows)
        plain = np.array([sound[start:start + 400] for start in (0, 160, 320, 480)])
        context = attnzoo.scaled_dot_product(windows, windows, windows)
        np.testing.assert_array_equal(context, attnzoo.scaled_dot_product(plain, plain, plain))
        for out in (windows, attnzoo.glimpse_tile_view(np.zeros((8, 3), np.float32), 2)[..., 0]):
            with pytest.raises(attnzoo.InvalidArgumentError, match="read-only"):
                attnzoo.glimpse_tiles(np.zeros(out.size, np.float32), out.shape[1], out=out)

    def test_a_view_sees_what_becomes_of_its_array(self):
        sound = np.zeros(6, np.float32)
        windows = attnzoo.glimpse_tile_view(sound, 3, 1)
        sound[2] = 7
        assert windows.tolist() == [[0, 0, 7], [0, 7, 0], [7, 0, 0], [0, 0, 0]]

    @pytest.mark.parametrize("make", [lambda array: attnzoo.glimpse_tile_view(array, 2, 1),
                                      lambda array: attnzoo.glimpse_flat_view(array, 1)])
    def test_a_view_keeps_its_array(self, make):
        class Watched(np.ndarray):
            pass

        owner = Watched(6, np.float64)
        owner[...] = range(6)
        watch = weakref.ref(owner)
        view = make(owner)
        expected = view.tolist()
        del owner
        gc.collect()
        others = [np.full(6, np.nan) for _ in range(100)]
        assert watch() is not None and view.tolist() == expected
        del view, others
        gc.collect()
        assert watch() is None

    def test_a_view_keeps_memory_of_other_libraries(self):
        producer = Producer(np.arange(5, dtype=np.float32))
        view = attnzoo.glimpse_tile_view(producer, 2, 1)
        gc.collect()
        assert not producer.deleted and view.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
        del view
        gc.collect()
        assert producer.deleted == 1

    def test_tensors_of_torch(self, torch):
        sound = torch.arange(6, dtype=torch.bfloat16)
        windows = attnzoo.glimpse_tile_view(sound, 3, 2)
        assert isinstance(windows, attnzoo.BFloat16Array) and not windows.bits.flags.writeable
        assert np.asarray(windows).tolist() == [[0, 1, 2], [2, 3, 4]]
        del sound
        gc.collect()
        assert np.asarray(attnzoo.glimpse_flat_view(windows, 1)).tolist() == [[0, 1, 2], [2, 3, 4]]

    def test_flat_views(self, draw):
        video = draw(4, 3, 5, 2)
        frames = attnzoo.glimpse_flat_view(video)
        assert is_read_only(frames) and np.shares_memory(frames, video)
        np.testing.assert_array_equal(frames, video.reshape(4, 30))
        np.testing.assert_array_equal(attnzoo.glimpse_flat_view(video, 2, batch_axes=1), video.reshape(4, 15, 2))
        np.testing.assert_array_equal(attnzoo.glimpse_flat_view(video[::-2], 1), video[::-2].reshape(2, 30))
        np.testing.assert_array_equal(attnzoo.glimpse_flat_view(video[0, 0, 0], 1), video[0, 0, 0][:, None])
        assert attnzoo.glimpse_flat_view(video[:, :0], 2).shape == (0, 10)
        stereo = attnzoo.glimpse_tile_view(draw(9, 2), 4, 2)
        np.testing.assert_array_equal(attnzoo.glimpse_flat_view(stereo, 1), stereo.reshape(3, 8))
        with pytest.raises(attnzoo.UnsupportedError, match="axes 2 and 3 of input .* within a stride of 32"):
            attnzoo.glimpse_flat_view(attnzoo.glimpse_tile_view(draw(6, 8), (2, 4)), 1)
        for options, message in ((dict(glimpse_axes=0), "glimpse_axes is 0, must be 1 to 4"),
                                 (dict(glimpse_axes=4, batch_axes=1), "glimpse_axes is 4, must be 1 to 3"),
                                 (dict(batch_axes=-1), "batch_axes is -1"), (dict(batch_axes=2**31), "31 bits"),
                                 (dict(glimpse_axes=1.0), "must be a whole number")):
            with pytest.raises(attnzoo.InvalidArgumentError, match=message):
                attnzoo.glimpse_flat_view(video, **options)

    def test_what_is_no_array(self):
        assert attnzoo.glimpse_tile_view([1, 2, 3], 2, 1).tolist() == [[1, 2], [2, 3]]
        for source, error in ((np.array([None, None]), attnzoo.DtypeError), (np.zeros(3, "V0"), attnzoo.DtypeError),
                              (np.ma.zeros(3), attnzoo.DtypeError), (3.0, attnzoo.InvalidArgumentError)):
            with pytest.raises(error):
                attnzoo.glimpse_tile_view(source, 1)

    def test_unaligned_and_odd_strides(self):
        record = np.zeros(5, np.dtype([("kind", np.uint8), ("number", np.float32)]))
        record["number"] = np.arange(5)
        view = attnzoo.glimpse_tile_view(record["number"], 2, 1)
        assert np.shares_memory(view, record) and view.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
        assert attnzoo.glimpse_tiles(record["number"], 2, 1).tolist() == view.tolist()


class TestTypes:
    def test_types_of_copies(self, draw):
        image = draw(4, 6)
        for source, dtype, expected in ((image, None, np.float32), (image.astype(np.float16), None, np.float16),
                                        (image, np.float16, np.float16), (image.astype(np.float64), None, np.float32),
                                        (attnzoo.BFloat16Array.rounded(image), None, np.float32)):
            glimpses = attnzoo.glimpse_tiles(source, (2, 3), dtype=dtype)
            numbers = np.asarray(source).astype(expected)
            assert glimpses.dtype == expected
            np.testing.assert_array_equal(glimpses, tiles_by_loops(numbers[None, ..., None], (2, 3), (2, 3))[0])
            back = attnzoo.glimpse_untile(glimpses, (4, 6), (2, 3), dtype=dtype)
            assert back.dtype == expected
            np.testing.assert_array_equal(back, numbers)
        pixels = np.arange(250, 256, dtype=np.uint8)
        assert attnzoo.glimpse_tiles(pixels, 3).tolist() == [[250, 251, 252], [253, 254, 255]]

    def test_into_arrays(self, draw):
        image = draw(4, 6)
        out = np.full((4, 12), np.nan, np.float32)[:, ::-2]
        assert attnzoo.glimpse_tiles(image, (2, 3), out=out) is out
        back = attnzoo.BFloat16Array(np.zeros((4, 6), np.uint16))
        assert attnzoo.glimpse_untile(out, (4, 6), (2, 3), out=back) is back
        np.testing.assert_array_equal(back.bits, attnzoo.BFloat16Array.rounded(image).bits)

    def test_weights_are_drawn(self, draw):
        weights = draw(6)
        drawn = attnzoo.glimpse_untile(np.broadcast_to(weights[:, None], (6, 6)), (4, 9), (2, 3))
        np.testing.assert_array_equal(drawn, np.repeat(np.repeat(weights.reshape(2, 3), 2, 0), 3, 1))


def test_errors_of_tiles(draw):
    image = draw(4, 6)
    for arguments, error, message in (
            ((image, (2, 0)), attnzoo.InvalidArgumentError, r"tile\[1\] is 0, must be 1 or more"),
            ((image, (2, 2), (1, -1)), attnzoo.InvalidArgumentError, r"step\[1\] is -1, must be 1 or more"),
            ((image, (2, 2), (1,)), attnzoo.InvalidArgumentError, "tile has 2 axes, step has 1"),
            ((image, ()), attnzoo.InvalidArgumentError, "axis_count is 0, must be 1 to 3"),
            ((image, (1, 1, 1, 1)), attnzoo.InvalidArgumentError, "axis_count is 4, must be 1 to 3"),
            ((image, (2, 2.5)), attnzoo.InvalidArgumentError, r"tile\[1\] is 2.5, must be a whole number"),
            ((image, "ab"), attnzoo.InvalidArgumentError, "tile is 'ab'"),
            ((image, (1, 1, 1)), attnzoo.ShapeError, r"input has shape \[4, 6\], must have 3 to 5 axes where 3 are cut"),
            ((draw(1, 1, 1, 4), 2), attnzoo.ShapeError, r"input has shape \[1, 1, 1, 4\], must have 1 to 3 axes"),
            ((np.zeros((2,) * 9), 1), attnzoo.InvalidArgumentError, "9")):
        for function in (attnzoo.glimpse_tiles, attnzoo.glimpse_tile_view):
            with pytest.raises(error, match=message):
                function(*arguments)
    for options, error, message in (
            (dict(edge="keep"), attnzoo.UnknownNameError, "there are drop, pad"),
            (dict(edge=0), attnzoo.UnknownNameError, "no edge 0"),
            (dict(padding="0"), attnzoo.InvalidArgumentError, "padding is '0'"),
            (dict(dtype=np.float64), attnzoo.DtypeError, "float64"),
            (dict(out=np.zeros((6, 5), np.float32)), attnzoo.ShapeError, r"\[6, 5\]"),
            (dict(out=image.reshape(6, 4)), attnzoo.OverlapError, "glimpses overlaps input"),
            (dict(pading=0), TypeError, "did you mean padding")):
        with pytest.raises(error, match=message):
            attnzoo.glimpse_tiles(image, (2, 2), **options)
    with pytest.raises(attnzoo.InvalidArgumentError, match="passes what can be addressed"):
        attnzoo.glimpse_tiles(image, (2**40, 2**22), edge="pad")
    with pytest.raises(attnzoo.OutOfMemoryError, match=r"\[1, 36028797018963968\] of float32"):
        attnzoo.glimpse_tiles(image, (2**40, 2**15), edge="pad")


def test_errors_of_untile(draw):
    glimpses = draw(6, 4)
    for arguments, error, message in (
            ((glimpses, (4, 5), (2, 2)), attnzoo.ShapeError, r"\[6, 4\]"),
            ((glimpses, (4, -6), (2, 2)), attnzoo.InvalidArgumentError, r"shape\[1\] is -6, must be at least 0"),
            ((glimpses, (4, 6), (2, 0)), attnzoo.InvalidArgumentError, r"tile\[1\] is 0"),
            ((glimpses, (4,), (2, 2)), attnzoo.ShapeError, r"output has shape \[4\], must have 2 to 4 axes")):
        with pytest.raises(error, match=message):
            attnzoo.glimpse_untile(*arguments)
    with pytest.raises(attnzoo.ShapeError, match=r"out has the shape \[4, 7\], must have \[4, 6\]"):
        attnzoo.glimpse_untile(glimpses, (4, 6), (2, 2), out=np.zeros((4, 7), np.float32))
    with pytest.raises(attnzoo.OverlapError):
        attnzoo.glimpse_untile(glimpses, (4, 6), (2, 2), out=glimpses.reshape(4, 6))
