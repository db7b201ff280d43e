"""What array types other than NumPy's have in common: attributes, methods, operators.

A kernel may use array methods as well as NumPy functions. Here each method is the NumPy function
of the same meaning, which comes back through `__array_function__`; so a subclass says once how a
NumPy call runs, and has the methods too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from lamina.devices.backend import HostArray

if TYPE_CHECKING:  # numpy.typing takes 4 ms to import
    from numpy.typing import DTypeLike

xp: Final[Any] = np
"""NumPy, without its type stubs, which know no arrays but NumPy's."""

# --- what has no NumPy function of its own -----------------------------------------------------


def get_item(array: HostArray, index: Any) -> HostArray:
    """`array[index]`, but a single element is a view with no dimensions instead of a number."""
    result = array[index]
    if not isinstance(result, np.generic):
        return result  # type: ignore[no-any-return]
    return array[(*index, ...)] if isinstance(index, tuple) else array[index, ...]


def set_item(array: HostArray, index: Any, value: Any) -> None:
    """`array[index] = value`."""
    array[index] = value


def view_as(array: HostArray, dtype: DTypeLike) -> HostArray:
    """`array.view(dtype)`: the same bytes as elements of another type."""
    return array.view(dtype)


def as_strided(array: HostArray, shape: tuple[int, ...], strides: tuple[int, ...]) -> HostArray:
    """A view with any shape and byte strides. NumPy's own is no part of its dispatch."""
    return np.lib.stride_tricks.as_strided(array, shape, strides)


WRITERS: frozenset[Callable[..., Any]] = frozenset(
    {np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal, set_item}
)
"""Functions that write into their first argument."""


ABOUT_MEMORY: Final[frozenset[Callable[..., Any]]] = frozenset(
    {np.may_share_memory, np.shares_memory}
)
"""Questions that arrays of several devices may be in: the answer is no."""


