"""Creation: tensors from sizes, values, ranges and other tensors."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.modes import door
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.op import offer
from lamina.core.tensor import Tensor
from lamina.devices import (
    CPU,
    backend_of,
    current_default,
    device,
    set_default,
)
from lamina.ops.making import (
    checked_kind,
    computed,
    delivered,
    filled,
    given_size,
    place_of_device,
    settle,
    size_of,
)

__all__ = [
    "arange", "empty", "empty_like", "empty_permuted", "empty_strided", "eye", "full", "full_like",
    "get_default_device", "linspace", "logspace", "ones", "ones_like", "range", "scalar_tensor",
    "set_default_device", "zeros", "zeros_like",
]  # fmt: skip


def set_default_device(device: Any) -> None:
    """Make new tensors on a device from now on (in this thread); None means the CPU again."""
    set_default(None if device is None else place_of_device(device))


def get_default_device() -> device:
    """The device on which new tensors are made."""
    return current_default()


def _full(
    name: str, size: Any, value: Any, dtype: Any, device: Any, requires_grad: bool, out: Any
) -> Tensor:
    kind = checked_kind(dtype if dtype is not None or out is None else out.dtype)
    array = filled(size_of(size), value, kind.numpy, place_of_device(device))
    return delivered(array, name, requires_grad, out)


def zeros(
    *sizes: Any, size: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of zeros.

    >>> import lamina
    >>> lamina.zeros(2, 3, dtype=lamina.int64)
    tensor([[0, 0, 0],
            [0, 0, 0]])
    """
    return _full("zeros", given_size("zeros", sizes, size), 0, dtype, device, requires_grad, out)


