"""Runs the Python blocks of one page, in order and in one namespace, for sessions.py.

Reads a line of JSON for each block (its place and text), and answers each with a line: what the block printed and the
traceback, or null. Like Python's own prompt it prints nothing of its own.
"""
import contextlib
import io
import json
import linecache
import sys
import traceback


def main():
    answers = sys.stdout
    namespace = {"__name__": "__main__"}
    for line in sys.stdin:
        block = json.loads(line)
        # So that a traceback shows the lines of the page.
        linecache.cache[block["place"]] = (len(block["text"]), None, block["text"].splitlines(True), block["place"])
        printed, failure = io.StringIO(), None
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(block["text"], block["place"], "exec"), namespace)
            except BaseException:  # An exit is a failure, too: the page goes on.
                failure = traceback.format_exc()
        answers.write(json.dumps({"output": printed.getvalue(), "failure": failure}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