class DispatchedArray(NDArrayOperatorsMixin):
    """Attributes, methods and operators of an array that takes part in NumPy's dispatch.

    A subclass sets `_array`, a NumPy array with its shape, dtype and strides, and `_base`.
    """

    __slots__ = ("__weakref__", "_array", "_base")

    _array: HostArray
    _base: Any

    @abstractmethod
    def _apply(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a function of NumPy arrays on arguments among which are arrays of this type."""

    @abstractmethod
    def _read(self, operation: str) -> HostArray:
        """The elements, for an operation that hands them to Python; raises if there are none."""

    def __array_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        if not all(self._knows(kind) for kind in types):
            return NotImplemented
        return self._apply(func, args, kwargs)

    def _knows(self, kind: type) -> bool:
        """Whether arrays of a type may be arguments beside this one."""
        return issubclass(kind, np.ndarray) or kind is type(self)

    # --- attributes ----------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self._array.shape
        return shape

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def size(self) -> int:
        return self._array.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._array.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        return self._array.strides

    @property
    def itemsize(self) -> int:
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    @property
    def flags(self) -> Any:
        return self._array.flags

    @property
    def base(self) -> Any:
        """The array whose elements this one shows; None for an array with its own."""
        return self._base

    @property
    def T(self) -> Any:
        return xp.transpose(self)

    @property
    def mT(self) -> Any:
        return xp.matrix_transpose(self)

    @property
    def real(self) -> Any:
        return xp.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        xp.real(self)[...] = value

    @property
    def imag(self) -> Any:
        return xp.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        xp.imag(self)[...] = value

    # --- shape ---------------------------------------------------------------------------------

    def reshape(self, *shape: Any, **options: Any) -> Any:
        return xp.reshape(self, _one_or_many(shape), **options)

    def transpose(self, *axes: Any) -> Any:
        return xp.transpose(self, _one_or_many(axes) if axes else None)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        return xp.swapaxes(self, axis1, axis2)

    def squeeze(self, axis: Any = None) -> Any:
        return xp.squeeze(self, axis)

    def ravel(self, order: Any = "C") -> Any:
        return xp.ravel(self, order)

    def flatten(self, order: Any = "C") -> Any:
        return xp.reshape(xp.copy(self, order), -1, order=order)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        return xp.diagonal(self, offset, axis1, axis2)

    def view(self, dtype: DTypeLike | None = None) -> Any:
        return self[...] if dtype is None else self._apply(view_as, (self, dtype), {})

    # --- copies --------------------------------------------------------------------------------

    def copy(self, order: Any = "C") -> Any:
        return xp.copy(self, order)

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> Any:
        return xp.astype(self, np.dtype(dtype), copy=copy)

    def fill(self, value: Any) -> None:
        self[...] = value

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.copy()

    # --- reductions and the like ---------------------------------------------------------------

    def sum(self, axis: Any = None, **options: Any) -> Any:
        return xp.sum(self, axis, **options)

    def prod(self, axis: Any = None, **options: Any) -> Any:
        return xp.prod(self, axis, **options)

    def mean(self, axis: Any = None, **options: Any) -> Any:
        return xp.mean(self, axis, **options)

    def var(self, axis: Any = None, **options: Any) -> Any:
        return xp.var(self, axis, **options)

    def std(self, axis: Any = None, **options: Any) -> Any:
        return xp.std(self, axis, **options)

    def max(self, axis: Any = None, **options: Any) -> Any:
        return xp.max(self, axis, **options)

    def min(self, axis: Any = None, **options: Any) -> Any:
        return xp.min(self, axis, **options)

    def any(self, axis: Any = None, **options: Any) -> Any:
        return xp.any(self, axis, **options)

    def all(self, axis: Any = None, **options: Any) -> Any:
        return xp.all(self, axis, **options)

    def argmax(self, axis: Any = None, **options: Any) -> Any:
        return xp.argmax(self, axis, **options)

    def argmin(self, axis: Any = None, **options: Any) -> Any:
        return xp.argmin(self, axis, **options)

    def cumsum(self, axis: Any = None, **options: Any) -> Any:
        return xp.cumsum(self, axis, **options)

    def cumprod(self, axis: Any = None, **options: Any) -> Any:
        return xp.cumprod(self, axis, **options)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        return xp.trace(self, offset, axis1, axis2)

    def sort(self, axis: int = -1, **options: Any) -> None:
        self[...] = xp.sort(self, axis, **options)

    def argsort(self, axis: int = -1, **options: Any) -> Any:
        return xp.argsort(self, axis, **options)

    def take(self, indices: Any, axis: Any = None, **options: Any) -> Any:
        return xp.take(self, indices, axis, **options)

    def repeat(self, repeats: Any, axis: Any = None) -> Any:
        return xp.repeat(self, repeats, axis)

    def clip(self, min: Any = None, max: Any = None, **options: Any) -> Any:
        return xp.clip(self, min, max, **options)

    def round(self, decimals: int = 0) -> Any:
        return xp.round(self, decimals)

    def conj(self) -> Any:
        # Unlike the function, the method leaves real arrays (and bool) as they are.
        return xp.conjugate(self) if self.dtype.kind == "c" else self

    def conjugate(self) -> Any:
        return self.conj()

    def dot(self, other: Any) -> Any:
        return xp.dot(self, other)

    def nonzero(self) -> Any:
        return xp.nonzero(self)

    # --- elements as Python values -------------------------------------------------------------

    def item(self, *position: Any) -> Any:
        return self._read(".item()").item(*position)

    def tolist(self) -> Any:
        return self._read(".tolist()").tolist()

    def tobytes(self) -> bytes:
        return self._read(".tobytes()").tobytes()

    def __bool__(self) -> bool:
        return bool(self._read("bool()"))

    def __int__(self) -> int:
        return int(self._read("int()"))

    def __float__(self) -> float:
        return float(self._read("float()"))

    def __complex__(self) -> complex:
        return complex(self._read("complex()"))

    def __index__(self) -> int:
        return self._read("an index").__index__()

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[Any]:
        return (self[position] for position in range(len(self)))

    @abstractmethod
    def __getitem__(self, index: Any) -> Any:
        """`self[index]`."""

    @abstractmethod
    def __setitem__(self, index: Any, value: Any) -> None:
        """`self[index] = value`."""


def _one_or_many(values: tuple[Any, ...]) -> Any:
    """`x.reshape(2, 3)` and `x.reshape((2, 3))` are the same."""
    if len(values) == 1 and (values[0] is None or isinstance(values[0], tuple | list)):
        return values[0]
    return values


# --- looking into arguments and results --------------------------------------------------------


_ATOMS: Final = frozenset({int, float, bool, str, type(None), type(...), type})
"""What is most often among arguments and holds nothing: told at once, as captures ask a lot."""


def replace(value: Any, kinds: tuple[type, ...], change: Callable[[Any], Any]) -> Any:
    """A nest of tuples, lists, dicts and slices in which each object of `kinds` is changed."""
    kind = value.__class__
    if kind in _ATOMS:
        return value
    if kind is tuple:
        return tuple([p if p.__class__ in _ATOMS else replace(p, kinds, change) for p in value])
    if issubclass(kind, kinds):
        return change(value)
    if isinstance(value, tuple):
        parts = [replace(part, kinds, change) for part in value]
        return kind(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [replace(part, kinds, change) for part in value]
    if isinstance(value, dict):
        return {key: replace(part, kinds, change) for key, part in value.items()}
    if kind is slice:
        return slice(*[replace(p, kinds, change) for p in (value.start, value.stop, value.step)])
    return value


def visit(value: Any, kinds: tuple[type, ...], see: Callable[[Any], object]) -> None:
    """Look at each object of `kinds` in such a nest, in order."""
    kind = value.__class__
    if kind in _ATOMS:
        return
    if issubclass(kind, kinds):
        see(value)
    elif isinstance(value, tuple | list):
        for part in value:
            if part.__class__ not in _ATOMS:
                visit(part, kinds, see)
    elif isinstance(value, dict):
        for part in value.values():
            visit(part, kinds, see)
    elif kind is slice:
        visit((value.start, value.stop, value.step), kinds, see)


def owner_of(array: Any) -> Any:
    """The array (or buffer) that owns the memory which `array` shows."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def whole_memory(array: Any) -> Any:
    """The array, of the same type, that shows all of the memory which `array` shows a part of."""
    owner, base = array, array.base
    while base is not None:
        # Between an array made with any strides and its base NumPy puts an object of its own.
        if isinstance(base, type(array)):
            owner = base
        base = getattr(base, "base", None)
    return owner


def split_outputs(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[str, Any]]:
    """What a call writes into, and its other arguments: (outputs, args, kwargs)."""
    if function in WRITERS:
        return args[:1], args[1:], kwargs
    out = kwargs.get("out")
    if out is None:
        return (), args, kwargs
    outputs = out if isinstance(out, tuple) else (out,)
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    return tuple(array for array in outputs if array is not None), args, rest
