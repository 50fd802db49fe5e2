#!/usr/bin/env python3
"""Worker of compare.py: libattnzoo through ctypes.

    worker_attnzoo.py THREADS PATH/TO/libattnzoo.so
"""
import ctypes
import sys

import numpy as np

import worker

FLOAT32 = 1


class Library:
    def __init__(self, path):
        self.functions = ctypes.CDLL(path)
        self.functions.attnzoo_last_error.restype = ctypes.c_char_p
        self.functions.attnzoo_build_information.restype = ctypes.c_char_p

    def __getattr__(self, name):
        function = getattr(self.functions, "attnzoo_" + name)

        def checked(*arguments):
            if function(*arguments) != 0:
                sys.exit(self.functions.attnzoo_last_error().decode())

        return checked

    def tensor(self, array):
        tensor, shape = ctypes.c_void_p(), (ctypes.c_int64 * array.ndim)(*array.shape)
        self.tensor_create(ctypes.byref(tensor), ctypes.c_void_p(array.ctypes.data), FLOAT32, array.ndim, shape, None)
        return tensor


class Call:
    """A module and all that one call of it takes."""

    def __init__(self, library, executor, case, inputs):
        self.library, self.executor, self.inputs = library, executor, inputs
        self.module, self.mask, self.state = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        library.module_create(ctypes.byref(self.module), case["kind"].encode())
        if "H" in case["sizes"] and case["kind"] != "scaled_dot_product":
            library.module_set_option_int(self.module, b"num_heads", ctypes.c_int64(case["sizes"]["H"]))
        for name in case["weights"]:
            library.module_set_parameter(self.module, name.encode(), library.tensor(inputs[name]))
        library.module_prepare(self.module)
        query = inputs["query"]
        self.context = np.zeros(query.shape, np.float32)
        self.query, self.output = library.tensor(query), library.tensor(self.context)
        # Self-attention has one input alone.
        self.key = library.tensor(inputs["key"]) if "key" in inputs else self.query
        self.value = library.tensor(inputs["value"]) if "value" in inputs else self.query
        if case["is_causal"]:
            library.mask_create(ctypes.byref(self.mask))
            library.mask_set_causal(self.mask, 1)
        if case["kind"] == "location_aware":
            library.state_create(ctypes.byref(self.state), self.module, ctypes.c_int64(1),
                                 ctypes.c_int64(case["sizes"]["M"]))
        # As foreign function calls go: all that can be looked up is.
        self.forward = library.functions.attnzoo_module_forward

    def start(self):
        if self.state:
            self.library.state_reset(self.state)

    def __call__(self):
        if self.forward(self.module, self.executor, self.query, self.key, self.value, self.mask, self.state,
                        self.output, None) != 0:
            sys.exit(self.library.functions.attnzoo_last_error().decode())
        return self.context

    def destroy(self):
        for kind, handle in (("state", self.state), ("mask", self.mask), ("module", self.module)):
            getattr(self.library.functions, f"attnzoo_{kind}_destroy")(handle)


def main():
    threads, path = int(sys.argv[1]), sys.argv[2]
    try:
        library = Library(path)
    except OSError as error:
        worker.absent(str(error))
    executor, before = ctypes.c_void_p(), []
    library.executor_create(ctypes.byref(executor), threads)

    def prepare(case, inputs):
        while before:
            before.pop().destroy()
        before.append(Call(library, executor, case, inputs))
        return {case["kind"]: before[0]}

    worker.serve("libattnzoo", library.functions.attnzoo_build_information().decode(), prepare)


if __name__ == "__main__":
    main()
