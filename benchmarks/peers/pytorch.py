#!/usr/bin/env python3
"""Times scaled_dot_product against the usual three lines of PyTorch, call by call in turn, one thread each.

    pytorch.py PATH/TO/libattnzoo.so [REPETITIONS]

Prints the median times and their ratio as a table in Markdown. Needs NumPy and PyTorch (Debian: python3-torch).
"""
import ctypes
import math
import statistics
import sys
import time

import numpy as np

try:
    import torch
except ImportError:
    sys.exit("PyTorch is absent: nothing to compare with")

SHAPES = [(1, 8, 512, 512, 64), (1, 12, 1024, 1024, 64), (1, 8, 2048, 2048, 64), (1, 8, 2048, 2048, 128)]
FLOAT32 = 1


class Attention:
    """One call of the library, on NumPy arrays."""

    def __init__(self, library, query, key, value):
        self.library = library
        self.context = np.zeros(query.shape[:-1] + value.shape[-1:], np.float32)
        self.arrays = (query, key, value, self.context)
        self.tensors = [self.tensor(array) for array in self.arrays]
        self.module, self.executor = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(library.attnzoo_module_create(ctypes.byref(self.module), b"scaled_dot_product"))
        self.check(library.attnzoo_module_prepare(self.module))
        self.check(library.attnzoo_executor_create(ctypes.byref(self.executor), 1))

    def check(self, status):
        if status != 0:
            sys.exit(self.library.attnzoo_last_error().decode())

    def tensor(self, array):
        tensor, shape = ctypes.c_void_p(), (ctypes.c_int64 * array.ndim)(*array.shape)
        self.check(self.library.attnzoo_tensor_create(
            ctypes.byref(tensor), ctypes.c_void_p(array.ctypes.data), FLOAT32, array.ndim, shape, None))
        return tensor

    def __call__(self):
        query, key, value, context = self.tensors
        self.check(self.library.attnzoo_module_forward(
            self.module, self.executor, query, key, value, None, None, context, None))


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main():
    library = ctypes.CDLL(sys.argv[1])
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 11
    library.attnzoo_last_error.restype = ctypes.c_char_p
    library.attnzoo_build_information.restype = ctypes.c_char_p
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    print(f"{library.attnzoo_build_information().decode()}; PyTorch {torch.__version__}; median of {repetitions}\n")
    print("| B, H, N, M, D, float32 | libattnzoo, ms | PyTorch, ms | ratio |\n|---|---|---|---|")
    for batch, heads, queries, keys, size in SHAPES:
        arrays = [random.normal(size=(batch, heads, rows, size)).astype(np.float32) for rows in (queries, keys, keys)]
        query, key, value = map(torch.from_numpy, arrays)
        ours = Attention(library, *arrays)

        @torch.no_grad()
        def theirs():
            return torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(size), -1) @ value

        ours()
        assert np.allclose(ours.context, theirs().numpy(), atol=1e-4)
        times = [(seconds(ours), seconds(theirs)) for _ in range(repetitions)]
        mine, other = (statistics.median(column) * 1e3 for column in zip(*times))
        print(f"| {batch}, {heads}, {queries}, {keys}, {size} | {mine:.1f} | {other:.1f} | {other / mine:.1f} |")


if __name__ == "__main__":
    main()