def ones(
    *sizes: Any, size: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of ones."""
    return _full("ones", given_size("ones", sizes, size), 1, dtype, device, requires_grad, out)


def empty(
    *sizes: Any, size: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor whose elements are not set to anything in particular."""
    sizes = given_size("empty", sizes, size)
    place = place_of_device(device)
    if place is CPU and out is None and not door.is_watched:
        return settle(np.empty(size_of(sizes), checked_kind(dtype).numpy), "empty", requires_grad)
    return _full("empty", sizes, 0, dtype, device, requires_grad, out)


def _check_number(fill_value: Any) -> None:
    if not isinstance(fill_value, numbers.Number | np.generic):
        raise errors.ArgumentTypeError(
            "full(): argument 'fill_value' (position 2) must be Number, not "
            f"{type(fill_value).__name__}"
        )


def full(
    size: Any, fill_value: Any, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor with the same number everywhere; its dtype follows the number unless given."""
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    _check_number(fill_value)
    if dtype is None and out is None:
        dtype = dtypes.of_number(fill_value)
    shape = size if isinstance(size, list | tuple) else (size,)
    return _full("full", shape, fill_value, dtype, device, requires_grad, out)


def _like(
    name: str, input: Tensor, value: Any, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    if not isinstance(input, Tensor):
        raise errors.ArgumentTypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    kind = input._array.dtype if dtype is None else checked_kind(dtype).numpy
    place = input.device if device is None else place_of_device(device)
    array = filled(input._array.shape, value, kind, place)
    return settle(_with_strides_of(array, input._array, place), name, requires_grad)


def _with_strides_of(array: Any, model: Any, place: device) -> Any:
    """The fresh array laid out as a dense model is: `zeros_like(x.t())` keeps the order of x."""
    if place is not CPU or door.is_watched:
        return array
    if model.__class__ is not np.ndarray or model.flags.c_contiguous:
        return array
    order = np.argsort([-step for step in model.strides], kind="stable")
    dense = np.ascontiguousarray(np.transpose(array, order))
    return np.transpose(dense, np.argsort(order))


def _constant_like(name: str, value: int, doc: str) -> Callable[..., Tensor]:
    @takes_numpy_names
    def like(
        input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
        requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False,
        **numpy_names: Any,
    ) -> Tensor:  # fmt: skip
        if numpy_names or input is MISSING:
            return again(
                like, numpy_names, input, dtype, layout, device, requires_grad, memory_format,
                pin_memory,
            )  # fmt: skip
        return _like(name, input, value, dtype, device, requires_grad)

    like.__name__ = like.__qualname__ = name
    like.__doc__ = doc
    return like


zeros_like = _constant_like(
    "zeros_like", 0, "Zeros with the shape, dtype and device of another tensor."
)
ones_like = _constant_like(
    "ones_like", 1, "Ones with the shape, dtype and device of another tensor."
)
empty_like = _constant_like(
    "empty_like", 0, "A tensor like another one, its elements not set to anything in particular."
)


@takes_numpy_names
def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False,
    **numpy_names: Any,
) -> Tensor:  # fmt: skip
    """One number everywhere, with the shape, dtype and device of another tensor."""
    if numpy_names or fill_value is MISSING:
        return again(
            full_like,
            numpy_names,
            input,
            fill_value,
            dtype,
            layout,
            device,
            requires_grad,
            memory_format,
            pin_memory,
        )
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    return _like("full_like", input, fill_value, dtype, device, requires_grad)


offer("zeros_like", np.zeros_like, zeros_like)
offer("ones_like", np.ones_like, ones_like)
offer("full_like", np.full_like, full_like)


def scalar_tensor(
    s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor without dimensions, of the default dtype unless another is given."""
    return _full("scalar_tensor", ((),), s, dtype, device, requires_grad, None)


def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of given sizes and strides (in elements), its elements not set."""
    shape = size_of((tuple(size),))
    kind = checked_kind(dtype).numpy
    count = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))
    place = place_of_device(device)
    flat = filled((count,), 0, kind, place)
    steps = tuple(step * kind.itemsize for step in stride)
    return settle(backend_of(place).as_strided(flat, shape, steps), "empty_strided", requires_grad)


def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor whose dimensions lie in memory in a given order, its elements not set."""
    shape = size_of((tuple(size),))
    lengths = [shape[k] for k in physical_layout]
    array = filled(tuple(lengths), 0, checked_kind(dtype).numpy, place_of_device(device))
    return settle(np.transpose(array, np.argsort(physical_layout)), "empty_permuted", requires_grad)


# --- ranges ------------------------------------------------------------------------------------


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def arange(
    start: Any = 0, end: Any = None, step: Any = 1, *, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers from `start` up to, not including, `end` by `step`; int64 if all three are whole.

    >>> import lamina
    >>> lamina.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if end is None:
        start, end = 0, start
    start, end, step = _number(start), _number(end), _number(step)
    if dtype is None and out is not None:
        dtype = out.dtype
    if dtype is None:
        whole = all(isinstance(x, int | np.integer) for x in (start, end, step))
        dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
    if not (math.isfinite(start) and math.isfinite(end)):
        raise errors.InvalidArgument(
            f"unsupported range: {start} -> {end}", help=["use finite bounds"]
        )
    if step == 0:
        raise errors.InvalidArgument("step must be nonzero", help=["give a step other than 0"])
    if (end - start) * step < 0:
        raise errors.InvalidArgument(
            "upper bound and lower bound inconsistent with step sign",
            help=[f"from {start} to {end} needs a {'negative' if step > 0 else 'positive'} step"],
        )
    row = (start, step, math.ceil((end - start) / step))
    return _ranged("arange", _arange_values, row, dtype, device, requires_grad, out)


def _arange_values(start: Any, step: Any, count: int, kind: np.dtype[Any]) -> Any:
    # PyTorch computes start + i * step for each i in double precision (in int64 for integers).
    index = np.arange(count)
    if isinstance(start, int) and isinstance(step, int):
        return (start + index * step).astype(kind)
    return (start + index.astype(np.float64) * step).astype(kind)


def _ranged(
    name: str, make: Any, args: tuple[Any, ...], dtype: Any, where: Any, requires_grad: bool,
    out: Any,
) -> Tensor:  # fmt: skip
    array = computed(make, place_of_device(where), *args, checked_kind(dtype).numpy)
    return delivered(array, name, requires_grad, out)


def range(
    start: Any = 0, end: Any = None, step: Any = 1, *, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers from `start` to `end`, both included. Deprecated in PyTorch: prefer `arange`."""
    row = (start, step, math.floor((end - start) / step) + 1)
    dtype = dtype or dtypes.get_default_dtype()
    return _ranged("range", _arange_values, row, dtype, device, requires_grad, out)


def linspace(
    start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`steps` evenly spaced numbers from `start` to `end`, both included."""
    start, end = _number(start), _number(end)
    dtype = dtype or (dtypes.default.complex if isinstance(start + end, complex) else None)
    row = (start, end, _steps("linspace", steps))
    return _ranged("linspace", _linspace_values, row, dtype, device, requires_grad, out)


def _steps(name: str, steps: Any) -> int:
    """How many numbers a row has."""
    if not hasattr(steps, "__index__") or steps < 0:
        raise errors.InvalidArgument(
            f"number of steps must be non-negative, and {name} got {steps!r}",
            help=["say how many numbers you want"],
        )
    return operator.index(steps)


def _linspace_values(start: Any, end: Any, steps: int, kind: np.dtype[Any]) -> Any:
    """From both ends towards the middle, as PyTorch does, so that both ends are met exactly."""
    if steps == 1:
        return np.array([start]).astype(kind)
    wide: Any = np.complex128 if kind.kind == "c" else np.float64
    whole = kind.kind in "iu"
    step = (end - start) / (steps - 1) if steps > 1 else 0
    if kind == np.float32:
        wide, step = np.float32, np.float32(step)
    index = np.arange(steps)
    half = steps // 2
    low = wide(start) + wide(step) * index.astype(wide)
    high = wide(end) - wide(step) * (steps - 1 - index).astype(wide)
    values = np.where(index < half, low, high)
    return np.trunc(values).astype(kind) if whole else values.astype(kind)


def logspace(
    start: Any, end: Any, steps: int, base: Any = 10.0, *, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`base` to the power of `steps` evenly spaced numbers."""
    row = (_number(start), _number(end), _steps("logspace", steps), _number(base))
    return _ranged("logspace", _logspace_values, row, dtype, device, requires_grad, out)


def _logspace_values(start: Any, end: Any, steps: int, base: Any, kind: np.dtype[Any]) -> Any:
    wide = np.dtype(np.complex128 if kind.kind == "c" else np.float64)
    return np.power(base, _linspace_values(start, end, steps, wide)).astype(kind)


def eye(
    n: int, m: int | None = None, *, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The identity matrix, or an n x m matrix with ones on its diagonal."""
    rows, columns = size_of((n, n if m is None else m))
    return _ranged("eye", _eye_values, (rows, columns), dtype, device, requires_grad, out)


def _eye_values(rows: int, columns: int, kind: np.dtype[Any]) -> Any:
    return np.eye(rows, columns, dtype=kind)
