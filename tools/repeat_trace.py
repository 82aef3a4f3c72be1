#!/usr/bin/env python3
"""Makes a large Kineto file of a small one: its events TIMES times over. For timing `redraft audit`.

usage: repeat_trace.py TRACE[.gz] TIMES OUT
"""
import gzip
import json
import sys


def main():
    if len(sys.argv) != 4 or not sys.argv[2].isdigit():
        sys.exit(__doc__)
    source, times, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with (gzip.open if source.endswith(".gz") else open)(source, "rt") as file:
        trace = json.load(file)
    trace["traceEvents"] *= times
    with open(out, "w") as file:
        json.dump(trace, file)


if __name__ == "__main__":
    main()
