"""Making one batch of a list of samples.

A sample may be a tensor, a NumPy array, a number, a string, or a dict, list or tuple of such, to
any depth. The batch has the same form, with one more dimension in each tensor.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, final

import numpy as np

from lamina import dtypes, errors
from lamina.core.blame.words import dims, this_place
from lamina.core.tensor import Tensor
from lamina.ops.data import as_tensor, tensor
from lamina.ops.joining import stack
from lamina.utils.tree_kinds import GetAttrKey, MappingKey, SequenceKey

__all__ = [
    "collate",
    "collate_tensor_fn",
    "default_collate",
    "default_collate_err_msg_format",
    "default_collate_fn_map",
    "default_convert",
]

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)

Kind = type | tuple[type, ...]
Functions = dict[Kind, Callable[..., Any]]


def default_collate(batch: Sequence[Any]) -> Any:
    """One batch of a list of samples.

    Tensors and arrays are stacked along a new first dimension; whole numbers become an int64
    tensor, floats a float64 one; strings stay in a list. Dicts, named tuples, tuples and lists are
    gone through; a tuple gives a list.

    Raises:
        TypeError: A sample holds something else, such as None.
        RuntimeError: Tensors, lists or tuples that should go together differ in shape or length;
            the text says which.
        KeyError: A dict lacks a key that the first one has.
        IndexError: There are no samples.

    >>> import lamina
    >>> default_collate([{"x": lamina.ones(2), "y": 0}, {"x": lamina.zeros(2), "y": 1}])
    {'x': tensor([[1., 1.],
            [0., 0.]]), 'y': tensor([0, 1])}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Sequence[Any], *, collate_fn_map: Functions | None = None) -> Any:
    """One batch of a list of samples, with functions of your own for some types.

    Args:
        collate_fn_map: For a type, or a tuple of types, a function `(batch, *, collate_fn_map)`.
            Types that are not in it are gone through if they are containers.
    """
    try:
        return _collate(batch, collate_fn_map)
    except _Unlike as unlike:
        raise unlike.as_error() from None


def _collate(batch: Sequence[Any], functions: Functions | None) -> Any:
    element = batch[0]
    kind = type(element)
    function = _function_for(kind, functions)
    if function is not None:
        return function(batch, collate_fn_map=functions)
    if isinstance(element, Mapping):
        return _collate_mappings(batch, functions)
    if isinstance(element, tuple) and hasattr(element, "_fields"):
        keys = [GetAttrKey(name) for name in element._fields]
        return kind(*_collate_columns(keys, zip(*batch, strict=False), functions))
    if isinstance(element, Sequence):
        return _collate_sequences(batch, functions)
    raise _Unlike(errors.ArgumentTypeError, default_collate_err_msg_format.format(kind))


def _function_for(kind: type, functions: Functions | None) -> Callable[..., Any] | None:
    if functions is None:
        return None
    if kind in functions:
        return functions[kind]
    return next((functions[known] for known in functions if issubclass(kind, known)), None)


def _collate_mappings(batch: Sequence[Any], functions: Functions | None) -> Any:
    element = batch[0]
    columns = []
    for key in element:
        try:
            columns.append([sample[key] for sample in batch])
        except KeyError:
            which = next(k for k, sample in enumerate(batch) if key not in sample)
            raise _Unlike(
                errors.CollateMissingKey,
                f"{key!r}: entry {which} of the batch lacks this key, which entry 0 has",
            ) from None
    parts = _collate_columns(map(MappingKey, element), columns, functions)
    return _like_mapping(element, dict(zip(element, parts, strict=True)))


def _like_mapping(element: Any, found: dict[Any, Any]) -> Any:
    """A mapping of the same class, with new values."""
    try:
        if isinstance(element, MutableMapping):
            # A copy keeps what else the mapping holds, such as a default.
            filled = copy.copy(element)
            filled.update(found)
            return filled
        return type(element)(found)
    except TypeError:
        return found  # a class that cannot be made of a dict


def _collate_sequences(batch: Sequence[Any], functions: Functions | None) -> Any:
    element = batch[0]
    lengths = [len(sample) for sample in batch]
    if any(length != lengths[0] for length in lengths):
        which = next(k for k, length in enumerate(lengths) if length != lengths[0])
        raise _Unlike(
            errors.CollateMismatch,
            "each element in list of batch should be of equal size, but got lengths "
            f"{lengths[0]} at entry 0 and {lengths[which]} at entry {which}",
        )
    keys = map(SequenceKey, range(lengths[0]))
    found = _collate_columns(keys, zip(*batch, strict=True), functions)
    return _like_sequence(element, found)


