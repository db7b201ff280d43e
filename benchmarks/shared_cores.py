"""What one other busy process costs a training step: both share the machine's cores.

Each library steps in a process of its own, first alone and then beside a process that counts.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time

from _report import print_table

SECONDS = 3.0
STEPS = ("mlp", "lstm", "gpt")
BUSY = "while True: pass"
PROGRAM = """
import importlib, sys, time
from lamina.bench.catalogue import WORKLOADS

library = importlib.import_module(sys.argv[1])
step = WORKLOADS[sys.argv[2]].build(library)
if sys.argv[3] == "compiled":
    step = library.compile(step)
for _ in range(5):
    step()
print("ready", flush=True)
for line in sys.stdin:
    times, end = [], time.perf_counter() + float(line)
    while time.perf_counter() < end or len(times) < 3:
        started = time.perf_counter()
        step()
        times.append(time.perf_counter() - started)
    print(sorted(times)[len(times) // 2], flush=True)
"""


def measure(library: str, name: str, how: str) -> tuple[float, float]:
    """The median seconds of a step alone, and beside a busy process."""
    command = [sys.executable, "-c", PROGRAM, library, name, how]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdout.readline()

        def median() -> float:
            print(SECONDS, file=worker.stdin, flush=True)
            return float(worker.stdout.readline())

        alone = median()
        busy = subprocess.Popen([sys.executable, "-c", BUSY])
        try:
            time.sleep(0.2)
            beside = median()
        finally:
            busy.kill()
            busy.wait()
            worker.stdin.close()
        return alone, beside


def main() -> None:
    """Print a row for each step and library."""
    ways = [("lamina", "eager"), ("lamina", "compiled")]
    if importlib.util.find_spec("torch") is not None:
        ways.append(("torch", "eager"))
    rows = []
    for name in STEPS:
        for library, how in ways:
            alone, beside = measure(library, name, how)
            cells = [f"{1000 * alone:.2f}", f"{1000 * beside:.2f}", f"{beside / alone:.1f}"]
            rows.append([name, f"{library}, {how}", *cells])
    print_table(["step", "how", "ms alone", "ms beside a busy process", "ratio"], rows)


if __name__ == "__main__":
    main()
