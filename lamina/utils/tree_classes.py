"""Letting trees be made of further classes, and asking what a class is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from lamina import errors
from lamina.ops.results import NamedResult
from lamina.utils.tree_kinds import (
    KINDS,
    NO_NAME,
    GetAttrKey,
    Kind,
    is_namedtuple_class,
    name_namedtuple,
    register,
)

__all__ = [
    "FlattenFn", "FromDumpableContextFn", "ToDumpableContextFn", "UnflattenFn", "is_namedtuple",
    "is_namedtuple_instance", "is_structseq", "is_structseq_class", "is_structseq_instance",
    "register_dataclass", "register_pytree_node",
]  # fmt: skip

FlattenFn = Callable[[Any], tuple[list[Any], Any]]
UnflattenFn = Callable[[Iterable[Any], Any], Any]
ToDumpableContextFn = Callable[[Any], Any]
FromDumpableContextFn = Callable[[Any], Any]


def register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[Any, Any]] | None = None,
) -> None:
    """Let trees be made of a class of your own.

    Args:
        flatten_fn: Gives the children and a context, all else that is needed to build it again.
        unflatten_fn: Builds it from children and context.
        serialized_type_name: What text calls it, for `treespec_dumps`.
        flatten_with_keys_fn: As `flatten_fn`, with a key beside each child.

    Raises:
        ValueError: The class is registered already, or only one of the two functions for the
            context is given.
    """
    if cls in KINDS:
        raise errors.InvalidValue(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise errors.InvalidValue(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or "
            "registered."
        )
    name = NO_NAME if serialized_type_name is None else serialized_type_name
    register(
        cls,
        Kind(
            flatten_fn,
            unflatten_fn,
            flatten_with_keys_fn,
            name,
            to_dumpable_context,
            from_dumpable_context,
        ),
    )


def _deregister_pytree_node(cls: type[Any]) -> None:
    """Let a class be a leaf again."""
    KINDS.pop(cls, None)


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    """Let text name a class that `namedtuple` made."""
    name_namedtuple(cls, serialized_type_name)


def register_dataclass(
    cls: type[Any], *, field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None, serialized_type_name: str | None = None,
) -> None:  # fmt: skip
    """Let trees be made of a dataclass: its fields are the children, but those that are None.

    Args:
        field_names: The fields, in order; without it all that `__init__` takes.
        drop_field_names: Fields that are left out, and get their defaults when it is built again.
    """
    if not dataclasses.is_dataclass(cls):
        raise errors.ArgumentTypeError(
            f"register_dataclass can only be used with a dataclass: {cls}"
        )
    dropped = set(drop_field_names or ())
    names = field_names or [f.name for f in dataclasses.fields(cls) if f.init]
    names = [name for name in names if name not in dropped]

    def keyed(value: Any) -> tuple[Any, Any]:
        found = [(name, getattr(value, name)) for name in names]
        present = [name for name, child in found if child is not None]
        absent = [name for name, child in found if child is None]
        pairs = [(GetAttrKey(name), child) for name, child in found if child is not None]
        return pairs, [present, absent]

    def apart(value: Any) -> tuple[Any, Any]:
        pairs, context = keyed(value)
        return [child for _, child in pairs], context

    def built(children: Iterable[Any], context: Any) -> Any:
        present, absent = context
        return cls(**dict(zip(present, children, strict=True)), **dict.fromkeys(absent))

    register_pytree_node(
        cls, apart, built, serialized_type_name=serialized_type_name, flatten_with_keys_fn=keyed
    )


def is_namedtuple_instance(obj: object) -> bool:
    """Whether this is an object of a class that `namedtuple` made."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """Whether this is a class that `namedtuple` made, or an object of one."""
    return is_namedtuple_class(obj) or is_namedtuple_instance(obj)


def is_structseq_class(cls: type) -> bool:
    """Whether this is the class of named results of an operation, or one of Python's own such."""
    if not (isinstance(cls, type) and issubclass(cls, tuple)):
        return False
    counts = (getattr(cls, name, None) for name in ("n_fields", "n_sequence_fields"))
    return issubclass(cls, NamedResult) or all(type(count) is int for count in counts)


def is_structseq_instance(obj: object) -> bool:
    """Whether this is a named result of an operation, such as `max`, or one of Python's own."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether this is a class of named results, or one of its objects."""
    return is_structseq_class(obj) or is_structseq_instance(obj)
