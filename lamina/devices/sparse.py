"""Arrays of which few elements are kept: places, and the elements there (coordinate format, COO).

A `SparseArray` takes part in NumPy's dispatch as arrays of other devices do, so operations need no
branch for it: what makes sense for it has an entry in `_RULES`; all else is refused. It stays in
host memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn, final

import numpy as np

from lamina import errors
from lamina.devices.array_functions import ELEMENTWISE
from lamina.devices.backend import HostArray, register_array_type
from lamina.devices.device import CPU
from lamina.devices.dispatched import DispatchedArray
from lamina.devices.layouts import fresh

__all__ = ["SparseArray"]

_BLOCK: Final = 2**20
"""So many products at once when a sparse matrix is multiplied: 4 to 8 MB."""


@final
class SparseArray(DispatchedArray):
    """The elements at some places; zeros elsewhere, and sums where a place stands twice.

    Args:
        indices: int64 (dimensions, count): a place in each column.
        values: (count,): the elements there.
        shape: The shape of the whole.
        is_coalesced: Whether places are in order and none stands twice.
    """

    __slots__ = ("indices", "is_coalesced", "values")

    is_sparse = True

    def __init__(
        self, indices: HostArray, values: HostArray, shape: tuple[int, ...], is_coalesced: bool
    ) -> None:
        self._array = fresh(shape, values.dtype)
        self._base = None
        self.indices = indices
        self.values = values
        self.is_coalesced = is_coalesced

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return self._apply(function, inputs, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self._read("numpy()")

    def _apply(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        rule = _RULES.get(function)
        if rule is None and function in ELEMENTWISE and not function(np.zeros(1, self.dtype)).any():
            rule = _of_values(function)
        if rule is None:
            raise _refused(getattr(function, "__name__", str(function)))
        return rule(*args, **kwargs)

    def _read(self, operation: str) -> NoReturn:
        raise errors.NumpyOfDeviceTensor(
            f"{operation}: can't convert Sparse layout tensor to numpy. "
            "Use Tensor.to_dense() first.",
            help=["`x.to_dense()` has all elements, `x.coalesce().values()` those that are kept"],
        )

    def __getitem__(self, index: Any) -> Any:
        raise _refused("indexing")

    def __setitem__(self, index: Any, value: Any) -> None:
        raise _refused("a write")

    def __repr__(self) -> str:
        return f"<SparseArray {self.dtype}{list(self.shape)}, {self.values.size} kept>"

    # --- its forms -----------------------------------------------------------------------------

    def with_values(self, values: HostArray) -> SparseArray:
        """Other elements at the same places."""
        return SparseArray(self.indices, values, self.shape, self.is_coalesced)

    def coalesced(self) -> SparseArray:
        """The same with places in order, none of them twice."""
        if self.is_coalesced:
            return self
        flat = np.ravel_multi_index(tuple(self.indices), self.shape)
        places, which = np.unique(flat, return_inverse=True)
        values = np.zeros(places.size, self.dtype)
        np.add.at(values, which, self.values)
        indices = np.array(np.unravel_index(places, self.shape), np.int64)
        return SparseArray(indices.reshape(self.ndim, -1), values, self.shape, True)

    def dense(self) -> HostArray:
        """All elements."""
        whole = np.zeros(self.shape, self.dtype)
        np.add.at(whole, tuple(self.indices), self.values)
        return whole


def sparse_of(array: HostArray) -> SparseArray:
    """The elements of an array that are not zero."""
    places = np.nonzero(array)
    indices = np.array(places, np.int64).reshape(array.ndim, -1)
    return SparseArray(indices, array[places], array.shape, True)


register_array_type(SparseArray, lambda _: CPU)


def _refused(name: str) -> errors.NotSupported:
    return errors.NotSupported(
        f"{name} is not implemented for the sparse layout",
        help=[
            "`x.to_dense()` first",
            "on the kept elements: torch.sparse_coo_tensor(x.indices(), f(x.values()), x.shape)",
        ],
    )


# --- what NumPy's functions do -----------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return not isinstance(value, SparseArray) and np.ndim(value) == 0  # NumPy's is dispatched too


def _of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that keeps zeros, on the kept elements."""

    def run(x: SparseArray) -> SparseArray:
        x = x.coalesced()
        return x.with_values(function(x.values))

    return run


def _joined(first: SparseArray, second: SparseArray) -> SparseArray:
    if first.shape != second.shape:
        raise _refused("a sum of different shapes")
    kind = np.result_type(first.dtype, second.dtype)
    indices = np.concatenate([first.indices, second.indices], axis=1)
    values = np.concatenate([first.values, second.values]).astype(kind)
    return SparseArray(indices, values, first.shape, False).coalesced()


def _add(first: Any, second: Any) -> Any:
    if isinstance(first, SparseArray) and isinstance(second, SparseArray):
        return _joined(first, second)
    sparse, other = (first, second) if isinstance(first, SparseArray) else (second, first)
    if _is_number(other):
        raise _refused("a sum with a number")
    return other + sparse.dense()


