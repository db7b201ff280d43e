"""The older name of `hub.load_state_dict_from_url`, and the bar that libraries take from here."""

from __future__ import annotations

import importlib
from typing import Any

from lamina.hub import load_state_dict_from_url as load_url

__all__ = ["load_url", "tqdm"]


def tqdm(*args: Any, **kwargs: Any) -> Any:
    """A bar of the package tqdm, which must be installed; torchvision asks for it here.

    Raises:
        ModuleNotFoundError: It is not.
    """
    return importlib.import_module("tqdm").tqdm(*args, **kwargs)
