"""NumPy programs on which other array types must agree with NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

BINARY = [
    np.add, np.subtract, np.multiply, np.true_divide, np.maximum, np.less, np.equal, np.power,
    np.hypot, np.logical_and, np.arctan2, np.fmod,
]  # fmt: skip
UNARY = [np.exp, np.negative, np.abs, np.sqrt, np.isfinite, np.sign, np.tanh, np.square]

SHAPES = [(), (1,), (3,), (2, 3), (4, 1, 3), (0, 3), (2, 3, 4)]
DTYPES = ["float32", "float64", "int64", "int32", "uint8", "bool", "complex64", "float16"]


def make(shape, dtype, seed=0):
    """An array with values that differ."""
    values = np.random.default_rng(seed).integers(0, 7, shape) - 2
    return np.asarray(values).astype(dtype)


arrays = st.builds(make, st.sampled_from(SHAPES), st.sampled_from(DTYPES), st.integers(0, 5))

# Each takes (np, a, b): `a` has shape (2, 3, 4), `b` (3, 4); `i` indexes axis 1 of `a`.
CALLS = {
    "matmul": lambda a, b, i: np.matmul(a, b.T),
    "matmul vector": lambda a, b, i: a @ b[0],
    "vecdot": lambda a, b, i: np.vecdot(a, b),
    "concatenate": lambda a, b, i: np.concatenate([a, b[None]], axis=0),
    "concatenate middle": lambda a, b, i: np.concatenate([a, a], axis=1),
    "concatenate flat": lambda a, b, i: np.concatenate([a, b], axis=None),
    "stack": lambda a, b, i: np.stack([b, b], axis=-1),
    "vstack": lambda a, b, i: np.vstack([b, b]),
    "hstack": lambda a, b, i: np.hstack([b, b]),
    "where": lambda a, b, i: np.where(b > 0, a, 0),
    "clip": lambda a, b, i: np.clip(a, 0, 1),
    "take": lambda a, b, i: np.take(a, i, axis=1),
    "take flat": lambda a, b, i: np.take(a, i),
    "take_along_axis": lambda a, b, i: np.take_along_axis(b, i[None, :, None][0, :2], axis=0),
    "sum": lambda a, b, i: np.sum(a, axis=(0, 2), keepdims=True),
    "sum all": lambda a, b, i: a.sum(),
    "mean": lambda a, b, i: a.mean(axis=-1),
    "var": lambda a, b, i: np.var(a, axis=1, ddof=1),
    "amax": lambda a, b, i: np.amax(a, axis=0),
    "argmax": lambda a, b, i: np.argmax(a, axis=2),
    "argmax all": lambda a, b, i: a.argmax(),
    "any": lambda a, b, i: np.any(a, axis=1),
    "median": lambda a, b, i: np.median(a, axis=1),
    "cumsum": lambda a, b, i: np.cumsum(a, axis=1),
    "cumsum flat": lambda a, b, i: np.cumsum(a),
    "sort": lambda a, b, i: np.sort(a, axis=0),
    "argsort": lambda a, b, i: np.argsort(a, axis=-1, stable=True),
    "reshape": lambda a, b, i: a.reshape(6, -1),
    "reshape copy": lambda a, b, i: a.transpose(2, 0, 1).reshape(-1),
    "ravel": lambda a, b, i: a.T.ravel(),
    "flatten": lambda a, b, i: a.flatten(),
    "transpose": lambda a, b, i: a.transpose(1, 0, 2),
    "transposed sum": lambda a, b, i: a.T + b.T[:, :, None],
    "swapaxes": lambda a, b, i: np.swapaxes(a, 0, 2),
    "moveaxis": lambda a, b, i: np.moveaxis(a, 0, -1),
    "expand": lambda a, b, i: np.broadcast_to(b, (5, 3, 4)),
    "expand_dims": lambda a, b, i: np.expand_dims(b, 1),
    "squeeze": lambda a, b, i: np.squeeze(a[:1]),
    "flip": lambda a, b, i: np.flip(a, axis=1),
    "roll": lambda a, b, i: np.roll(a, 1, axis=2),
    "split": lambda a, b, i: np.split(a, 2, axis=2),
    "diagonal": lambda a, b, i: np.diagonal(a, 0, 1, 2),
    "tril": lambda a, b, i: np.tril(b),
    "diag": lambda a, b, i: np.diag(b[0]),
    "pad": lambda a, b, i: np.pad(b, ((1, 2), (0, 1))),
    "tile": lambda a, b, i: np.tile(b, (2, 1)),
    "repeat": lambda a, b, i: np.repeat(b, 2, axis=1),
    "diff": lambda a, b, i: np.diff(a, axis=2) if a.dtype != bool else a,
    "einsum": lambda a, b, i: np.einsum("ijk,jk->ik", a, b),
    "einsum ellipsis": lambda a, b, i: np.einsum("...k,jk->...j", a, b),
    "tensordot": lambda a, b, i: np.tensordot(a, b, axes=2),
    "dot": lambda a, b, i: np.dot(a, b.T),
    "outer": lambda a, b, i: np.add.outer(b[0], b[1]),
    "reduce": lambda a, b, i: np.add.reduce(a, axis=1),
    "maximum.reduce": lambda a, b, i: np.maximum.reduce(a, axis=(0, 1)),
    "accumulate": lambda a, b, i: np.add.accumulate(a, axis=2),
    "reduceat": lambda a, b, i: np.add.reduceat(a, [0, 2], axis=1),
    "real": lambda a, b, i: a.real,
    "imag": lambda a, b, i: a.imag,
    "conj": lambda a, b, i: a.conj(),
    "astype": lambda a, b, i: a.astype(np.complex128),
    "astype same": lambda a, b, i: a.astype(a.dtype, copy=False),
    "view": lambda a, b, i: a.view(np.uint8),
    "copy": lambda a, b, i: a.T.copy(),
    "zeros_like": lambda a, b, i: np.zeros_like(a),
    "full_like": lambda a, b, i: np.full_like(b, 2, dtype=np.float32),
    "like": lambda a, b, i: np.zeros((2, 2), like=a),
    "divmod": lambda a, b, i: divmod(a.real.astype(np.float32), 2.0),
    "modf": lambda a, b, i: np.modf(a.real.astype(np.float64)),
    "isclose": lambda a, b, i: np.isclose(a, b),
    "searchsorted": lambda a, b, i: np.searchsorted(np.sort(b[0]), b),
    "qr": lambda a, b, i: np.linalg.qr(b.real.astype(np.float64))[0].shape,
    "broadcast_arrays": lambda a, b, i: np.broadcast_arrays(a, b),
    "atleast": lambda a, b, i: np.atleast_1d(a.sum(), b),
    "element": lambda a, b, i: a[0, 1, 2],
    "row": lambda a, b, i: a[1],
    "slices": lambda a, b, i: a[:, ::2, 1:],
    "negative step": lambda a, b, i: a[..., ::-1],
    "new axis": lambda a, b, i: a[None, :, None, 0],
    "indexed": lambda a, b, i: a[:, i],
    "indexed list": lambda a, b, i: a[[0, 1]],
    "indexed pair": lambda a, b, i: a[[0, 1], [1, 2]],
    "indexed apart": lambda a, b, i: a[[0, 1, 1], :, i],
    "indexed number": lambda a, b, i: a[0, :, i],
    "indexed matrix": lambda a, b, i: a[:, i[:, None], i],
    "indexed zero-dimensional": lambda a, b, i: a[i[0]],
    "true": lambda a, b, i: b[True],
}  # fmt: skip


def _add(a, b, i):
    a += b
    return a


def _row(a, b, i):
    a[0] = 1
    return a


def _masked(a, b, i):
    a[a > 1] = 0
    return a


def _view(a, b, i):
    a.T[1:] *= a.dtype.type(1)
    a.reshape(-1)[3:5] = 1
    np.swapaxes(a, 0, 1)[...] = b[:, None]
    return a


def _indexed(a, b, i):
    a[:, i] = b[i]
    return a, a[1].sum()


def _out(a, b, i):
    c = np.zeros_like(a)
    np.add(a, b, out=c)
    return np.multiply(c, c, out=c, where=b > 0)


def _copyto(a, b, i):
    np.copyto(a, b[0], where=b > 0)
    return a


def _at(a, b, i):
    np.add.at(b, i, b[i])
    return b


def _along(a, b, i):
    np.put_along_axis(b, np.argmax(b, axis=1, keepdims=True), 1, axis=1)
    return b


def _fill(a, b, i):
    b[1].fill(1)
    b.sort(axis=0)
    return b


def _number(a, b, i):
    total = a.sum()
    total += b[0, 0]
    last = b[0, 1].copy()  # elsewhere than in NumPy, an element is a view
    b[0, 1] = total
    return total, last, b


WRITES = {
    "in-place operator": _add,
    "row": _row,
    "mask": _masked,
    "through views": _view,
    "indexed": _indexed,
    "out": _out,
    "copyto": _copyto,
    "at": _at,
    "put_along_axis": _along,
    "fill and sort": _fill,
    "numbers": _number,
}


def operands(dtype):
    """Arguments for the calls above."""
    return make((2, 3, 4), dtype, 1), make((3, 4), dtype, 2), np.array([2, 0, 1])


def run(function, *args, **kwargs):
    """The function's result, or the class of the error that it raises."""
    with np.errstate(all="ignore"):
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError, IndexError) as error:
            return type(error)


def is_error(value):
    return isinstance(value, type)


def leaves(result):
    """The arrays in a result, in order."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]
