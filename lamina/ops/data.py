"""Tensors from data that exists already: Python numbers and lists, NumPy arrays, other tensors."""

from __future__ import annotations

import functools
from typing import Any, Final, final

import numpy as np

from lamina import dtypes, errors
from lamina.core.blame.words import this_place
from lamina.core.origins import CUT_COPIED
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.devices import CPU, backend_of
from lamina.ops.creation import empty_strided
from lamina.ops.making import filled, given_size, place_of_device, settle, size_of

__all__ = ["as_tensor", "asarray", "from_numpy", "frombuffer", "tensor"]


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A new leaf with a copy of some data: numbers, nested lists, arrays.

    The dtype follows the data unless given: int64 for whole numbers, bool for truth values, the
    default dtype for other numbers; arrays, NumPy's numbers and tensors keep theirs, also inside
    lists. Tensors inside lists give their numbers only: what they were computed from is lost (use
    `stack` to keep it).

    Raises:
        RaggedData: (a ValueError) if lists of one level differ in length.

    >>> import lamina
    >>> lamina.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if isinstance(data, Tensor):
        _warn_of_copy(data)
        sources = [data]
        array = data._array.copy()
    else:
        sources, array = _array_of(data, dtype)
    if dtype is not None and array.dtype != dtype.numpy:
        array = array.astype(dtype.numpy)
    place = _target(data, device)
    if not isinstance(data, Tensor) or data.device is not place:
        array = _placed(array, place)
    made = settle(array, "tensor", requires_grad)
    if any(source.requires_grad for source in sources):
        made._origin = (*made._origin[:3], CUT_COPIED, None)
    return made


def _target(data: Any, where: Any) -> Any:
    if where is None and isinstance(data, Tensor):
        return data.device
    return place_of_device(where)


def _placed(array: Any, place: Any) -> Any:
    if place is CPU:
        return array
    if place.type == "meta":
        return filled(array.shape, 0, array.dtype, place)
    return backend_of(place).from_host(array)


def _warn_of_copy(data: Tensor) -> None:
    warn(
        errors.CopyConstructWarning(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
            "rather than torch.tensor(sourceTensor): it copies the values into a new leaf "
            "without history",
            [(this_place(), "copied here")],
            ["use `.clone()` to stay in the graph, `.detach().clone()` to leave it"],
        )
    )


def _array_of(data: Any, dtype: Any) -> tuple[list[Tensor], Any]:
    """A fresh host array of Python or NumPy data, in the dtype that the data means.

    Returns:
        The tensors that the data holds, and the array.
    """
    if isinstance(data, np.ndarray):
        return [], _supported(data).copy()
    contents = _Contents()
    plain = contents.read(data)
    return contents.tensors, _array_of_plain(plain, data, dtype, contents)


def _array_of_plain(plain: Any, data: Any, dtype: Any, contents: _Contents) -> Any:
    if isinstance(plain, float | int | complex) and not isinstance(plain, bool):
        kind = contents.dtype().numpy if dtype is None else dtype.numpy
        return _converted(plain, kind, data)
    try:
        array = np.array(plain)
    except ValueError:
        raise _ragged(plain) from None
    if array.dtype.kind == "O" and all(isinstance(item, int) for item in array.flat):
        return _converted(plain, (dtype or dtypes.int64).numpy, data)  # too large: says so
    if array.dtype.kind in "OUSVMm" and array.size:
        raise _not_numbers(plain)
    kind = contents.dtype().numpy if dtype is None else dtype.numpy
    if array.dtype == kind:
        return array
    if kind.kind == "f" and array.dtype.kind in "biuf":
        with np.errstate(over="ignore"):
            return array.astype(kind)  # the list is not gone through again
    return _converted(plain, kind, data)


_PYTHON_NUMBERS: Final = frozenset({bool, int, float, complex})


