#!/usr/bin/env python3
"""Rejects includes that the layers do not allow.

usage: check_layering.py [ROOT]      prints file:line: reason; exit 1 when there is any

  scenarios -> harness, model, golden, reports      reports -> golden      any of them -> devices, base
  harness   -> golden, reports                      devices -> base

tests/<layer> and bench/<layer> may include what their layer may, and the layer itself. LibTorch is looked for through
all headers of the project that a file reaches, so a layer without it cannot get it by way of another.
"""
import functools
import pathlib
import re
import sys

LEAVES = {"devices", "base"}
ALLOWED = {"scenarios": {"harness", "model", "golden", "reports"} | LEAVES, "harness": {"golden", "reports"} | LEAVES,
           "reports": {"golden"} | LEAVES, "golden": LEAVES, "model": LEAVES, "devices": {"base"}, "base": set()}
# What the command line is made of: starts in 30 ms, so no LibTorch; detects faults, so knows none of them.
NO_LIBTORCH = ("base/", "devices/", "golden/", "reports/", "harness/", "scenarios/spec/", "scenarios/cli/")
NO_FAULTS = ("scenarios/spec/", "scenarios/cli/")
LIBTORCH = re.compile(r"(torch|ATen|c10|caffe2)/")
WHOLE_LIBTORCH = {"torch/torch.h", "torch/all.h", "torch/extension.h"}
FMT = re.compile(r"(fmt|spdlog)/")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
CODE = {".h", ".hpp", ".cc", ".cpp", ".cu", ".cuh"}


@functools.cache
def includes(path):
    """[(line, quote, name)] of one file."""
    text = path.read_text()
    return [(text.count("\n", 0, m.start()) + 1, m[1], m[2]) for m in INCLUDE.finditer(text)]


@functools.cache
def chain_to(root, path, pattern):
    """The includes that lead from `path` to one that `pattern` matches, or None."""
    seen, rest = {path}, [(path, ())]
    while rest:
        here, chain = rest.pop()
        for _, _, name in includes(here):
            if pattern.match(name):
                return (*chain, name)
            next_path = root / name
            if next_path.is_file() and next_path not in seen:
                seen.add(next_path)
                rest.append((next_path, (*chain, name)))
    return None


def check_edge(layer, name):
    target = name.split("/")[0]
    if target not in ALLOWED or target == layer or target in ALLOWED[layer]:
        return None
    allowed = ", ".join(sorted(ALLOWED[layer])) or "nothing"
    return f'{layer} may not include {target} ("{name}"); it may include {allowed}'


def check_include(rel, layer, line, quote, name):
    where = f"{rel}:{line}"
    is_test = rel.parts[0] in ("tests", "bench")
    if quote == '"' and name.startswith("."):
        yield f'{where}: "{name}" is relative; includes start at the root of the project'
    if name in WHOLE_LIBTORCH:
        yield f"{where}: <{name}> takes a minute to compile; include the narrow ATen, c10 or torch/csrc header"
    if layer and (reason := check_edge(layer, name)):
        yield f"{where}: {reason}"
    if not is_test and str(rel).startswith(NO_FAULTS) and name.startswith(("scenarios/faults/", "scenarios/runner/")):
        yield f'{where}: what detects faults may not include them ("{name}")'


def check_file(root, path):
    rel = path.relative_to(root)
    is_test = rel.parts[0] in ("tests", "bench")
    layer = rel.parts[1] if is_test and len(rel.parts) > 2 else rel.parts[0]
    layer = layer if layer in ALLOWED else None
    for line, quote, name in includes(path):
        yield from check_include(rel, layer, line, quote, name)
    to_torch = chain_to(root, path, LIBTORCH)
    to_fmt = chain_to(root, path, FMT)
    if to_torch and str(rel).startswith(NO_LIBTORCH):
        yield f"{rel}:1: no LibTorch here, but it includes {' -> '.join(to_torch)}"
    if to_torch and to_fmt:
        yield f"{rel}:1: LibTorch brings fmt 12, the system another: {' -> '.join(to_fmt)} and {' -> '.join(to_torch)}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = [p for top in (*ALLOWED, "tests", "bench") for p in sorted((root / top).rglob("*")) if p.suffix in CODE]
    if not files:
        sys.exit(f"layering: no C++ file under {root}")
    found = [reason for path in files for reason in check_file(root, path)]
    print("\n".join([*found, f"layering: {len(files)} files, {len(found)} wrong includes"]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
