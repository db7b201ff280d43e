"""Shapes and dtypes of NumPy's functions, found without computing.

`infer` takes a NumPy call on layouts and gives the layouts of its results. Dtypes, and errors
about arguments, come from NumPy itself, run on arrays of at most one element an axis (`tiny`);
shapes come from the rules here. A function without a rule runs on a small sample, or is refused.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from lamina import errors
from lamina.devices.backend import HostArray, NoValues
from lamina.devices.dispatched import replace, visit
from lamina.devices.layouts import Layout, fresh, in_order_of

SAMPLE_LIMIT: Final = 64 << 20
"""The most bytes of layouts that a function without a rule is tried on."""

Rule = Callable[..., Any]


def name_of(function: Any) -> str:
    """How messages and listings name a function: `matmul`, `add.reduce`, `linalg.inv`."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"{owner.__name__}.{function.__name__}"
    module = getattr(function, "__module__", None) or ""
    prefix = "linalg." if module == "numpy.linalg" else "fft." if module == "numpy.fft" else ""
    return prefix + str(getattr(function, "__name__", function))


def infer(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], rules: Any) -> Any:
    """The layouts (in NumPy's nest of tuples and lists) that a call gives.

    Args:
        function: A NumPy function, ufunc, or ufunc method.
        args, kwargs: Its arguments, with layouts for arrays, without `out`.
        rules: The rules by function; ufuncs need none.

    Raises:
        NoValues: When the result depends on elements.
        NotSupported: When there is no rule and the arrays are large.
        ValueError, TypeError, IndexError: What NumPy itself raises.
    """
    rule = rules.get(function)
    if rule is not None:
        return rule(*args, **kwargs)
    if isinstance(function, np.ufunc):
        return ufunc_call(function, args, kwargs)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return _METHODS[function.__name__](owner, *args, **kwargs)
    return _sampled(function, args, kwargs)


# --- NumPy, run on next to nothing -------------------------------------------------------------


def tiny(value: Any) -> Any:
    """Layouts in a nest replaced by ones with at most one element an axis."""
    return replace(value, (Layout,), lambda a: np.ones([min(size, 1) for size in a.shape], a.dtype))


def quietly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function whose values, and so whose warnings, do not matter."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def tiny_dtype(function: Callable[..., Any], *args: Any, **kwargs: Any) -> np.dtype[Any]:
    """The dtype of a function's result."""
    return np.asarray(quietly(function, *tiny(args), **tiny(kwargs))).dtype


