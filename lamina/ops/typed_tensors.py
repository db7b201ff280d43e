"""Tensors by type, as older programs make and name them: `FloatTensor(2, 3)`, `x.new(2, 3)`.

`FloatTensor` and its like are no classes that tensors have: calling one makes a tensor of its dtype
and device, and `isinstance` asks for these. `Tensor` itself takes the same arguments.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from lamina import dtypes, errors
from lamina.core.blame.words import legacy_type, this_place
from lamina.core.layouts import Size, layout, strided
from lamina.core.positions import here
from lamina.core.tensor import Tensor, fill_slots
from lamina.core.warning import warn
from lamina.devices import CPU, current_default, device
from lamina.ops.creation import set_default_device, zeros
from lamina.ops.data import tensor
from lamina.ops.making import place_of_device
from lamina.ops.memory import alias

__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor",
    "HalfTensor", "IntTensor", "LongTensor", "ShortTensor", "set_default_tensor_type",
]  # fmt: skip


class tensortype(type):
    """The class of `FloatTensor` and its like."""

    dtype: dtypes.dtype
    layout: layout
    is_cuda: bool
    is_sparse: bool

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.dtype is cls.dtype
            and (instance.device.type == "cuda") is cls.is_cuda
            and instance.device.type in ("cpu", "cuda")
        )

    def __call__(cls, *args: Any, size: Any = None, device: Any = None) -> Tensor:
        return _made(args if size is None else (Size(size),), cls.dtype, _place(cls), device)


tensortype.__module__ = "torch"


def _place(kind: tensortype) -> device:
    """Where tensors of a type are; TypeError, as in PyTorch, if there is no such place."""
    try:
        return place_of_device("cuda" if kind.is_cuda else "cpu")
    except errors.SimulatedCudaUnavailable as error:
        raise errors.ArgumentTypeError(
            f"type torch.cuda.{kind.__name__} not available. Torch not compiled with CUDA enabled.",
            [(this_place(), "asked for here")],
            error.help,
        ) from None


def _type_for(name: str, dtype: dtypes.dtype, is_cuda: bool) -> Any:
    """The type of a dtype in host memory, or on CUDA devices."""
    home = "torch.cuda" if is_cuda else "torch"
    where = "on a CUDA device" if is_cuda else "in host memory"
    return tensortype(
        name,
        (),
        {
            "__module__": home,
            "__doc__": f"A tensor of {dtype} {where}, of a shape or of given values.",
            "dtype": dtype,
            "layout": strided,
            "is_cuda": is_cuda,
            "is_sparse": False,
        },
    )


_DTYPES: Final = {
    "BFloat16Tensor": dtypes.bfloat16,
    "BoolTensor": dtypes.bool_,
    "ByteTensor": dtypes.uint8,
    "CharTensor": dtypes.int8,
    "DoubleTensor": dtypes.float64,
    "FloatTensor": dtypes.float32,
    "HalfTensor": dtypes.float16,
    "IntTensor": dtypes.int32,
    "LongTensor": dtypes.int64,
    "ShortTensor": dtypes.int16,
}
BFloat16Tensor = _type_for("BFloat16Tensor", dtypes.bfloat16, False)
BoolTensor = _type_for("BoolTensor", dtypes.bool_, False)
ByteTensor = _type_for("ByteTensor", dtypes.uint8, False)
CharTensor = _type_for("CharTensor", dtypes.int8, False)
DoubleTensor = _type_for("DoubleTensor", dtypes.float64, False)
FloatTensor = _type_for("FloatTensor", dtypes.float32, False)
HalfTensor = _type_for("HalfTensor", dtypes.float16, False)
IntTensor = _type_for("IntTensor", dtypes.int32, False)
LongTensor = _type_for("LongTensor", dtypes.int64, False)
ShortTensor = _type_for("ShortTensor", dtypes.int16, False)

CUDA_TYPES: Final = {name: _type_for(name, dtype, True) for name, dtype in _DTYPES.items()}
"""What `lamina.cuda` offers under the same names."""


# --- making them ---------------------------------------------------------------------------------


def construct(cls: Any, *args: Any, size: Any = None, device: Any = None, **_: Any) -> Tensor:
    """`Tensor(...)`: of the default dtype, of a shape or of given values; another tensor's memory.

    >>> import lamina
    >>> lamina.Tensor([1, 2]), lamina.Tensor(2, 3).shape
    (tensor([1., 2.]), torch.Size([2, 3]))
    """
    made = _made(args if size is None else (Size(size),), None, current_default(), device)
    if cls is Tensor:
        return made
    result: Tensor = object.__new__(cls)
    fill_slots(result, made._array, (*here(), "Tensor", None, None))
    result._cell = made._cell
    return result


def new(self: Tensor, *args: Any, size: Any = None, device: Any = None) -> Tensor:
    """A tensor of the same dtype and device: of a shape, or of given values.

    >>> import lamina
    >>> lamina.ones(2).long().new([1.5, 2]), lamina.ones(2).new(2, 3).shape
    (tensor([1, 2]), torch.Size([2, 3]))
    """
    return _made(args if size is None else (Size(size),), self.dtype, self.device, device)


def _made(args: tuple[Any, ...], dtype: dtypes.dtype | None, place: device, asked: Any) -> Tensor:
    """What all of them give: a shape is numbers or a `Size`, anything else is data."""
    if asked is not None:
        wanted = place_of_device(asked)
        if wanted.type != place.type:
            raise errors.InvalidArgument(
                f"legacy constructor expects device type: {place.type} but device type: "
                f"{wanted.type} was passed",
                [(this_place(), "called here")],
                ["use `torch.zeros(..., device=...)` or `torch.tensor(..., device=...)`"],
            )
        place = wanted
    if len(args) == 1 and isinstance(args[0], Tensor):
        return _alias(args[0], dtype, place)
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    if not args:
        return zeros(0, dtype=kind, device=place)
    first = args[0]
    is_data = isinstance(first, np.ndarray | list | tuple) or hasattr(first, "__len__")
    is_length = hasattr(first, "__index__") and not is_data and not isinstance(first, bool)
    if isinstance(first, Size) or is_length:
        return zeros(*args, dtype=kind, device=place)
    if is_data and len(args) == 1:
        if not isinstance(first, str | bytes):
            return tensor(first, dtype=kind, device=place)
        words = f"invalid data type '{type(first).__name__}'"
    else:
        words = f"data must be a sequence (got {type(first).__name__})"
    raise errors.UnsupportedData(
        f"new(): {words}",
        [(this_place(), "called here")],
        ["pass lengths for a shape, or a list of values; `torch.tensor(...)` takes one number too"],
    )


def _alias(source: Tensor, dtype: dtypes.dtype | None, place: device) -> Tensor:
    """A view of all of it."""
    if (dtype is not None and source.dtype is not dtype) or source.device.type != place.type:
        wanted = legacy_type(source.dtype if dtype is None else dtype, place)
        given = legacy_type(source.dtype, source.device)
        raise errors.ArgumentTypeError(
            f"expected a tensor of type {wanted}, but got {given}",
            [(this_place(), "called here")],
            [f"convert it: `.type('{wanted}')`"],
        )
    made: Tensor = alias(source)
    return made


# --- the default ---------------------------------------------------------------------------------


@functools.cache
def _warn_once() -> None:
    warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives."
    )


def set_default_tensor_type(t: Any) -> None:
    """Choose the dtype and device of new floating-point tensors by a type, or by its name.

    Args:
        t: such as `torch.DoubleTensor` or "torch.cuda.FloatTensor".

    Raises:
        InvalidDtype: If it is no type of floating-point tensors.
    """
    _warn_once()
    found = t
    if isinstance(t, str):
        home, _, name = t.rpartition(".")
        known = {"torch": globals(), "torch.cuda": CUDA_TYPES}.get(home, {})
        found = known.get(name) if name in _DTYPES else None
    if not isinstance(found, tensortype) or not found.dtype.is_floating_point:
        what = "" if isinstance(found, tensortype) else f"invalid type object: {t!r}: "
        raise errors.InvalidDtype(
            f"{what}only floating-point types are supported as the default type",
            [(this_place(), "called here")],
            ["for example torch.DoubleTensor; `torch.set_default_dtype` takes a dtype"],
        )
    if found.is_cuda:
        set_default_device(_place(found))
    elif current_default().type == "cuda":
        set_default_device(CPU)
    dtypes.set_default_dtype(found.dtype)
