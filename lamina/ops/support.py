"""Functions that the rules of many operations need, and views as the engine sees them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lamina.core.call import operation
from lamina.core.op import LINEAR, raw
from lamina.core.views import replay

# Without NumPy's stubs, which know only literal `keepdims`.
_plus: Final[Any] = np.add


def _conj(input: Any) -> Any:
    return np.conjugate(input) if _is_complex(input) else input


def _is_complex(value: Any) -> bool:
    return value.dtype.kind == "c" if hasattr(value, "dtype") else isinstance(value, complex)


conj = operation(
    "conj",
    _conj,
    tensors="#input",
    grad={"input": lambda F, g: F.conj(g)},
    node_name="ConjBackward0",
    halves_in_float=False,
    doc="The complex conjugate; a real tensor is returned unchanged.",
)


def _sum_to_size(input: Any, size: Any) -> Any:
    """Sum over the dimensions in which `size` was broadcast to the input's shape."""
    shape = input.shape
    extra = len(shape) - len(size)
    is_plain = input.__class__ is np.ndarray and input.dtype.char in "fd"
    if is_plain and extra == 1 and size and shape[1:] == size:
        return _plus.reduce(input)  # the gradient of each bias: 1.4 us instead of 4
    axes = tuple(range(extra)) + tuple(
        k + extra for k, length in enumerate(size) if length == 1 and shape[k + extra] != 1
    )
    if not axes:
        return np.reshape(input, size)
    if input.dtype.itemsize == 2 and input.dtype.kind in "fV":  # halves lose too much when added up
        return np.reshape(_summed_in_float(input, axes), size)
    return np.reshape(np.sum(input, axis=axes, keepdims=True), size)


def _summed_in_float(input: Any, axes: tuple[int, ...]) -> Any:
    return np.sum(input.astype(np.float32), axis=axes, keepdims=True).astype(input.dtype)


sum_to_size = operation(
    "sum_to_size",
    _sum_to_size,
    node_name="SumBackward1",
    grad={"input": lambda F, g, input_shape: F.broadcast_to(g, input_shape)},
    tangent=LINEAR,
    doc="Sum over broadcast dimensions, so that the result has a given size.",
)


def _cast_like_input(input: Any, kind: Any) -> Any:
    if input.dtype.kind == "c" and kind.kind != "c":
        input = np.real(input)
    return input.astype(kind)


cast_like_input = operation(
    "cast_like_input",
    _cast_like_input,
    grad={"input": lambda F, g, input_dtype: F.cast_like_input(g, input_dtype)},
    node_name="ToCopyBackward0",
    halves_in_float=False,
    doc="A gradient in the dtype of the input it belongs to: the real part for a real one.",
)


# Views that may show an element several times: its gradients add up.
REPEATING: Final = frozenset({"broadcast_to", "unfold", "as_strided", "part_of_rows"})


def _embed_view(input: Any, shape: Any, kind: Any, steps: Any) -> Any:
    base = np.zeros_like(input, shape=shape, dtype=kind, order="C")
    if any(name in REPEATING for name, _ in steps):
        places = np.arange(base.size).reshape(shape)
        np.add.at(base.reshape(-1), replay(raw, places, steps).reshape(-1), input.reshape(-1))
    else:
        replay(raw, base, steps)[...] = input
    return base


embed_view = operation(
    "embed_view",
    _embed_view,
    grad={"input": lambda F, g, steps: replay(F, g, steps)},
    halves_in_float=False,
    doc="Zeros of a base's shape with a view's values at the view's place.",
)


def _overwrite_view(input: Any, part: Any, steps: Any) -> Any:
    base = np.copy(input, order="C")  # an array also of a NumPy number
    replay(raw, base, steps)[...] = 0 if part is None else part
    return base


embedded = {
    "input": lambda F, g, steps: F.overwrite_view(g, None, steps),
    "part": lambda F, g, steps: replay(F, g, steps),
}
overwrite_view = operation(
    "overwrite_view",
    _overwrite_view,
    tensors="input ?part",
    grad=embedded,
    halves_in_float=False,
    doc="A copy of a base with a view's place overwritten.",
)
