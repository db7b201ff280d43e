"""Conversion: to other dtypes and devices, and out into Python and NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core import blame
from lamina.core.arguments import native, takes_tensors
from lamina.core.blame.words import called, legacy_type, made_note, this_place
from lamina.core.call import operation
from lamina.core.modes import door, state
from lamina.core.numpy_names import MISSING, again, takes_numpy_names
from lamina.core.origins import CUT_COPIED
from lamina.core.positions import here
from lamina.core.records import note_cut
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.devices import (
    CPU,
    NoValues,
    backend_of,
    current_default,
    current_recorder,
    device,
    device_of,
    resolve,
    to_device,
)
from lamina.devices.batched import BatchedArray
from lamina.ops.data import from_numpy
from lamina.ops.making import place_of_device

__all__ = ["from_dlpack", "is_complex", "is_floating_point", "is_tensor", "numel"]


def _to_copy(input: Any, dtype: Any, device: Any, source: Any) -> Any:
    if dtype is not None and input.dtype != dtype:
        if input.dtype.kind == "c" and dtype.kind not in "cb":
            input = np.real(input)
        with np.errstate(all="ignore"):
            input = input.astype(dtype)
    elif device is None or device_of(input) is device:
        return input.copy()
    return input if device is None else to_device(input, device)


to_copy = operation(
    "to_copy",
    _to_copy,
    grad={
        "input": lambda F, g, input_dtype, device, source: F.to_copy(g, input_dtype, source, device)
    },
    node_name="ToCopyBackward0",
    halves_in_float=False,
    samples=None,
    doc="A copy in another dtype, or on another device; its derivative is the way back.",
)


@native
def to(
    self: Tensor, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False,
    copy: bool = False, memory_format: Any = None, other: Any = None,
) -> Tensor:  # fmt: skip
    """The tensor in another dtype or on another device; the very same object if nothing changes.

    Call forms: `to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other_tensor)`.
    A change is a recorded operation: the result of converting a leaf that requires grad is not a
    leaf itself.
    """
    for position, argument in enumerate((*args, other)):
        if argument is None:
            continue
        if isinstance(argument, dtypes.dtype):
            dtype = argument
        elif isinstance(argument, Tensor):
            dtype, device = argument.dtype, argument.device
        elif isinstance(argument, bool) and position > 0:
            copy = copy or (argument and position >= len(args) - 1 and len(args) > 3)
        else:
            device = argument
    return convert(self, dtype, device, copy)


def convert(self: Tensor, dtype: Any, where: Any, copy: bool = False) -> Tensor:
    """The tensor in a dtype and on a device, given or None for its own."""
    kind = None
    if dtype is not None and dtype is not self.dtype:
        if not isinstance(dtype, dtypes.dtype):
            raise errors.InvalidDtype(f"to(): dtype must be a torch.dtype, not {dtype!r}")
        kind = dtype.numpy
    place = None
    if where is not None:
        place = resolve(where if isinstance(where, device) else device(where))
        if place is self.device:
            place = None
    if kind is None and place is None and not copy:
        return self
    if (
        kind is not None
        and self.dtype.is_complex
        and not dtype.is_complex
        and dtype is not dtypes.bool_
    ):
        warn("Casting complex values to real discards the imaginary part")
    if place is not None and self.is_meta:
        raise errors.NoData(
            "Cannot copy out of meta tensor; no data!",
            [(this_place(), "asked for here"), *made_note(self)],
            ["make the tensor on a real device: a meta tensor has a shape and no values"],
        )
    made: Tensor = to_copy(self, kind, place, self.device)
    return made


def cast(kind: dtypes.dtype, name: str) -> Any:
    """The method that converts to one dtype, such as `float()`."""

    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        return self if kind is self.dtype else convert(self, kind, None)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The tensor in {kind}; the same object if it is already."
    return method


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor in the computer's own memory; the same object if it is there already."""
    return convert(self, None, CPU)


def cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Tensor:
    """The tensor on a CUDA device (the current one unless given)."""
    if device is None:
        where: Any = "cuda"
    else:
        where = place_of_device(f"cuda:{device}" if isinstance(device, int) else device)
        if where.type != "cuda":
            raise errors.InvalidDevice(
                f"Invalid device, must be cuda device, but got {where}",
                [(this_place(), "called here")],
                [f"write `.to({str(where)!r})`"],
            )
    return convert(self, None, where)


