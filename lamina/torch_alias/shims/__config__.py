"""`torch.__config__`: what computes."""

from __future__ import annotations

import numpy as np

from lamina.devices.thread_count import get_num_threads
from lamina.version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions that matter, in a few lines."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"Lamina {__version__}\n  - NumPy {np.__version__}\n  - BLAS: {blas.get('name')}\n"


def parallel_info() -> str:
    """How many threads share an operation."""
    return f"lamina.get_num_threads() : {get_num_threads()}\n"
