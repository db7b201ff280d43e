"""What compiling costs: the calls of a training step until it runs as a program.

In fresh processes: with an empty cache of machine code, and again with what the first one kept.
The optimizer's state has to be there before a step can be captured, so its first call runs eagerly.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from _report import print_table

ROUNDS = 3
STEPS = ("micro_mlp", "mlp", "cnn", "lstm", "gpt")
PROGRAM = """
import sys, time
import lamina
from lamina.bench.catalogue import WORKLOADS

step = lamina.compile(WORKLOADS[sys.argv[1]].build(lamina))
calls, started = 0, time.perf_counter()
while not step.programs:
    step()
    calls += 1
    if calls > 10:
        sys.exit("it never became a program")
print(calls, time.perf_counter() - started)
started = time.perf_counter()
for _ in range(5):
    step()
print((time.perf_counter() - started) / 5)
"""


def measure(name: str, folder: str) -> tuple[int, float, float]:
    """Calls until there is a program, the seconds they took, and seconds of a later call."""
    environment = os.environ | {"LAMINA_CACHE_DIR": folder}
    command = [sys.executable, "-c", PROGRAM, name]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    calls, until, later = done.stdout.split()
    return int(calls), float(until), float(later)


def main() -> None:
    """Print the least of some rounds."""
    rows = []
    for name in STEPS:
        cold, warm = [], []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(measure(name, folder))
                warm.append(measure(name, folder))
        calls = warm[0][0]
        times = [min(until for _, until, _ in found) for found in (cold, warm)]
        later = min(later for _, _, later in warm)
        rows.append([name, calls, *(f"{t:.2f}" for t in times), f"{1000 * later:.2f}"])
    print_table(
        ["step", "calls until compiled", "s, empty cache", "s, from the cache", "ms, later calls"],
        rows,
    )


if __name__ == "__main__":
    main()
