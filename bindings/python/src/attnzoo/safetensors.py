"""Reads .safetensors files, of which nothing is believed before it is checked.

The first 8 bytes are the length of the header, a JSON object with each tensor's type, shape and place; the elements
follow, lowest byte first, at no promised alignment.
"""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, NoReturn, Optional, Set, Tuple, Union

import numpy as np

from ._errors import InvalidArgumentError, UnsupportedError
from ._views import BFloat16Array

__all__ = ["SafetensorsFile", "read_safetensors"]

#: The bound that the format's own implementation sets.
_HEADER_LENGTH_MAX = 100_000_000

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
          "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1"}


#: How files begin that are taken for .safetensors, what they are, and what makes the right ones. As the command has it.
_OTHER_KINDS = (
    (b"PK\x03\x04", "a PyTorch or .npz archive; safetensors.torch.save_file"),
    (b"\x80\x02\x8a\nl\xfc\x9c\x46", "an old PyTorch file; safetensors.torch.save_file"),
    (b"\x93NUMPY", "a .npy file; safetensors.numpy.save_file"),
)


class _Entry(NamedTuple):
    type_name: str
    shape: Tuple[int, ...]
    begin: int
    end: int


def _byte_count(shape: List[int], item_size: int) -> Optional[int]:
    """How many bytes a tensor takes; None if no array could have the shape, even an empty one."""
    count = item_size
    for axis in shape:
        if axis > 0:
            count *= axis
        if count >= 2**63:
            return None
    return 0 if 0 in shape else count


class SafetensorsFile(Mapping[str, Any]):
    """The tensors of a .safetensors file by name, each made when it is asked for.

    They are NumPy arrays over the mapped file, read-only; bfloat16 comes as a `BFloat16Array`. The file is open as long as
    this or one of the arrays lives, and must not be cut short meanwhile.

    Attributes:
        metadata: the file's own notes, texts by name.
    """

    metadata: Mapping[str, str]

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self._path = os.fspath(path)
        if "\0" in str(self._path):
            raise InvalidArgumentError(f"the path {self._path!r} has a NUL character")
        with open(self._path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            header_length = self._read_header_length(file.read(8), size)
            header = self._parse(file.read(header_length))
        self._start = 8 + header_length
        notes = header.pop("__metadata__", {})
        if not isinstance(notes, dict) or not all(isinstance(text, str) for text in notes.values()):
            self._fail("__metadata__ must be texts by name")
        self.metadata = notes
        self._entries = {name: self._read_entry(name, entry) for name, entry in header.items()}
        self._check_places(size - self._start)
        self._bytes = np.memmap(self._path, np.uint8, "r") if size > self._start else np.empty(self._start, np.uint8)
        if self._bytes.size < size:
            self._fail("it became shorter while it was read")

    def _fail(self, what: str) -> NoReturn:
        raise InvalidArgumentError(f"{self._path}: {what}")

    def _read_header_length(self, raw: bytes, size: int) -> int:
        length = int.from_bytes(raw, "little")
        if len(raw) < 8:
            self._fail("it is too short for a .safetensors file")
        for start, what in _OTHER_KINDS:
            # Such a beginning is no length that a header may have.
            if raw.startswith(start) and length > _HEADER_LENGTH_MAX:
                self._fail(f"not a .safetensors file but {what} writes .safetensors")
        if length > _HEADER_LENGTH_MAX or length > size - 8:
            self._fail(f"its header would have {length} bytes, and the file has {size}: this is no .safetensors file, or "
                       "one cut short")
        return length

    def _parse(self, text: bytes) -> Dict[str, Any]:
        def without_repetition(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
            made = dict(pairs)
            if len(made) < len(pairs):
                known: Set[str] = set()
                for name, _ in pairs:
                    if name in known:
                        self._fail(f"the header has '{name}' twice")
                    known.add(name)
            return made

        def refuse(constant: str) -> NoReturn:
            self._fail(f"the header has {constant}, which is no JSON")

        try:
            header = json.loads(text.decode("utf-8"), object_pairs_hook=without_repetition, parse_constant=refuse)
        except InvalidArgumentError:
            raise
        except (ValueError, RecursionError) as error:
            self._fail(f"the header is no JSON: {error}")
        if not isinstance(header, dict):
            self._fail("the header is no JSON object")
        return header

    def _read_entry(self, name: str, entry: Any) -> _Entry:
        def are_sizes(numbers: Any) -> bool:
            return isinstance(numbers, list) and all(type(number) is int and number >= 0 for number in numbers)

        shape: Any
        place: Any
        if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
            self._fail(f"tensor '{name}' has no dtype")
        shape, place = entry.get("shape"), entry.get("data_offsets")
        if not are_sizes(shape):
            self._fail(f"the shape of tensor '{name}' must be whole numbers, none negative")
        if not are_sizes(place) or len(place) != 2 or place[0] > place[1]:
            self._fail(f"tensor '{name}' has no data_offsets of two whole numbers in order, none negative")
        kind = _TYPES.get(entry["dtype"])
        needed = _byte_count(shape, 1 if kind is None else int(kind[2:]))
        if needed is None:
            self._fail(f"tensor '{name}' has a shape that does not fit in 63 bits")
        # A type that is not known is only let be: it cannot be asked for.
        if kind is not None and needed != place[1] - place[0]:
            self._fail(f"tensor '{name}' takes {place[1] - place[0]} bytes, which does not fit its type and shape")
        return _Entry(entry["dtype"], tuple(shape), place[0], place[1])

    def _check_places(self, available: int) -> None:
        end = 0
        for name, entry in sorted(self._entries.items(), key=lambda item: item[1][2:]):
            if entry.begin != end:
                self._fail(f"tensor '{name}' begins at byte {entry.begin}, which leaves "
                           f"{'a gap' if entry.begin > end else 'an overlap with the tensor'} before it")
            end = entry.end
        if end != available:
            self._fail(f"the tensors take {end} bytes, and the file has {available} for them")

    def __getitem__(self, name: str) -> Any:
        entry = self._entries[name]
        kind = _TYPES.get(entry.type_name)
        if kind is None:
            raise UnsupportedError(f"{self._path}: tensor '{name}' is {entry.type_name}, which is not supported")
        raw = self._bytes[self._start + entry.begin:self._start + entry.end]
        try:
            array = np.asarray(raw).view(kind).reshape(entry.shape)
        except ValueError as error:
            raise UnsupportedError(f"{self._path}: tensor '{name}' has {len(entry.shape)} axes, which NumPy does not take: "
                                   f"{error}") from None
        if entry.type_name == "BF16":
            return BFloat16Array(array.astype(np.uint16, copy=False))
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"SafetensorsFile({self._path!r}, {len(self)} tensors)"


def read_safetensors(path: Union[str, "os.PathLike[str]"]) -> SafetensorsFile:
    """The tensors of a .safetensors file by name, as NumPy arrays over the mapped file.

    Args:
        path: of the file.

    Raises:
        OSError: it cannot be read.
        InvalidArgumentError: it is not what a .safetensors file should be; the message says where.
    """
    return SafetensorsFile(path)