def type_of(self: Tensor, dtype: Any = None, non_blocking: bool = False, **_: Any) -> Any:
    """The name of the tensor's type ('torch.FloatTensor'), or a conversion, given a dtype.

    A type, such as `torch.cuda.FloatTensor`, or its name, stands for a dtype and a device.
    """
    if dtype is None:
        return legacy_type(self.dtype, self.device)
    if isinstance(dtype, dtypes.dtype):
        return convert(self, dtype, None)
    if dtype is Tensor:
        return convert(self, dtypes.get_default_dtype(), current_default())
    name = dtype
    if hasattr(dtype, "is_cuda"):
        name = legacy_type(dtype.dtype, device("cuda" if dtype.is_cuda else "cpu"))
    for kind in dtypes.ALL_TYPES:
        if name == str(kind):
            return convert(self, kind, None)
        for place in ("cpu", "cuda"):
            if name == legacy_type(kind, device(place)):
                return convert(self, kind, place if self.device.type != place else None)
    shown = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", type(dtype).__name__)
    raise errors.InvalidValue(f"invalid type: {shown!r}", help=["for example 'torch.FloatTensor'"])


@takes_numpy_names
def type_as(self: Tensor, other: Tensor, **numpy_names: Any) -> Tensor:
    """The tensor in the dtype, and on the device, of another one."""
    if numpy_names or other is MISSING:
        return again(type_as, numpy_names, self, other)
    if other.__class__ is not Tensor and not isinstance(other, Tensor):
        raise errors.ArgumentTypeError(
            f"type_as(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}",
            [(this_place(), "called here")],
        )
    return convert(self, other.dtype, other.device)


# --- out into Python -----------------------------------------------------------------------------


def _check_readable(self: Tensor, what: str) -> None:
    """Raise if a capture is under way, or gave this tensor."""
    if self._array.__class__ is BatchedArray:
        self._array._read(what)  # which has the mapping ask each sample
    if self._array.__class__ is not np.ndarray:
        blame.check_has_values(self, what)
    if door.is_watched and current_recorder() is not None:
        raise errors.CaptureError(
            f"{what} reads a value while the step is being captured: it would become a constant of "
            "the program",
            [(this_place(), "read here"), *made_note(self)],
            ["keep it a tensor inside the captured function, and read it outside"],
        )


def host_array(self: Tensor, what: str) -> Any:
    """The values as a host array, for reading numbers out (counts as a transfer from a device)."""
    _check_readable(self, what)
    try:
        return backend_of(self.device).to_host(self._array)
    except NoValues:
        raise errors.NoData(
            f"Tensor.{what} cannot be called on meta tensors",
            [(this_place(), "read here"), *made_note(self)],
            ["a meta tensor has a shape and no values: make it on a real device"],
        ) from None


def item(self: Tensor) -> Any:
    """The value of a tensor with one element, as a Python number."""
    if self._array.size != 1:
        raise errors.NotAScalar(
            f"a Tensor with {self._array.size} elements cannot be converted to Scalar",
            [(this_place(), "asked for here"), *made_note(self)],
            ["choose one element, or reduce it: `.sum()`, `.mean()`; use `.tolist()` for all"],
        )
    array = self._array
    if array.__class__ is not np.ndarray or door.is_watched:
        array = host_array(self, "item()").reshape(())
    value = array.item()
    return float(value) if self.dtype.is_floating_point else value


def tolist(self: Tensor) -> Any:
    """The values as nested lists of Python numbers; one number if there are no dimensions."""
    array = host_array(self, "tolist()")
    if self.dtype in dtypes.EXTENDED_TYPES:
        array = array.astype(np.float32)
    return array.tolist()


def numpy(self: Tensor, *, force: bool = False) -> Any:
    """A NumPy array over the tensor's own memory (with `force`, over a copy where needed)."""
    if self.is_sparse:
        return self._array._read("numpy()")
    if force:
        _check_readable(self, "numpy()")
        return self.detach().cpu()._array
    if self.requires_grad and state.grad_enabled:
        raise blame.numpy_of_requiring(self)
    if self.device is not CPU:
        raise errors.NumpyOfDeviceTensor(
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy "
            "the tensor to host memory first.",
            [(this_place(), "asked for here"), *made_note(self)],
            ["write `.cpu().numpy()`"],
        )
    if self.dtype in dtypes.EXTENDED_TYPES:
        raise errors.UnsupportedData(
            f"Got unsupported ScalarType {self.dtype.name}: NumPy has no such numbers",
            [(this_place(), "asked for here")],
            ["convert it first: `.float().numpy()`"],
        )
    _check_readable(self, "numpy()")
    return self._array


