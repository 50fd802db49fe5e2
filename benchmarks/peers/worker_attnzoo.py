#!/usr/bin/env python3
"""Worker of compare.py: libattnzoo through its Python package.

    worker_attnzoo.py THREADS PATH/TO/libattnzoo.so
"""
import os
import pathlib
import sys

import numpy as np

import worker


class Call:
    """A module and all that one call of it takes. As with the peers, inputs and outputs are in memory beforehand."""

    def __init__(self, attnzoo, executor, case, inputs):
        options = {}
        if "H" in case["sizes"] and case["kind"] != "scaled_dot_product":
            options["num_heads"] = case["sizes"]["H"]
        self.module = attnzoo.Module(case["kind"], parameters={name: inputs[name] for name in case["weights"]}, **options)
        # Self-attention has one input alone.
        self.inputs = [inputs[name] for name in ("query", "key", "value") if name in inputs]
        self.options = {"causal": case["is_causal"], "executor": executor,
                        "out": np.zeros(inputs["query"].shape, np.float32)}
        if case["kind"] == "location_aware":
            self.options["state"] = self.module.state(1, case["sizes"]["M"])

    def start(self):
        if "state" in self.options:
            self.options["state"].reset()

    def __call__(self):
        return self.module(*self.inputs, **self.options)


def main():
    os.environ["ATTNZOO_LIBRARY"] = sys.argv[2]
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python" / "src"))
    try:
        import attnzoo
    except ImportError as error:
        worker.absent(str(error))
    executor = attnzoo.Executor(int(sys.argv[1]))
    worker.serve("libattnzoo", attnzoo.build_information(),
                 lambda case, inputs: {case["kind"]: Call(attnzoo, executor, case, inputs)})


if __name__ == "__main__":
    main()
