#!/usr/bin/env python3
"""Where the time of a run's devices went, from the Kineto files of its trace: device by device over whole steps.

usage: trace_summary.py TRACE_FOLDER [--skip N] [--top N]

Prints, for each device, milliseconds a step: busy (the union of what ran), idle by the phase whose work came next, copies
by direction, kernels by name, and what ran on other streams while the busiest one worked or did not. The first N steps
(default 4) and the last are left out: they compile, load and allocate.
"""
import argparse
import collections
import glob
import json
import os

WORK = {"kernel", "gpu_memcpy", "gpu_memset"}


def work_of(path):
    """(begin, end, name, stream, step, role, phase, bytes) of the device work of a file, in microseconds, by begin."""
    work = []
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    for event in events:
        if event.get("cat") not in WORK or "dur" not in event:
            continue
        args = event.get("args", {})
        begin = float(event["ts"])
        work.append((begin, begin + float(event["dur"]), short(event["name"]), args.get("stream"), args.get("step", -1),
                     args.get("role", "-"), args.get("phase", "-"), args.get("bytes", 0)))
    return sorted(work)


def short(name):
    for noise in ("void ", "at::native::", "at::", "(anonymous namespace)::"):
        name = name.replace(noise, "")
    return name if len(name) <= 84 else name[:60] + "…" + name[-22:]


def union(intervals):
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def overlap(a, b):
    """Length of what two lists of disjoint, sorted intervals have in common."""
    total, j = 0.0, 0
    for begin, end in a:
        while j < len(b) and b[j][1] <= begin:
            j += 1
        k = j
        while k < len(b) and b[k][0] < end:
            total += min(end, b[k][1]) - max(begin, b[k][0])
            k += 1
    return total


def idle_before(work):
    """Idle time by the phase and role of the work that ended it, and how many gaps."""
    gaps, last = collections.defaultdict(lambda: [0.0, 0]), None
    for begin, end, _, _, _, role, phase, _ in work:
        if last is not None and begin > last:
            gap = gaps[(phase, role)]
            gap[0] += begin - last
            gap[1] += 1
        last = end if last is None else max(last, end)
    return gaps


def rows(title, table, steps, top):
    print("  " + title)
    ordered = sorted(table.items(), key=lambda item: -item[1][0])
    for key, (micros, count) in ordered[:top]:
        name = key if isinstance(key, str) else " ".join(str(part) for part in key)
        print(f"    {micros / steps / 1e3:9.3f} ms  {count / steps:7.1f} x  {name}")
    rest = sum(micros for _, (micros, _) in ordered[top:])
    if rest > 0:
        print(f"    {rest / steps / 1e3:9.3f} ms             {len(ordered) - top} others")


def tally(items):
    table = collections.defaultdict(lambda: [0.0, 0])
    for key, micros in items:
        table[key][0] += micros
        table[key][1] += 1
    return table


def describe(path, skip, top):
    everything = work_of(path)
    numbers = sorted({row[4] for row in everything if row[4] >= 0})
    chosen = set(numbers[skip:-1])
    work = [row for row in everything if row[4] in chosen]
    print(os.path.basename(path))
    if not work:
        print("  no device work in whole steps\n")
        return
    steps = len(chosen)
    span = max(row[1] for row in work) - work[0][0]
    busy = union([(row[0], row[1]) for row in work])
    print(f"  {steps} steps ({min(chosen)}-{max(chosen)}): {span / steps / 1e3:.3f} ms a step, busy "
          f"{length(busy) / steps / 1e3:.3f} ms ({100 * length(busy) / span:.1f} %)")
    rows("idle, by the phase and role whose work ended it", idle_before(work), steps, 10)
    by_stream = tally(((f"stream {row[3]}, {row[5]}"), row[1] - row[0]) for row in work)
    rows("work by stream and role", by_stream, steps, 12)
    main = max({row[3] for row in work}, key=lambda s: sum(r[1] - r[0] for r in work if r[3] == s))
    mine = union([(row[0], row[1]) for row in work if row[3] == main])
    others = union([(row[0], row[1]) for row in work if row[3] != main])
    print(f"  beside stream {main}: {length(others) / steps / 1e3:.3f} ms a step on other streams, "
          f"{overlap(mine, others) / steps / 1e3:.3f} ms of it while that one worked")
    rows("work by phase", tally((row[6], row[1] - row[0]) for row in work), steps, 12)
    rows("work by name", tally((row[2], row[1] - row[0]) for row in work), steps, top)
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--skip", type=int, default=4)
    parser.add_argument("--top", type=int, default=20)
    options = parser.parse_args()
    for path in sorted(glob.glob(os.path.join(options.folder, "device-*.kineto.json"))):
        describe(path, options.skip, options.top)


if __name__ == "__main__":
    main()
