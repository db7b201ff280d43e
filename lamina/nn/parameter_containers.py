"""Modules that hold parameters: in a list or a dict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError
from lamina.nn.containers import pairs_of, position_of
from lamina.nn.module import Module, type_name
from lamina.nn.parameter import Parameter

__all__ = ["ParameterDict", "ParameterList"]


def _as_parameter(value: Any) -> Any:
    """Return tensors as parameters, anything else as it is."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


class ParameterList(Module):
    """A list of parameters. Plain tensors become parameters; other values are kept as they are.

    Args:
        values: what it holds at first.

    Example:
        >>> import lamina
        >>> weights = lamina.nn.ParameterList([lamina.ones(2), lamina.zeros(3)])
        >>> [name for name, _ in weights.named_parameters()]
        ['0', '1']
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(self[i] for i in range(*index.indices(len(self))))
        return getattr(self, str(position_of(index, len(self))))

    def __setitem__(self, index: Any, value: Any) -> None:
        setattr(self, str(position_of(index, len(self))), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise ArgumentTypeError(
                "ParameterList.extend should be called with an iterable, "
                f"but got {type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def extra_repr(self) -> str:
        """Return one line an item."""
        return "\n".join(
            _described(str(i), value, str(value.dtype) if isinstance(value, Tensor) else "")
            for i, value in enumerate(self)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: a list of parameters has no forward."""
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters. Plain tensors become parameters; other values are kept as they are.

    Args:
        parameters: a mapping, or pairs of name and value.

    Example:
        >>> import lamina
        >>> weights = lamina.nn.ParameterDict({"left": lamina.ones(2)})
        >>> "left" in weights, len(weights)
        (True, 1)
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise ArgumentTypeError(
                f"Index given to ParameterDict must be a string, and {key!r} is none"
            )
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __or__(self, other: ParameterDict) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """Return another dict with the same parameters."""
        return ParameterDict(self)

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value at `key`, after setting it to `default` if there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take all values out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take the value at `key` out and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take the last pair out and return it."""
        key = list(self._keys)[-1]
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value at `key`, or `default`."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new dict with `default` at each key."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """Return the names."""
        return self._keys.keys()

    def items(self) -> Any:
        """Return pairs of name and value."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Any:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add the values of a mapping, or of pairs; names that exist are replaced."""
        if isinstance(parameters, ParameterDict):
            parameters = dict(parameters.items())
        for key, value in pairs_of(parameters, "ParameterDict"):
            self[key] = value

    def extra_repr(self) -> str:
        """Return one line an item."""
        return "\n".join(_described(key, value, type_name(value)) for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: a dict of parameters has no forward."""
        raise RuntimeError("ParameterDict should not be called.")


def _described(name: str, value: Any, kind: str) -> str:
    """Return one line about an item of a `ParameterList` or `ParameterDict`."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    role = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(n) for n in value.shape)
    place = f" ({value.device})" if value.device.type == "cuda" else ""
    return f"  ({name}): {role} containing: [{kind} of size {size}{place}]"
