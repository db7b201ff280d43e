"""`x[index]` and `x[index] = value`, and writing whole tensors: copy_, fill_, zero_.

Integers, slices, None and Ellipsis give views; tensors, lists and masks give copies. While a
gradient is recorded, each part of an index is a step of its own in the graph, as in PyTorch;
otherwise NumPy takes the whole index at once.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any, Final

import numpy as np

from lamina import dtypes, errors
from lamina.core import blame
from lamina.core.blame.words import dims, legacy_type, this_place
from lamina.core.call import operation
from lamina.core.inplace import apply_inplace, note_written
from lamina.core.modes import door, state
from lamina.core.op import ZERO
from lamina.core.provenance import here
from lamina.core.samples import sample
from lamina.core.tensor import Tensor, wrap
from lamina.core.versions import INFERENCE
from lamina.core.views import refresh
from lamina.devices import device_of
from lamina.ops.indexing_rules import ndarray, numpy_key, refused
from lamina.ops.memory import alias
from lamina.ops.numbers import number_as
from lamina.ops.picking import index as pick
from lamina.ops.shape import unsqueeze
from lamina.ops.windows import select, slice_dim, slice_view
from lamina.ops.writing import fill_choice, index_put_op, put_trouble

__all__ = ["fill", "index_put"]

_WHOLE: Final = slice(None)

# --- understanding an index ------------------------------------------------------------------------


class Parsed:
    """An index taken apart: its steps that make views, and its index arrays.

    Attributes:
        steps: Calls `(operation, dim, ...)` one after another, each on the last one's result.
        key: The same as one index for NumPy.
        indices: Index tensors.
        places: The dimensions of the view that they index.
    """

    __slots__ = ("indices", "key", "places", "steps")

    def __init__(self) -> None:
        self.steps: list[tuple[Any, ...]] = []
        self.key: list[Any] = []
        self.indices: list[Tensor] = []
        self.places: list[int] = []


def _parts_of(index: Any) -> tuple[Any, ...]:
    """The parts of an index; a list that holds anything but numbers counts as a tuple."""
    if isinstance(index, tuple):
        return tuple(index)
    if isinstance(index, list) and len(index) < 32:
        for item in index:
            if item is None or item is Ellipsis or isinstance(item, Tensor | list | tuple | slice):
                return tuple(index)
    return (index,)


def _dims_used(part: Any) -> int:
    if isinstance(part, Tensor):
        kind = part._array.dtype
        return part._array.ndim if kind.kind == "b" or kind == np.uint8 else 1
    return 0 if part is None or part is Ellipsis or part is True or part is False else 1


def _simplified(part: Any, device: Any) -> Any:
    """One part of an index as an int, bool, slice, None, Ellipsis or tensor."""
    if part.__class__ is int or part.__class__ is slice or part is None or part is Ellipsis:
        return part
    if isinstance(part, bool | np.bool_):
        return bool(part)
    if isinstance(part, Tensor):
        return _index_tensor(part)
    if isinstance(part, np.ndarray):
        return _index_tensor(wrap(part, None))
    if isinstance(part, list | tuple | range):
        return _listed(part)
    if hasattr(part, "__index__"):
        return operator.index(part)
    if isinstance(part, str):
        raise errors.ArgumentTypeError("new(): invalid data type 'str'", [(this_place(), "indexed here")])
    raise errors.InvalidIndex(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {type(part).__name__})",
        [(this_place(), "indexed here")],
    )


def _index_tensor(part: Tensor) -> Any:
    kind = part._array.dtype
    if kind.kind == "b":
        return part
    if kind == np.uint8:
        warnings.warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
            UserWarning,
            stacklevel=5,
        )
        return wrap(part._array.astype(bool), None)
    if kind.kind != "i" or kind.itemsize < 4:
        raise errors.InvalidIndex(
            "tensors used as indices must be long, int, byte or bool tensors, not "
            f"{dtypes.from_numpy(kind).name}",
            [(this_place(), "indexed here")],
            ["convert it: `.long()` for positions, `.bool()` for a mask"],
        )
    return part if part._array.ndim else int(part._array)


def _listed(part: Any) -> Tensor:
    """A list of numbers or truth values as an index tensor."""
    try:
        array = np.asarray([item._array if isinstance(item, Tensor) else item for item in part])
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind in "OSU":
        raise errors.InvalidIndex(
            f"a list used as an index must hold integers or truth values: {part!r}",
            [(this_place(), "indexed here")],
        )
    return wrap(array if array.dtype.kind == "b" else array.astype(np.int64), None)


def parse(tensor: Tensor, index: Any, is_written: bool = False) -> Parsed:
    """Take an index apart. `x[:]` is a view when read; `x[:] = v` writes to x itself."""
    shape = tensor._array.shape
    parts = [_simplified(part, None) for part in _parts_of(index)]
    used = 0
    for part in parts:
        used += _dims_used(part)
    if used > len(shape):
        if not shape and len(parts) == 1 and parts[0].__class__ is int:
            raise _no_dimensions()
        raise _too_many(len(shape))
    found = Parsed()
    axis = dim = 0  # in the indexed tensor, and in the view made so far
    for part in parts:
        if part is Ellipsis:
            found.key += [_WHOLE] * (len(shape) - used)
            axis += len(shape) - used
            dim += len(shape) - used
        elif part is None:
            found.steps.append((unsqueeze, dim))
            found.key.append(None)
            dim += 1
        elif part is True or part is False:
            dim = _truth(found, wrap(np.full((1,), part), None), dim)
        elif part.__class__ is int:
            _check_bounds(part, shape[axis], axis)
            found.steps.append((select, dim, part))
            found.key.append(part)
            axis += 1
        elif part.__class__ is slice:
            start, stop, step = _range_of(part, shape[axis])
            if start != 0 or stop < shape[axis] or step != 1 or (len(parts) == 1 and not is_written):
                found.steps.append((slice_dim, dim, start, stop, step))
            found.key.append(slice(start, stop, step))
            axis, dim = axis + 1, dim + 1
        elif not part._array.ndim:
            dim = _truth(found, wrap(part._array.reshape(1), None), dim)
        else:
            found.indices.append(part)
            found.places.append(dim)
            count = _dims_used(part)
            found.key += [_WHOLE] * count
            axis, dim = axis + count, dim + count
    return found


def _truth(found: Parsed, mask: Tensor, dim: int) -> int:
    """True or False as a part of an index: a new dimension, and a mask over it."""
    found.steps.append((unsqueeze, dim))
    found.key.append(None)
    found.indices.append(mask)
    found.places.append(dim)
    return dim + 1


def _check_bounds(index: int, size: int, dim: int) -> None:
    if not -size <= index < size:
        raise errors.IndexOutOfRange(
            f"index {index} is out of bounds for dimension {dim} with size {size}",
            [(this_place(), "indexed here")],
        )


def _too_many(ndim: int) -> errors.InvalidIndex:
    return errors.InvalidIndex(
        f"too many indices for tensor of dimension {ndim}", [(this_place(), "indexed here")]
    )


def _no_dimensions() -> errors.InvalidIndex:
    return errors.InvalidIndex(
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
        "to convert a 0-dim tensor to a number",
        [(this_place(), "indexed here")],
    )


def _range_of(part: slice, size: int) -> tuple[int, int, int]:
    try:
        start, stop, step = part.indices(size)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error)) from None
    if step < 0:
        raise errors.InvalidValue(
            "step must be greater than zero: a view can't run backwards",
            [(this_place(), "indexed here")],
            ["use torch.flip, which copies"],
        )
    return start, max(stop, start), step


# --- reading ---------------------------------------------------------------------------------------


def get_item(self: Tensor, index: Any) -> Tensor:
    """`x[index]`: a view for integers, slices, None and Ellipsis; a copy for tensors and masks."""
    kind = index.__class__
    if kind is int:
        shape = self._array.shape
        if not shape:
            raise _no_dimensions()
        if not -shape[0] <= index < shape[0]:
            _check_bounds(index, shape[0], 0)
        return select(self, 0, index)
    if kind is slice:
        shape = self._array.shape
        if shape:
            start, stop, step = _range_of(index, shape[0])
            return slice_dim(self, 0, start, stop, step)
    elif kind is tuple and not (self._requires_grad and state.grad_enabled):
        for part in index:
            if part.__class__ is not int and part.__class__ is not slice:
                break
        else:
            return _simple_view(self, index)
    parsed = parse(self, index)
    seen = _viewed(self, parsed)
    if parsed.indices:
        found: Tensor = pick(seen, parsed.indices, tuple(parsed.places))
        return found
    return alias(self) if seen is self else seen


def _simple_view(self: Tensor, index: tuple[Any, ...]) -> Tensor:
    """A view by integers and slices, checked part by part, made by NumPy at once."""
    shape = self._array.shape
    if len(index) > len(shape):
        raise _too_many(len(shape))
    key: list[Any] = []
    for axis, part in enumerate(index):
        if part.__class__ is int:
            _check_bounds(part, shape[axis], axis)
            key.append(part)
        else:
            key.append(slice(*_range_of(part, shape[axis])))
    key.append(Ellipsis)
    return slice_view(self, tuple(key))


def _viewed(self: Tensor, parsed: Parsed) -> Tensor:
    """The view that the basic parts of an index choose."""
    steps = parsed.steps
    if len(steps) > 1 and not (self._requires_grad and state.grad_enabled):
        return slice_view(self, (*parsed.key, Ellipsis))
    seen = self
    for function, *arguments in steps:
        seen = function(seen, *arguments)
    return seen


def contains(self: Tensor, element: Any) -> bool:
    """`element in x`: whether any element equals it."""
    if not isinstance(element, Tensor | int | float | complex):
        raise errors.ArgumentTypeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}.",
            [(this_place(), "asked here")],
        )
    other = element._array if isinstance(element, Tensor) else element
    return bool((self._array == other).any())


# --- writing ---------------------------------------------------------------------------------------


def set_item(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`: a change in place, which the graph takes note of."""
    if isinstance(value, Tensor):
        records = (self.requires_grad or value._requires_grad) and state.grad_enabled
    elif isinstance(value, int | float | complex | np.generic):
        records = self.requires_grad and state.grad_enabled
    else:
        raise errors.ArgumentTypeError(
            f"can't assign a {type(value).__name__} to a {legacy_type(self.dtype, self.device)}",
            [(this_place(), "assigned here")],
            ["make a tensor of it: torch.tensor(...)"],
        )
    parsed = parse(self, index, is_written=True)
    if not records and not door.is_watched and self._array.__class__ is ndarray:
        _write_now(self, parsed, value)
        return
    seen = _viewed(self, parsed)
    if parsed.indices:
        put_at(seen, parsed.indices, tuple(parsed.places), _as_value(seen, value), False)
    elif isinstance(value, Tensor):
        copy_(seen, _without_leading_ones(value, seen._array.ndim))
    else:
        fill_(seen, _as_value(seen, value))


