"""What the command `lamina bench` does."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib.util
import sys
from collections.abc import Sequence
from typing import Any

from lamina.bench.catalogue import WORKLOADS
from lamina.bench.report import Table, machine, write_json
from lamina.bench.rounds import Outcome, measure_memory, run_workload
from lamina.bench.workers import COMPILED, EAGER, PYTORCH, Process, WorkerFailed, core_count


def _unknown(names: Sequence[str]) -> str:
    """What is wrong with the names of workloads; empty if nothing is."""
    for name in names:
        if name not in WORKLOADS:
            near = difflib.get_close_matches(name, WORKLOADS, n=1, cutoff=0.0)
            return f"there is no workload {name!r}; the nearest is {near[0]!r} (--list shows all)"
    return "" if names else "no workload is named"


def run(options: argparse.Namespace) -> int:
    """Time the workloads.

    The exit status is 1 if one failed or gave different results, and 2 if there is none of a name.
    """
    names = list(WORKLOADS) if options.only is None else _split(options.only)
    wrong = _unknown(names)
    if wrong:
        print(f"lamina bench: error: {wrong}", file=sys.stderr)
        return 2
    if options.list:
        width = max(map(len, WORKLOADS))
        for name in names:
            print(f"{name:<{width}}  {WORKLOADS[name].about}")
        return 0
    threads = options.threads or core_count()
    kinds = [EAGER, COMPILED]
    if importlib.util.find_spec("torch") is not None:
        kinds.append(PYTORCH)
    else:
        print("PyTorch is not installed: Lamina is timed alone", file=sys.stderr)
        kinds.reverse()  # ratios are those to the last column
    processes = [Process(kind, threads) for kind in kinds]
    with contextlib.ExitStack() as stack:
        for process in processes:
            stack.callback(process.close)
        try:
            versions = {p.kind.library: p.ask("version")["version"] for p in processes}
        except WorkerFailed as failure:
            print(f"a library cannot be used: {failure}", file=sys.stderr)
            return 1
        outcomes = _outcomes(names, options, processes)
    about = machine(versions, threads)
    table = Table([kind.title for kind in kinds], options.memory, sys.stdout)
    table.show(outcomes, _footer(about, options.rounds))
    if options.json is not None:
        write_json(options.json, outcomes, about)
    return 1 if any(outcome.failures for outcome in outcomes) else 0


def _outcomes(
    names: Sequence[str], options: argparse.Namespace, processes: Sequence[Process]
) -> list[Outcome]:
    outcomes = []
    clear, end = ("\r\x1b[K", "") if sys.stderr.isatty() else ("", "\n")
    for k, name in enumerate(names, start=1):
        print(f"{clear}[{k}/{len(names)}] {name}", end=end, file=sys.stderr, flush=True)
        outcome = run_workload(WORKLOADS[name], processes, options.rounds)
        if options.memory:
            measure_memory(outcome, processes)
        outcomes.append(outcome)
    print(clear, end="", file=sys.stderr, flush=True)
    return outcomes


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _footer(about: dict[str, Any], rounds: int) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return (
        f"medians of {rounds} rounds in turns, {about['threads']} threads each, whole steps and "
        f"backward passes compiled; {about['processor']}; {versions}"
    )
