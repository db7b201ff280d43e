"""Who holds a tensor: modules, optimizers, and nodes of live graphs.

Nothing is recorded for these questions; the garbage collector knows the answers (`core/living.py`).
"""

from __future__ import annotations

import gc
from typing import Any, NamedTuple

from lamina.core import records
from lamina.core.living import living_modules
from lamina.core.node import Node, OutputEdge
from lamina.core.provenance import place_of
from lamina.core.tensor import Tensor
from lamina.errors import Place
from lamina.nn import Module


class Holding(NamedTuple):
    """How a module holds a tensor."""

    module: Module
    name: str
    """The attribute of `module` that holds it, directly or in a list."""
    kind: str
    """"parameter", "buffer", "plain" (an attribute), or "list", "tuple", "dict" (holding it)."""
    is_deep: bool
    """Whether it is a parameter of a module that is such an element."""

    @property
    def place(self) -> Place | None:
        """Where the attribute was set, if that was noted."""
        known = records.plain_parts.get(self.module, {}).get(self.name)
        return None if known is None else place_of(*known)


def holding_of(tensor: Tensor) -> Holding | None:
    """How a module holds a tensor: in a way that it does not register, if there is one."""
    modules: list[Module] = living_modules(Module)
    owner = None
    for module in modules:
        for name, parameter in module._parameters.items():
            if parameter is tensor:
                owner = Holding(module, name, "parameter", False)
        for name, buffer in module._buffers.items():
            if buffer is tensor:
                return Holding(module, name, "buffer", False)
    if owner is not None:
        return _unregistered_above(owner.module, modules) or owner
    return _plain_holding(tensor, modules, False)


def _unregistered_above(module: Module, modules: list[Module]) -> Holding | None:
    """The list (in an attribute) through which a module hangs in another one unregistered."""
    top = module
    for _ in range(len(modules)):
        parent = next((m for m in modules if any(c is top for c in m._modules.values())), None)
        if parent is None:
            break
        top = parent
    return _plain_holding(top, modules, True)


def _plain_holding(part: Any, modules: list[Module], is_deep: bool) -> Holding | None:
    for module in modules:
        for name, value in vars(module).items():
            if name in ("_parameters", "_buffers", "_modules"):
                continue
            if value is part and not is_deep:
                return Holding(module, name, "plain", is_deep)
            if type(value) in (list, tuple, dict) and any(e is part for e in elements(value)):
                return Holding(module, name, type(value).__name__, is_deep)
    return None


def elements(value: Any, depth: int = 2) -> list[Any]:
    """What a list, tuple or dict holds, lists inside included."""
    parts = list(value.values()) if isinstance(value, dict) else list(value)
    if depth > 1:
        inner = [p for p in parts if type(p) in (list, tuple, dict)]
        parts += [e for p in inner for e in elements(p, depth - 1)]
    return parts


def optimizers_with(tensor: Any) -> list[Any]:
    """The optimizers that update a tensor."""
    return [o for o in list(records.optimizers) if any(p is tensor for p in held_by(o))]


def held_by(optimizer: Any) -> list[Any]:
    """The parameters of an optimizer."""
    groups = getattr(optimizer, "param_groups", [])
    return [parameter for group in groups for parameter in group["params"]]


def consumers(tensor: Tensor) -> list[Node]:
    """The nodes of live graphs that have a tensor as an input, newest first."""
    source: Any = tensor if tensor._node is None else tensor._node
    found: dict[int, Node] = {}
    edges = [e for e in gc.get_referrers(source) if type(e) is tuple or type(e) is OutputEdge]
    tuples = [e for e in edges if type(e) is tuple]
    for edge in edges:
        if type(edge) is OutputEdge:
            tuples += [t for t in gc.get_referrers(edge) if type(t) is tuple]
    for entry in tuples:
        for node in gc.get_referrers(entry):
            if isinstance(node, Node) and node.next is entry:
                found[id(node)] = node
    return sorted(found.values(), key=lambda node: -node.stamp)