def _without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    while value._array.ndim > ndim and value._array.shape[0] == 1:
        value = select(value, 0, 0)
    return value


def _as_value(target: Tensor, value: Any) -> Tensor:
    """A value for `index_put`: a tensor of the target's dtype."""
    if not isinstance(value, Tensor):
        array = target._array
        return wrap(np.full_like(array, number_as(value, array.dtype), shape=()), (*here(), "fill", None, None))
    if value._array.dtype != target._array.dtype:
        converted: Tensor = value.to(target.dtype)  # type: ignore[attr-defined]
        return converted
    return value


def _write_now(self: Tensor, parsed: Parsed, value: Any) -> None:
    """Write with NumPy where nothing is recorded and all is on the host."""
    if self._view is not None and self._view.version != self._cell.version:  # type: ignore[union-attr]
        refresh(self)
    if self._cell is INFERENCE:
        blame.check_inplace("set item", self, False)
    array = self._array
    if parsed.key and not (parsed.indices and all(part is _WHOLE for part in parsed.key)):
        array = array[(*parsed.key, Ellipsis)]
    if isinstance(value, Tensor):
        source = _on_host(self, value)
        if source.dtype.kind == "c" and array.dtype.kind != "c":
            source = _real_part(source)
    else:
        source = number_as(value, array.dtype)
    if parsed.indices:
        key = numpy_key([part._array for part in parsed.indices], parsed.places)
        try:
            array[key] = source
        except (IndexError, ValueError) as error:
            raise put_trouble(error, array, key, np.asarray(source)) from None
    else:
        if not array.flags.c_contiguous:
            blame.check_inplace("set item", wrap(array, self._origin), False)
        try:
            array[...] = source
        except ValueError:
            raise _does_not_expand(array.shape, source.shape) from None
    note_written(self)


