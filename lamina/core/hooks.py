"""Hooks: functions that users hang on tensors and nodes, and handles to take them off."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, final

_next_key: Final = itertools.count().__next__


@final
class _Count:
    """How often any registry was changed: whoever watches many looks at this alone."""

    __slots__ = ("changes",)

    def __init__(self) -> None:
        self.changes = 0


registries: Final = _Count()


def _counted(name: str) -> Any:
    """A method of dicts that changes them, which counts its calls."""
    change = getattr(OrderedDict, name)

    @functools.wraps(change)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        registries.changes += 1
        return change(self, *args, **kwargs)

    return method


class Registry(OrderedDict[int, Callable[..., Any]]):
    """Hooks of one kind, in order of registration."""

    __slots__ = ()

    # Registries are kept in a set, each for itself.
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__


for _name in (
    "__setitem__", "__delitem__", "__ior__", "clear", "move_to_end", "pop", "popitem", "setdefault",
    "update",
):  # fmt: skip
    setattr(Registry, _name, _counted(_name))

_in_use: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


def any_hooks() -> bool:
    """Whether anything alive has ever had a hook: else backward passes need not look for them."""
    return bool(_in_use)


@final
class RemovableHandle:
    """Takes one hook off again: `remove()`, or leave the `with` block. It holds nothing alive."""

    __slots__ = ("_registry", "id")

    def __init__(self, registry: Any) -> None:
        self._registry = weakref.ref(registry)
        self.id = _next_key()

    def remove(self) -> None:
        """Take the hook off; nothing happens if it is gone already."""
        registry = self._registry()
        if registry is not None:
            registry.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def add_hook(registry: Registry, fn: Callable[..., Any]) -> RemovableHandle:
    """Put a hook at the end of a registry."""
    handle = RemovableHandle(registry)
    registry[handle.id] = fn
    _in_use.add(registry)
    return handle


@final
class Hooks:
    """All hooks of one node, or of one leaf and its gradient accumulator."""

    __slots__ = (
        "__weakref__", "accumulator", "after", "before", "post_accumulate", "retained", "tensor",
    )  # fmt: skip

    def __init__(self) -> None:
        self.tensor: dict[int, Registry] = {}
        self.before = Registry()
        self.after = Registry()
        self.post_accumulate = Registry()
        self.retained: dict[int, weakref.ref[Any]] = {}
        self.accumulator: Callable[[], Any] | None = None

    def of_output(self, index: int) -> Registry:
        """The hooks on the tensor that is output `index`."""
        return self.tensor.setdefault(index, Registry())

    def retain(self, index: int, tensor: Any) -> None:
        """Have the gradient of output `index` written into the `.grad` of the tensor that it is."""
        self.retained[index] = weakref.ref(tensor)
        _in_use.add(self)


def hooks_of(owner: Any) -> Hooks:
    """The hooks of a node or leaf tensor, made when first asked for."""
    if owner._hooks is None:
        owner._hooks = Hooks()
    hooks: Hooks = owner._hooks
    return hooks
