#!/usr/bin/env python3
"""Fails when a test was skipped that no one expects to be: absent capability must not pass for success.

usage: check_skips.py RESULTS EXPECTED

RESULTS   folder of GoogleTest's XML reports (GTEST_OUTPUT=xml:RESULTS/)
EXPECTED  lines "Suite.Name: reason", "*" matches anything; "#" starts a comment
"""
import fnmatch
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def expected_patterns(path):
    patterns = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if line:
            pattern, colon, reason = line.partition(": ")
            if not colon or not reason.strip():
                sys.exit(f"{path}:{number}: an expected skip needs a reason: 'Suite.Name: reason'")
            patterns.append(pattern)
    return patterns


def skipped_tests(folder):
    for report in sorted(folder.glob("*.xml")):
        for case in ElementTree.parse(report).iter("testcase"):
            skip = case.find("skipped")
            if skip is not None or case.get("result") in ("skipped", "suppressed"):
                reason = (skip.get("message") if skip is not None else "") or "disabled"
                yield report.stem, f"{case.get('classname')}.{case.get('name')}", " ".join(reason.split())


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    results, expected = map(pathlib.Path, sys.argv[1:])
    patterns = expected_patterns(expected)
    skips, unexpected = list(skipped_tests(results)), 0
    for program, name, reason in skips:
        known = any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
        unexpected += not known
        print(f"skips: {program}: {name}: {reason}{'' if known else f' (UNEXPECTED: not in {expected})'}")
    print(f"skips: {len(skips)} skipped tests, {unexpected} unexpected")
    sys.exit(1 if unexpected else 0)


if __name__ == "__main__":
    main()
