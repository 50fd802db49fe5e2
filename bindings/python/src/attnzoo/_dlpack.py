"""Arrays of other libraries, by DLPack: NumPy arrays over their memory, without copies.

The library reads the structure and owns it; the NumPy array keeps the library's view alive, and with the last such array
the producer's deleter runs, once.
"""
from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int, c_int32, c_int64, c_uint64, c_void_p, py_object
from typing import Any, Dict, Tuple

import numpy as np

from . import _library
from ._errors import UnsupportedError
from ._library import Handle

#: What the elements look like to NumPy, by the library's dtype: it has no bfloat16, whose bits come as uint16.
NUMPY_TYPES: Dict[int, np.dtype[Any]] = {
    _library.DTYPE_FLOAT32: np.dtype(np.float32),
    _library.DTYPE_FLOAT16: np.dtype(np.float16),
    _library.DTYPE_BFLOAT16: np.dtype(np.uint16),
    _library.DTYPE_BOOL: np.dtype(np.bool_),
    _library.DTYPE_INT32: np.dtype(np.int32),
    _library.DTYPE_INT64: np.dtype(np.int64),
}

_from_dlpack = _library.quick("tensor_create_from_dlpack", _library.HANDLES, c_void_p)
_from_dlpack_versioned = _library.quick("tensor_create_from_dlpack_versioned", _library.HANDLES, c_void_p)
_dtype = _library.quick("tensor_dtype", c_void_p)
_rank = _library.quick("tensor_rank", c_void_p)
_size = _library.quick("tensor_size", c_void_p, c_int32, result=c_int64)
_stride = _library.quick("tensor_stride", c_void_p, c_int32, result=c_int64)
_data = _library.quick("tensor_data", c_void_p, result=c_void_p)

# An instance of our own: types that are set on ctypes.pythonapi would be set for everybody.
_python = ctypes.PyDLL(None)
_is_valid = _python.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = c_int, [py_object, c_char_p]
_get_pointer = _python.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = c_void_p, [py_object, c_char_p]
_set_name = _python.PyCapsule_SetName
_set_name.restype, _set_name.argtypes = c_int, [py_object, c_char_p]

# A capsule keeps the pointer to its name and compares it when it is freed, perhaps after all modules are gone: these
# two are never freed.
_USED, _USED_VERSIONED = b"used_dltensor", b"used_dltensor_versioned"
for _name in (_USED, _USED_VERSIONED):
    ctypes.pythonapi.Py_IncRef(py_object(_name))

_DEVICE_CPU = 1
_DEVICE_NAMES = {2: "CUDA", 3: "CUDA (host)", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 11: "ROCm (host)",
                 13: "CUDA (managed)", 14: "oneAPI"}
#: Where the flags stand in DLManagedTensorVersioned: behind the version, the context and the deleter.
_FLAGS_OFFSET = 8 + 2 * ctypes.sizeof(c_void_p)
_FLAG_READ_ONLY = 1


class _ForeignView(Handle):
    """The library's view of foreign memory, as something that NumPy can make an array of."""

    __slots__ = ("__array_interface__",)
    __array_interface__: Dict[str, Any]
    _destroy = staticmethod(_library.quick("tensor_destroy", c_void_p, result=None))

    def __init__(self, pointer: int, is_read_only: bool) -> None:
        self._pointer = pointer
        kind = NUMPY_TYPES[_dtype(pointer)]
        axes = range(_rank(pointer))
        self.__array_interface__ = {
            "version": 3,
            "typestr": kind.str,
            "shape": tuple(_size(pointer, axis) for axis in axes),
            "strides": tuple(_stride(pointer, axis) * kind.itemsize for axis in axes),
            "data": (_data(pointer) or 0, is_read_only),
        }


def _ask_for_capsule(source: Any) -> Any:
    try:
        return source.__dlpack__(max_version=(1, 0))
    except TypeError:
        # Producers from before version 1 do not know the argument.
        return source.__dlpack__()


def is_on_cpu(source: Any) -> bool:
    """Whether the memory of an object that has __dlpack__ is the CPU's."""
    return int(source.__dlpack_device__()[0]) == _DEVICE_CPU


def import_array(source: Any, name: str) -> Tuple[Any, int]:
    """A NumPy array over the memory of an object that has __dlpack__, and the library's number for its element type.

    Args:
        source: anything with __dlpack__ and __dlpack_device__, on the CPU.
        name: what to call it in an error.
    """
    if not is_on_cpu(source):
        device = int(source.__dlpack_device__()[0])
        raise UnsupportedError(f"{name} lies on a {_DEVICE_NAMES.get(device, f'DLPack type {device}')} device, and the "
                               "library computes on the CPU: copy it there first")
    capsule = _ask_for_capsule(source)
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _get_pointer(capsule, b"dltensor_versioned")
        is_read_only = bool(c_uint64.from_address(managed + _FLAGS_OFFSET).value & _FLAG_READ_ONLY)
        create, used = _from_dlpack_versioned, _USED_VERSIONED
    elif _is_valid(capsule, b"dltensor"):
        managed = _get_pointer(capsule, b"dltensor")
        is_read_only, create, used = False, _from_dlpack, _USED
    else:
        raise TypeError(f"{name}: __dlpack__ gave no DLPack capsule, or one that was used before")
    # On failure the capsule still owns the memory. On success the view does, and the capsule must know at once.
    pointer = _library.make(create, managed)
    _set_name(capsule, used)
    view = _ForeignView(pointer, is_read_only)
    shape: Tuple[int, ...] = view.__array_interface__["shape"]
    if 0 in shape:
        # Its data is often NULL, which NumPy refuses. There is nothing to share.
        empty = np.empty(shape, NUMPY_TYPES[_dtype(pointer)])
        empty.flags.writeable = not is_read_only
        return empty, _dtype(pointer)
    return np.asarray(view), _dtype(pointer)
