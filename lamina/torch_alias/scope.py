"""Where and how long `import torch` means Lamina: `as_torch` for a block, `install` for good."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType

from lamina import errors
from lamina.core.tensor import Tensor
from lamina.nn.parameter import Parameter
from lamina.torch_alias.children import tell_children, tell_no_more_children
from lamina.torch_alias.modules import TorchFinder, TorchModule

__all__ = ["as_torch", "install", "is_installed"]

# What libraries look for in `type(x).__module__`, and programs print.
_CLASSES = ((Tensor, "torch"), (Parameter, "torch.nn.parameter"))


def is_installed() -> bool:
    """Whether `import torch` means Lamina now."""
    return any(isinstance(finder, TorchFinder) for finder in sys.meta_path)


def install() -> None:
    """Let `import torch` mean Lamina in this process from now on, and in those it starts.

    Raises:
        RuntimeError: If the real PyTorch was imported already.
    """
    if not is_installed():
        _enter()


@contextlib.contextmanager
def as_torch() -> Iterator[None]:
    """Let `import torch` mean Lamina in a block: in it, programs for PyTorch can be imported.

    It holds for `import torch`, for all its modules (`torch.nn.functional`, `torch.utils.data`),
    for every module that is first imported in the block, and for all threads. Afterwards
    `sys.modules` is what it was: modules first imported in the block that hold a part of the alias
    are gone from it, with their packages, so that a later import of theirs finds the real PyTorch
    again. What the block itself imported goes on working. Blocks may be nested. A process that
    `multiprocessing` starts in the block has the alias to its end.

    Raises:
        RuntimeError: If the real PyTorch was imported already; some module that imported it
            could then not tell its tensors from Lamina's.

    >>> with as_torch():
    ...     import torch
    ...     from torch.nn import functional as F
    >>> F.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if is_installed():
        yield
        return
    before = set(sys.modules)
    names = [(kind, kind.__module__) for kind, _ in _CLASSES]
    finder = _enter()
    try:
        yield
    finally:
        tell_no_more_children()
        sys.meta_path.remove(finder)
        for kind, name in names:
            kind.__module__ = name
        for name in _held(set(sys.modules) - before):
            sys.modules.pop(name, None)


def _enter() -> TorchFinder:
    loaded = sys.modules.get("torch")
    if loaded is not None and not isinstance(loaded, TorchModule):
        raise errors.TorchIsLoaded(
            "`torch` cannot mean Lamina here: the real PyTorch was imported already",
            help=[
                "enter `lamina.as_torch()` before the first `import torch`, also of other modules",
                "or run the whole program with it: `lamina run program.py`",
            ],
        )
    finder = TorchFinder()
    sys.meta_path.insert(0, finder)
    tell_children(install)
    for kind, name in _CLASSES:
        kind.__module__ = name
    return finder


def _held(new: set[str]) -> list[str]:
    """The alias's modules among the new ones, and those of packages that hold a part of it."""
    packages = {name.partition(".")[0] for name in new if _holds_alias(sys.modules.get(name))}
    packages.discard("lamina")
    return [name for name in new if name.partition(".")[0] in packages]


def _holds_alias(module: ModuleType | None) -> bool:
    if isinstance(module, TorchModule):
        return True
    values = list(getattr(module, "__dict__", {}).values())
    return any(isinstance(value, TorchModule) or _is_lamina(value) for value in values)


def _is_lamina(value: object) -> bool:
    home = getattr(value, "__module__", None)
    return isinstance(home, str) and home.partition(".")[0] in ("lamina", "torch")
