"""What it costs to be watched by the doctor: training steps with and without it, in turns.

python benchmarks/doctor_cost.py [--rounds 9]
"""

import argparse
import statistics
import time

import lamina
from lamina.bench.catalogue import WORKLOADS
from lamina.doctor import Doctor

NAMES = ("micro_mlp", "mlp", "gpt")
SECONDS = 0.5


def seconds_a_step(step):
    """The median time of a step, over about half a second of them."""
    times = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="turns of each (9)")
    options = parser.parse_args()
    print(f"{'step':<12} {'alone':>12} {'watched':>12} {'more':>8}")
    for name in NAMES:
        step = WORKLOADS[name].build(lamina)
        step()
        alone, watched = [], []
        for _ in range(options.rounds):
            alone.append(seconds_a_step(step))
            with Doctor():
                watched.append(seconds_a_step(step))
        least, most = min(alone), min(watched)
        print(f"{name:<12} {least * 1e6:9.0f} us {most * 1e6:9.0f} us {most / least - 1:8.1%}")


if __name__ == "__main__":
    main()
