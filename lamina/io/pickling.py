"""Pickles of tensors, as PyTorch writes them.

Tensors become calls of PyTorch's own functions by name, and their storages persistent ids. Python's
pickler in C would import each module that it names; the one in Python lets names be written that
this process does not have.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from types import FunctionType
from typing import Any, Final, NamedTuple, final

import numpy as np

from lamina import dtypes, nn
from lamina.core import blame
from lamina.core.hooks import Registry
from lamina.core.layouts import Size, layout
from lamina.core.records import PRIVATE
from lamina.core.tensor import Tensor
from lamina.devices import backend_of, device, device_of
from lamina.errors import FileFormatError
from lamina.io.layers import name_of_layer
from lamina.io.locations import location_tag
from lamina.io.rebuilding import (
    FROM_TYPE,
    LAYOUT,
    META_TENSOR,
    PARAMETER,
    PARAMETER_WITH_STATE,
    TENSOR_V2,
    TENSOR_V3,
    Rebuilder,
)
from lamina.nn.state_dict import StateDict
from lamina.ops.strides import storage_of
from lamina.storage import LEGACY_NAMES, TypedStorage, UntypedStorage, row_strides, typed, untyped

_BYTE: Final = np.dtype(np.uint8)

_NAMES: Final[dict[Any, tuple[str, str]]] = {
    **{
        made: ("torch._utils", made.name)
        for made in (TENSOR_V2, TENSOR_V3, META_TENSOR, PARAMETER, PARAMETER_WITH_STATE)
    },
    FROM_TYPE: ("torch._tensor", FROM_TYPE.name),
    LAYOUT: ("torch.serialization", LAYOUT.name),
    **{kind: ("torch", kind.name) for kind in dtypes.ALL_TYPES},
    Size: ("torch", "Size"),
    device: ("torch", "device"),
    Tensor: ("torch", "Tensor"),
    nn.Parameter: ("torch.nn.parameter", "Parameter"),
    UntypedStorage: ("torch.storage", "UntypedStorage"),
}
_NAMED_TYPES: Final = (type, dtypes.dtype, Rebuilder)


@final
class _StorageClass(NamedTuple):
    """A legacy storage class, which exists here as a name only."""

    name: str


_STORAGES: Final = (TypedStorage, UntypedStorage)
# Most of what a pickler is given; it asks for each of them.
_ORDINARY: Final = frozenset(
    {str, int, float, bool, type(None), tuple, list, dict, bytes, OrderedDict}
)
_BY_NAME: Final = (_StorageClass, FunctionType, *_NAMED_TYPES)


class SavedStorage(NamedTuple):
    """One storage that a pickle refers to, and the dtype that it is written as."""

    key: str
    storage: UntypedStorage
    kind: dtypes.dtype


@final
class TensorPickler(pickle._Pickler):
    """Pickles one value; `storages` then lists what must be written beside it, in order."""

    def __init__(self, file: Any, protocol: int, is_legacy: bool = False) -> None:
        super().__init__(file, protocol)
        self.storages: list[SavedStorage] = []
        self._is_legacy = is_legacy
        self._known: dict[tuple[str, int], SavedStorage] = {}
        self._classes: dict[str, _StorageClass] = {}

    # --- names ---------------------------------------------------------------------------------

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write a class or function by name: PyTorch's, where it is one of its."""
        known = _name_of(obj)
        if known is None:
            super().save_global(obj, name)  # type: ignore[misc]
            return
        module, name = known
        self.write(b"c" + f"{module}\n{name}\n".encode())  # type: ignore[attr-defined]
        self.memoize(obj)  # type: ignore[attr-defined]

    def reducer_override(self, obj: Any) -> Any:
        """How the values are written that PyTorch has a way of its own for."""
        if type(obj) in _ORDINARY:
            return NotImplemented
        if isinstance(obj, Tensor):
            return self._tensor(obj)
        if isinstance(obj, _BY_NAME) and _name_of(obj) is not None:
            return ""  # by name
        if isinstance(obj, device):
            return device, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if isinstance(obj, layout):
            return LAYOUT, (repr(obj),)
        if isinstance(obj, Registry):
            return OrderedDict, ()  # hooks are functions of this process
        if type(obj) is StateDict:
            return OrderedDict, (), obj.__dict__ or None, None, iter(obj.items())
        return NotImplemented

    # --- tensors -------------------------------------------------------------------------------

    def _tensor(self, tensor: Tensor) -> Any:
        attributes = {
            key: value
            for key, value in tensor.__dict__.items()
            if key not in PRIVATE and key != "_is_param"
        }
        if tensor._is_param:
            values = _Call(*self._plain(tensor, requires_grad=False))
            parameter = (values, tensor.requires_grad, _no_hooks())
            if attributes:
                return PARAMETER_WITH_STATE, (*parameter, attributes)
            return PARAMETER, parameter
        build, arguments = self._plain(tensor, tensor.requires_grad)
        if attributes:
            return FROM_TYPE, (build, Tensor, arguments, attributes)
        return build, arguments

    def _plain(self, tensor: Tensor, requires_grad: bool) -> tuple[Any, tuple[Any, ...]]:
        """The call that makes a tensor of this memory again."""
        size, stride, kind = tuple(tensor.shape), tensor.stride(), tensor.dtype
        if getattr(tensor._array, "recorder", None) is not None:
            blame.check_has_values(tensor, "save")
        if tensor.is_meta:
            return META_TENSOR, (kind, size, stride, requires_grad)
        memory, offset = _memory_of(tensor._array)
        if offset is None:
            offset, stride = 0, row_strides(size)
        general = (offset, size, stride, requires_grad, _no_hooks())
        if kind in LEGACY_NAMES:
            return TENSOR_V2, (typed(memory), *general)
        return TENSOR_V3, (untyped(memory.view(_BYTE)), *general, kind)

    # --- storages ------------------------------------------------------------------------------

    def persistent_id(self, obj: Any) -> Any:
        """What stands for a storage; None for everything else."""
        if type(obj) not in _STORAGES:
            return None
        kind = obj.dtype if isinstance(obj, TypedStorage) else dtypes.uint8
        saved = self._saved(obj, kind)
        is_typed = isinstance(obj, TypedStorage) and kind in LEGACY_NAMES
        named: Any = self._legacy_class(LEGACY_NAMES[kind]) if is_typed else UntypedStorage
        found = ("storage", named, saved.key, location_tag(obj), obj.size())
        return (*found, None) if self._is_legacy else found

    def _saved(self, obj: TypedStorage | UntypedStorage, kind: dtypes.dtype) -> SavedStorage:
        place = str(obj.device), obj.data_ptr()
        saved = self._known.get(place)
        if saved is None:
            saved = SavedStorage(str(len(self.storages)), obj.untyped(), kind)
            self.storages.append(saved)
            if place[1]:
                self._known[place] = saved
        if saved.kind is not kind:
            raise FileFormatError(
                "Cannot save multiple tensors or storages that view the same data as different "
                f"types: {saved.kind} and {kind}",
                help=["save a copy of one of them: `.clone()`"],
            )
        return saved

    def _legacy_class(self, name: str) -> _StorageClass:
        # One object for each name, so that the pickle writes the name once.
        return self._classes.setdefault(name, _StorageClass(name))


@final
class _Call:
    """A call inside of arguments, which becomes one in the pickle."""

    def __init__(self, function: Any, arguments: tuple[Any, ...]) -> None:
        self._parts = function, arguments

    def __reduce__(self) -> Any:
        return self._parts


def _no_hooks() -> OrderedDict[Any, Any]:
    """What stands where PyTorch has a tensor's hooks."""
    return OrderedDict()


def _name_of(obj: Any) -> tuple[str, str] | None:
    """PyTorch's name of a class, dtype or function; None if it has none."""
    if isinstance(obj, _StorageClass):
        return "torch", obj.name
    known = _NAMES.get(obj) if isinstance(obj, _NAMED_TYPES) else None
    return known or name_of_layer(obj)


def _memory_of(array: Any) -> tuple[Any, int | None]:
    """The whole memory that an array shows, flat, and where it begins there.

    An array over foreign memory with gaps has no such form: then a copy, and None.
    """
    flat, offset = storage_of(array)
    if array.size and not np.may_share_memory(flat, array):
        flat = backend_of(device_of(array)).empty((array.size,), array.dtype)
        flat[...] = array.reshape(-1)
        return flat, None
    return flat, offset
