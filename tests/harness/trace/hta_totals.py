#!/usr/bin/env python3
"""Prints what HolisticTraceAnalysis makes of a folder of traces: RANK, kernels, their total in nanoseconds, and NAME, a
line for each rank and kernel, separated by tabs.

usage: hta_totals.py FOLDER
"""
import os
import sys

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # or it rounds times inward, to whole microseconds

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def main():
    analysis = TraceAnalysis(trace_dir=sys.argv[1])
    trace = analysis.t
    names = trace.symbol_table.get_sym_table()
    for rank in trace.get_all_traces():
        frame = trace.get_trace(rank)
        kernels = frame[frame["cat"].map(lambda cat: names[cat] == "kernel")]
        for name, rows in kernels.groupby("name"):
            print(rank, len(rows), round(rows["dur"].sum() * 1000), names[name], sep="\t")


if __name__ == "__main__":
    main()
