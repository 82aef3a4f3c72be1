#!/usr/bin/env python3
"""Validates JSON files against a JSON Schema; prints what is wrong, a line each, and exits with 1 if anything is.

usage: validate_json.py SCHEMA FILE... [--each]      --each: the schema is of the members of a list
"""
import json
import sys

import jsonschema


def main():
    arguments = [each for each in sys.argv[1:] if each != "--each"]
    with open(arguments[0]) as file:
        schema = json.load(file)
    validator_class = jsonschema.validators.validator_for(schema)
    validator_class.check_schema(schema)
    validator = validator_class(schema)
    problems = 0
    for path in arguments[1:]:
        with open(path) as file:
            document = json.load(file)
        for member in document if "--each" in sys.argv else [document]:
            for error in validator.iter_errors(member):
                problems += 1
                print(f"{path}: {error.json_path}: {error.message[:300]}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