def _on_host(self: Tensor, value: Tensor) -> Any:
    if value._array.__class__ is ndarray:
        return value._array
    if value._array.ndim:
        raise errors.DeviceMismatch(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{self.device} and {value.device}! (in an assignment)",
            [(this_place(), "assigned here")],
            [f"move the value: `.to({str(self.device)!r})`"],
        )
    return value.cpu()._array  # type: ignore[attr-defined]


def _real_part(source: Any) -> Any:
    warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=5)
    return np.real(source)


def _does_not_expand(shape: Any, found: Any) -> errors.WriteShapeMismatch:
    while len(found) > len(shape) and found[0] == 1:
        found = found[1:]
    text = (
        f"expand(torch.Tensor{{{dims(found)}}}, size={dims(shape)}): the number of sizes provided "
        f"({len(shape)}) must be greater or equal to the number of dimensions in the tensor ({len(found)})"
    )
    for back in range(1, min(len(shape), len(found)) + 1):
        if found[-back] not in (1, shape[-back]):
            text = (
                f"The expanded size of the tensor ({shape[-back]}) must match the existing size "
                f"({found[-back]}) at non-singleton dimension {len(found) - back}.  Target sizes: "
                f"{dims(shape)}.  Tensor sizes: {dims(found)}"
            )
            break
    return errors.WriteShapeMismatch(text, [(this_place(), "assigned here")])


