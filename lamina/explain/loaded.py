"""PyTorch itself, where the program has it."""

from __future__ import annotations

import sys
from typing import Any

from lamina.core.tensor import Tensor


def loaded_torch() -> Any:
    """PyTorch, if the program has loaded it; None if that name means Lamina, or nothing yet."""
    found = sys.modules.get("torch")
    is_loaded = found is not None and hasattr(found, "_C")
    return found if is_loaded and getattr(found, "Tensor", None) is not Tensor else None
