#!/usr/bin/env python3
"""Prints the shell commands of a workflow file (GitHub Actions or GitLab CI), one a line, lines that go on joined.

usage: ci_commands.py FILE
"""
import sys

import yaml


def scripts(node):
    """Every text under a key that holds shell: `run` of a step, `script` and `before_script` of a job."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("run", "script", "before_script") and not isinstance(value, dict):
                yield from value if isinstance(value, list) else [value]
            else:
                yield from scripts(value)
    elif isinstance(node, list):
        for each in node:
            yield from scripts(each)


def main():
    with open(sys.argv[1]) as file:
        document = yaml.safe_load(file)
    for script in scripts(document):
        for line in script.replace("\\\n", " ").splitlines():
            if line.strip():
                print(" ".join(line.split()))


if __name__ == "__main__":
    main()
