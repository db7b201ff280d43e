"""Sequences of different lengths as one tensor: padded, or packed without padding."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self, final

import numpy as np

from lamina import dtypes
from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError, InvalidArgument, InvalidValue
from lamina.nn.functional import pad
from lamina.ops.creation import empty_like
from lamina.ops.data import as_tensor, tensor
from lamina.ops.joining import cat, stack
from lamina.ops.sorting import sort

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence_(NamedTuple):
    """The fields of a `PackedSequence`."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


@final
class PackedSequence(PackedSequence_):
    """Sequences without padding: first elements of all, longest first, then second elements, ...

    Made by `pack_padded_sequence` and `pack_sequence`; recurrent layers take it and return one.

    Attributes:
        data: the elements, `(sum of lengths, *)`.
        batch_sizes: how many sequences have a first element, a second, and so on; in host memory.
        sorted_indices: which sequence comes first, second, ...; None if they were sorted.
        unsorted_indices: the inverse of that permutation.
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        """Make one from its fields, or from a tuple of the first two."""
        if batch_sizes is None:
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise InvalidValue(
                f"batch_sizes should always be on CPU. Instead got {batch_sizes.device}"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequence with its data converted as `Tensor.to` does."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        kwargs = {name: kwargs[name] for name in ("device", "non_blocking") if name in kwargs}
        kwargs.setdefault("device", data.device)
        moved = [None if i is None else i.to(**kwargs) for i in self[2:]]
        return PackedSequence(data, self.batch_sizes, *moved)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequence in the memory of a GPU."""
        return self.to(self.data.cuda(*args, **kwargs).device)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequence in host memory."""
        return self.to("cpu")

    def double(self) -> PackedSequence:
        """Return the sequence as float64."""
        return self.to(dtypes.float64)

    def float(self) -> PackedSequence:
        """Return the sequence as float32."""
        return self.to(dtypes.float32)

    def half(self) -> PackedSequence:
        """Return the sequence as float16."""
        return self.to(dtypes.float16)

    def long(self) -> PackedSequence:
        """Return the sequence as int64."""
        return self.to(dtypes.int64)

    def int(self) -> PackedSequence:
        """Return the sequence as int32."""
        return self.to(dtypes.int32)

    def short(self) -> PackedSequence:
        """Return the sequence as int16."""
        return self.to(dtypes.int16)

    def char(self) -> PackedSequence:
        """Return the sequence as int8."""
        return self.to(dtypes.int8)

    def byte(self) -> PackedSequence:
        """Return the sequence as uint8."""
        return self.to(dtypes.uint8)

    def pin_memory(self) -> PackedSequence:
        """Return the sequence: all host memory is the same here."""
        return self

    def is_pinned(self) -> bool:
        """Whether the data is in memory of a special kind: no."""
        return False

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the permutation that undoes one, or None.

    Example:
        >>> import lamina
        >>> invert_permutation(lamina.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = tensor(list(range(permutation.numel())), device=permutation.device)
    return empty_like(permutation).scatter_(0, permutation, places)


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences of different lengths, padded to the longest.

    Args:
        sequences: tensors `(L_i, *)`.
        batch_first: whether the result is `(B, L, *)`; else it is `(L, B, *)`.
        padding_value: what to pad with.
        padding_side: "right" or "left".

    Example:
        >>> import lamina
        >>> pad_sequence([lamina.tensor([1, 2, 3]), lamina.tensor([4])], batch_first=True)
        tensor([[1, 2, 3],
                [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise InvalidArgument(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    each = list(sequences)
    if not each:
        raise InvalidArgument("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise InvalidArgument(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    longest = max(sequence.shape[0] for sequence in each)
    padded = []
    for sequence in each:
        missing = longest - sequence.shape[0]
        ends = (missing, 0) if padding_side == "left" else (0, missing)
        around = (0, 0) * (sequence.dim() - 1) + ends
        filled = pad(sequence, around, value=padding_value) if missing else sequence
        padded.append(filled.to(each[0].dtype))
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False
) -> list[Tensor]:
    """Cut a padded batch into its sequences again.

    Args:
        padded_sequences: `(L, B, *)`, or `(B, L, *)` with `batch_first`.
        lengths: the length of each.
        batch_first: whether the batch is the first dimension.
    """
    batch = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    sizes = as_tensor(lengths).tolist()
    return [part[:size] for part, size in zip(batch, sizes, strict=False)]


def _checked_lengths(lengths: Any, batch: int, longest: int) -> Tensor:
    checked = as_tensor(lengths, dtype=dtypes.int64)
    if checked.device.type != "cpu":
        raise InvalidArgument(
            "'lengths' argument should be a 1D CPU int64 tensor, but got a "
            f"{checked.device} tensor",
            help=["pass `lengths.cpu()`"],
        )
    values = checked.tolist()
    if len(values) != batch:
        raise InvalidArgument(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(values)} "
            f"(batch_size={batch})"
        )
    if values and min(values) <= 0:
        raise InvalidArgument(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if values and max(values) > longest:
        raise InvalidArgument(
            f"'lengths' has an element {max(values)}, but the padded input is only {longest} long"
        )
    return checked


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack a padded batch of sequences.

    Args:
        input: `(L, B, *)`, or `(B, L, *)` with `batch_first`.
        lengths: the length of each sequence, in host memory.
        batch_first: whether the batch is the first dimension.
        enforce_sorted: whether lengths that do not decrease are an error, instead of being sorted.

    Example:
        >>> import lamina
        >>> x = lamina.tensor([[1, 2, 0], [3, 4, 5]])
        >>> packed = pack_padded_sequence(x, [2, 3], batch_first=True, enforce_sorted=False)
        >>> packed.data, packed.batch_sizes
        (tensor([3, 1, 4, 2, 5]), tensor([2, 2, 1]))
    """
    if batch_first:
        input = input.transpose(0, 1)
    checked = _checked_lengths(lengths, input.shape[1], input.shape[0])
    order = None
    if not enforce_sorted:
        checked, order = sort(checked, descending=True, stable=True)
        order = order.to(input.device)
        input = input.index_select(1, order)
    sizes = checked.tolist()
    if any(later > earlier for earlier, later in itertools.pairwise(sizes)):
        raise InvalidArgument(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence"
        )
    pieces, start, batch_sizes = [], 0, []
    # Between the ends of two sequences all steps have the same batch: one piece of the input.
    for count in range(len(sizes), 0, -1):
        end = sizes[count - 1]
        if end > start:
            pieces.append(input[start:end, :count].flatten(0, 1))
            batch_sizes += [count] * (end - start)
            start = end
    return PackedSequence(cat(pieces), tensor(batch_sizes, dtype=dtypes.int64), order)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return a packed batch of sequences as a padded one, and the lengths.

    Args:
        sequence: the packed batch.
        batch_first: whether the result is `(B, L, *)`; else it is `(L, B, *)`.
        padding_value: what to pad with.
        total_length: the length to pad to; that of the longest sequence when left out.

    Example:
        >>> import lamina
        >>> packed = pack_sequence([lamina.tensor([1, 2, 3]), lamina.tensor([4])])
        >>> pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2, 3],
                [4, 0, 0]]), tensor([3, 1]))
    """
    data, sizes = sequence.data, sequence.batch_sizes.numpy()
    longest, batch = sizes.size, int(sizes[0])
    if total_length is not None and total_length < longest:
        raise InvalidValue(
            "Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={total_length} and max sequence length being {longest}"
        )
    length = longest if total_length is None else total_length
    present = np.arange(batch) < sizes[:, None]
    rows = tensor(np.flatnonzero(present), device=data.device)
    padded = data.new_full((length * batch, *data.shape[1:]), padding_value)
    padded = padded.index_copy(0, rows, data).view(length, batch, *data.shape[1:])
    lengths = tensor(np.count_nonzero(present, axis=0))
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences `(L_i, *)`; see `pack_padded_sequence`."""
    lengths = [sequence.shape[0] for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences of a packed batch, as they were given to `pack_sequence`."""
    if not isinstance(packed_sequences, PackedSequence):
        raise ArgumentTypeError(
            f"unpack_sequence takes a PackedSequence, not {type(packed_sequences).__name__}"
        )
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), True)
