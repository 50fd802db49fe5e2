#!/usr/bin/env python3
"""Worker of compare.py: PyTorch, each case as it is commonly written, in more than one way where there is one.

With several threads each way comes twice where PyTorch's products are made by an OpenBLAS with threads of its own: these
and PyTorch's, which call it, get into each other's way in many cases, and help in some.

    worker_pytorch.py THREADS
"""
import ctypes
import math
import pathlib
import sys

import worker

try:
    import torch
    from torch.nn import functional
except ImportError:
    worker.absent("no module torch (Debian: python3-torch)")


class Call:
    """A function of no arguments without anything to carry on."""

    def __init__(self, function):
        self.function = function

    def start(self):
        pass

    def __call__(self):
        return self.function()


def prepare_attention(case, inputs):
    query, key, value = inputs["query"], inputs["key"], inputs["value"]
    queries, keys, size = query.shape[-2], key.shape[-2], query.shape[-1]
    hidden = torch.ones(queries, keys, dtype=torch.bool).triu(1)
    bias = torch.zeros(queries, keys).masked_fill(hidden, -math.inf)

    def plain():
        return torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(size), -1) @ value

    def causal():
        return torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(size) + bias, -1) @ value

    calls = {"three lines": Call(causal if case["is_causal"] else plain)}
    if hasattr(functional, "scaled_dot_product_attention"):
        calls["scaled_dot_product_attention"] = Call(lambda: functional.scaled_dot_product_attention(
            query, key, value, is_causal=case["is_causal"]))
    elif hasattr(functional, "_scaled_dot_product_attention"):
        calls["_scaled_dot_product_attention"] = Call(lambda: functional._scaled_dot_product_attention(
            query, key, value, None, 0.0, False, case["is_causal"])[0])
    return calls


def prepare_multi_head(case, inputs):
    features, heads = case["sizes"]["E"], case["sizes"]["H"]
    query = inputs["query"]

    def make(is_training):
        # Biases of zero: without any, version 1.13 does not get through its path for modules that are not training.
        module = torch.nn.MultiheadAttention(features, heads, bias=True, batch_first=True).train(is_training)
        joined = torch.cat([inputs[f"{part}_proj.weight"] for part in ("query", "key", "value")])
        module.in_proj_weight.copy_(joined)
        module.out_proj.weight.copy_(inputs["out_proj.weight"])
        module.in_proj_bias.zero_()
        module.out_proj.bias.zero_()
        return Call(lambda: module(query, query, query, need_weights=False)[0])

    # A module that is not training may take another path.
    return {"MultiheadAttention": make(True), "MultiheadAttention, eval": make(False)}


def prepare_additive(_, inputs):
    def call():
        query = functional.linear(inputs["query"], inputs["query_proj.weight"])
        key = functional.linear(inputs["key"], inputs["key_proj.weight"])
        hidden = torch.tanh(query.unsqueeze(2) + key.unsqueeze(1))
        score = functional.linear(hidden, inputs["score_proj.weight"]).squeeze(-1)
        return torch.softmax(score, -1) @ inputs["value"]

    return {"tanh over [N, M, A]": Call(call)}


class LocationAware:
    """Steps that carry the alignment on. The keys are projected once, as in ours."""

    def __init__(self, inputs):
        self.inputs = inputs
        self.key = functional.linear(inputs["key"], inputs["key_proj.weight"])
        self.padding = inputs["location_conv.weight"].shape[-1] // 2
        self.start()

    def start(self):
        self.alignment = torch.zeros(1, 1, self.inputs["key"].shape[1])

    def __call__(self):
        inputs = self.inputs
        query = functional.linear(inputs["query"], inputs["query_proj.weight"])
        features = functional.conv1d(self.alignment, inputs["location_conv.weight"], padding=self.padding)
        location = functional.linear(features.transpose(1, 2), inputs["location_proj.weight"])
        score = functional.linear(torch.tanh(query + self.key + location), inputs["score_proj.weight"])
        self.alignment = torch.softmax(score.transpose(1, 2), -1)
        return self.alignment @ inputs["value"]


KINDS = {"scaled_dot_product": prepare_attention, "multi_head": prepare_multi_head, "additive": prepare_additive,
         "location_aware": lambda _, inputs: {"conv1d, linear, tanh": LocationAware(inputs)}}


def find_blas_setting():
    """The function that sets OpenBLAS's thread count, in whatever library of this process has it; None without one."""
    maps = pathlib.Path("/proc/self/maps")
    lines = maps.read_text(encoding="utf-8").splitlines() if maps.exists() else []
    for path in sorted({line.split()[-1] for line in lines if "openblas" in line}):
        try:
            return ctypes.CDLL(path).openblas_set_num_threads
        except (OSError, AttributeError):
            continue
    return None


class OneBlasThread:
    """A call whose products are made in one thread, while PyTorch has its own."""

    def __init__(self, call, threads, set_blas_threads):
        self.call, self.threads, self.set_blas_threads = call, threads, set_blas_threads

    def start(self):
        self.call.start()

    def __call__(self):
        self.set_blas_threads(1)
        try:
            return self.call()
        finally:
            self.set_blas_threads(self.threads)


def prepare(case, arrays, threads, set_blas_threads):
    calls = KINDS[case["kind"]](case, {name: torch.from_numpy(array) for name, array in arrays.items()})
    if threads > 1 and set_blas_threads is not None:
        calls.update({f"{name}; OpenBLAS in one thread": OneBlasThread(call, threads, set_blas_threads)
                      for name, call in calls.items()})
    return calls


def main():
    threads = int(sys.argv[1])
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    set_blas_threads = find_blas_setting()
    worker.serve("PyTorch", torch.__version__, lambda case, arrays: prepare(case, arrays, threads, set_blas_threads))


if __name__ == "__main__":
    main()
