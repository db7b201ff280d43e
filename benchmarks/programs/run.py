"""Public programs, unmodified, under PyTorch and under Lamina: the same losses? how fast?

    python benchmarks/programs/run.py FOLDER [--only NAMES] [--double] [--curves] [--json FILE]

FOLDER holds checkouts of the programs, each under the name of its repository; `--list` names them,
with their commits. A driver (`drivers/`) builds a program's own model, or starts its own script,
with data made up from a seed, and runs some steps. Each library runs it in a process of its own,
in turns.

A row tells whether the program ran, the largest relative difference between the two curves, and
the time of a step, Lamina's relative to PyTorch's: of each step but the first the least of the
rounds, and of the ratios the median. Rounding differs between libraries, and training amplifies
it: `--double` runs the programs once more with float64 as the default dtype, where what is left
is seen.

Needs both libraries and what the programs need: einops, tqdm, scipy, sympy; for some einx,
loguru, trampoline and unfoldNd.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from _report import note, versions  # noqa: E402

LIBRARIES = ("torch", "lamina")
Run = dict[str, Any]


def drivers() -> list[str]:
    """The names of the programs, in the order of their drivers' files."""
    return sorted(file.stem for file in (HERE / "drivers").glob("*.py"))


def run(name: str, library: str, options: argparse.Namespace, dtype: str) -> Run:
    """What one process reports: losses, seconds of each step, and the error if there was one."""
    threads = str(options.threads)
    command = [sys.executable, str(HERE / "worker.py"), library, name]
    command += [str(options.folder), dtype, threads]
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    environment["PYTHONHASHSEED"] = "0"  # some programs number what they take out of a set
    limit = options.limit
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return {"losses": [], "seconds": [], "error": f"not done after {limit:g} s"}
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return {"losses": [], "seconds": [], "error": last[0], "trace": done.stderr}
    report: Run = json.loads(done.stdout.splitlines()[-1])
    return report


def both(name: str, options: argparse.Namespace, dtype: str, rounds: int) -> dict[str, Run]:
    """Each library's run, with the least time of every step; the rounds are taken in turns."""
    runs: dict[str, Run] = {}
    for _ in range(rounds):
        for library in LIBRARIES:
            again = run(name, library, options, dtype)
            first = runs.setdefault(library, again)
            pairs = zip(first["seconds"], again["seconds"], strict=False)
            first["seconds"] = [min(pair) for pair in pairs]
            if again["error"]:
                runs[library] = again
    return runs


def difference(ours: list[float], theirs: list[float]) -> float:
    """The largest relative difference between two curves of the same length."""
    pairs = zip(ours, theirs, strict=True)
    return max(abs(a - b) / max(abs(a), abs(b), 1e-30) if a != b else 0.0 for a, b in pairs)


def compare(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """The runs of one program, and what they say together."""
    runs = both(name, options, "float32", options.rounds)
    row: dict[str, Any] = {"program": name, "runs": runs}
    failed = [f"{library}: {found['error']}" for library, found in runs.items() if found["error"]]
    if failed:
        return row | {"reason": "; ".join(failed)}
    ours, theirs = (runs[library] for library in ("lamina", "torch"))
    if len(ours["losses"]) != len(theirs["losses"]):
        return row | {"reason": f"{len(ours['losses'])} values, PyTorch {len(theirs['losses'])}"}
    row["difference"] = difference(ours["losses"], theirs["losses"])
    # The first step imports, allocates and compiles: it is no step like the others.
    pairs = list(zip(ours["seconds"], theirs["seconds"], strict=True))[1:]
    row["ratio"] = statistics.median(mine / other for mine, other in pairs)
    if options.double:
        row["double"] = _in_double(both(name, options, "float64", 1))
    return row


def _in_double(runs: dict[str, Run]) -> float | None:
    """The difference in float64; None for a program that mixes dtypes, and so does not run."""
    losses = [runs[library]["losses"] for library in LIBRARIES]
    if any(found["error"] for found in runs.values()) or len(losses[0]) != len(losses[1]):
        return None
    return difference(*losses)


def show(row: dict[str, Any], curves: bool) -> None:
    """One row of the table, and the curves side by side below it if wanted."""
    if "reason" in row:
        print(f"| {row['program']} | no | | | | {row['reason'][:160]} |", flush=True)
        return
    steps = len(row["runs"]["lamina"]["losses"])
    double = "" if row.get("double") is None else f"{row['double']:.0e}"
    cells = row["program"], "yes", f"{row['difference']:.0e}", double, f"{row['ratio']:.2f}", steps
    print("| " + " | ".join(map(str, cells)) + " |")
    if curves:
        values = zip(*(row["runs"][library]["losses"] for library in LIBRARIES), strict=True)
        for step, (theirs, ours) in enumerate(values):
            print(f"    {step:3}  PyTorch {theirs:<22.9g} Lamina {ours:<22.9g}")
    sys.stdout.flush()


def main() -> int:
    """Run what was asked for; the exit status is 1 if a program did not run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where the checkouts are")
    parser.add_argument("--only", metavar="NAMES", help="only these programs, with commas between")
    parser.add_argument("--list", action="store_true", help="list programs and commits, and stop")
    parser.add_argument("--double", action="store_true", help="once more in float64")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="turns of each (1)")
    threads = os.cpu_count() or 1
    parser.add_argument("--threads", type=int, default=threads, metavar="N", help="of each (all)")
    parser.add_argument("--curves", action="store_true", help="show both curves, step by step")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all values into this file")
    parser.add_argument("--limit", type=float, default=300, metavar="S", help="seconds a run (300)")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else drivers()
    if unknown := [name for name in names if name not in drivers()]:
        parser.error(f"no such program: {', '.join(unknown)}")
    if options.list:
        for name in names:
            driver = importlib.import_module(f"drivers.{name}")
            print(f"{name:28} https://github.com/{driver.REPOSITORY} {driver.COMMIT}")
        return 0
    if options.folder is None:
        parser.error("which folder holds the checkouts?")
    options.folder = options.folder.resolve()
    print("| program | works | difference | in float64 | time | values |\n" + "|---" * 6 + "|")
    rows = []
    for name in names:
        rows.append(compare(name, options))
        show(rows[-1], options.curves)
    print(f"({versions()})")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    failed = [row["program"] for row in rows if "reason" in row]
    if failed:
        note(f"{len(failed)} of {len(rows)} did not run: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
