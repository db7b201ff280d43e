"""A tensor on one line: what it is, and what its values are like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lamina.core.tensor import Tensor
from lamina.devices import backend_of
from lamina.devices.byte_counts import bytes_in_words

MOST_SHOWN = 10
"""A tensor of so many elements is shown whole behind its summary."""


@final
@dataclass(frozen=True, repr=False)
class TensorSummary:
    """What a tensor is and holds.

    Attributes:
        shape: Its sizes.
        dtype: As `torch.float32` is written, without the module.
        device: Where it is.
        nbytes: Bytes of its elements.
        low, high, mean, std: Of the elements that are finite; None if there are none, or none that
            have an order.
        nans, infinities, zeros: How many elements are that.
        standing: "leaf", "computed by ..." or "" if it requires no grad.
        elements: All elements, if they are few; else None.
    """

    shape: tuple[int, ...]
    dtype: str
    device: str
    nbytes: int
    low: float | None
    high: float | None
    mean: float | None
    std: float | None
    nans: int
    infinities: int
    zeros: int
    standing: str
    elements: str | None

    def __str__(self) -> str:
        size = int(np.prod(self.shape, dtype=np.int64))
        parts = [f"{self.dtype}{list(self.shape)}"]
        if size > 1:
            parts.append(f"n={size} ({bytes_in_words(self.nbytes)})")
        if self.device != "cpu":
            parts.append(self.device)
        if self.low is not None and size > 1:
            parts.append(f"from {self.low:.4g} to {self.high:.4g}")
            parts.append(f"mean {self.mean:.4g}, std {self.std:.4g}")
        for count, word in ((self.zeros, "zeros"), (self.nans, "NaN"), (self.infinities, "inf")):
            if count and size > 1:
                parts.append("all " + word if count == size else f"{count} {word}")
        if self.standing:
            parts.append(self.standing)
        return ", ".join(parts) + (f": {self.elements}" if self.elements else "")

    __repr__ = __str__


def summary_of_tensor(tensor: Tensor) -> TensorSummary:
    """Look at all elements once."""
    kind = str(tensor.dtype).removeprefix("torch.")
    values = None if tensor.is_meta else backend_of(tensor.device).to_host(tensor._array)
    low, high, mean, std, nans, infinities, zeros = _facts(values)
    elements = None
    if values is not None and values.size <= MOST_SHOWN:
        elements = str(tensor.detach().tolist())
    return TensorSummary(
        tuple(tensor.shape), kind, str(tensor.device), tensor.numel() * tensor.element_size(),
        low, high, mean, std, nans, infinities, zeros, _standing(tensor), elements,
    )  # fmt: skip


def _facts(values: Any) -> tuple[Any, ...]:
    """low, high, mean, std, and how many are NaN, infinite, zero."""
    if values is None or not values.size:
        return None, None, None, None, 0, 0, 0
    zeros = int(values.size - np.count_nonzero(values))
    if values.dtype.kind in "bcV" or values.dtype.kind == "O":
        return None, None, None, None, 0, 0, zeros
    if values.dtype.kind not in "fiu" or values.dtype.itemsize < 4:  # halves, and small integers
        values = values.astype(np.float32)
    if values.dtype.kind != "f":
        return (*_spread(values), 0, 0, zeros)
    nans = int(np.isnan(values).sum())
    infinities = int(np.isinf(values).sum())
    finite = values[np.isfinite(values)] if nans or infinities else values
    return (*_spread(finite), nans, infinities, zeros)


def _spread(values: Any) -> tuple[float | None, ...]:
    if not values.size:
        return None, None, None, None
    mean, std = values.mean(dtype=np.float64), values.std(dtype=np.float64)
    return float(values.min()), float(values.max()), float(mean), float(std)


def _standing(tensor: Tensor) -> str:
    if not tensor.requires_grad:
        return ""
    return "leaf that requires grad" if tensor.is_leaf else f"by {type(tensor.grad_fn).__name__}"
