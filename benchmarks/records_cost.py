"""What it costs to note where things happen: eager training steps with the records and without.

Each form runs in processes of its own, which take turns; the least time of each counts. "Without",
the position of the user's program is a constant, and nothing is noted for the explainer. Stamps and
versions stay: gradients depend on them.

    python benchmarks/records_cost.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

from _report import print_table

import lamina
from lamina.bench.catalogue import WORKLOADS
from lamina.core import provenance, records

NAMES = ("micro_mlp", "mlp", "gpt")
CHAIN = "chain"
LINKS = 100
ROUNDS = 5
SECONDS = 2.0


def chain() -> Any:
    """`x = x * b + a` a hundred times on ten elements, with its backward pass."""
    a = lamina.rand(10).requires_grad_()
    b = lamina.full((10,), 0.5).requires_grad_()

    def step() -> None:
        a.grad = b.grad = None
        x = a
        for _ in range(LINKS):
            x = x * b + a
        x.sum().backward()

    return step


def forget_records() -> None:
    """Put constants and functions that do nothing into the place of all that takes notes."""
    code = compile("0", "<nowhere>", "eval")
    frame = SimpleNamespace(f_code=code, f_lasti=0, f_back=None)
    stand_ins: dict[int, Any] = {
        id(sys._getframe): {1: frame, 2: frame}.__getitem__,
        id(provenance.here): lambda depth=1: (code, 0),
        id(provenance.user_frame): lambda frame: frame,
    }
    for name, value in vars(records).items():
        if name.startswith("note_") and name != "note_pass":  # passes also have their watchers
            stand_ins[id(value)] = lambda *args, **kwargs: None
    for module in [m for name, m in sys.modules.items() if name.startswith("lamina")]:
        for name, value in list(vars(module).items()):
            if id(value) in stand_ins:
                setattr(module, name, stand_ins[id(value)])


def measure(name: str) -> float:
    """The least seconds that a step takes, in this process."""
    step = chain() if name == CHAIN else WORKLOADS[name].build(lamina)
    least = float("inf")
    for _ in range(3):
        step()
    ends = time.perf_counter() + SECONDS
    while time.perf_counter() < ends:
        started = time.perf_counter()
        step()
        least = min(least, time.perf_counter() - started)
    return least


def in_a_process(name: str, form: str) -> float:
    """`measure` in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, form, name], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main() -> None:
    """Print the table, or, as a process of it, one time."""
    if len(sys.argv) == 3:
        form, name = sys.argv[1:]
        lamina.set_num_threads(1)
        if form == "without":
            forget_records()
        print(measure(name))
        return
    rows = []
    for name in (CHAIN, *NAMES):
        least = {"with": float("inf"), "without": float("inf")}
        for _ in range(ROUNDS):
            for form in least:
                least[form] = min(least[form], in_a_process(name, form))
        share = least["with"] / least["without"] - 1
        rows.append((name, *(f"{1e3 * s:.3f} ms" for s in least.values()), f"{100 * share:.1f} %"))
    print_table(["a step of", "with records", "without", "records cost"], rows)


if __name__ == "__main__":
    main()
