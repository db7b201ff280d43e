"""Runs one program with one library, and prints a line of JSON: losses, times, the error if any.

python worker.py torch|lamina NAME FOLDER DTYPE THREADS
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import random
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

import lamina

SEED = 1234


class Curve:
    """The values that a driver records, and when."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.times = [time.perf_counter()]

    def __call__(self, value: object) -> None:
        """Note a value: a number, or a tensor of one element."""
        self.losses.append(float(value))  # type: ignore[arg-type]
        self.times.append(time.perf_counter())

    def seconds(self) -> list[float]:
        """The time that each step took."""
        return [end - start for start, end in zip(self.times, self.times[1:], strict=False)]


def main() -> None:
    """Run the driver, with the library that was asked for as `torch`."""
    library, name, folder, dtype, threads = sys.argv[1:]
    sys.path[0] = str(Path(__file__).parent)
    driver = importlib.import_module(f"drivers.{name}")
    curve = Curve()
    error = trace = None
    alias = lamina.as_torch() if library == "lamina" else contextlib.nullcontext()
    printed = io.StringIO()
    with alias, contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch

        random.seed(SEED)
        np.random.seed(SEED)  # noqa: NPY002  (the stream that programs use)
        torch.manual_seed(SEED)
        torch.set_default_dtype(getattr(torch, dtype))
        torch.set_num_threads(int(threads))
        try:
            driver.run(Path(folder) / driver.REPOSITORY.rpartition("/")[2], curve)
        except Exception as failure:
            error = f"{type(failure).__name__}: {str(failure).splitlines()[0]}"
            trace = traceback.format_exc()
    report = {"losses": curve.losses, "seconds": curve.seconds(), "error": error, "trace": trace}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
