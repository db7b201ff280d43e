"""floor.py REPORT PERCENT: fail if a smaller share of the ops passes at any level of the report."""

import json
import sys


def shares(report):
    """{level: percent of ops that pass}; an op that is missing counts as failed at every level."""
    ops = [op for op in report["ops"] if op["status"] != "skipped"]
    found = {}
    for level in report["levels"]:
        asked = [op for op in ops if level in op["levels"] or op["status"] == "missing"]
        passed = sum(op["levels"].get(level, {}).get("status") == "pass" for op in asked)
        found[level] = 100 * passed / max(len(asked), 1)
    return found


if __name__ == "__main__":
    path, floor = sys.argv[1], float(sys.argv[2])
    with open(path, encoding="utf-8") as file:
        found = shares(json.load(file))
    print(", ".join(f"{level} {share:.1f} %" for level, share in found.items()))
    sys.exit(min(found.values()) < floor and f"below the floor of {floor:g} %")
