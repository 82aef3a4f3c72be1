#!/usr/bin/env python3
"""Real benches of identical and of slower builds: how often is the verdict right?

usage: throughput_study.py run OUT [--same N] [--two N] [--five N] [-- OPTIONS OF redraft bench]
       throughput_study.py table OUT...
       throughput_study.py blocks OUT... > bench/data/NAME.json

run     N benches each of a scenario with itself, with the same 2 % slower and 5 % slower, in an order that is drawn, each
        left as OUT/NAME-i.json (redraft.bench/1). A bench that is there is not run again.
table   the verdicts, with binomial intervals of 95 % (Clopper and Pearson).
blocks  the blocks of all of them, for build/bench/throughput_study.
"""
import argparse
import glob
import json
import math
import os
import random
import subprocess
import sys
import time

KINDS = {"same": 0, "two": 2, "five": 5}


def run(args):
    os.makedirs(args.out, exist_ok=True)
    benches = [(kind, i) for kind in KINDS for i in range(getattr(args, kind))]
    random.Random(1).shuffle(benches)
    for done, (kind, i) in enumerate(benches):
        path = os.path.join(args.out, "%s-%d.json" % (kind, i))
        if os.path.exists(path):
            continue
        began = time.monotonic()
        name = args.scenario + "[fault.percent=%d]"
        command = [args.redraft, "bench", name % 0, name % KINDS[kind], "--json", "--out", os.path.join(args.out, "runs"),
                   *args.options]
        ended = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        if ended.returncode not in (0, 1):
            sys.exit("%s exited %d" % (" ".join(command), ended.returncode))
        with open(path + ".new", "wb") as file:
            file.write(ended.stdout)
        os.rename(path + ".new", path)
        report = json.loads(ended.stdout)
        print("%d/%d %-5s %s %s %.0f s" % (done + 1, len(benches), kind, report["verdict"], ratio_of(report),
                                           time.monotonic() - began), flush=True)


def ratio_of(report):
    time_ratio = report["looks"][-1]["time"] if report["looks"] else None
    return "-" if not time_ratio else "%.4f [%.4f, %.4f]" % (time_ratio["ratio"], time_ratio["low"], time_ratio["high"])


def load(folders, kind):
    paths = [path for folder in folders for path in glob.glob(os.path.join(folder, kind + "-*.json"))]
    reports = []
    for path in sorted(paths, key=lambda path: (os.path.dirname(path), int(path.rsplit("-", 1)[1][:-5]))):
        with open(path, encoding="utf-8") as file:
            reports.append(json.load(file))
    return reports


def below(k, n, p):
    """P(X <= k) of n trials."""
    return sum(math.comb(n, i) * p ** i * (1 - p) ** (n - i) for i in range(k + 1))


def solve(tail):
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > 0.025 else (low, middle)
    return low


def interval(k, n):
    low = 0 if k == 0 else 1 - solve(lambda q: below(n - k, n, q))
    high = 1 if k == n else solve(lambda p: below(k, n, p))
    return "%d of %d: %.0f %% [%.0f, %.0f]" % (k, n, 100 * k / n, 100 * low, 100 * high)


def table(args):
    print("| B is slower by | benches | called different | SLOWER | SAME | AMBIGUOUS | FASTER | ratio, median | seconds, median |")
    print("|---|---|---|---|---|---|---|---|---|")
    for kind, percent in KINDS.items():
        reports = load(args.out, kind)
        if not reports:
            continue
        verdicts = [report["verdict"] for report in reports]
        counts = {name: verdicts.count(name) for name in ("SLOWER", "SAME", "AMBIGUOUS", "FASTER")}
        ratios = sorted(report["looks"][-1]["time"]["ratio"] for report in reports if report["looks"])
        seconds = sorted(report["seconds"] for report in reports)
        print("| %d %% | %d | %s | %s | %.4f | %.0f |" % (
            percent, len(reports), interval(counts["SLOWER"] + counts["FASTER"], len(reports)),
            " | ".join(str(count) for count in counts.values()), ratios[len(ratios) // 2], seconds[len(seconds) // 2]))


def median(values):
    return sorted(values)[len(values) // 2]


def blocks(args):
    sets, example = [], None
    for kind, percent in KINDS.items():
        pairs = []
        for report in load(args.out, kind):
            example = report
            warmup = report["options"]["warmup"]
            for pair in report["pairs"]:
                a = 1e3 * median(pair["a"]["seconds"][warmup:])
                pairs.append([round(a, 5), round(a * pair["ratio"], 5)])
        if pairs:
            sets.append({"name": "A/A" if percent == 0 else "A/B", "planted_percent": percent, "pairs": pairs})
    lines = ",\n".join('    {"name": "%s", "planted_percent": %d, "pairs": [\n%s\n    ]}' % (
        each["name"], each["planted_percent"], ",\n".join("      " + ", ".join(json.dumps(pair) for pair in each["pairs"][i:i + 6])
                                                         for i in range(0, len(each["pairs"]), 6))) for each in sets)
    print('{\n  "schema": "redraft.bench-blocks/1",\n  "scenario": %s,\n  "steps": %d,\n  "machine": %s,\n  "commit": %s,\n'
          '  "unit": "milliseconds a step, the median of a block: A, B",\n  "sets": [\n%s\n  ]\n}' % (
              json.dumps(example["a"]["scenario"]), len(example["pairs"][0]["a"]["seconds"]),
              json.dumps(example["performance_class"]), json.dumps(example["commit"]), lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("out")
    runs.add_argument("--same", type=int, default=20)
    runs.add_argument("--two", type=int, default=10)
    runs.add_argument("--five", type=int, default=10)
    runs.add_argument("--scenario", default="throughput/stretched")
    runs.add_argument("--redraft", default="build/bin/redraft")
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    for name in ("table", "blocks"):
        commands.add_parser(name).add_argument("out", nargs="+")
    args = parser.parse_args(words[:cut])
    args.options = words[cut + 1:]
    {"run": run, "table": table, "blocks": blocks}[args.command](args)


if __name__ == "__main__":
    main()
