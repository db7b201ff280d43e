"""What is said about a name that PyTorch has and Lamina has not, or that neither has."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable

from lamina import errors
from lamina.late_names import LEFT_OUT
from lamina.torch_alias import pytorch, sources
from lamina.torch_alias.asking import is_from_import, place_outside

__all__ = ["missing_module", "missing_name", "nearest", "standing"]


def missing_name(module: str, name: str, frame: types.FrameType) -> errors.LaminaError:
    """The error for `name`, which PyTorch's module `module` does not have here.

    Args:
        frame: The frame that asked. An import statement gets an ImportError, all else an
            AttributeError, so that `try`, `hasattr` and `getattr` with a default work as usual.
    """
    place = place_outside(frame)
    notes = [(place, standing(module, name))] if place else []
    help = _repairs(module, name)
    if is_from_import(frame):
        headline = f"cannot import name {name!r} from {module!r}"
        failed = errors.MissingImport(headline, notes, help)
        failed.name, failed.path = module, None
        return failed
    return errors.MissingName(f"module {module!r} has no attribute {name!r}", notes, help)


def missing_module(name: str, frame: types.FrameType | None) -> errors.MissingModule:
    """The error for a module of that full name, which neither PyTorch nor Lamina has."""
    place = place_outside(frame)
    standing = "PyTorch 2.13 has no module of this name either"
    if "._" in name:  # what is private in private packages is not recorded
        standing = "not among the modules of PyTorch 2.13 that programs import"
    notes = [(place, standing)] if place else []
    similar = nearest(name, pytorch.modules())
    help = [f"the nearest: {_listed(similar)}"] if similar else []
    error = errors.MissingModule(f"No module named {name!r}", notes, help)
    error.name = name
    return error


def standing(module: str, name: str) -> str:
    """Whether a missing name is one of PyTorch's."""
    if name in pytorch.names(module) or pytorch.is_module(f"{module}.{name}"):
        return "PyTorch has this, Lamina does not"
    if not sources.sources(module):
        return f"Lamina has nothing of {module}"
    return "neither Lamina nor PyTorch 2.13 has this name"


def _repairs(module: str, name: str) -> list[str]:
    homes = [home for home in _HOMES if sources.find(home, name) is not sources.ABSENT]
    similar = nearest(name, sources.names(module))
    help = [f"it is here: {_listed([f'{home}.{name}' for home in homes])}"] if homes else []
    if module == "torch" and name in LEFT_OUT:
        return [LEFT_OUT[name]]
    if similar:
        help.append(f"the nearest: {_listed([f'{module}.{found}' for found in similar])}")
    return help


# Where else a name is looked for when it is in the wrong module.
_HOMES = ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.linalg")


def nearest(name: str, existing: Iterable[str]) -> list[str]:
    """At most three names that look like `name`, the most similar first.

    >>> nearest("Linaer", ["Linear", "ReLU", "Bilinear"])
    ['Linear', 'Bilinear']
    """
    spelled: dict[str, str] = {}
    for found in existing:
        spelled.setdefault(found.lower(), found)
    close = difflib.get_close_matches(name.lower(), spelled, n=3, cutoff=0.7)
    return [spelled[found] for found in close]


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
