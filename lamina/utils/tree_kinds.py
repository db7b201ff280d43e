"""The containers that trees are made of: how each kind comes apart, and is put together again.

A kind is known by the class of the container. All classes made by `collections.namedtuple` are one
kind, known by that function, with the class as context.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, final

from lamina.core.layouts import Size
from lamina.ops.results import NamedResult

__all__ = [
    "KINDS", "NO_NAME", "STANDARD_DICTS", "GetAttrKey", "Kind", "MappingKey", "SequenceKey",
    "class_named", "is_namedtuple_class", "name_namedtuple", "node_type", "register",
]  # fmt: skip


@final
@dataclass(frozen=True)
class SequenceKey:
    """A step of a path: into a sequence, by position."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, parent: Any) -> Any:
        """The child of `parent` at this position."""
        return parent[self.idx]


@final
@dataclass(frozen=True)
class MappingKey:
    """A step of a path: into a mapping, by key."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, parent: Any) -> Any:
        """The child of `parent` at this key."""
        return parent[self.key]


@final
@dataclass(frozen=True)
class GetAttrKey:
    """A step of a path: to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, parent: Any) -> Any:
        """The child of `parent` with this name."""
        return getattr(parent, self.name)


NO_NAME: Final = "NO_SERIALIZED_TYPE_NAME_FOUND"


@final
@dataclass(frozen=True)
class Kind:
    """What is known of one kind of container.

    Args:
        flatten: Gives the children and a context: all else that it takes to build it again.
        unflatten: Builds it from children and context.
        flatten_with_keys: As `flatten`, with a key beside each child.
        name: What it is called in text, or `NO_NAME`.
        dump, load: Turn the context into text and back; without them it is JSON.
    """

    flatten: Callable[[Any], tuple[Any, Any]]
    unflatten: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys: Callable[[Any], tuple[Any, Any]] | None = None
    name: str = NO_NAME
    dump: Callable[[Any], Any] | None = None
    load: Callable[[Any], Any] | None = None


KINDS: Final[dict[Any, Kind]] = {}
"""Every kind by its class."""

STANDARD_DICTS: Final = frozenset({dict, OrderedDict, defaultdict})
"""Mappings that stand for each other where two trees are compared."""

_NAMED: Final[dict[str, type]] = {}
"""Classes made by `namedtuple` that text may name."""


def register(kind: Any, record: Kind) -> None:
    """Let trees be made of one more kind of container."""
    KINDS[kind] = record


def is_namedtuple_class(kind: Any) -> bool:
    """Whether a class was made by `collections.namedtuple`, or derives from such a class."""
    if not (isinstance(kind, type) and issubclass(kind, tuple)):
        return False
    fields = getattr(kind, "_fields", None)
    return (
        type(fields) is tuple
        and all(type(field) is str for field in fields)
        and callable(getattr(kind, "_make", None))
        and callable(getattr(kind, "_asdict", None))
    )


def node_type(tree: Any) -> Any:
    """Under what a value's kind is known, if it has one."""
    kind = type(tree)
    if kind not in KINDS and issubclass(kind, tuple):
        if is_namedtuple_class(kind):
            return namedtuple
        if issubclass(kind, NamedResult):
            register(kind, _result_kind(kind))
    return kind


# --- the kinds ------------------------------------------------------------------------------------


def _sequence_keys(value: Any) -> tuple[Any, Any]:
    return [(SequenceKey(k), child) for k, child in enumerate(value)], None


def _mapping(value: Any) -> tuple[list[Any], list[Any]]:
    return list(value.values()), list(value)


def _mapping_keys(value: Any) -> tuple[Any, Any]:
    return [(MappingKey(key), child) for key, child in value.items()], list(value)


def _defaultdict(value: Any) -> tuple[list[Any], Any]:
    return list(value.values()), [value.default_factory, list(value)]


def _built_defaultdict(children: Iterable[Any], context: Any) -> Any:
    return defaultdict(context[0], zip(context[1], children, strict=True))


def _dump_defaultdict(context: Any) -> Any:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _load_defaultdict(text: Any) -> Any:
    module = import_module(text["default_factory_module"])
    return [getattr(module, text["default_factory_name"]), text["dict_context"]]


def _named_keys(value: Any) -> tuple[Any, Any]:
    keys = (GetAttrKey(name) for name in value._fields)
    return list(zip(keys, value, strict=True)), type(value)


def _dump_named(context: Any) -> str:
    found = next((name for name, kind in _NAMED.items() if kind is context), None)
    if found is None:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context}: no name is registered for "
            "it. Register one with `_register_namedtuple(cls, serialized_type_name=...)`"
        )
    return found


def name_namedtuple(kind: type, name: str) -> None:
    """Let text name a class that `namedtuple` made."""
    _NAMED[name] = kind


def _result_kind(kind: Any) -> Kind:
    """The kind of the results of one operation, such as `max`."""
    return Kind(
        lambda value: (list(value), None),
        lambda children, context: kind(*children),
        _sequence_keys,
    )


KINDS.update(
    {
        tuple: Kind(
            lambda value: (list(value), None),
            lambda children, context: tuple(children),
            _sequence_keys,
            "builtins.tuple",
        ),
        list: Kind(
            lambda value: (value, None),
            lambda children, context: list(children),
            _sequence_keys,
            "builtins.list",
        ),
        dict: Kind(
            _mapping,
            lambda children, context: dict(zip(context, children, strict=True)),
            _mapping_keys,
            "builtins.dict",
        ),
        namedtuple: Kind(
            lambda value: (list(value), type(value)),
            lambda children, context: context(*children),
            _named_keys,
            "collections.namedtuple",
            dump=_dump_named,
            load=_NAMED.__getitem__,
        ),
        OrderedDict: Kind(
            _mapping,
            lambda children, context: OrderedDict(zip(context, children, strict=True)),
            _mapping_keys,
            "collections.OrderedDict",
        ),
        defaultdict: Kind(
            _defaultdict,
            _built_defaultdict,
            lambda value: (_mapping_keys(value)[0], _defaultdict(value)[1]),
            "collections.defaultdict",
            dump=_dump_defaultdict,
            load=_load_defaultdict,
        ),
        deque: Kind(
            lambda value: (list(value), value.maxlen),
            lambda children, context: deque(children, maxlen=context),
            lambda value: (_sequence_keys(value)[0], value.maxlen),
            "collections.deque",
        ),
        Size: Kind(
            lambda value: (list(value), None),
            lambda children, context: tuple(children),
            _sequence_keys,
            "torch.Size",
        ),
    }
)


def class_named(name: str) -> Any:
    """The class that text calls `name`, the counterpart of `Kind.name`; None if there is none."""
    return next((kind for kind, record in KINDS.items() if record.name == name), None)
