"""The processor."""

import numpy as np

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The widest vector instructions that NumPy uses here: "AVX512", "AVX2", or "DEFAULT"."""
    found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    for family in ("AVX512", "AVX2"):
        if any(name.startswith(family) for name in found):
            return family
    return "DEFAULT"