def _subtract(first: Any, second: Any) -> Any:
    return _add(first, -second)


def _multiply(first: Any, second: Any) -> SparseArray:
    sparse, other = (first, second) if isinstance(first, SparseArray) else (second, first)
    if _is_number(other):
        return sparse.with_values(np.multiply(sparse.values, other))
    if other.shape != sparse.shape:
        raise _refused("a product of different shapes")
    sparse = sparse.coalesced()
    whole = other.dense() if isinstance(other, SparseArray) else other
    return sparse.with_values(sparse.values * whole[tuple(sparse.indices)])


def _divide(first: Any, second: Any) -> SparseArray:
    if not isinstance(first, SparseArray) or not _is_number(second):
        raise _refused("a division by anything but a number")
    return first.with_values(np.true_divide(first.values, second))


def _transpose(x: SparseArray, axes: Any = None) -> SparseArray:
    order = tuple(range(x.ndim))[::-1] if axes is None else tuple(axis % x.ndim for axis in axes)
    shape = tuple(x.shape[axis] for axis in order)
    return SparseArray(x.indices[list(order)], x.values, shape, False)


def _swapaxes(x: SparseArray, first: int, second: int) -> SparseArray:
    order = list(range(x.ndim))
    order[first], order[second] = order[second], order[first]
    return _transpose(x, order)


def _product(first: Any, second: Any) -> Any:
    """A product of matrices, or of a matrix and a vector, one of them sparse."""
    if first.ndim > 2 or second.ndim > 2:
        raise _refused("a product of batches")
    if not isinstance(first, SparseArray):
        return _product(_transpose(second), np.transpose(first)).T
    if isinstance(second, SparseArray):
        return sparse_of(_product(first, second.dense()))
    if first.shape[-1] != second.shape[0]:
        raise ValueError(f"shapes {first.shape} and {second.shape} do not fit")
    columns = second.reshape(second.shape[0], -1)
    result = _times_columns(first.coalesced(), columns)
    return result.reshape(first.shape[0], *second.shape[1:])


def _times_columns(matrix: SparseArray, columns: HostArray) -> HostArray:
    """Row by row: the products of a row's elements stand together, and are added up."""
    rows, places = matrix.indices
    kind = np.result_type(matrix.dtype, columns.dtype)
    result = np.zeros((matrix.shape[0], columns.shape[1]), kind)
    if not rows.size:
        return result
    starts = np.append(np.flatnonzero(np.diff(rows, prepend=-1)), rows.size)
    step = max(_BLOCK // max(columns.shape[1], 1), 1)
    first = 0
    while first < starts.size - 1:  # whole rows, about `step` elements at once
        last = max(int(np.searchsorted(starts, starts[first] + step, "right")) - 1, first + 1)
        begin, part = starts[first], slice(starts[first], starts[last])
        products = columns[places[part]] * matrix.values[part, None]
        sums = np.add.reduceat(products, starts[first:last] - begin, axis=0)
        result[rows[starts[first:last]]] = sums
        first = last
    return result


def _sum(x: SparseArray, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
    if axis is not None and len(np.atleast_1d(axis)) != x.ndim:
        raise _refused("a sum along dimensions (torch.sparse.sum has them)")
    total = x.values.sum(dtype=dtype)
    return np.reshape(total, (1,) * x.ndim) if options.get("keepdims") else np.asarray(total)


def _astype(x: SparseArray, dtype: Any, **options: Any) -> SparseArray:
    return x.with_values(x.values.astype(dtype))


def _copy(x: SparseArray, order: Any = "K", **options: Any) -> SparseArray:
    return SparseArray(x.indices.copy(), x.values.copy(), x.shape, x.is_coalesced)


def _dense_like(make: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: SparseArray, dtype: Any = None, *_: Any, shape: Any = None, **options: Any) -> Any:
        return make(x.shape if shape is None else shape, x.dtype if dtype is None else dtype)

    return run


_KEEP_ZERO: Final = (
    np.negative, np.absolute, np.sign, np.sqrt, np.square, np.sin, np.tan, np.arcsin, np.arctan,
    np.sinh, np.tanh, np.arcsinh, np.arctanh, np.expm1, np.log1p, np.floor, np.ceil, np.trunc,
    np.rint, np.conjugate, np.isnan,
)  # fmt: skip
_RULES: Final[dict[Callable[..., Any], Callable[..., Any]]] = {
    **{function: _of_values(function) for function in _KEEP_ZERO},
    np.add: _add,
    np.subtract: _subtract,
    np.multiply: _multiply,
    np.true_divide: _divide,
    np.transpose: _transpose,
    np.matrix_transpose: lambda x: _swapaxes(x, -1, -2),
    np.swapaxes: _swapaxes,
    np.dot: _product,
    np.matmul: _product,
    np.sum: _sum,
    np.add.reduce: _sum,
    np.astype: _astype,
    np.copy: _copy,
    np.empty_like: _dense_like(np.empty),  # a gradient, which is dense
    np.zeros_like: _dense_like(np.zeros),
}
