"""The reader of .safetensors files: what it reads, and that it believes nothing (P56)."""
import gc
import json
import struct

import numpy as np
import pytest

import attnzoo


def write(path, header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.safetensors"


def test_types_and_order(file):
    single = np.array([[1.5, -2], [3, 4]], "<f4")
    half, whole = np.array([0.5, 2], "<f2"), np.array(7, "<i8")
    data = whole.tobytes() + single.tobytes() + half.tobytes() + b"\x80\x3f" + b"\1\0" + np.array([1.0], "<f8").tobytes()
    header = {"__metadata__": {"format": "pt"}, "größe.weight": entry("F32", [2, 2], 8, 24), "n": entry("I64", [], 0, 8),
              "half": entry("F16", [2], 24, 28), "brain": entry("BF16", [1], 28, 30), "yes": entry("BOOL", [2], 30, 32),
              "double": entry("F64", [1], 32, 40), "none": entry("F32", [0, 3], 40, 40)}
    read = attnzoo.read_safetensors(write(file, header, data))
    assert list(read) == ["größe.weight", "n", "half", "brain", "yes", "double", "none"] and len(read) == 7
    np.testing.assert_array_equal(read["größe.weight"], single)
    np.testing.assert_array_equal(read["half"], half)
    assert read["n"] == 7 and read["n"].shape == () and read["double"].dtype == np.float64
    assert np.asarray(read["brain"]).tolist() == [1.0] and read["yes"].tolist() == [True, False]
    assert read["none"].shape == (0, 3) and read.metadata == {"format": "pt"}
    with pytest.raises(KeyError):
        read["size.weight"]
    assert not read["half"].flags.writeable


def test_arrays_outlive_the_file_object(file):
    numbers = np.arange(1000, dtype="<f4")
    array = attnzoo.read_safetensors(write(file, {"x": entry("F32", [1000], 0, 4000)}, numbers.tobytes()))["x"]
    gc.collect()
    np.testing.assert_array_equal(array, numbers)


def test_data_at_odd_places(file, draw):
    """A header of odd length leaves the numbers unaligned; they are used all the same."""
    weight = draw(4, 4)
    header = json.dumps({"score_proj.weight": entry("F32", [1, 4], 0, 16)}).encode()
    header += b" " * ((3 - len(header)) % 4)
    write(file, header, weight[:1].tobytes())
    tokens = draw(1, 3, 4)
    layer = attnzoo.Additive().load_safetensors(file)
    np.testing.assert_array_equal(layer(tokens), attnzoo.Additive(parameters={"score_proj.weight": weight[:1]})(tokens))


def test_an_unknown_type_matters_only_when_asked_for(file):
    read = attnzoo.read_safetensors(write(file, {"a": entry("F8_E4M3", [4], 0, 4), "b": entry("U8", [1], 4, 5)}, b"\0" * 5))
    assert read["b"].tolist() == [0]
    with pytest.raises(attnzoo.UnsupportedError, match="F8_E4M3"):
        read["a"]


def test_an_empty_file_of_tensors(file):
    assert len(attnzoo.read_safetensors(write(file, {}))) == 0
    read = attnzoo.read_safetensors(write(file, {"none": entry("F32", [0], 0, 0)}))
    assert read["none"].shape == (0,)


@pytest.mark.parametrize("header, data, words", [
    (b"[]", b"", "no JSON object"),
    (b"{", b"", "no JSON"),
    (b"\xff\xfe", b"", "no JSON"),
    (b"[" * 100000, b"", "no JSON"),
    (b'{"a": NaN}', b"", "no JSON"),
    (b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}', b"ab",
     "twice"),
    (b'{"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}}', b"a", "twice"),
    ({"__metadata__": {"a": 1}}, b"", "__metadata__"),
    ({"a": 1}, b"", "no dtype"),
    ({"a": {"dtype": 3, "shape": [1], "data_offsets": [0, 1]}}, b"a", "no dtype"),
    ({"a": {"dtype": "U8", "data_offsets": [0, 1]}}, b"a", "shape"),
    ({"a": entry("U8", [-1], 0, 1)}, b"a", "shape"),
    ({"a": entry("U8", [1.0], 0, 1)}, b"a", "shape"),
    ({"a": entry("U8", [True], 0, 1)}, b"a", "shape"),
    ({"a": {"dtype": "U8", "shape": [1]}}, b"a", "data_offsets"),
    ({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0]}}, b"a", "data_offsets"),
    ({"a": entry("U8", [1], 1, 0)}, b"a", "data_offsets"),
    ({"a": entry("F32", [2], 0, 4)}, b"abcd", "does not fit"),
    ({"a": entry("F32", [2**32, 2**32], 0, 0)}, b"", "does not fit"),
    ({"a": entry("F32", [0, 2**63], 0, 0)}, b"", "'a' has a shape that does not fit in 63 bits"),
    ({"a": entry("F32", [2**40, 2**40, 0], 0, 0)}, b"", "'a' has a shape that does not fit in 63 bits"),
    ({"a": entry("F32", [0, 2**61], 0, 0)}, b"", "'a' has a shape that does not fit in 63 bits"),
    ({"a": entry("STRANGE", [2**62, 2], 0, 0)}, b"", "'a' has a shape that does not fit in 63 bits"),
    ({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 1, 3)}, b"abc", "overlap"),
    ({"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 2, 3)}, b"abc", "gap"),
    ({"a": entry("U8", [4], 0, 4)}, b"abc", "4 bytes"),
    ({"a": entry("U8", [2], 0, 2)}, b"abc", "2 bytes"),
])
def test_headers_that_lie(file, header, data, words):
    with pytest.raises(attnzoo.InvalidArgumentError, match=words) as caught:
        attnzoo.read_safetensors(write(file, header, data))
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("raw", [b"", b"\1\0\0", struct.pack("<Q", 100), struct.pack("<Q", 2**63) + b"{}",
                                 b"PK\3\4 and so on", struct.pack("<Q", 10**9)])
