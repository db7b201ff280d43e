"""Modules that hold other modules: in a sequence, a list or a dict."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, final

from lamina.core.warning import warn
from lamina.errors import ArgumentTypeError, IndexOutOfRange
from lamina.nn.module import Module, indented

__all__ = ["Container", "ModuleDict", "ModuleList", "Sequential"]


def position_of(index: Any, count: int) -> int:
    """Return `index` counted from the front; `IndexError` when it is outside."""
    position = operator.index(index)
    if not -count <= position < count:
        raise IndexOutOfRange(f"index {position} is out of range for {count} items")
    return position % count


@final
class Container(Module):
    """An old name for a module whose children are given by keyword; it warns."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warn("nn.Container is deprecated: nn.Module holds modules itself", FutureWarning)
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """What `Sequential` and `ModuleList` share: children named "0", "1", ... in order."""

    def __getitem__(self, index: Any) -> Any:
        items = list(self._modules.items())
        if isinstance(index, slice):
            return self._at_slice(items[index])
        return items[position_of(index, len(items))][1]

    def _at_slice(self, items: list[tuple[str, Any]]) -> Any:
        raise NotImplementedError

    def _key(self, index: Any) -> str:
        return list(self._modules)[position_of(index, len(self._modules))]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: Any) -> None:
        if isinstance(index, slice):
            for key in list(self._modules)[index]:
                del self._modules[key]
        else:
            del self._modules[self._key(index)]
        self._renumber()

    def _renumber(self) -> None:
        kept = list(self._modules.values())
        self._modules.clear()
        self._modules.update({str(i): module for i, module in enumerate(kept)})

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add several modules at the end."""
        if not isinstance(modules, Iterable):
            raise ArgumentTypeError(
                f"{type(self).__name__}.extend should be called with an iterable, "
                f"but got {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Put a module before position `index`; those behind it move up by one."""
        if not isinstance(module, Module):
            raise ArgumentTypeError(f"module should be of type: {Module}")
        kept = list(self._modules.values())
        kept.insert(index, module)
        self._modules.clear()
        self._modules.update({str(i): each for i, each in enumerate(kept)})
        return self

    def pop(self, index: Any = -1) -> Any:
        """Take the module at `index` out and return it."""
        module = self[index]
        del self[index]
        return module


class Sequential(_Numbered):
    """Modules that run one after the other, each on the output of the one before.

    Args:
        args: the modules in order, or one dict of names to modules.

    Example:
        >>> import lamina
        >>> import lamina.nn as nn
        >>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        >>> net(lamina.ones(4, 2)).shape
        torch.Size([4, 3])
        >>> net
        Sequential(
          (0): Linear(in_features=2, out_features=3, bias=True)
          (1): ReLU()
        )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:
        """Run the modules in order."""
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def _at_slice(self, items: list[tuple[str, Any]]) -> Any:
        return type(self)(dict(items))

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, "
                f"but {type(other).__name__} is given"
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, "
                f"but {type(other).__name__} is given"
            )
        return self.extend(other)

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*(list(self) * _repeats(times)))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        once = list(self)
        for _ in range(_repeats(times) - 1):
            self.extend(once)
        return self


def _repeats(times: object) -> int:
    if not isinstance(times, int):
        raise ArgumentTypeError(
            f"unsupported operand type(s) for *: Sequential and {type(times).__name__}"
        )
    if times <= 0:
        raise ValueError(f"Non-positive multiplication factor {times} for Sequential")
    return times


class ModuleList(_Numbered):
    """A list of modules; unlike a plain list, its parameters are found.

    Args:
        modules: what it holds at first.

    Example:
        >>> import lamina.nn as nn
        >>> layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
        >>> len(list(layers.parameters()))
        6
        >>> layers
        ModuleList(
          (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
        )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _at_slice(self, items: list[tuple[str, Any]]) -> Any:
        return type(self)(module for _, module in items)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, other: Iterable[Module]) -> Self:
        return self.extend(other)

    def insert(self, index: int, module: Module) -> None:
        """Put a module before position `index`; those behind it move up by one."""
        super().insert(index, module)

    def __repr__(self) -> str:
        """Return the items, equal neighbours on one line with their count."""
        if not len(self):
            return f"{self._get_name()}()"
        runs: list[tuple[int, int, str]] = []
        for i, text in enumerate(repr(module) for module in self):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], i, text)
            else:
                runs.append((i, i, text))
        lines = []
        for first, last, text in runs:
            many = f"({first}-{last}): {last - first + 1} x {text}"
            lines.append(indented(many if last > first else f"({first}): {text}", 2))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules, in order of insertion; unlike a plain dict, its parameters are found.

    Args:
        modules: a mapping, or pairs of name and module.

    Example:
        >>> import lamina.nn as nn
        >>> choices = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
        >>> choices["tanh"], list(choices)
        (Tanh(), ['relu', 'tanh'])
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take the module at `key` out and return it."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Return pairs of name and module."""
        return self._modules.items()

    def values(self) -> Any:
        """Return the modules."""
        return self._modules.values()

    def get(self, key: str, default: Any = None) -> Any:
        """Return the module at `key`, or `default`."""
        return self._modules.get(key, default)

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping, or of pairs; names that exist are replaced."""
        for key, module in pairs_of(modules, "ModuleDict"):
            self[key] = module


def pairs_of(source: Any, owner: str) -> list[tuple[str, Any]]:
    """Return the pairs of a mapping (or of an iterable of pairs), checked."""
    if isinstance(source, Mapping | ModuleDict):
        return list(source.items())
    if not isinstance(source, Iterable):
        raise ArgumentTypeError(
            f"{owner}.update should be called with an iterable of key/value pairs, "
            f"but got {type(source).__name__}"
        )
    pairs = []
    for i, pair in enumerate(source):
        if not isinstance(pair, Iterable):
            raise ArgumentTypeError(
                f"{owner} update sequence element #{i} should be Iterable; is {type(pair).__name__}"
            )
        key_and_value = tuple(pair)
        if len(key_and_value) != 2:
            raise ValueError(
                f"{owner} update sequence element #{i} has length {len(key_and_value)}; "
                "2 is required"
            )
        pairs.append(key_and_value)
    return pairs
