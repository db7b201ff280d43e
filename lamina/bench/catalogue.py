"""The workloads in the order in which they are shown, by name."""

from typing import Final

from lamina.bench.functions import FUNCTIONS
from lamina.bench.training import STEPS
from lamina.bench.workloads import Workload

WORKLOADS: Final[dict[str, Workload]] = {w.name: w for w in (*STEPS, *FUNCTIONS)}
