"""`torch.ops`: operators by namespace, name and overload."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Final, NoReturn, final

from lamina import errors
from lamina.library import aten, blame, registry
from lamina.library.binding import bound
from lamina.library.calling import call
from lamina.library.registry import Operator
from lamina.library.schema import FunctionSchema
from lamina.library.tags import Tag

__all__ = [
    "OpOverload",
    "OpOverloadPacket",
    "OperatorNamespace",
    "Operators",
    "namespace_of",
    "ops",
    "overload_of",
]


@final
class OpOverload:
    """One overload of an operator: call it.

    >>> import lamina
    >>> lamina.library.ops.aten.add.Tensor(lamina.ones(2), lamina.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, namespace: str, name: str, overload: str) -> None:
        self._namespace, self._opname = namespace, name
        self._overloadname = overload or "default"
        self._key = (namespace, name, overload)
        self.__name__ = f"{name}.{self._overloadname}"
        self.__qualname__ = self._name
        self.__module__ = f"torch._ops.{namespace}"

    @property
    def _operator(self) -> Operator:
        """What is registered under its name now."""
        namespace, name, overload = self._key
        try:
            return registry.operators[namespace][name][overload]
        except KeyError:
            raise blame.does_not_exist(self._name) from None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return call(self._operator, args, kwargs)

    @property
    def _schema(self) -> FunctionSchema:
        """Its declaration."""
        return self._operator.declared

    @property
    def _name(self) -> str:
        namespace, name, overload = self._key
        return f"{namespace}::{name}" + (f".{overload}" if overload else "")

    def name(self) -> str:
        """Its whole name: `mylib::f`, or `mylib::f.overload`."""
        return self._name

    @property
    def namespace(self) -> str:
        """The name of its namespace."""
        return self._namespace

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The operator with all of its overloads."""
        return _packet(self._namespace, self._opname)

    @property
    def tags(self) -> list[Tag]:
        """What its author says of it."""
        return sorted(self._operator.tags)

    @property
    def is_view(self) -> bool:
        """Whether its results are views of arguments."""
        returns = self._schema.returns
        aliases = [each.alias_info for each in returns if each.alias_info is not None]
        return bool(aliases) and not any(alias.is_write for alias in aliases)

    def has_kernel_for_dispatch_key(self, key: str) -> bool:
        """Whether a kernel was registered for a key such as "CPU"."""
        return str(key) in self._operator.kernels

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpOverload) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __copy__(self) -> OpOverload:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __repr__(self) -> str:
        return (
            f"<OpOverload(op='{self._namespace}.{self._opname}', overload='{self._overloadname}')>"
        )

    def __str__(self) -> str:
        return f"{self._namespace}.{self._opname}.{self._overloadname}"


@final
class OpOverloadPacket:
    """An operator with its overloads, which are its attributes; called, the one that fits runs."""

    def __init__(self, namespace: str, name: str) -> None:
        self._namespace, self.__name__ = namespace, name
        self._qualified_op_name = f"{namespace}::{name}"
        self.__module__ = f"torch.ops.{namespace}"

    def overloads(self) -> list[str]:
        """The names of the overloads; "default" for the one without a name."""
        return [key or "default" for key in _overloads(self._namespace, self.__name__)]

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(f"'OpOverloadPacket' object has no attribute {name!r}")
        overload = "" if name == "default" else name
        if overload not in _overloads(self._namespace, self.__name__):
            raise blame.missing_name(
                f"The underlying op of '{self}' has no overload name '{name}'",
                f"its overloads: {', '.join(self.overloads())}",
            )
        return overload_of(self._namespace, self.__name__, overload)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        known = _overloads(self._namespace, self.__name__)
        if len(known) == 1:
            return call(next(iter(known.values())), args, kwargs)
        return self._call_fitting(known, args, kwargs)

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.overloads()]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, OpOverloadPacket)
            and self._qualified_op_name == other._qualified_op_name
        )

    def __hash__(self) -> int:
        return hash(self._qualified_op_name)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def _call_fitting(self, known: dict[str, Operator], args: Any, kwargs: Any) -> Any:
        """Call the first overload whose declaration the arguments fit."""
        failures: list[errors.OperatorCallError] = []
        for operator in known.values():
            try:
                bound(operator.declared, args, kwargs)
            except errors.OperatorCallError as error:
                failures.append(error)
                continue
            return call(operator, args, kwargs)
        if not failures:
            raise blame.does_not_exist(self._qualified_op_name)
        raise failures[0]


@functools.cache
def overload_of(namespace: str, name: str, overload: str) -> OpOverload:
    """The overload of that name: one object for each."""
    return OpOverload(namespace, name, overload)


@functools.cache
def _packet(namespace: str, name: str) -> OpOverloadPacket:
    return OpOverloadPacket(namespace, name)


def _overloads(namespace: str, name: str) -> dict[str, Operator]:
    """The overloads of an operator; of `aten`, those that Lamina's operations serve."""
    if namespace == "aten":
        aten.load(name)
    return registry.overloads(namespace, name)


@final
class OperatorNamespace:
    """The operators of one namespace, which are its attributes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.__name__ = f"torch.ops.{name}"

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__") or not _overloads(self.name, name):
            help = ["Lamina has no operation of that name whose arguments agree with PyTorch's"]
            raise blame.missing_name(
                f"'_OpNamespace' '{self.name}' object has no attribute '{name}'",
                *(help if self.name == "aten" else self._known()),
            )
        return _packet(self.name, name)

    def _known(self) -> list[str]:
        names = list(self)
        return [f"it has: {', '.join(names[:8])}{', ...' * (len(names) > 8)}"] if names else []

    def __iter__(self) -> Iterator[str]:
        known = registry.operators.get(self.name, {})
        return iter([name for name in known if registry.overloads(self.name, name)])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.name}' from 'torch.ops'>"


@final
class Operators:
    """All operators by namespace: `ops.mylib.f` is what was defined as `mylib::f`.

    A namespace exists as soon as it is asked for; its operators when they are defined. `aten` has
    Lamina's own operations, where names and arguments agree with PyTorch's.

    Attributes:
        loaded_libraries: The files that were loaded: none.
    """

    def __init__(self) -> None:
        self.loaded_libraries: set[str] = set()

    def __getattr__(self, name: str) -> OperatorNamespace:
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.ops' has no attribute {name!r}")
        found = OperatorNamespace(name)
        setattr(self, name, found)
        return found

    def load_library(self, path: Any) -> NoReturn:
        """Refused: compiled operators are made for PyTorch.

        Raises:
            LibraryNotLoaded: (OSError) Always.
        """
        registry.refused_libraries.add(str(path))
        raise errors.LibraryNotLoaded(
            f"Could not load this library: {path}",
            help=["define the operator in Python: `@torch.library.custom_op(...)`"],
        )

    def __iter__(self) -> Iterator[str]:
        return iter(registry.operators)

    def __repr__(self) -> str:
        return "<module 'torch.ops' from '_ops.py'>"


ops: Final = Operators()
"""What `torch.ops` is."""


def namespace_of(name: str) -> OperatorNamespace | None:
    """The namespace of that name if an operator was defined in it, or if it is `aten`."""
    if name != "aten" and not any(OperatorNamespace(name)):
        return None
    found: OperatorNamespace = getattr(ops, name)
    return found
