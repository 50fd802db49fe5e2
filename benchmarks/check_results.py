#!/usr/bin/env python3
"""Runs the shortest suite of benchmark_attnzoo once and checks that its results can be read: nothing is timed.

    check_results.py PATH/TO/benchmark_attnzoo
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "results.json"
        run = subprocess.run([sys.argv[1], "--repetitions", "1", "--suite", "tiny", "--json", str(path)], check=True,
                             stdout=subprocess.PIPE, encoding="utf-8")
        report = json.loads(path.read_text(encoding="utf-8"))
    assert report["machine"]["library"], report
    assert [suite["name"] for suite in report["suites"]] == ["tiny"], report
    assert report["results"], report
    for result in report["results"]:
        assert result["seconds"]["median"] > 0 and result["seconds"]["repetitions"] == 1, result
        assert len(result["cells"]) == len(report["columns"]), result
        assert "| " + " | ".join(result["cells"]) + " |" in run.stdout, result


if __name__ == "__main__":
    main()
