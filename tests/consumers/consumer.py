#!/usr/bin/env python3
"""Attention through ctypes, with nothing but the installed library and Python's standard library.

    consumer.py LIBRARY

Computes scaled dot-product attention with a causal mask and key lengths, compares it with a plain computation in
double, and reads the message of a call that must fail. The numbers below are those of the public header.
"""
import ctypes
import math
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int32, c_int64, c_void_p

STATUS_OK = 0
STATUS_SHAPE_MISMATCH = 2
DTYPE_FLOAT32 = 1
DTYPE_INT64 = 6

BATCH, HEADS, QUERIES, KEYS, HEAD_SIZE, VALUE_SIZE = 2, 2, 4, 5, 3, 2
KEY_LENGTHS = [5, 3]

FUNCTIONS = {
    "attnzoo_last_error": (c_char_p, []),
    "attnzoo_version_string": (c_char_p, []),
    "attnzoo_module_create": (c_int32, [POINTER(c_void_p), c_char_p]),
    "attnzoo_module_set_option_float": (c_int32, [c_void_p, c_char_p, c_double]),
    "attnzoo_module_prepare": (c_int32, [c_void_p]),
    "attnzoo_module_forward": (c_int32, [c_void_p] * 9),
    "attnzoo_module_destroy": (None, [c_void_p]),
    "attnzoo_executor_create": (c_int32, [POINTER(c_void_p), c_int32]),
    "attnzoo_executor_destroy": (None, [c_void_p]),
    "attnzoo_mask_create": (c_int32, [POINTER(c_void_p)]),
    "attnzoo_mask_set_causal": (c_int32, [c_void_p, c_int32]),
    "attnzoo_mask_set_key_lengths": (c_int32, [c_void_p, c_void_p]),
    "attnzoo_mask_destroy": (None, [c_void_p]),
    "attnzoo_tensor_create": (
        c_int32, [POINTER(c_void_p), c_void_p, c_int32, c_int32, POINTER(c_int64), POINTER(c_int64)]),
    "attnzoo_tensor_destroy": (None, [c_void_p]),
}


def open_library(path):
    library = ctypes.CDLL(path)
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def expect(library, got, wanted):
    if got != wanted:
        raise SystemExit(f"status {got}, expected {wanted}: {library.attnzoo_last_error().decode()}")


def view(library, memory, dtype, *shape):
    handle = c_void_p()
    sizes = (c_int64 * len(shape))(*shape)
    status = library.attnzoo_tensor_create(byref(handle), memory, dtype, len(shape), sizes, None)
    expect(library, status, STATUS_OK)
    return handle


def numbers(count, seed):
    """Some floats that look irregular."""
    return (c_float * count)(*(math.sin(seed + 1.7 * i) for i in range(count)))


def plain_attention(query, key, value, scale):
    """Causal attention, the last query standing at the last key, over each batch's first keys, in double."""
    context = []
    for batch_head in range(BATCH * HEADS):
        first_key = batch_head * KEYS
        for i in range(QUERIES):
            q = query[(batch_head * QUERIES + i) * HEAD_SIZE:][:HEAD_SIZE]
            seen = [j for j in range(KEY_LENGTHS[batch_head // HEADS]) if j <= KEYS - QUERIES + i]
            keys = [key[(first_key + j) * HEAD_SIZE:][:HEAD_SIZE] for j in seen]
            scores = [scale * sum(a * b for a, b in zip(q, k)) for k in keys]
            weights = [math.exp(score) for score in scores]
            for d in range(VALUE_SIZE):
                total = sum(w * value[(first_key + j) * VALUE_SIZE + d] for w, j in zip(weights, seen))
                context.append(total / sum(weights))
    return context


def main():
    library = open_library(sys.argv[1])
    scale = 0.75
    query = numbers(BATCH * HEADS * QUERIES * HEAD_SIZE, 1)
    key = numbers(BATCH * HEADS * KEYS * HEAD_SIZE, 2)
    value = numbers(BATCH * HEADS * KEYS * VALUE_SIZE, 3)
    lengths = (c_int64 * BATCH)(*KEY_LENGTHS)
    context = (c_float * (BATCH * HEADS * QUERIES * VALUE_SIZE))()

    module, mask, executor = c_void_p(), c_void_p(), c_void_p()
    expect(library, library.attnzoo_module_create(byref(module), b"scaled_dot_product"), STATUS_OK)
    expect(library, library.attnzoo_module_set_option_float(module, b"scale", scale), STATUS_OK)
    expect(library, library.attnzoo_module_prepare(module), STATUS_OK)
    expect(library, library.attnzoo_executor_create(byref(executor), 2), STATUS_OK)

    views = {
        "query": view(library, query, DTYPE_FLOAT32, BATCH, HEADS, QUERIES, HEAD_SIZE),
        "key": view(library, key, DTYPE_FLOAT32, BATCH, HEADS, KEYS, HEAD_SIZE),
        "value": view(library, value, DTYPE_FLOAT32, BATCH, HEADS, KEYS, VALUE_SIZE),
        "lengths": view(library, lengths, DTYPE_INT64, BATCH),
        "context": view(library, context, DTYPE_FLOAT32, BATCH, HEADS, QUERIES, VALUE_SIZE),
    }
    expect(library, library.attnzoo_mask_create(byref(mask)), STATUS_OK)
    expect(library, library.attnzoo_mask_set_causal(mask, 1), STATUS_OK)
    expect(library, library.attnzoo_mask_set_key_lengths(mask, views["lengths"]), STATUS_OK)

    def forward(key_view):
        return library.attnzoo_module_forward(module, executor, views["query"], key_view, views["value"], mask, None,
                                              views["context"], None)

    # The value's rows are of another size than the query's.
    expect(library, forward(views["value"]), STATUS_SHAPE_MISMATCH)
    message = library.attnzoo_last_error().decode()
    if "key" not in message or any(context):
        raise SystemExit(f"the message does not name the key, or the context was written: {message}")

    expect(library, forward(views["key"]), STATUS_OK)
    expected = plain_attention(list(query), list(key), list(value), scale)
    errors = [abs(a - b) for a, b in zip(context, expected, strict=True)]
    if not all(error < 2e-6 for error in errors):
        raise SystemExit(f"off by {errors}")

    for handle in views.values():
        library.attnzoo_tensor_destroy(handle)
    library.attnzoo_mask_destroy(mask)
    library.attnzoo_executor_destroy(executor)
    library.attnzoo_module_destroy(module)
    version = library.attnzoo_version_string().decode()
    print(f"Python, libattnzoo {version}: error {max(errors):.1e}; refused: {message}")


if __name__ == "__main__":
    main()