def _sampled(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The layouts of what a function gives for identity matrices of the same shapes."""
    found: list[Layout] = []
    visit((args, kwargs), (Layout,), found.append)
    nbytes = sum(array.nbytes for array in found)
    if nbytes > SAMPLE_LIMIT:
        raise errors.NotSupported(
            f"the shape of {name_of(function)}'s result is not known without computing it, and "
            f"its arguments are large ({nbytes >> 20} MiB)",
            help=["use smaller shapes, or operations whose shapes follow from their arguments'"],
        )
    result = quietly(function, *_samples(args), **_samples(kwargs))
    if found and isinstance(result, bool | int | float | complex):
        raise NoValues(name_of(function))
    return replace(
        result, (np.ndarray, np.generic), lambda a: fresh(np.shape(a), np.asarray(a).dtype)
    )


def _samples(value: Any) -> Any:
    def sample(array: Layout) -> HostArray:
        # Identity matrices can be inverted and factored, whatever is asked of them.
        if array.ndim >= 2:
            made = np.zeros(array.shape, array.dtype)
            made[...] = np.eye(*array.shape[-2:], dtype=array.dtype)
            return made
        return np.zeros(array.shape, array.dtype)

    return replace(value, (Layout,), sample)


# --- ufuncs ------------------------------------------------------------------------------------


def ufunc_call(ufunc: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The layouts of `ufunc(*args)`; `outputs` in `kwargs` are the arrays written to, or None."""
    kwargs = dict(kwargs)
    outputs = kwargs.pop("outputs", (None,) * ufunc.nout)
    args = tuple(np.asarray(a) if isinstance(a, list | tuple) else a for a in args)
    arrays = [a for a in (*args, kwargs.get("where")) if isinstance(a, np.ndarray)]
    dtypes = _result_dtypes(ufunc, args, outputs, kwargs)
    if ufunc.signature is None:
        shape = np.broadcast_shapes(
            *(np.shape(a) for a in args),
            *(o.shape for o in outputs if o is not None),
            np.shape(kwargs.get("where", True)),
        )
        results = tuple(in_order_of(shape, dtype, arrays) for dtype in dtypes)
    elif kwargs.keys() & {"axes", "axis", "keepdims"}:
        return _sampled(ufunc, args, kwargs)
    else:
        shapes = _core_shapes(ufunc, [np.shape(a) for a in args])
        results = tuple(map(fresh, shapes, dtypes))
    return results[0] if ufunc.nout == 1 else results


def _result_dtypes(
    ufunc: np.ufunc, args: tuple[Any, ...], outputs: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[np.dtype[Any], ...]:
    """The dtypes of a ufunc's results, where Python numbers are weak (NEP 50)."""
    operands: list[Any] = [
        type(a) if type(a) in (int, float, complex) else np.asarray(a).dtype for a in args
    ]
    options = {name: kwargs[name] for name in ("signature", "casting") if name in kwargs}
    if kwargs.get("dtype") is not None:
        wanted = (np.dtype(kwargs["dtype"]),) * ufunc.nout
        options["signature"] = (None,) * ufunc.nin + wanted
    operands += [None if out is None else out.dtype for out in outputs]
    resolved = ufunc.resolve_dtypes(tuple(operands), **options)
    return resolved[ufunc.nin :]


def _core_shapes(ufunc: np.ufunc, shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Result shapes of a generalized ufunc, from its signature such as `(n?,k),(k,m?)->(n?,m?)`."""
    assert ufunc.signature is not None
    inputs, results = (
        [[name for name in group.split(",") if name] for group in re.findall(r"\((.*?)\)", half)]
        for half in ufunc.signature.replace(" ", "").split("->")
    )
    missing = {
        name
        for names, shape in zip(inputs, shapes, strict=True)
        for name in names
        if name.endswith("?") and len(shape) < len(names)
    }
    sizes: dict[str, int] = {}
    loops = []
    for position, (names, shape) in enumerate(zip(inputs, shapes, strict=True)):
        present = [name for name in names if name not in missing]
        if len(shape) < len(present):
            raise ValueError(
                f"{ufunc.__name__}: Input operand {position} does not have enough dimensions (has "
                f"{len(shape)}, gufunc core with signature {ufunc.signature} requires "
                f"{len(present)})"
            )
        split = len(shape) - len(present)
        loops.append(shape[:split])
        for core, (name, size) in enumerate(zip(present, shape[split:], strict=True)):
            if sizes.setdefault(name, size) != size:
                raise ValueError(
                    f"{ufunc.__name__}: Input operand {position} has a mismatch in its core "
                    f"dimension {core}, with gufunc signature {ufunc.signature} (size {size} is "
                    f"different from {sizes[name]})"
                )
    loop = np.broadcast_shapes(*loops)
    return [(*loop, *(sizes[n] for n in names if n not in missing)) for names in results]


def reduced_shape(shape: tuple[int, ...], axis: Any, keepdims: Any) -> tuple[int, ...]:
    """The shape that is left when the axes (all of them for None) are summed away."""
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {int(a) % max(len(shape), 1) for a in axes}
    kept = [1 if i in gone else size for i, size in enumerate(shape)]
    return tuple(size for i, size in enumerate(kept) if keepdims or i not in gone)


def _reduce(ufunc: np.ufunc, a: Any, axis: Any = 0, *rest: Any, **options: Any) -> Layout:
    dtype = tiny_dtype(ufunc.reduce, a, axis, *rest, **options)
    return fresh(reduced_shape(a.shape, axis, options.get("keepdims", False)), dtype)


def _accumulate(ufunc: np.ufunc, a: Any, axis: int = 0, *rest: Any, **options: Any) -> Layout:
    return fresh(a.shape, tiny_dtype(ufunc.accumulate, a, axis, *rest, **options))


def _reduceat(ufunc: np.ufunc, a: Any, indices: Any, axis: int = 0, **options: Any) -> Layout:
    dtype = tiny_dtype(ufunc.reduce, a, axis, **options)
    sizes = list(a.shape)
    sizes[axis] = np.size(indices)
    return fresh(sizes, dtype)


def _outer(ufunc: np.ufunc, a: Any, b: Any, **options: Any) -> Any:
    shape = (*np.shape(a), *np.shape(b))
    dtypes = _result_dtypes(ufunc, (a, b), (None,) * ufunc.nout, options)
    results = tuple(fresh(shape, dtype) for dtype in dtypes)
    return results[0] if ufunc.nout == 1 else results


_METHODS: Final[dict[str, Rule]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "reduceat": _reduceat,
    "outer": _outer,
}
