"""What it costs to start: import time beside NumPy's, and the size on disk."""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import subprocess
import sys

from _report import has_torch, print_table

ROUNDS = 15


def import_milliseconds(names: list[str]) -> list[float]:
    """The best wall time of a fresh interpreter that imports a package, interleaved."""
    program = (
        "import sys, time; t = time.perf_counter(); __import__(sys.argv[1]); "
        "print(1000 * (time.perf_counter() - t))"
    )
    # Compiled files are kept, as they are after an installation.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    best = [float("inf")] * len(names)
    for _ in range(ROUNDS):
        for index, name in enumerate(names):
            command = [sys.executable, "-c", program, name]
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, env=environment
            )
            best[index] = min(best[index], float(done.stdout))
    return best


def megabytes(name: str) -> float:
    """The size of an installed distribution's files."""
    files = importlib.metadata.files(name) or []
    paths = [pathlib.Path(str(file.locate())) for file in files]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def folder_megabytes(folder: pathlib.Path) -> float:
    """The size of a source folder, compiled files left out."""
    return (
        sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc") / 1e6
    )


def main() -> None:
    """Print import times and sizes."""
    import lamina

    names = ["numpy", "lamina"] + ["torch"] * has_torch()
    times = import_milliseconds(names)
    own = folder_megabytes(pathlib.Path(lamina.__file__).parent)
    numpy_size = megabytes("numpy")
    sizes = [numpy_size, numpy_size + own, *([megabytes("torch")] if has_torch() else [])]
    rows = [
        [name, f"{time:.0f}", f"{size:.1f}"]
        for name, time, size in zip(names, times, sizes, strict=True)
    ]
    print_table(["package", "import ms", "MB on disk (lamina with NumPy)"], rows)
    print(f"lamina is {times[1] - times[0]:.0f} ms above NumPy; its own files are {own:.1f} MB")


if __name__ == "__main__":
    main()
