#!/usr/bin/env python3
"""What calling scaled_dot_product from NumPy costs beside calling it from C: the same call, in turn, in one process.

    python_overhead.py BUILD [--rounds N] [--threads N]

BUILD is the build folder of the library, such as build/release; the package is taken from bindings/python/src. Calls from C
(c_calls.c) have their views and their output made beforehand. From NumPy everything is made anew in each call; with
out= the output is not. Each round is one group of calls of each kind; the ratio is that of the medians over the rounds.
The goal is at most 1.05 for 1, 8, 512, 64.
"""
import argparse
import ctypes
import os
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SIZES = [(8, 512, 64), (1, 1, 8)]
#: So long a group of calls takes, about.
SECONDS = 0.05


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def load(build):
    """The package on the library of the build, and the function of c_calls.c."""
    os.environ["ATTNZOO_LIBRARY"] = str(build / "src" / "libattnzoo.so.1")
    sys.path.insert(0, str(HERE.parent / "bindings" / "python" / "src"))
    import attnzoo
    from_c = ctypes.CDLL(str(build / "benchmarks" / "libbenchmark_c_calls.so")).benchmark_c_calls
    from_c.restype = ctypes.c_double
    from_c.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 3 + [ctypes.c_void_p] * 2 + [ctypes.c_int64]
    return attnzoo, from_c


def time_python(call, count):
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


def ways_to_call(attnzoo, from_c, size, executor):
    """By name, functions of the number of calls that give seconds; and what keeps their memory."""
    import numpy as np
    query, key, value = np.random.default_rng(0).standard_normal((3, 1, *size)).astype(np.float32)
    context = np.empty_like(query)
    module = attnzoo.ScaledDotProduct().prepare()
    inputs = (ctypes.c_void_p * 3)(*[array.ctypes.data for array in (query, key, value)])

    def c_calls(count):
        seconds = from_c(module._pointer, executor._pointer, *size, inputs, context.ctypes.data, count)
        if seconds < 0:
            sys.exit("a call from C failed")
        return seconds

    return {
        "C": c_calls,
        "NumPy": lambda count: time_python(
            lambda: attnzoo.scaled_dot_product(query, key, value, executor=executor), count),
        "NumPy, out=": lambda count: time_python(
            lambda: attnzoo.scaled_dot_product(query, key, value, executor=executor, out=context), count),
    }


def main():
    options = read_arguments()
    attnzoo, from_c = load(options.build.resolve())
    executor = attnzoo.Executor(options.threads)
    print(attnzoo.build_information())
    for size in SIZES:
        ways = ways_to_call(attnzoo, from_c, size, executor)
        count = max(1, round(SECONDS / (ways["C"](50) / 50)))
        seconds = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, way in ways.items():
                seconds[name].append(way(count) / count)
        base = statistics.median(seconds["C"])
        for name, taken in seconds.items():
            median = statistics.median(taken)
            print(f"1, {', '.join(map(str, size))}; {name:12} {median * 1e6:9.2f} us, ratio to C {median / base:.3f}, "
                  f"{(median - base) * 1e6:+.2f} us")


if __name__ == "__main__":
    main()
