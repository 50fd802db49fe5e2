#!/usr/bin/env python3
"""Times libattnzoo against other libraries, call by call in turn, each in a process of its own that stays.

    compare.py --library PATH/TO/libattnzoo.so [--onnxruntime FOLDER] [--rounds N] [--threads N ...] [--case TEXT]
               [--json FILE]

FOLDER is where `npm install --ignore-scripts onnxruntime-node` was run (or NODE_PATH names its node_modules). Needs
NumPy; ONNX Runtime needs Node.js and python3-onnx, PyTorch python3-torch. What is absent is named, and the rest goes on.
Outputs must agree to 1e-4 of the largest number before a time counts. Prints tables in Markdown.
"""
import argparse
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import cases
import onnx_models

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = 1e-4
# Threads of some libraries look out for more work for a while after a call; nobody else is to suffer from that.
PAUSE = 0.05
# Each turn calls so often as fills this time, within bounds.
TURN_SECONDS, TURN_CALLS_LEAST, TURN_CALLS_MOST = 0.15, 1, 40
# A way of calling a peer that is slower than its best by more than this is not measured further.
WORTH_MEASURING = 1.3
COLUMNS = ["call", "threads", "peer", "its best way", "ours", "spread", "theirs", "spread", "ratio", "goal"]


class Peer:
    """A worker process. name is None where the library is absent, and why tells the reason."""

    def __init__(self, command, threads):
        # Debian's PyTorch leaves products to OpenBLAS, which has a thread count of its own.
        counts = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        self.name, self.why, self.process = None, "", None
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            env={**os.environ, **counts})
        except OSError as error:
            self.why = str(error)
            return
        hello = self.read()
        self.name, self.version, self.why = hello.get("name"), hello.get("version"), hello.get("absent", "")

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name or 'a worker'} ended in the middle")
        return json.loads(line)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.read()

    def run(self, variant, calls):
        time.sleep(PAUSE)
        return statistics.median(self.ask(do="run", variant=variant, calls=calls)["seconds"])

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()


def make_inputs(case, folder):
    """Numbers for a case, also as files for the workers."""
    random, inputs = np.random.default_rng(0), {}
    for name, shape in case.inputs.items():
        if name in case.weights:
            bound = cases.weight_bound(shape)
            inputs[name] = random.uniform(-bound, bound, shape).astype(np.float32)
        else:
            inputs[name] = random.normal(size=shape).astype(np.float32)
        inputs[name].tofile(folder / f"{name}.f32")
    return inputs


def read_output(peer, variant, case, description, folder):
    path = folder / "output.f32"
    peer.ask(do="write", variant=variant, path=str(path))
    output = np.fromfile(path, np.float32)
    if variant == "MultiHeadAttention" and description["models"]:
        batch, heads, queries, _, size = case.sizes.values()
        output = output.reshape(batch, queries, heads, size).transpose(0, 2, 1, 3)
    return output.reshape(-1)


def difference(ours, theirs):
    if not np.isfinite(theirs).all():
        return float("inf")
    return float(np.abs(ours - theirs).max() / np.abs(ours).max())


def count_calls(seconds):
    return int(min(max(TURN_SECONDS / seconds, TURN_CALLS_LEAST), TURN_CALLS_MOST))