# --- index_put -------------------------------------------------------------------------------------


def _index_list(name: str, self: Tensor, indices: Any) -> tuple[list[Tensor], tuple[int, ...]]:
    """Index tensors and their places; None stands for a whole dimension."""
    found, places, dim = [], [], 0
    for part in indices:
        if part is None:
            dim += 1
            continue
        part = _index_tensor(part)
        if not isinstance(part, Tensor):
            part = wrap(np.asarray(part), None)
        found.append(part)
        places.append(dim)
        dim += max(_dims_used(part), 1)
    if dim > self._array.ndim:
        raise errors.InvalidIndex(
            f"too many indices for tensor of dimension {self._array.ndim} (got {dim})",
            [(this_place(), "called here")],
        )
    if not found:
        raise refused(f"{name}: at least one index must be a tensor")
    return found, tuple(places)


def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with `values` written, or added, where index tensors choose."""
    found, places = _index_list("index_put", input, indices)
    result: Tensor = index_put_op(input, found, values, accumulate, places)
    return result


def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place form of `index_put`."""
    found, places = _index_list("index_put_", self, indices)
    return put_at(self, found, places, values, accumulate)


def put_at(
    self: Tensor, indices: list[Tensor], places: tuple[int, ...], values: Tensor, accumulate: bool
) -> Tensor:
    """Write values into a tensor at index arrays."""
    return apply_inplace(index_put_op.op, self, [self, indices, values, accumulate, places])  # type: ignore[attr-defined]


# --- whole tensors ---------------------------------------------------------------------------------


def _copy(input: Any, src: Any) -> Any:
    if src.shape != input.shape:
        src = np.broadcast_to(src, input.shape)
    if src.dtype == input.dtype:
        return src
    if src.dtype.kind == "c" and input.dtype.kind not in "cb":
        src = _real_part(src)
    with np.errstate(all="ignore"):
        return src.astype(input.dtype)


