"""Recurrent layers beside PyTorch's: each library in a process of its own, in turns.

Training steps with Adam on the last output of a layer of 128 units, 64 positions, batch 32, input
64; what runs an LSTM without gradients; a small one (20 positions, batch 8, 16 to 32); and large
ones of few sequences (32 positions). Arguments are parts of cases' names: only those are run.
"""

from __future__ import annotations

import subprocess
import sys

from _report import has_torch, note, print_table

ROUNDS = 3
CASES = {
    "LSTM": "LSTM 64 128 1 0 64 32 1",
    "GRU": "GRU 64 128 1 0 64 32 1",
    "RNN": "RNN 64 128 1 0 64 32 1",
    "LSTM, two layers, both directions": "LSTM 64 128 2 1 64 32 1",
    "LSTM without gradients": "LSTM 64 128 1 0 64 32 0",
    "small LSTM": "LSTM 16 32 1 0 20 8 1",
    "LSTM, 1024 units, 1 sequence": "LSTM 1024 1024 1 0 32 1 1",
    "LSTM, 1024 units, 1 sequence, without gradients": "LSTM 1024 1024 1 0 32 1 0",
    "GRU, 1024 units, 4 sequences": "GRU 1024 1024 1 0 32 4 1",
    "LSTM, 256 units, 1 sequence": "LSTM 256 256 1 0 32 1 1",
}
PROGRAM = """
import importlib, sys, time

library, how, kind = sys.argv[1:4]
size, hidden, layers, both, length, batch, trains = map(int, sys.argv[4:])
torch = importlib.import_module(library)
nn = torch.nn
layer = getattr(nn, kind)(size, hidden, layers, batch_first=True, bidirectional=bool(both))
last = nn.Linear(hidden * (1 + both), 10)
optimizer = torch.optim.Adam([*layer.parameters(), *last.parameters()], lr=1e-3)
x, classes = torch.randn(batch, length, size), torch.randint(0, 10, (batch,))

def train():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(last(layer(x)[0][:, -1]), classes)
    loss.backward()
    optimizer.step()
    return loss

def run():
    with torch.no_grad():
        return layer(x)[0]

step = train if trains else run
if how == "compiled":
    step = torch.compile(step)
times, started = [], time.perf_counter()
while time.perf_counter() < started + 2.0 or len(times) < 10:
    before = time.perf_counter()
    step()
    times.append(time.perf_counter() - before)
times = sorted(times[len(times) // 2 :])
print(times[len(times) // 2])
"""


def measure(library: str, how: str, case: str) -> float:
    """The median seconds of a step in a fresh process, when all that is compiled is there."""
    command = [sys.executable, "-c", PROGRAM, library, how, *case.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Print the least of some rounds."""
    ways = [("lamina", "eager"), ("lamina", "compiled")]
    if has_torch():
        ways.append(("torch", "eager"))
    rows = []
    for name, case in CASES.items():
        if not all(part in name for part in sys.argv[1:]):
            continue
        rounds = [[measure(*way, case) for way in ways] for _ in range(ROUNDS)]
        rows.append([name, *(f"{1000 * min(times):.2f}" for times in zip(*rounds, strict=True))])
    print_table(["ms", "Lamina", "`lamina.compile`", "PyTorch"][: 1 + len(ways)], rows)
    note("two threads each, where there are two cores")


if __name__ == "__main__":
    main()