def spread(times):
    ordered = sorted(times)
    count = len(ordered)
    return (ordered[count * 3 // 4] - ordered[count // 4]) / statistics.median(ordered)


def agreeing_variants(peer, variants, case, description, folder, expected):
    """Those whose output is ours, with the time of a first call."""
    found = {}
    for variant in variants:
        away = difference(expected, read_output(peer, variant, case, description, folder))
        if away > TOLERANCE:
            print(f"{peer.name}, {variant}, {case}: outputs differ by {away:.1e} of the largest number; not timed",
                  file=sys.stderr)
            continue
        found[variant] = peer.run(variant, TURN_CALLS_LEAST)
    best = min(found.values(), default=0.0)
    return {variant: seconds for variant, seconds in found.items() if seconds <= WORTH_MEASURING * best}


def compare_case(case, ours, peers, threads, rounds):
    """Results of a case, one a peer that can do it."""
    with tempfile.TemporaryDirectory(prefix="attnzoo-peers-") as name:
        folder = pathlib.Path(name)
        models = onnx_models.write_models(case, make_inputs(case, folder), folder)
        description = {"kind": case.kind, "sizes": case.sizes, "inputs": case.inputs, "weights": case.weights,
                       "is_causal": case.is_causal, "models": models}
        (own,) = ours.ask(do="prepare", case=description, folder=name)["variants"]
        expected = read_output(ours, own, case, description, folder)
        own_calls = count_calls(ours.run(own, TURN_CALLS_LEAST))
        results = []
        for peer in peers:
            variants = peer.ask(do="prepare", case=description, folder=name)["variants"]
            found = agreeing_variants(peer, variants, case, description, folder, expected)
            pairs = {variant: [] for variant in found}
            for _ in range(rounds):
                for variant, seconds in found.items():
                    pairs[variant].append((ours.run(own, own_calls), peer.run(variant, count_calls(seconds))))
            if found:
                results.append(sum_up(case, peer, threads, pairs))
        return results


def sum_up(case, peer, threads, pairs):
    """The peer's best way, and how many times as long as ours it takes."""
    best = min(pairs, key=lambda variant: statistics.median(theirs for _, theirs in pairs[variant]))
    mine, theirs = zip(*pairs[best])
    ratio = statistics.median(theirs) / statistics.median(mine)
    goal = case.goals.get(peer.name)
    return {"call": str(case), "kind": case.kind, "sizes": case.sizes, "is_causal": case.is_causal, "threads": threads,
            "peer": peer.name, "variant": best, "ours": statistics.median(mine), "our_spread": spread(mine),
            "theirs": statistics.median(theirs), "their_spread": spread(theirs), "ratio": ratio, "goal": goal,
            "is_met": None if goal is None else ratio >= goal, "counts_in_mean": case.counts_in_mean,
            "rounds": {variant: [list(pair) for pair in times] for variant, times in pairs.items()}}


def ratio_text(ratio):
    """With so many digits that one which misses its goal by a hair does not look as if it met it."""
    return f"{ratio:.3f}" if ratio < 10 else f"{ratio:.1f}"


def goal_text(goal, is_met):
    return "" if goal is None else f"≥ {goal:g}: {'met' if is_met else '**missed**'}"


def cells(result):
    return [result["call"], str(result["threads"]), result["peer"], result["variant"],
            f"{result['ours'] * 1e3:.3g} ms", f"{result['our_spread']:.1%}", f"{result['theirs'] * 1e3:.3g} ms",
            f"{result['their_spread']:.1%}", ratio_text(result["ratio"]), goal_text(result["goal"], result["is_met"])]


def mean_rows(results):
    """One row a peer and thread count: the geometric mean of the calls that are not causal."""
    rows = []
    for peer, threads in dict.fromkeys((result["peer"], result["threads"]) for result in results):
        ratios = [result["ratio"] for result in results
                  if result["counts_in_mean"] and (result["peer"], result["threads"]) == (peer, threads)]
        if not ratios:
            continue
        mean, goal = statistics.geometric_mean(ratios), cases.MEAN_GOAL.get(peer)
        # The goal is for all shapes together.
        if len(ratios) < len(cases.SHAPES):
            goal = None
        rows.append([f"geometric mean of {len(ratios)} calls that are not causal", str(threads), peer, "", "", "", "",
                     "", ratio_text(mean), goal_text(goal, goal is not None and mean >= goal)])
    return rows


def print_row(row):
    print("| " + " | ".join(row) + " |", flush=True)


def measure(arguments, threads, wanted):
    """All wanted cases in so many threads. Gives the results, and versions or reasons of absence by library."""
    ours = Peer([sys.executable, HERE / "worker_attnzoo.py", str(threads), arguments.library], threads)
    if ours.name is None:
        sys.exit(ours.why)
    others = {cases.ONNX_RUNTIME: Peer([arguments.node, HERE / "worker_onnxruntime.js", str(threads),
                                        arguments.onnxruntime], threads),
              cases.PYTORCH: Peer([sys.executable, HERE / "worker_pytorch.py", str(threads)], threads)}
    if onnx_models.helper is None and others[cases.ONNX_RUNTIME].name is not None:
        others[cases.ONNX_RUNTIME].name, others[cases.ONNX_RUNTIME].why = None, "no module onnx to make models with"
    known = {"libattnzoo": ours.version}
    for name, peer in others.items():
        known[name] = peer.version if peer.name else f"absent ({peer.why})"
    results = []
    for case in wanted:
        for result in compare_case(case, ours, [peer for peer in others.values() if peer.name], threads,
                                   arguments.rounds):
            print_row(cells(result))
            results.append(result)
    for peer in (ours, *others.values()):
        peer.close()
    return results, known


def count_from_one(text):
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1")
    return count


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", required=True, help="path to libattnzoo.so, in a build folder src/libattnzoo.so")
    parser.add_argument("--onnxruntime", default=".", help="folder where onnxruntime-node is installed")
    parser.add_argument("--node", default=shutil.which("node") or "node", help="the command node")
    parser.add_argument("--rounds", type=count_from_one, default=7, help="how often each call has its turn")
    parser.add_argument("--threads", type=count_from_one, nargs="+", default=[1, 2], help="measure in so many")
    parser.add_argument("--case", default="", help="only cases whose name has this text in it, such as 'N = 512' or "
                                                   "additive; a text that none has lists them all")
    parser.add_argument("--json", help="write all results to this file too")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    wanted = [case for case in cases.CASES if arguments.case in str(case)]
    if not wanted:
        names = "\n  ".join(str(case) for case in cases.CASES)
        sys.exit(f"no case has {arguments.case!r} in its name; the cases are\n  {names}")
    if arguments.json:
        # Hours of measuring must not end with a file that cannot be written.
        pathlib.Path(arguments.json).touch()
    results, known = [], {}
    print(f"Median of {arguments.rounds} rounds; ratio: their time over ours.\n")
    print_row(COLUMNS)
    print("|" + "---|" * len(COLUMNS))
    for threads in arguments.threads:
        more, known = measure(arguments, threads, wanted)
        results += more
    for row in mean_rows(results):
        print_row(row)
    print()
    for name, version in known.items():
        print(f"- {name}: {version}")
    if arguments.json:
        report = {"date": datetime.date.today().isoformat(), "rounds": arguments.rounds, "libraries": known,
                  "columns": COLUMNS, "results": results,
                  "rows": [cells(result) for result in results] + mean_rows(results)}
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
