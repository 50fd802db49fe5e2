#!/usr/bin/env python3
"""Draws the time of every mechanism against the length N = M, from the suite `length` of benchmark_attnzoo.

    plot.py RESULTS.json PICTURE.png

Needs Matplotlib (Debian: python3-matplotlib).
"""
import argparse
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot

# One colour and one mark a mechanism, by the order in which they come; causal calls are dashed.
MARKS = "osD^vP"


def read_lines(path):
    """The points of each line: lengths and milliseconds by mechanism and call."""
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"{path} cannot be read as results: {error}")
    lines = {}
    for result in report["results"]:
        if result["suite"] == "length":
            lengths, times = lines.setdefault((result["mechanism"], result["call"]), ([], []))
            lengths.append(result["sizes"]["N"])
            times.append(result["seconds"]["median"] * 1e3)
    if not lines:
        sys.exit(f"{path} has no results of the suite length")
    return lines, report["machine"]


def draw(lines, machine, path):
    figure, axes = pyplot.subplots(figsize=(8, 5.5))
    mechanisms = list(dict.fromkeys(mechanism for mechanism, _ in lines))
    for (mechanism, call), (lengths, times) in lines.items():
        number = mechanisms.index(mechanism)
        name = f"{mechanism}, {call}" if call else mechanism
        axes.plot(lengths, times, color=f"C{number}", marker=MARKS[number % len(MARKS)], markersize=4,
                  linestyle="--" if call else "-", label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted({length for lengths, _ in lines.values() for length in lengths})
    axes.set_xticks(ticks, [str(length) for length in ticks])
    axes.set_xlabel("length, N = M")
    axes.set_ylabel("milliseconds a call, one thread")
    axes.set_title(f"{machine.get('cpu', 'unknown CPU')}\n{machine['library']}", fontsize=8)
    axes.grid(True, which="major", linewidth=0.4)
    axes.legend(fontsize=8)
    figure.tight_layout()
    # Without the version of the drawing library in it, the same results give the same file.
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    parser.add_argument("picture")
    arguments = parser.parse_args()
    draw(*read_lines(arguments.results), arguments.picture)


if __name__ == "__main__":
    main()
