"""Making tensors from what a checkpoint says of them: a storage, an offset, sizes and strides.

Each `Rebuilder` stands for one function that PyTorch's files name. Nothing in a file is trusted:
what does not fit its storage, or would take more memory than the file accounts for, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from lamina import dtypes, nn
from lamina.core.layouts import Size, layout, strided
from lamina.core.records import PRIVATE
from lamina.core.tensor import Tensor
from lamina.devices import META, backend_of
from lamina.errors import FileFormatError, LaminaError, MissingExtra, NotSupported
from lamina.ops.making import settle
from lamina.storage import TypedStorage, UntypedStorage, strided_over

# NumPy has no arrays of more dimensions.
_MOST_DIMENSIONS: Final = 64
_LARGEST: Final = 2**63 - 1
# What a file of so many bytes may be unfolded to, beyond what it holds.
_FREE: Final = 64 << 20
_TIMES: Final = 16
# What an element of a container counts: less than the bytes that brought it, times the above.
_ELEMENT: Final = 64


@final
class Limits:
    """What one file may still cost: copies of its content are counted against its size.

    Args:
        name: What errors call the file.
        size: How many bytes it has.

    `values_come_later` says that storages have no values yet while tensors are made.
    """

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.values_come_later = False
        self._left = _FREE + _TIMES * size

    def spend(self, amount: int) -> None:
        """Count a copy of so many bytes."""
        self._left -= amount
        if self._left < 0:
            raise self.broken("it would unfold to many times its own size")

    def spend_elements(self, count: int) -> None:
        """Count a copy of a container with so many elements."""
        self.spend(_ELEMENT * count)

    def broken(self, what: str) -> FileFormatError:
        """The error about this file."""
        return FileFormatError(
            f"{self.name} holds no sound checkpoint: {what}",
            help=["the file is damaged, or was made by something other than torch.save"],
        )


def brief(value: Any) -> str:
    """A value out of a file in few words; its own repr could go on for ever.

    >>> brief("x" * 100)[:8], brief((1, 2)), brief([[1]])
    ("'xxxxxxx", '(1, 2)', 'a list')
    """
    if isinstance(value, str | bytes):
        return repr(value[:40])
    if value is None or type(value) in (bool, float):
        return repr(value)
    if type(value) is int:
        return repr(value) if value.bit_length() < 100 else "a number of very many digits"
    if isinstance(value, type):
        return value.__name__
    is_short = type(value) in (tuple, list, Size) and len(value) <= 8
    if is_short and all(type(part) is int for part in value):
        return f"({', '.join(map(brief, value))})"
    return f"a {type(value).__name__}"


def is_one_of(value: Any, *options: Any) -> bool:
    """Whether a value is one of a few plain ones. Tensors would compare each of their elements."""
    return type(value) in (int, str, bytes, type(None)) and value in options


_UNFIT: Final = (
    LaminaError, ValueError, TypeError, AttributeError, IndexError, KeyError, OverflowError,
)  # fmt: skip


class Rebuilder(NamedTuple):
    """A function that files name, and what does its work here."""

    name: str
    build: Callable[[Limits, tuple[Any, ...]], Any]

    def __call__(self, limits: Limits, args: tuple[Any, ...]) -> Any:
        """Do it; arguments that do not fit raise FileFormatError."""
        try:
            return self.build(limits, args)
        except (FileFormatError, NotSupported, MissingExtra):
            raise
        except _UNFIT as error:
            reason = getattr(error, "headline", error)
            raise limits.broken(f"{self.name} cannot take these arguments ({reason})") from error


def whole_numbers(limits: Limits, values: Any, what: str) -> tuple[int, ...]:
    """A tuple of numbers that are zero or larger and fit 64 bits."""
    if not isinstance(values, tuple | list | Size) or len(values) > _MOST_DIMENSIONS:
        raise limits.broken(f"the {what} of a tensor are no tuple of at most 64 numbers")
    for value in values:
        if type(value) is not int or not 0 <= value <= _LARGEST:
            raise limits.broken(f"a tensor has the {what} {brief(values)}")
    return tuple(values)


def _check_bounds(
    limits: Limits, nbytes: int, itemsize: int, offset: int, size: Sequence[int], stride: Any
) -> None:
    if len(size) != len(stride):
        raise limits.broken("a tensor has more sizes than strides, or fewer")
    count = 1
    for length in size:
        count *= max(length, 1)
    if count * itemsize > _LARGEST:
        raise limits.broken(f"a tensor has the size {brief(size)}")
    last = sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    needed = offset if 0 in size else offset + last + 1
    if needed > nbytes // itemsize or max(stride, default=0) * itemsize > _LARGEST:
        raise limits.broken(
            f"a tensor of size {brief(size)} from element {offset} on is out of bounds for "
            f"its storage of {nbytes} bytes"
        )


def _strided_tensor(
    limits: Limits, storage: Any, kind: Any, geometry: Sequence[Any], requires_grad: Any,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    if not isinstance(storage, TypedStorage | UntypedStorage):
        raise limits.broken("a tensor has no storage")
    if not isinstance(kind, dtypes.dtype):
        raise limits.broken("a tensor has no dtype")
    (offset,) = whole_numbers(limits, (geometry[0],), "offset")
    size = whole_numbers(limits, geometry[1], "size")
    stride = whole_numbers(limits, geometry[2], "strides")
    _check_bounds(limits, storage.nbytes(), kind.itemsize, offset, size, stride)
    array = strided_over(storage, kind, offset, size, stride)
    for flag, undone in (("conj", np.conjugate), ("neg", np.negative)):
        if isinstance(metadata, dict) and metadata.get(flag) is True:
            if limits.values_come_later:
                raise limits.broken("it has a conjugated view, which the old format does not know")
            limits.spend(array.nbytes)
            array = undone(array)
    return _leaf(limits, array, requires_grad)


def _leaf(limits: Limits, array: Any, requires_grad: Any) -> Tensor:
    if type(requires_grad) is not bool:
        raise limits.broken(f"a tensor requires grad: {brief(requires_grad)}")
    if requires_grad and not dtypes.from_numpy(array.dtype).is_differentiable:
        raise limits.broken("a tensor of integers requires grad")
    return settle(array, "load", requires_grad)


def _tensor_v2(limits: Limits, args: tuple[Any, ...]) -> Tensor:
    storage, offset, size, stride, requires_grad, _hooks, *rest = args
    kind = storage.dtype if isinstance(storage, TypedStorage) else dtypes.uint8
    geometry = (offset, size, stride)
    return _strided_tensor(limits, storage, kind, geometry, requires_grad, *rest[:1])


def _tensor_v1(limits: Limits, args: tuple[Any, ...]) -> Tensor:
    storage, offset, size, stride = args
    return _tensor_v2(limits, (storage, offset, size, stride, False, None))


def _tensor_v3(limits: Limits, args: tuple[Any, ...]) -> Tensor:
    storage, offset, size, stride, requires_grad, _hooks, kind, *rest = args
    geometry = (offset, size, stride)
    return _strided_tensor(limits, storage, kind, geometry, requires_grad, *rest[:1])


def _meta_tensor(limits: Limits, args: tuple[Any, ...]) -> Tensor:
    kind, size, stride, requires_grad = args
    size = whole_numbers(limits, size, "size")
    stride = whole_numbers(limits, stride, "strides")
    if not isinstance(kind, dtypes.dtype):
        raise limits.broken("a tensor has no dtype")
    _check_bounds(limits, _LARGEST, kind.itemsize, 0, size, stride)
    place = backend_of(META)
    flat = place.empty((1,), kind.numpy)
    steps = [step * kind.itemsize for step in stride]
    return _leaf(limits, place.as_strided(flat, size, steps), requires_grad)


def _parameter(limits: Limits, args: tuple[Any, ...]) -> Tensor:
    data, requires_grad, _hooks = args
    if not isinstance(data, Tensor):
        raise limits.broken("a parameter has no values")
    if type(requires_grad) is not bool:
        raise limits.broken(f"a parameter requires grad: {brief(requires_grad)}")
    if requires_grad and not data.dtype.is_differentiable:
        raise limits.broken("a parameter of integers requires grad")
    made: Tensor = nn.Parameter(data, requires_grad)
    return made


def _parameter_with_state(limits: Limits, args: tuple[Any, ...]) -> Tensor:
    data, requires_grad, hooks, state = args
    return _with_attributes(limits, _parameter(limits, (data, requires_grad, hooks)), state)


def _from_type(limits: Limits, args: tuple[Any, ...]) -> Tensor:
    build, kind, inner, state = args
    if not isinstance(build, Rebuilder) or (kind is not Tensor and kind is not nn.Parameter):
        raise limits.broken(f"a tensor is of a class of its own ({brief(kind)})")
    made = build(limits, inner)
    if not isinstance(made, Tensor):
        raise limits.broken("a tensor is none")
    return _with_attributes(limits, made, state)


def _with_attributes(limits: Limits, tensor: Tensor, state: Any) -> Tensor:
    """Give a tensor the attributes that somebody had set on it when it was saved."""
    if isinstance(state, tuple):
        state = state[0] if state else None
    if state is not None and type(state) is not dict:
        raise limits.broken("the attributes of a tensor have no names")
    for key, value in (state or {}).items():
        if type(key) is not str:
            raise limits.broken("an attribute of a tensor has no name")
        if key not in PRIVATE and not key.startswith("__"):
            tensor.__dict__[key] = value
    return tensor


def _layout(limits: Limits, args: tuple[Any, ...]) -> layout:
    (name,) = args
    if not is_one_of(name, "torch.strided"):
        raise _not_there(f"tensors of the layout {brief(name)}")
    return strided


def _not_there(what: str) -> NotSupported:
    return NotSupported(
        f"the checkpoint holds {what}, which Lamina does not have",
        help=["convert it with PyTorch first: `.to_dense()`, `.dequantize()` or `.to_local()`"],
    )


def _absent(what: str) -> Callable[[Limits, tuple[Any, ...]], Any]:
    def refuse(limits: Limits, args: tuple[Any, ...]) -> Any:
        raise _not_there(what)

    return refuse


TENSOR_V2: Final = Rebuilder("_rebuild_tensor_v2", _tensor_v2)
TENSOR_V3: Final = Rebuilder("_rebuild_tensor_v3", _tensor_v3)
META_TENSOR: Final = Rebuilder("_rebuild_meta_tensor_no_storage", _meta_tensor)
PARAMETER: Final = Rebuilder("_rebuild_parameter", _parameter)
PARAMETER_WITH_STATE: Final = Rebuilder("_rebuild_parameter_with_state", _parameter_with_state)
FROM_TYPE: Final = Rebuilder("_rebuild_from_type_v2", _from_type)
LAYOUT: Final = Rebuilder("_get_layout", _layout)

_ABSENT: Final = {
    "_rebuild_qtensor": "quantized tensors",
    "_rebuild_sparse_tensor": "sparse tensors",
    "_rebuild_nested_tensor": "nested tensors",
    "_rebuild_wrapper_subclass": "a subclass of Tensor without memory of its own",
    "_rebuild_device_tensor_from_numpy": "tensors of an XLA device",
    "_rebuild_device_tensor_from_cpu_tensor": "tensors of another kind of device",
}

REBUILDERS: Final[dict[str, Rebuilder]] = {
    **{
        f"torch._utils.{made.name}": made
        for made in (TENSOR_V2, TENSOR_V3, META_TENSOR, PARAMETER, PARAMETER_WITH_STATE)
    },
    "torch._utils._rebuild_tensor": Rebuilder("_rebuild_tensor", _tensor_v1),
    "torch._tensor._rebuild_from_type_v2": FROM_TYPE,
    "torch.tensor._rebuild_from_type_v2": FROM_TYPE,
    "torch.serialization._get_layout": LAYOUT,
    **{f"torch._utils.{name}": Rebuilder(name, _absent(what)) for name, what in _ABSENT.items()},
}
"""By the full name that files use."""
