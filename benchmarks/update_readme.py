#!/usr/bin/env python3
"""Sets tables of results into README.md beside this file, between the comments that mark their places.

    update_readme.py [--run NAME] RESULTS.json [PEERS.json]

RESULTS.json is what benchmark_attnzoo --json wrote, PEERS.json what peers/compare.py --json wrote. NAME tells runs of
different kinds apart: by default "usual".
"""
import argparse
import json
import pathlib
import sys

README = pathlib.Path(__file__).with_name("README.md")


def read(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def table(columns, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [columns, ["---"] * len(columns), *rows])


def describe_machine(machine):
    facts = [f"- {name.replace('_', ' ')}: {value}" for name, value in machine.items() if isinstance(value, str)]
    facts += [f"- {name}={value}" for name, value in machine["environment"].items()]
    return "\n".join(facts)


def describe_results(report):
    parts = [describe_machine(report["machine"]) + f"\n- repetitions: {report['repetitions']}"]
    for suite in report["suites"]:
        # The picture shows these.
        if suite["name"] == "length":
            continue
        rows = [result["cells"] for result in report["results"] if result["suite"] == suite["name"]]
        parts.append(f"### {suite['name']}\n\n{suite['summary']}\n\n{table(report['columns'], rows)}")
    return "\n\n".join(parts)


def describe_peers(report):
    libraries = "\n".join(f"- {name}: {version}" for name, version in report["libraries"].items())
    return f"{libraries}\n- rounds: {report['rounds']}\n\n{table(report['columns'], report['rows'])}"


def replace(text, name, new):
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, found, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        sys.exit(f"{README.name} has no place for {name}")
    return f"{before}{begin}\n\n{new}\n\n{end}{after}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="usual", help="which run's tables these are")
    parser.add_argument("results")
    parser.add_argument("peers", nargs="?")
    arguments = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    text = replace(text, f"results: {arguments.run}", describe_results(read(arguments.results)))
    if arguments.peers is not None:
        text = replace(text, f"peers: {arguments.run}", describe_peers(read(arguments.peers)))
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
