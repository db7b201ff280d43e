"""Containers among what a function reaches: how each kind is watched, and how it is put back."""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lamina.compiler.named import is_users
from lamina.compiler.watching import ABSENT, Glance, Watched
from lamina.core.hooks import Registry
from lamina.core.tensor import Tensor

MOST_COMPARED: Final = 4096
"""Bytes of an array of NumPy whose values are watched: comparing them takes 0.2 us."""


class Containers(ABC):
    """Watches containers, and has what they hold visited.

    Attributes:
        watched: The containers with the state that is guarded.
        seen: The ids of what was visited, which must not be visited again.
        glance: Looks at all of them at once.
    """

    def __init__(self) -> None:
        self.watched: list[Watched] = []
        self.seen: set[int] = set()
        self.glance = Glance()
        self._keep: list[Any] = []

    @abstractmethod
    def push(self, *found: tuple[Any, str]) -> None:
        """Have objects visited, each with the name under which it was found."""

    def keep(self, value: Any) -> None:
        """Note that something is being visited; it stays alive, as its id must stay its own."""
        self.seen.add(id(value))
        self._keep.append(value)

    def mapping(
        self, mapping: dict[Any, Any], name: str, form: str, *,
        glance: bool = True, with_keys: bool = False,
    ) -> None:  # fmt: skip
        """All values of a dict, and its keys where it is data, not attributes of an object."""
        is_registry = isinstance(mapping, Registry)  # of a module, which looks at their number
        if glance and not is_registry:
            self.glance.at_all(mapping)
            if with_keys:
                self.glance.at_keys(mapping)
        keys = list(mapping)
        names = [form.format(_short(key)) for key in keys]

        def read() -> list[Any]:
            return [*mapping.values(), *mapping] if with_keys else list(mapping.values())

        def put(values: list[Any]) -> None:
            mapping.clear()
            for key, value in zip(keys, values, strict=False):
                mapping[key] = value

        self.watched.append(Watched(name, [*names, *names] if with_keys else names, read, put))
        self.keep(mapping)
        items = zip(mapping.values(), names, strict=True)
        self.push(*((item, "a hook" if is_registry else name + part) for item, part in items))

    def entries(self, mapping: dict[Any, Any], keys: list[Any], name: str, form: str) -> None:
        """Some entries of a dict."""

        def read() -> list[Any]:
            return [mapping.get(key, ABSENT) for key in keys]

        def put(values: list[Any]) -> None:
            for key, value in zip(keys, values, strict=True):
                if value is ABSENT:
                    mapping.pop(key, None)
                else:
                    mapping[key] = value

        for key in keys:
            if key in mapping:
                self.glance.at_entry(mapping, key)
        if keys:
            self.watched.append(Watched(name, [form.format(key) for key in keys], read, put))
        self.push(*((mapping.get(key), name + form.format(key)) for key in keys))

    def attributes(self, owner: Any, keys: list[str], name: str) -> None:
        """Some attributes of a class, of a module, of a tensor, or of an object with slots.

        They are read where they stand, without descriptors and inherited ones.
        """
        is_class = isinstance(owner, type)
        has_slots = not is_class and not isinstance(owner, types.ModuleType)

        def read() -> list[Any]:
            if has_slots:
                return [getattr(owner, key, ABSENT) for key in keys]
            return [vars(owner).get(key, ABSENT) for key in keys]

        def put(values: list[Any]) -> None:
            for key, value in zip(keys, values, strict=True):
                if value is not ABSENT:
                    setattr(owner, key, value)
                elif hasattr(owner, key):
                    delattr(owner, key)

        if is_class and is_users(owner.__module__):
            self._size(owner, name)
        values = read()
        for key, value in zip(keys, values, strict=True):
            if has_slots and value is not ABSENT:
                self.glance.at_attribute(owner, key)
            elif not has_slots:
                self.glance.at_entry(vars(owner), key)
        self.watched.append(Watched(name, [f".{key}" for key in keys], read, put))
        self.push(*((item, f"{name}.{key}") for key, item in zip(keys, values, strict=True)))

    def _size(self, kind: type, name: str) -> None:
        """How many attributes a class has: one that is new may hide an inherited one."""
        inside = vars(kind)
        self.glance.at_length(inside)
        self.watched.append(
            Watched(name, [" (its attributes)"], lambda: [len(inside)], lambda values: None)
        )

    def sequence(self, items: Any, name: str) -> None:
        """All items of a list or a deque."""

        def put(values: list[Any]) -> None:
            items.clear()
            items.extend(values)

        self._items(items, name, put)

    def elements(self, items: set[Any], name: str) -> None:
        """All elements of a set."""

        def put(values: list[Any]) -> None:
            items.clear()
            items.update(values)

        self._items(items, name, put)

    def _items(self, items: Any, name: str, put: Callable[[list[Any]], None]) -> None:
        self.glance.at_all(items)
        names = [f"[{k}]" for k in range(len(items))]
        self.watched.append(Watched(name, names, lambda: items, put))
        self.push(*((item, f"{name}[{k}]") for k, item in enumerate(items)))

    def cell(self, cell: types.CellType, name: str) -> None:
        """A variable of a closure."""

        def read() -> list[Any]:
            try:
                return [cell.cell_contents]
            except ValueError:  # not assigned yet
                return [ABSENT]

        def put(values: list[Any]) -> None:
            if values[0] is not ABSENT:
                cell.cell_contents = values[0]

        if read()[0] is not ABSENT:
            self.glance.at_cell(cell)
        self.watched.append(Watched(name, [""], read, put))
        self.push((read()[0], name))

    def function(self, function: types.FunctionType, name: str) -> None:
        """A function's code, and its default values."""

        def read() -> list[Any]:
            return [function.__code__, function.__defaults__]

        def put(values: list[Any]) -> None:
            function.__code__, function.__defaults__ = values

        self.glance.at_function(function)
        self.watched.append(Watched(name, [".__code__", ".__defaults__"], read, put))

    def kind(self, value: Any, name: str) -> None:
        """The class of an object."""

        def put(values: list[Any]) -> None:
            value.__class__ = values[0]

        self.glance.at_kind(value)
        self.watched.append(Watched(name, [".__class__"], lambda: [type(value)], put))

    def numbers(self, numbers: Any, name: str) -> None:
        """The values of an array of NumPy or Python, or of a bytearray, if they are few."""
        is_numpys = isinstance(numbers, np.ndarray)
        if is_numpys and numbers.dtype.hasobject:
            return
        if (numbers.nbytes if is_numpys else memoryview(numbers).nbytes) > MOST_COMPARED:
            return

        def read() -> list[bytes]:
            return [bytes(numbers) if isinstance(numbers, bytearray) else numbers.tobytes()]

        def put(values: list[bytes]) -> None:
            if is_numpys:
                found = np.frombuffer(values[0], numbers.dtype).reshape(numbers.shape)
                np.copyto(numbers, found)
            else:
                memoryview(numbers).cast("B")[:] = values[0]

        self.glance.at_reading(read)
        self.watched.append(Watched(name, [""], read, put))

    def reading(self, read: Callable[[], Any], put: Callable[[Any], Any], name: str) -> None:
        """What a function gives."""
        self.glance.at_reading(read)
        self.watched.append(Watched(name, [""], lambda: [read()], lambda values: put(values[0])))
        self.push((read(), name))


def _short(key: Any) -> Any:
    """A key as it is shown: not whole where that may be long, or take long."""
    if isinstance(key, Tensor):
        return "tensor"
    return key if isinstance(key, str | int | float | bool | None) else type(key).__name__