def _like_sequence(element: Any, found: list[Any]) -> Any:
    """A sequence of the same class, with new elements; a list for a tuple, as in PyTorch."""
    if isinstance(element, tuple):
        return found
    try:
        if isinstance(element, MutableSequence):
            filled = copy.copy(element)
            for position, part in enumerate(found):
                filled[position] = part
            return filled
        return type(element)(found)
    except TypeError:
        return found  # a class that cannot be made of a list, such as range


def _collate_columns(keys: Any, columns: Any, functions: Functions | None) -> list[Any]:
    """Each column as a batch; an error notes at which key of the sample it came up."""
    found = []
    for key, column in zip(keys, columns, strict=False):
        try:
            found.append(_collate(column, functions))
        except _Unlike as unlike:
            unlike.path.append(key)
            raise
    return found


@final
class _Unlike(Exception):
    """Samples that do not go together, on the way out to where the whole sample is known."""

    def __init__(self, kind: Callable[..., errors.LaminaError], headline: str) -> None:
        super().__init__(headline)
        self.kind = kind
        self.headline = headline
        self.path: list[Any] = []

    def as_error(self) -> errors.LaminaError:
        """The error, which says where in the sample it came up."""
        where = "".join(map(str, self.path[::-1]))
        help = [f"in each sample it is `sample{where}`"] if where else []
        if self.kind is errors.CollateMismatch:
            help.append(
                "bring them to one size in the data set, or pass `collate_fn=` with a function "
                "that pads them, as `torch.nn.utils.rnn.pad_sequence` does, or leaves them in a "
                "list"
            )
        elif self.kind is errors.ArgumentTypeError:
            help.append("convert it in the data set, or pass `collate_fn=`")
        return self.kind(self.headline, [(this_place(), "the batch was made here")], help)


# --- what is no container -------------------------------------------------------------------------


def collate_tensor_fn(batch: Sequence[Any], *, collate_fn_map: Functions | None = None) -> Tensor:
    """Tensors stacked along a new first dimension."""
    for position, entry in enumerate(batch):
        if not isinstance(entry, Tensor):
            raise _Unlike(
                errors.ArgumentTypeError,
                f"expected Tensor as element {position} in argument 0, but got "
                f"{type(entry).__name__}",
            )
        if entry.shape != batch[0].shape:
            raise _Unlike(
                errors.CollateMismatch,
                f"stack expects each tensor to be equal size, but got {dims(batch[0].shape)} at "
                f"entry 0 and {dims(entry.shape)} at entry {position}",
            )
    return stack(list(batch), 0)


def _collate_arrays(batch: Sequence[Any], *, collate_fn_map: Functions | None = None) -> Any:
    if batch[0].dtype.kind in "SUO":
        raise _Unlike(
            errors.ArgumentTypeError, default_collate_err_msg_format.format(batch[0].dtype)
        )
    return _collate([as_tensor(array) for array in batch], collate_fn_map)


def _collate_numpy_numbers(batch: Any, *, collate_fn_map: Functions | None = None) -> Tensor:
    return as_tensor(np.asarray(batch))


def _collate_floats(batch: Any, *, collate_fn_map: Functions | None = None) -> Tensor:
    return tensor(batch, dtype=dtypes.float64)


def _collate_integers(batch: Any, *, collate_fn_map: Functions | None = None) -> Tensor:
    return tensor(batch)


def _collate_text(batch: Any, *, collate_fn_map: Functions | None = None) -> Any:
    return batch


default_collate_fn_map: Functions = {
    Tensor: collate_tensor_fn,
    np.ndarray: _collate_arrays,
    (np.bool_, np.number, np.object_): _collate_numpy_numbers,
    float: _collate_floats,
    int: _collate_integers,
    str: _collate_text,
    bytes: _collate_text,
}
"""What becomes of each type; a program may add its own."""


def default_convert(data: Any) -> Any:
    """NumPy arrays and numbers in a sample as tensors, all else as it is.

    It is what a loader without batches does to each sample.

    >>> import numpy as np
    >>> default_convert([1, np.array([2.0])])
    [1, tensor([2.], dtype=torch.float64)]
    """
    if isinstance(data, Tensor | str | bytes):
        return data
    if isinstance(data, np.ndarray | np.generic):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, Sequence):
        return _like_sequence(data, [default_convert(part) for part in data])
    return data
