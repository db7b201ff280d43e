"""Hugging Face transformers, unmodified, under PyTorch and under Lamina: the same numbers?

    python benchmarks/libraries/run.py [NAME ...]

`models.py` builds small models with weights made up from a seed, and takes a step of each. A row
tells the largest relative difference between the two libraries' numbers. The exit status is 1 if
a model fails or differs by more than 1e-4.

Needs PyTorch, Lamina and transformers with accelerate in one environment.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from _report import note  # noqa: E402

MODELS = HERE / "models.py"
LIBRARIES = {"torch": [], "lamina": ["-m", "lamina.cli", "run"]}
TOLERANCE = 1e-4


def run(library: str, names: list[str]) -> dict[str, dict[str, Any]]:
    """What one process reports, by model."""
    command = [sys.executable, *LIBRARIES[library], str(MODELS), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"name"')]
    if not rows:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise SystemExit(f"{library}: nothing ran: {last[0]}")
    return {row["name"]: row for row in rows}


def difference(ours: list[float], theirs: list[float]) -> float:
    """The largest relative difference; infinite if there are not as many numbers."""
    if len(ours) != len(theirs):
        return float("inf")
    pairs = zip(ours, theirs, strict=True)
    return max(abs(a - b) / max(abs(b), 1e-12) for a, b in pairs)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="models, as models.py names them (default: all)")
    names = parser.parse_args().names
    theirs = run("torch", names)
    ours = run("lamina", names)
    print("| transformers | largest difference |\n|---|---|")
    agreed = 0
    for name, expected in theirs.items():
        row = ours.get(name, {"error": "did not run"})
        failed = row.get("error") or expected.get("error")
        apart = float("inf") if failed else difference(row["numbers"], expected["numbers"])
        agreed += apart <= TOLERANCE
        print(f"| {name} | {failed or f'{apart:.0e}'} |")
    note(f"{agreed} of {len(theirs)} agree")
    raise SystemExit(agreed < len(theirs))


if __name__ == "__main__":
    main()
