#!/usr/bin/env python3
"""Attention from Python, on NumPy arrays, with ctypes and nothing in between.

    attnzoo_numpy.py FOLDER    the folder examples/data/speech_alignment

Runs the cross-attention of a speech recogniser, compares it with what ONNX Runtime computed, and then hides half of the
sound. The library is the one that ATTNZOO_LIBRARY names, or else libattnzoo.so.1 where the system finds it.
"""
import ctypes
import json
import os
import pathlib
import sys
from ctypes import byref, c_char_p, c_int32, c_int64, c_void_p

import numpy as np

LIBRARY = ctypes.CDLL(os.environ.get("ATTNZOO_LIBRARY", "libattnzoo.so.1"))
LIBRARY.attnzoo_last_error.restype = c_char_p
# The numbers of attnzoo/tensor.h.
DTYPES = {"float32": 1, "float16": 2, "bool": 4, "int32": 5, "int64": 6}


class AttnzooError(Exception):
    """A call that did not succeed: its status, and the library's message."""

    def __init__(self, status):
        super().__init__(LIBRARY.attnzoo_last_error().decode())
        self.status = status


def call(name, *arguments):
    """Calls a function that returns a status. Whole numbers must come as c_int32 or c_int64, as the header has them."""
    status = getattr(LIBRARY, "attnzoo_" + name)(*arguments)
    if status != 0:
        raise AttnzooError(status)


class Handle:
    """One of the library's objects, destroyed with this one."""

    _as_parameter_ = None

    def __init__(self, kind, *arguments, create="create"):
        self.kind, self._as_parameter_ = kind, c_void_p()
        call(f"{kind}_{create}", byref(self._as_parameter_), *arguments)

    def __del__(self):
        if self._as_parameter_:
            getattr(LIBRARY, f"attnzoo_{self.kind}_destroy")(self._as_parameter_)


class Tensor(Handle):
    """A view of an array's own memory, whatever its strides. The array lives as long as the view."""

    def __init__(self, array):
        if array.dtype.name not in DTYPES or not array.dtype.isnative or any(s % array.itemsize for s in array.strides):
            raise TypeError(f"{array.dtype} with strides {array.strides} cannot be viewed; copy the array as float32")
        self.array = array
        shape, strides = (c_int64 * array.ndim)(*array.shape), [step // array.itemsize for step in array.strides]
        super().__init__("tensor", c_void_p(array.ctypes.data), c_int32(DTYPES[array.dtype.name]), c_int32(array.ndim),
                         shape, (c_int64 * array.ndim)(*strides),
                         create="create" if array.flags.writeable else "create_readonly")


class Mask(Handle):
    """What queries may see; `allowed` [B, H, N, M], axes of size 1 repeat, is true for what may be seen."""

    def __init__(self, causal=False, allowed=None, key_lengths=None):
        super().__init__("mask")
        # The library keeps views, not copies, so the arrays must stay.
        self.arrays = [allowed, key_lengths]
        call("mask_set_causal", self, c_int32(causal))
        if allowed is not None:
            call("mask_set_boolean", self, Tensor(allowed))
        if key_lengths is not None:
            call("mask_set_key_lengths", self, Tensor(key_lengths))


class Module(Handle):
    """A mechanism with its options and parameters; call it with query, key and value."""

    def __init__(self, mechanism, options, parameters):
        super().__init__("module", mechanism.encode())
        for name, value in options.items():
            call("module_set_option_text", self, name.encode(), str(value).lower().encode())
        for name, array in parameters.items():
            call("module_set_parameter", self, name.encode(), Tensor(array))
        call("module_prepare", self)

    def __call__(self, query, key, value, mask=None):
        """Context and attention, as new arrays."""
        inputs = [Tensor(query), Tensor(key), Tensor(value)]
        outputs = [Tensor(np.empty(self.output_shape(inputs, place), np.float32)) for place in range(2)]
        # No executor: the call runs in this thread. No state: it stands alone.
        call("module_forward", self, None, *inputs, mask, None, *outputs)
        return tuple(output.array for output in outputs)

    def output_shape(self, inputs, place):
        views = (c_void_p * len(inputs))(*(view._as_parameter_.value for view in inputs))
        rank, shape = c_int32(), (c_int64 * 8)()
        call("module_output_shape", self, views, c_int32(len(inputs)), None, c_int32(place), byref(rank), shape)
        return shape[:rank.value]


def read_safetensors(path):
    """The float32 tensors of a file: a length, that many bytes of JSON, and the numbers."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    entries = {name: entry for name, entry in json.loads(raw[8:start]).items() if name != "__metadata__"}
    return {name: np.frombuffer(raw[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]], "<f4")
            .reshape(entry["shape"]) for name, entry in entries.items()}


def main():
    folder = pathlib.Path(sys.argv[1])
    text, sound, expected = (np.load(folder / f"{name}.npy") for name in ("query", "memory", "attention"))
    weights = read_safetensors(folder / "weights.safetensors")
    layer = Module("multi_head", {"num_heads": 8}, weights)

    context, attention = layer(text, sound, sound)
    difference = np.abs(attention - expected).max()
    print(f"attention {attention.shape}: largest difference from ONNX Runtime {difference:.1e}")

    # Another memory order is a view, too; true means attend.
    first_half = np.arange(sound.shape[1]) < sound.shape[1] // 2
    _, attention = layer(text, np.asfortranarray(sound), sound, Mask(allowed=first_half[None, None, None, :]))
    hidden = attention[..., ~first_half].max()
    print(f"weight on the hidden half: {hidden}, on the other: {attention.sum(axis=-1).mean():.3f}")

    message = None
    try:
        Module("multi_head", {"num_heads": 7}, weights)
    except AttnzooError as error:
        message = str(error)
    print(f"seven heads: {message}")
    # The tolerance is that of case.json in the folder.
    return 0 if difference < 1e-4 and hidden == 0 and message is not None else 1


if __name__ == "__main__":
    sys.exit(main())