def to_array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """What `np.asarray(tensor)` gives."""
    array = numpy(self)
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


def truth(self: Tensor) -> bool:
    """Whether the one element is not zero; more than one has no truth value."""
    if self._array.size != 1:
        few = "no values" if not self._array.size else "more than one value"
        raise errors.AmbiguousTruth(
            f"Boolean value of Tensor with {few} is ambiguous",
            [(this_place(), "asked for here"), *made_note(self)],
            ["say which you mean: `.any()`, `.all()`, or `.numel() > 0`"],
        )
    return bool(host_array(self, "bool()").reshape(()).item())


def _single(self: Tensor) -> Any:
    if self._array.size != 1:
        raise errors.InvalidValue(
            "only one element tensors can be converted to Python scalars, and this one has "
            f"{self._array.size}",
            [(this_place(), "asked for here"), *made_note(self)],
            ["choose one element, or reduce it: `.sum()`, `.mean()`; use `.tolist()` for all"],
        )
    return item(self)


def _warn_of_number(self: Tensor, what: str) -> None:
    """As in PyTorch: of `float` and `complex` while gradients are recorded, and not of `item`."""
    if self._requires_grad and state.grad_enabled:
        note_cut(here(2), what, CUT_COPIED, [self])
        warn(
            errors.ScalarConversionWarning(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
                f"behavior: no gradient flows through the number that {what} gives",
                [(this_place(), "converted here"), *made_note(self)],
                ["write `.detach()` before it, or `.item()`, if none is wanted"],
            )
        )


def to_int(self: Tensor) -> int:
    """`int(tensor)` of one element."""
    return int(_single(self))


def to_float(self: Tensor) -> float:
    """`float(tensor)` of one element."""
    _warn_of_number(self, "float()")
    return float(_single(self))


def to_complex(self: Tensor) -> complex:
    """`complex(tensor)` of one element."""
    _warn_of_number(self, "complex()")
    return complex(_single(self))


def to_index(self: Tensor) -> int:
    """What a whole number in a tensor means as an index."""
    if self._array.size != 1 or self.dtype.category > dtypes.INTEGER:
        raise errors.ArgumentTypeError(
            "only integer tensors of a single element can be converted to an index",
            [
                (
                    this_place(),
                    f"used here: {called(self)} is {self.dtype} {list(self._array.shape)}",
                )
            ],
        )
    return int(item(self))


def to_format(self: Tensor, spec: str) -> str:
    """`f"{tensor:.3f}"` for one element; otherwise only the empty format."""
    if self._array.ndim == 0 and not self.is_meta:
        return format(item(self), spec)
    if not spec:
        return repr(self)
    raise errors.ArgumentTypeError(
        f"unsupported format string {spec!r} passed to Tensor.__format__ "
        f"of {self._array.ndim} dimensions",
        help=["format single elements, with .item()"],
    )


# --- DLPack ---------------------------------------------------------------------------------------


def to_dlpack(self: Tensor, *, stream: Any = None, **options: Any) -> Any:
    """A capsule over the tensor's memory for other array libraries."""
    if self.requires_grad:
        raise errors.NumpyOfRequiringTensor(
            "Can't export tensors that require gradient, use tensor.detach()",
            [(this_place(), "exported here"), *made_note(self)],
            ["write `.detach()` first"],
        )
    return numpy(self).__dlpack__(**options)


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """DLPack's number for the device: 1 is the CPU."""
    kind: tuple[int, int] = numpy(self.detach()).__dlpack_device__()
    return kind


@takes_tensors
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array; of a copy of it, if `copy` is True."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = np.from_dlpack(ext_tensor)
        made = from_numpy(array.copy() if copy else array)
    return convert(made, None, device) if device is not None else made


# --- questions ------------------------------------------------------------------------------------


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


@native
def is_floating_point(input: Tensor) -> bool:
    """Whether elements are real floating-point numbers."""
    return input.dtype.is_floating_point


@native
def is_complex(input: Tensor) -> bool:
    """Whether elements are complex numbers."""
    return input.dtype.is_complex


@native
def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()
