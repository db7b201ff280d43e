"""`lamina doctor`: runs a program, and reports what is wrong with it."""

from __future__ import annotations

import atexit
import sys
from collections import Counter
from collections.abc import Callable
from typing import Final

from lamina.cuda import transfers
from lamina.devices.byte_counts import bytes_in_words
from lamina.doctor.findings import Finding
from lamina.doctor.library import Library
from lamina.doctor.own_library import OwnLibrary
from lamina.doctor.torch_library import TorchLibrary
from lamina.doctor.watching import Doctor, say
from lamina.errors import Place

LINES_SHOWN: Final = 5
LEAST_MEMORY: Final = 1 << 20
"""Bytes kept for backward that are worth a word."""


def watch(run: Callable[[], None], is_torch: bool, is_strict: bool) -> int:
    """Run a program under the doctor's eyes.

    Findings go to stderr as they are made, and the report when all is over: behind the traceback,
    if the program fails.

    Args:
        run: Runs the program.
        is_torch: Whether the program's library is the real PyTorch.
        is_strict: Whether findings make the exit status 1.

    Returns:
        The exit status, where the program itself raises nothing.
    """
    library: Library = TorchLibrary() if is_torch else OwnLibrary()
    doctor = Doctor(say, library)
    atexit.register(_report, doctor)
    with doctor:
        run()
    return 1 if is_strict and doctor.findings else 0


def _report(doctor: Doctor) -> None:
    lines = [_summary(doctor.findings, doctor.steps, doctor.passes)]
    for finding in doctor.findings:
        where = next((place for place, _ in finding.notes if place is not None), None)
        lines.append(f"  {finding.fault.value}" + (f": {where}" if where is not None else ""))
    lines += _memory(doctor.memory) + _transfers()
    failures = Counter(f"{type(error).__name__}: {error}" for error in doctor.failures)
    for text, times in failures.items():
        lines.append(f"  the doctor could not look at everything ({times} times): {text}")
    print("\n".join(lines), file=sys.stderr)


def _memory(lines: list[tuple[Place, int]]) -> list[str]:
    total = sum(nbytes for _, nbytes in lines)
    if total < LEAST_MEMORY:
        return []
    shown = [f"    {bytes_in_words(nbytes):>10}  {place}" for place, nbytes in lines[:LINES_SHOWN]]
    return [f"  kept for a backward pass: {bytes_in_words(total)}, by these lines:", *shown]


def _transfers() -> list[str]:
    moved = transfers()
    if not (moved.host_to_device or moved.device_to_host):
        return []
    return [
        f"  moved to the GPU {moved.host_to_device} times "
        f"({bytes_in_words(moved.host_to_device_bytes)}), back {moved.device_to_host} times "
        f"({bytes_in_words(moved.device_to_host_bytes)})"
    ]


def _summary(findings: list[Finding], steps: int, passes: int) -> str:
    seen = f"{_count(passes, 'backward pass', 'backward passes')}, {_count(steps, 'step', 'steps')}"
    if not passes:
        return "doctor: there was no backward pass to look at"
    if not findings:
        return f"doctor: nothing is wrong, as far as can be seen ({seen})"
    return f"doctor: {_count(len(findings), 'finding', 'findings')} ({seen})"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