@final
class _Contents:
    """What nested lists hold: which kinds of numbers, and which tensors."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self._python: set[type] = set()
        self._dtypes: set[dtypes.dtype] = set()

    def read(self, data: Any) -> Any:
        """Lists and numbers only: tensors and arrays inside become lists."""
        if isinstance(data, list | tuple):
            kinds = set(map(type, data))
            if kinds <= _PYTHON_NUMBERS:
                self._python |= kinds
                return data
            return [self.read(item) for item in data]
        if isinstance(data, Tensor):
            self.tensors.append(data)
            self._dtypes.add(data.dtype)
            return data.tolist() if data.numel() != 1 else data.item()  # of any shape: one number
        if isinstance(data, np.ndarray | np.generic):
            if data.dtype.kind not in "OUSM":
                self._dtypes.add(dtypes.from_numpy(data.dtype))
            return data.tolist() if isinstance(data, np.ndarray) else data
        if hasattr(data, "__array__"):
            return self.read(np.asarray(data))
        if type(data) in _PYTHON_NUMBERS:
            self._python.add(type(data))
        elif isinstance(data, float | int | complex):  # a class derived from one of these
            self._python.add(next(k for k in (int, float, complex) if isinstance(data, k)))
        elif hasattr(data, "__len__") and not isinstance(data, str | bytes):
            return [self.read(item) for item in data]
        return data

    def dtype(self) -> dtypes.dtype:
        """The dtype of all numbers together: Python's count as the default ones."""
        if len(self._python) == 1 and not self._dtypes:
            (kind,) = self._python
            return dtypes.of_number(kind())
        found = self._dtypes | {dtypes.of_number(kind()) for kind in self._python}
        return functools.reduce(dtypes.promote_types, found or {dtypes.get_default_dtype()})


def _converted(plain: Any, kind: np.dtype[Any], data: Any) -> Any:
    try:
        with np.errstate(over="ignore"):
            if kind.kind in "iu" and isinstance(plain, float):
                return np.array(plain).astype(kind)
            return np.array(plain, dtype=kind)
    except OverflowError:
        if kind.kind in "iu" and kind.itemsize < 8:
            raise errors.InvalidArgument(
                f"value cannot be converted to type {kind} without overflow: {plain!r}",
                [(this_place(), "made here")],
                ["give a wider dtype, such as torch.int64"],
            ) from None
        raise errors.InvalidValue(
            "Overflow when unpacking long long: a number does not fit into 64 bits",
            [(this_place(), "made here")],
            ["use a floating-point number for values this large"],
        ) from None
    except (TypeError, ValueError):
        if kind.kind == "f" and isinstance(plain, complex):
            raise errors.InvalidArgument(
                f"value cannot be converted to type {kind} without overflow: {plain!r}"
            ) from None
        return np.array(plain).astype(kind)


def _ragged(plain: Any) -> errors.RaggedData:
    """Says which list is too short or too long."""

    def find(items: Any, depth: int) -> tuple[int, int, int] | None:
        nested = [item for item in items if isinstance(item, list | tuple)]
        if nested:
            wanted = len(nested[0])
            for item in nested:
                if len(item) != wanted:
                    return depth + 1, wanted, len(item)
                deeper = find(item, depth + 1)
                if deeper is not None:
                    return deeper
        return None

    found = find(plain, 0)
    words = "lists of one level must have one length"
    if found is not None:
        words = f"expected sequence of length {found[1]} at dim {found[0]} (got {found[2]})"
    return errors.RaggedData(
        words, [(this_place(), "made here")], ["pad the shorter lists, or keep a list of tensors"]
    )


def _not_numbers(plain: Any) -> errors.UnsupportedData:
    while isinstance(plain, list | tuple) and plain:
        others = (item for item in plain if not isinstance(item, float | int | complex))
        plain = next(others, plain[0])
    return errors.UnsupportedData(
        f"new(): invalid data type '{type(plain).__name__}'",
        [(this_place(), "made here")],
        ["a tensor holds numbers: convert the data first"],
    )


