"""Where Lamina keeps what a module of PyTorch's holds: `torch.nn.modules` is `lamina.nn`."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
from types import ModuleType
from typing import Any

from lamina.torch_alias import pytorch

__all__ = ["ABSENT", "SHIMS", "find", "names", "sources", "takes_settings"]

# Modules of PyTorch's whose names stand in modules of Lamina's that are called otherwise.
_ELSEWHERE = {
    "torch": ("lamina.torch_alias.shims.top", "lamina"),
    "torch._C": ("lamina.torch_alias.shims.c_extension", "lamina"),
    "torch._VF": ("lamina",),
    "torch._tensor": ("lamina",),
    "torch.autograd.gradcheck": ("lamina.autograd.gradient_checks",),
    "torch.functional": ("lamina",),
    "torch.nn.modules": ("lamina.nn",),
}
# Modules of Lamina's that are no namespaces of PyTorch's, though one has the same name.
_OTHERS = frozenset({"lamina.data", "lamina.demo", "lamina.bench", "lamina.version"})
SHIMS = "lamina.torch_alias.shims"
"""The package of modules that exist for programs that ask for them."""

ABSENT: Any = object()
"""Stands for a value that is not there; None is a value."""


@functools.cache
def sources(name: str) -> tuple[ModuleType, ...]:
    """The modules in which the names of PyTorch's module `name` are looked up, in order.

    None at all means that the module exists in PyTorch and Lamina has nothing of it: it can be
    imported, and whatever is then taken from it is an error that says so.
    """
    return tuple(map(importlib.import_module, _places(name)))


@functools.cache
def _places(name: str) -> tuple[str, ...]:
    """The full names of these modules; none is imported, and some may lack what they need."""
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    path = name.removeprefix("torch")
    return tuple(place for place in (SHIMS + path, "lamina" + path) if _exists(place))


def _exists(place: str) -> bool:
    if place in _OTHERS or place == SHIMS:
        return False
    try:
        return importlib.util.find_spec(place) is not None
    except ImportError:  # the package that it would stand in is not there, or lacks an extra
        return False


def find(name: str, attribute: str) -> Any:
    """What `attribute` of PyTorch's module `name` is in Lamina, or ABSENT. Modules do not count."""
    for source in sources(name):
        offered = getattr(source, "__all__", None)
        hidden = offered is not None and attribute not in offered
        if hidden and not _is_private(attribute) and attribute not in pytorch.names(name):
            continue
        value = getattr(source, attribute, ABSENT)
        if value is not ABSENT and not isinstance(value, ModuleType):
            return value
    parent = name.rpartition(".")[0]
    if parent and (attribute in pytorch.names(name) or _is_private(attribute)):
        return find(parent, attribute)  # as Adamax of torch.optim.adamax, which is in lamina.optim
    return ABSENT


def _is_private(attribute: str) -> bool:
    return attribute.startswith("_") and not attribute.startswith("__")


def names(name: str) -> list[str]:
    """The names that Lamina has for PyTorch's module `name`, modules inside it included."""
    inside = (module for module in pytorch.modules() if module.rpartition(".")[0] == name)
    found = {module.rpartition(".")[2] for module in inside if _places(module)}
    known = pytorch.names(name)
    for source in sources(name):
        files = {module.name for module in pkgutil.iter_modules(getattr(source, "__path__", ()))}
        offered = getattr(source, "__all__", ())
        found.update(key for key in offered if key in known or key not in files)
    if not sources(name):
        found.update(key for key in known if find(name, key) is not ABSENT)
    return sorted(found)


def takes_settings(name: str) -> bool:
    """Whether programs assign to the names in a module, as in `torch.backends.cudnn`."""
    return name.startswith(
        ("torch.backends", "torch._dynamo", "torch._inductor.config", "torch.compiler.config")
    )
