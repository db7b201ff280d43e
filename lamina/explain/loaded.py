"""PyTorch itself, where the program has it."""

from __future__ import annotations

import sys
from typing import Any


def loaded_torch() -> Any:
    """PyTorch, if the program has loaded it; under that name it may also have Lamina."""
    found = sys.modules.get("torch")
    return found if found is not None and hasattr(found, "_C") else None
