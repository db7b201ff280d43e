"""The names that PyTorch has, from the record in `pytorch_names.txt`."""

from __future__ import annotations

import functools
from importlib import resources

__all__ = ["is_module", "modules", "names"]

# Classes whose attributes are recorded too, in lines of the same form.
_CLASSES = frozenset(
    {"torch.Tensor", "torch.nn.Module", "torch.optim.Optimizer", "torch.Generator"}
)


@functools.cache
def _recorded() -> dict[str, frozenset[str]]:
    text = resources.files(__package__).joinpath("pytorch_names.txt").read_text("utf-8")
    lines = (line.split() for line in text.splitlines())
    return {path: frozenset(names) for path, *names in lines}


def modules() -> list[str]:
    """The full names of all modules of PyTorch's that programs import."""
    return [path for path in _recorded() if path not in _CLASSES]


def is_module(name: str) -> bool:
    """Whether PyTorch has a module of that full name, as `torch.nn.init`."""
    return name in _recorded() and name not in _CLASSES


def names(path: str) -> frozenset[str]:
    """The public names in a module, or in one of the recorded classes.

    >>> "relu" in names("torch.nn.functional"), "backward" in names("torch.Tensor")
    (True, True)
    """
    return _recorded().get(path, frozenset())
