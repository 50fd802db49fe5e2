"""A DLPack producer made by hand, of anything that DLPack can say: its capsules, its deleter, what was asked of it.

What PyTorch and NumPy of some version do is not enough: versioned capsules, NULL strides, byte offsets, other devices.
"""
import ctypes
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p, py_object


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", c_void_p), ("deleter", Deleter)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", Deleter),
                ("flags", c_uint64), ("tensor", Tensor)]


_new = ctypes.pythonapi.PyCapsule_New
Destructor = ctypes.CFUNCTYPE(None, c_void_p)
_new.restype, _new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
_is_valid = ctypes.PyDLL(None).PyCapsule_IsValid
_is_valid.argtypes = [c_void_p, c_char_p]

#: As the protocol has it, what was given away lives until its deleter was called, whoever else forgets it.
_given_away = set()

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class Producer:
    """An array behind __dlpack__.

    Attributes:
        deleted: how often the deleter ran.
        asked: the arguments of each __dlpack__ call.
    """

    def __init__(self, array, *, versioned=True, knows_versions=True, device=1, compact=False, byte_offset=0, code=None,
                 lanes=1, flags=0, major=1):
        self.array, self.versioned, self.knows_versions, self.device = array, versioned, knows_versions, device
        self.deleted, self.asked = 0, []
        self.shape = (c_int64 * max(array.ndim, 1))(*array.shape)
        self.strides = (c_int64 * max(array.ndim, 1))(*[step // array.itemsize for step in array.strides])
        self.tensor = Tensor(array.ctypes.data - byte_offset, device, 0, array.ndim,
                             CODES[array.dtype.kind] if code is None else code, 8 * array.itemsize, lanes, self.shape,
                             None if compact else self.strides, byte_offset)
        self.deleter = Deleter(self._delete)
        self.destructor = Destructor(self._destroy)
        self.managed = (ManagedVersioned(major, 0, None, self.deleter, flags, self.tensor) if versioned else
                        Managed(self.tensor, None, self.deleter))
        self.name = b"dltensor_versioned" if versioned else b"dltensor"

    def _delete(self, managed):
        assert managed == ctypes.addressof(self.managed)
        self.deleted += 1
        _given_away.discard(self)

    def _destroy(self, capsule):
        # As the protocol has it: a capsule that still has its first name was not taken over.
        if _is_valid(capsule, self.name):
            self.managed.deleter(ctypes.addressof(self.managed))

    def __dlpack_device__(self):
        return (self.device, 0)

    def __dlpack__(self, **arguments):
        if arguments and not self.knows_versions:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.asked.append(arguments)
        _given_away.add(self)
        return _new(ctypes.addressof(self.managed), self.name, ctypes.cast(self.destructor, c_void_p))