def test_files_that_are_something_else(file, raw):
    file.write_bytes(raw)
    with pytest.raises(attnzoo.InvalidArgumentError):
        attnzoo.read_safetensors(file)


@pytest.mark.parametrize("raw, what", [(b"PK\3\4\0\0\x08\x08", "a PyTorch or .npz archive"),
                                       (b"\x80\2\x8a\nl\xfc\x9cF\xf9", "an old PyTorch file"),
                                       (b"\x93NUMPY\1\0v\0", "a .npy file")])
def test_files_of_other_kinds_are_told_by_name(file, raw, what):
    file.write_bytes(raw)
    with pytest.raises(attnzoo.InvalidArgumentError, match=f": not a .safetensors file but {what}; safetensors.") as caught:
        attnzoo.MultiHead().load_safetensors(file)
    assert str(caught.value).startswith(str(file))


def test_files_of_torch_are_told_by_name(file, torch):
    for options, what in (({}, "a PyTorch or"), (dict(_use_new_zipfile_serialization=False), "an old PyTorch")):
        torch.save({"x": torch.zeros(2)}, file, **options)
        with pytest.raises(attnzoo.InvalidArgumentError, match=f"not a .safetensors file but {what}"):
            attnzoo.read_safetensors(file)


def test_more_axes_than_numpy_has(file):
    """They are no lie, so the rest of the file can be read."""
    read = attnzoo.read_safetensors(write(file, {"a": entry("F32", [1] * 100, 0, 4), "b": entry("U8", [1], 4, 5)}, bytes(5)))
    assert read["b"].tolist() == [0]
    with pytest.raises(attnzoo.UnsupportedError, match="'a' has 100 axes"):
        read["a"]


class CountedText(str):
    """Counts how often texts are compared; equal ones have one hash, and so have all that are asked for it."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        CountedText.compared += 1
        return str.__eq__(self, other)


def test_a_name_twice_among_many_is_found_at_once(file, monkeypatch):
    """By the count of comparisons, which must not grow with the square of the names."""
    count = 2000
    names = [f"layer.{number}" for number in range(count)]
    write(file, {})

    def loads(text, *, object_pairs_hook, **options):
        return object_pairs_hook([(CountedText(name), 0) for name in [*names, names[-1]]])

    CountedText.compared = 0
    monkeypatch.setattr("attnzoo.safetensors.json.loads", loads)
    with pytest.raises(attnzoo.InvalidArgumentError, match=f"'layer.{count - 1}' twice"):
        attnzoo.read_safetensors(file)
    assert CountedText.compared < 10 * count


def test_a_header_of_many_names(file):
    count = 100_000
    read = attnzoo.read_safetensors(write(file, {f"layer.{number}": entry("U8", [1, 1], number, number + 1)
                                                 for number in range(count)}, bytes(count)))
    assert len(read) == count and read[f"layer.{count - 1}"].shape == (1, 1)


def test_sizes_without_bound_are_not_multiplied(file):
    """300 numbers of 4000 digits; the product of each with all before it would be a number of a million digits."""
    numbers = ",".join(["9" * 4000] * 300)
    header = '{"a":{"dtype":"F32","shape":[' + numbers + '],"data_offsets":[0,4]}}'
    with pytest.raises(attnzoo.InvalidArgumentError, match="in 63 bits"):
        attnzoo.read_safetensors(write(file, header.encode(), bytes(4)))


def test_a_path_with_nul():
    with pytest.raises(attnzoo.InvalidArgumentError, match="NUL"):
        attnzoo.read_safetensors("model\0.safetensors")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        attnzoo.read_safetensors(tmp_path / "nothing")


def test_a_real_checkpoint(repository):
    case = repository / "tests" / "conformance" / "cases" / "pytorch" / "torch_mha_0"
    query, key, value = (np.load(case / f"{name}.npy") for name in ("query", "key", "value"))
    for file, options in (("pytorch", dict(prefix="layers.0.self_attn.")),
                          ("bert", dict(prefix="encoder.layer.0.attention.",
                                        rename=["huggingface", "output.LayerNorm.*="]))):
        layer = attnzoo.MultiHead(4).load_safetensors(repository / "examples" / "data" / "names" / f"{file}.safetensors",
                                                      **options)
        np.testing.assert_allclose(layer(query, key, value), np.load(case / "context.npy"), rtol=0, atol=2e-5)
