"""How new tensors are made: devices, sizes and dtypes as arguments name them, arrays, leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core import blame
from lamina.core.modes import door
from lamina.core.positions import here
from lamina.core.tensor import Tensor, wrap
from lamina.core.versions import next_stamp
from lamina.devices import (
    CPU,
    backend_of,
    current_default,
    current_recorder,
    device,
    resolve,
)


def place_of_device(where: Any) -> device:
    """The device that a `device=` argument names; the default device for None."""
    if where is None:
        return current_default()
    return resolve(where if isinstance(where, device) else device(where))


def size_of(size: Sequence[Any]) -> tuple[int, ...]:
    """The shape that `*size` means: numbers, or one sequence of them. Negative lengths raise."""
    if len(size) == 1 and isinstance(size[0], (list, tuple)):
        size = size[0]
    for length in size:
        if length.__class__ is not int or length < 0:
            break
    else:
        return tuple(size)
    try:
        shape = tuple(int(length.__index__()) for length in size)
    except (AttributeError, TypeError):
        wrong = next(s for s in size if not hasattr(s, "__index__"))
        raise errors.ArgumentTypeError(
            f"a size must be a sequence of ints, not one with {type(wrong).__name__}: {wrong!r}",
            help=["give whole numbers, as in `torch.zeros(2, 3)`"],
        ) from None
    if any(length < 0 for length in shape):
        raise errors.NegativeSize(
            f"Dimension size must be non-negative: trying to create a tensor with negative "
            f"dimension {min(shape)}: {list(shape)}",
            help=["sizes are 0 or larger"],
        )
    return shape


def given_size(name: str, sizes: tuple[Any, ...], size: Any) -> tuple[Any, ...]:
    """What `size_of` takes, where a size may be positional numbers, or the keyword `size=`."""
    if size is None:
        if sizes:
            return sizes
        raise errors.ArgumentTypeError(
            f'{name}() missing 1 required positional argument: "size"',
            help=["a tensor of one element without dimensions has the size `()`"],
        )
    if sizes:
        raise errors.ArgumentTypeError(f"{name}() got multiple values for argument 'size'")
    if not isinstance(size, list | tuple):
        raise errors.ArgumentTypeError(
            f"{name}(): argument 'size' must be tuple of ints, not {type(size).__name__}",
            help=[f"`size=({size},)`"] if isinstance(size, int) else [],
        )
    return (size,)


def settle(array: Any, name: str, requires_grad: bool = False) -> Tensor:
    """A new leaf around an array, made where the user's program is now."""
    made = wrap(array, (*here(), name, None, None))
    if requires_grad:
        if array.dtype.kind not in "fcV":
            raise blame.integer_requires_grad(dtypes.from_numpy(array.dtype), at_creation=True)
        made._requires_grad = True
        made.__dict__["asked_at"] = (next_stamp(), *made._origin[:2])
    return made


def delivered(array: Any, name: str, requires_grad: bool, out: Any) -> Tensor:
    """A new leaf around an array, or `out`, which takes its shape and elements."""
    if out is None:
        return settle(array, name, requires_grad)
    if name == "arange":
        blame.warn_of_resize(out, array.shape)
    result: Tensor = out.resize_(array.shape).copy_(wrap(array, None))
    return result


def filled(shape: tuple[int, ...], value: Any, kind: np.dtype[Any], place: device) -> Any:
    """An array with the same number everywhere, on a device (or in the program being captured)."""
    if door.is_watched and (recorder := current_recorder()) is not None:
        return recorder.create(np.full, shape, value, dtype=kind, on=place)
    try:
        if place is CPU:
            is_zero = not value and "-" not in str(value)  # negative zeros have other bits
            return np.zeros(shape, kind) if is_zero else np.full(shape, value, kind)
        array = backend_of(place).empty(shape, kind)
    except (MemoryError, ValueError) as error:
        raise errors.OutOfMemoryError(
            f"not enough memory for a tensor of shape {list(shape)} and dtype {kind}: {error}",
            help=["make it smaller, or use device='meta' if only the shape matters"],
        ) from None
    array.fill(value)
    return array


def computed(make: Callable[..., Any], place: device, *args: Any) -> Any:
    """What a NumPy function makes, on a device (or in the program being captured)."""
    if door.is_watched and (recorder := current_recorder()) is not None:
        return recorder.create(make, *args, on=place)
    array = make(*args)
    return array if place is CPU else backend_of(place).constant(array)


def checked_kind(dtype: Any) -> dtypes.dtype:
    """The dtype that a `dtype=` argument names; the default one for None."""
    if dtype is None:
        return dtypes.get_default_dtype()
    if not isinstance(dtype, dtypes.dtype):
        raise errors.InvalidDtype(
            f"dtype must be a torch.dtype, not {type(dtype).__name__}",
            help=["for example dtype=torch.float32"],
        )
    return dtype