_copy_op = operation(
    "copy",
    _copy,
    tensors="input src",
    grad={
        "input": ZERO,
        "src": lambda F, g, src_shape, src_dtype: F.cast_like_input(
            F.sum_to_size(g, src_shape), src_dtype
        ),
    },
    node_name="CopyBackwards",
    halves_in_float=False,
    samples=lambda make: [sample(make(2, 3), make(3)), sample(make(2), make(2))],
    doc="The values of `src` in the shape and dtype of the input.",
)


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write the values of `src` over this tensor's, converted and broadcast; returns the tensor."""
    if not isinstance(src, Tensor):
        if isinstance(src, int | float | complex):
            return fill_(self, src)
        raise errors.ArgumentTypeError(
            f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}",
            [(this_place(), "called here")],
        )
    if src is self:
        return self
    place = device_of(self._array)
    if place is not device_of(src._array) and place.type != "meta":
        src = src.to(place)  # type: ignore[attr-defined]
    _check_expands(self, src)
    return apply_inplace(_copy_op.op, self, [self, src])  # type: ignore[attr-defined]


def _check_expands(self: Tensor, src: Tensor) -> None:
    shape, other = self._array.shape, src._array.shape
    if shape == other:
        return
    for back in range(1, len(other) + 1):
        wanted = shape[-back] if back <= len(shape) else 1
        if other[-back] not in (1, wanted):
            raise errors.WriteShapeMismatch(
                f"The size of tensor a ({wanted}) must match the size of tensor b ({other[-back]}) at "
                f"non-singleton dimension {max(len(shape), len(other)) - back}",
                [(this_place(), "copied here")],
            )
    if len(other) > len(shape):
        raise errors.WriteShapeMismatch(
            f"output with shape {dims(shape)} doesn't match the broadcast shape {dims(other)}",
            [(this_place(), "copied here")],
        )


def _fill(input: Any, value: Any) -> Any:
    if hasattr(value, "dtype"):
        with np.errstate(all="ignore"):
            return np.broadcast_to(value.astype(input.dtype), input.shape).copy()
    return np.full_like(input, number_as(value, input.dtype))


def _filling(name: str, with_tensor: bool, node_name: str) -> Any:
    grads: dict[str, Any] = {"input": ZERO}
    if with_tensor:
        grads["value"] = lambda F, g, value_dtype: F.cast_like_input(F.sum_to_size(g, ()), value_dtype)
    return operation(
        name,
        _fill,
        tensors="input value" if with_tensor else "input",
        grad=grads,
        node_name=node_name,
        halves_in_float=False,
        samples=lambda make: [sample(make(2, 3), make() if with_tensor else 1.5)],
        doc="The same value everywhere.",
    )


_fill_number = _filling("fill", False, "FillBackward0")
_fill_tensor = _filling("fill_tensor", True, "FillBackward1")
_fill_number_in_place = _filling("fill_in_place", False, "FillBackward2")
_fill_tensor_in_place = _filling("fill_tensor_in_place", True, "FillBackward3")


def _fill_form(value: Any, with_number: Any, with_tensor: Any) -> Any:
    if isinstance(value, Tensor) and value._array.ndim:
        raise refused(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value._array.ndim} dimensions."
        )
    return fill_choice("fill_", value, with_number, with_tensor)


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the same shape and dtype with one value everywhere."""
    found: Tensor = _fill_form(value, _fill_number, _fill_tensor)(input, value)
    return found


def _is_plain(self: Tensor) -> bool:
    """Whether NumPy can write to a tensor at once: on the host, and nothing is recorded."""
    array = self._array
    return (
        array.__class__ is ndarray
        and bool(array.flags.c_contiguous)
        and not door.is_watched
        and not (state.grad_enabled and self.requires_grad)
        and self._cell is not INFERENCE
    )


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one value over all elements."""
    if not isinstance(value, Tensor) and _is_plain(self):
        self._array.fill(number_as(value, self._array.dtype))
        note_written(self)
        return self
    chosen = _fill_form(value, _fill_number_in_place, _fill_tensor_in_place)
    return apply_inplace(chosen.op, self, [self, value])


_zero = operation(
    "zero",
    lambda input: np.zeros_like(input),
    grad={"input": ZERO},
    halves_in_float=False,
    samples=lambda make: [sample(make(2, 3))],
    doc="Zeros in place of the values.",
)


def zero_(self: Tensor) -> Tensor:
    """Write zero over all elements."""
    if _is_plain(self):
        self._array.fill(0)
        note_written(self)
        return self
    return apply_inplace(_zero.op, self, [self])  # type: ignore[attr-defined]
