"""What a report of a fault should say about the machine and the packages on it."""

from __future__ import annotations

import importlib.util
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from lamina.devices.thread_count import get_num_threads
from lamina.version import __version__

__all__ = ["get_pretty_env_info", "main"]

_OPTIONAL = ("llvmlite", "ml_dtypes", "safetensors", "rich", "tensorboardX", "torch")


def get_pretty_env_info() -> str:
    """Versions and the machine, one a line."""
    rows = {
        "Lamina version": __version__,
        "Python version": sys.version.replace("\n", " "),
        "Python platform": platform.platform(),
        "Processor": platform.processor() or platform.machine(),
        "Threads": str(get_num_threads()),
        "numpy": np.__version__,
        **{name: _version(name) for name in _OPTIONAL},
    }
    return "\n".join(f"{name}: {value}" for name, value in rows.items())


def _version(name: str) -> str:
    if importlib.util.find_spec(name) is None:
        return "not installed"
    try:
        return version(name)
    except PackageNotFoundError:
        return "installed, version unknown"


def main() -> None:
    """Print it: `python -m lamina.utils.collect_env`."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
