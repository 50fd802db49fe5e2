"""The loop of a worker in Python: requests and answers are JSON, one a line.

    {"do": "prepare", "case": {...}, "folder": PATH}     -> {"variants": [NAME, ...]}, none where it cannot do the case
    {"do": "run", "variant": NAME, "calls": COUNT}       -> {"seconds": [...]}, after one call that is not timed
    {"do": "write", "variant": NAME, "path": PATH}       -> {}, the output as raw float32; of the first call of all where
                                                            calls go on from each other

The first line of all is the worker's own: {"name", "version"}, or {"absent": WHY}.
"""
import json
import pathlib
import sys
import time

import numpy as np


def say(answer):
    print(json.dumps(answer), flush=True)


def absent(why):
    say({"absent": why})
    sys.exit(0)


def read_inputs(case, folder):
    return {name: np.fromfile(pathlib.Path(folder) / f"{name}.f32", np.float32).reshape(shape)
            for name, shape in case["inputs"].items()}


def time_calls(call, count):
    call()
    seconds = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


def serve(name, version, prepare):
    """prepare(case, inputs) gives calls by variant: objects with start(), which begins anew, and __call__(), which
    returns the output as an array."""
    say({"name": name, "version": version})
    calls = {}
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "prepare":
            calls.clear()
            calls.update(prepare(request["case"], read_inputs(request["case"], request["folder"])))
            say({"variants": list(calls)})
        elif request["do"] == "run":
            say({"seconds": time_calls(calls[request["variant"]], request["calls"])})
        elif request["do"] == "write":
            call = calls[request["variant"]]
            call.start()
            np.asarray(call(), np.float32).tofile(request["path"])
            say({})