def _supported(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    dtypes.from_numpy(array.dtype)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor over a NumPy array's own memory: changes of one are seen in the other."""
    if not isinstance(ndarray, np.ndarray):
        raise errors.ArgumentTypeError(
            f"expected np.ndarray (got {type(ndarray).__name__})",
            [(this_place(), "called here")],
            ["use `torch.as_tensor(...)` for other data"],
        )
    dtypes.from_numpy(ndarray.dtype)
    if not ndarray.dtype.isnative:
        raise errors.InvalidValue(
            "given numpy array has byte order different from the native byte order",
            help=["convert it: `array.astype(array.dtype.newbyteorder('='))`"],
        )
    if any(step < 0 for step in ndarray.strides):
        raise errors.InvalidValue(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported.",
            [(this_place(), "called here")],
            ["make a copy: `torch.from_numpy(array.copy())`"],
        )
    if not ndarray.flags.writeable:
        warn(
            "The given NumPy array is not writable: writing to the tensor will fail. Copy the "
            "array first if you want to write to it."
        )
    array = ndarray if type(ndarray) is np.ndarray else ndarray.view(np.ndarray)
    return settle(array, "from_numpy")


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor, without a copy where possible: the same object, or the same memory."""
    if isinstance(data, Tensor):
        if dtype is None and device is None:
            return data
        moved: Tensor = data.to(device=device or data.device, dtype=dtype or data.dtype)
        return moved
    place = place_of_device(device)
    if isinstance(data, np.ndarray) and place is CPU and all(step >= 0 for step in data.strides):
        kind = dtypes.from_numpy(data.dtype).numpy
        if (dtype is None or dtype.numpy == kind) and data.dtype.isnative:
            return settle(data, "as_tensor")
    if hasattr(data, "__dlpack__") and not isinstance(data, np.ndarray | np.generic):
        return as_tensor(np.from_dlpack(data), dtype, device)
    made = tensor(data, dtype=dtype, device=device)
    return made


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The object as a tensor; `copy` says whether memory must, must not or may be new."""
    if copy and isinstance(obj, Tensor):
        made = obj.detach().clone().to(dtype=dtype or obj.dtype, device=device or obj.device)
    else:
        made = tensor(obj, dtype=dtype, device=device) if copy else as_tensor(obj, dtype, device)
    if copy is False and isinstance(obj, list | tuple):
        raise errors.InvalidValue("can't alias a Python sequence", help=["leave out copy=False"])
    if requires_grad:
        made = made.detach().requires_grad_()
    return made


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A one-dimensional tensor over a buffer's own memory."""
    array = np.frombuffer(buffer, dtype.numpy, count, offset)
    return settle(array, "frombuffer", requires_grad)


# --- new_*: tensors that take dtype and device from another one ---------------------------------


def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A new leaf with a copy of the data, in this tensor's dtype and on its device."""
    if isinstance(data, Tensor):
        data = data.detach()
    return tensor(
        data if not isinstance(data, Tensor) else data._array.copy(),
        dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad,
    )  # fmt: skip


def _new(name: str, value: Any) -> Any:
    def new(
        self: Tensor, *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None,
        layout: Any = None, requires_grad: bool = False, pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        place = self.device if device is None else place_of_device(device)
        kind = (dtype or self.dtype).numpy
        shape = size_of(given_size(name, sizes, size))
        return settle(filled(shape, value, kind, place), name, requires_grad)

    new.__name__ = new.__qualname__ = name
    new.__doc__ = f"Like `{name.removeprefix('new_')}`, in this tensor's dtype and on its device."
    return new


new_zeros = _new("new_zeros", 0)
new_ones = _new("new_ones", 1)
new_empty = _new("new_empty", 0)


def new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None,
    layout: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Like `full`, in this tensor's dtype and on its device."""
    place = self.device if device is None else place_of_device(device)
    array = filled(size_of((size,)), fill_value, (dtype or self.dtype).numpy, place)
    return settle(array, "new_full", requires_grad)


def new_empty_strided(
    self: Tensor, size: Any, stride: Any, *, dtype: Any = None, device: Any = None,
    layout: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Like `empty_strided`, in this tensor's dtype and on its device."""
    return empty_strided(
        size, stride, dtype=dtype or self.dtype, device=device or self.device,
        requires_grad=requires_grad,
    )  # fmt: skip
