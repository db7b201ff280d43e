"""The last step of a backward pass: a finished gradient is added to a leaf's `.grad`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from lamina.codegen.fused import fused
from lamina.codegen.vectorized import LEAST_SHARED, shared
from lamina.core.layouts import is_dense
from lamina.core.op import traced
from lamina.core.origins import CUT_BACKWARD
from lamina.core.tensor import Tensor, cell_of, set_array, wrap
from lamina.core.views import inherits_flag

# Threads may add to the same leaf. One lock for all: it is held for a few additions.
_leaf_lock: Final = threading.Lock()


def add_to_leaves(entries: Iterable[Any], place: Any) -> None:
    """Add finished gradients to the `.grad` of leaves, taking arrays over that nobody else has.

    An entry is [leaf, gradient, whether nobody else writes the array]; a tuple serves where nobody
    does. One call for all leaves, one lock and one origin save 0.4 us a leaf.
    """
    origin, places = (*place, "backward", CUT_BACKWARD, None), (place,)
    with _leaf_lock:
        for entry in entries:
            leaf, gradient, is_owned = entry
            if gradient is None or leaf is None or not leaf._requires_grad:
                continue
            if leaf._view is not None and inherits_flag(leaf):
                continue
            if not is_owned:
                entry[1] = None
            grad = leaf._grad
            if grad is not None:
                add = np.add if gradient.size < LEAST_SHARED else shared(np.add)
                add(grad._array, gradient, grad._array)
                cell_of(grad).bump(*place)
                leaf.grad_filled_at = (*(leaf.grad_filled_at or ())[-7:], place)
                continue
            # Besides this function's two references, somebody may hold the array: a saved value, a
            # user, another leaf. A view's memory may be shared without such a reference.
            if (
                gradient.__class__ is not np.ndarray
                or not (is_owned or sys.getrefcount(gradient) <= 2)
                or gradient.base is not None
                or not gradient.flags.c_contiguous
                or not leaf._array.flags.c_contiguous
            ):
                gradient = _copied_like(gradient, leaf)
            leaf._grad = wrap(gradient, origin)
            leaf.grad_filled_at = places


def add_recorded_to_leaf(leaf: Tensor, gradient: Tensor, place: Any) -> None:
    """Add a gradient that has a history: out of place, so that the old one stays what it was."""
    if inherits_flag(leaf):
        return
    with _leaf_lock:
        leaf._grad = _own(gradient, leaf) if leaf._grad is None else leaf._grad + gradient
    leaf.grad_filled_at = (*(leaf.grad_filled_at or ())[-7:], place)


def _own(gradient: Tensor, leaf: Tensor) -> Tensor:
    """A recorded copy with the leaf's layout, if that is dense."""
    array = leaf._array
    if array.__class__ is not np.ndarray or array.shape != gradient.shape or not is_dense(array):
        copied: Tensor = traced.clone(gradient)
    else:
        empty = np.empty_like(array, dtype=gradient._array.dtype)
        copied = traced.copy(wrap(empty, None), gradient)
        np.copyto(empty, gradient._array)
        set_array(copied, empty)
    return copied


def _copied_like(gradient: Any, leaf: Tensor) -> Any:
    """A fresh array with the leaf's layout: its strides if dense, else row-major."""
    if gradient.__class__ is not np.ndarray or gradient.shape != leaf._array.shape:
        return np.array(gradient) if isinstance(gradient, np.generic) else gradient.copy()
    order: Any = "K" if is_dense(leaf._array) else "C"
    if order == "C" or leaf._array.flags.c_contiguous:
        return _by_rows(gradient)
    target = np.empty_like(leaf._array, dtype=gradient.dtype, order=order)
    np.copyto(target, gradient)
    return target


@fused
def _by_rows(gradient: Any) -> Any:
    """A row-major copy; of a large gradient, as that of a sum is, by threads."""
    return np.copy(gradient, order="C")
