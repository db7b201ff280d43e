"""`vmap`: a function of one sample becomes a function of many.

The function runs once, on tensors that show one sample and hold all (`devices.batched`). If it asks
for what only one sample can answer, such as `if x.sum() > 0`, it runs again, sample by sample.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import lamina.devices.batch_table
import lamina.ops.batched_kernels  # noqa: F401  (both fill the table of rules)
from lamina.core.batches import Mapping, lift_tensor, running
from lamina.core.op import traced
from lamina.core.streams import stream_of
from lamina.core.tensor import Tensor, wrap
from lamina.devices import CPU
from lamina.devices.batched import Batch, NeedsSamples, batches_of, differs_in
from lamina.func import loops
from lamina.func import mapping_checks as checks
from lamina.ops import batching
from lamina.utils._pytree import PyTreeSpec, tree_flatten, tree_unflatten

__all__ = ["vmap"]

Function = Callable[..., Any]
Dims = Any


class _Call(NamedTuple):
    """One call of a mapped function: its leaves, which dimension of each holds the samples."""

    func: Function
    leaves: list[Any]
    dims: list[int | None]
    spec: PyTreeSpec
    kwargs: dict[str, Any]
    out_dims: Dims
    randomness: str
    size: int

    def run(self, leaves: Sequence[Any]) -> tuple[list[Any], PyTreeSpec]:
        """The leaves of what the function returns for these arguments."""
        outputs = self.func(*tree_unflatten(leaves, self.spec), **self.kwargs)
        found, spec = tree_flatten(outputs)
        return found, spec


def vmap(
    func: Function,
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Function:
    r"""A function that applies `func` to many samples at once: $y_i = f(x_i)$.

    Args:
        func: Takes tensors (or nests of them) of one sample, and returns tensors or nests of them.
        in_dims: Which dimension of each argument holds the samples, None for an argument that is
            the same for all: one number for all arguments, or a nest like that of the arguments.
        out_dims: Which dimension of each result shall hold the samples; None for a result that is
            the same for all.
        randomness: What random operations do: "error" raises, "different" draws numbers for each
            sample, "same" draws once.
        chunk_size: Map over at most so many samples at a time, to save memory.

    The function may do what has no answer for all samples at once (`if x.sum() > 0`, `.item()`, a
    mask as an index, a write into a fresh tensor): then it runs again from the start, once for each
    sample, and what the first run wrote is put back. Anything it does to objects other than tensors
    is then done again.

    Raises:
        InvalidValue: (ValueError) Where `in_dims` or `out_dims` do not fit what is mapped.
        InvalidArgument: (RuntimeError) For a random operation under `randomness="error"`.

    >>> import lamina
    >>> from lamina.func import vmap
    >>> x, y = lamina.ones(3, 2), lamina.tensor([1.0, 2.0])
    >>> vmap(lamina.dot, in_dims=(0, None))(x, y)
    tensor([3., 3., 3.])
    """
    checks.check_options(randomness, chunk_size)

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten(args)
        dims = checks.checked_in_dims(func, in_dims, args, leaves, spec)
        size = checks.batch_size(func, leaves, dims)
        call = _Call(func, leaves, dims, spec, kwargs, out_dims, randomness, size)
        if chunk_size is None or chunk_size >= size:
            return _mapped(call)
        return _in_chunks(call, chunk_size)

    return mapped


def _in_chunks(call: _Call, chunk_size: int) -> Any:
    """Map over parts of the samples, one after another, and bring the results together."""
    stream = stream_of(CPU)
    before = stream.get_state() if call.randomness == "same" else None
    columns: list[list[Any]] = []
    for start in range(0, call.size, chunk_size):
        size = min(chunk_size, call.size - start)
        leaves = [
            leaf if dim is None else leaf.narrow(dim, start, size)
            for leaf, dim in zip(call.leaves, call.dims, strict=True)
        ]
        if before is not None:
            stream.set_state(before)
        found, spec = tree_flatten(_mapped(call._replace(leaves=leaves, size=size)))
        columns.append(found)
    dims = checks.checked_out_dims(call.func, call.out_dims, columns[0], spec)
    joined = [
        parts[0] if dim is None else traced.cat(list(parts), dim)
        for dim, parts in zip(dims, zip(*columns, strict=True), strict=True)
    ]
    return tree_unflatten(joined, spec)


def _mapped(call: _Call) -> Any:
    if call.size == 0:
        return _of_no_samples(call)
    stream = stream_of(CPU)
    before = None if call.randomness == "error" else stream.get_state()
    mapping = Mapping(call.size, call.randomness, Batch(call.size))
    try:
        return _all_at_once(call, mapping)
    except NeedsSamples as need:
        loops.tell(call.func, call.size, need)
        mapping.undo()
        if before is not None:
            stream.set_state(before)
    return _one_by_one(call)


# --- all samples at once -------------------------------------------------------------------------


def _all_at_once(call: _Call, mapping: Mapping) -> Any:
    batch = mapping.batch
    assert batch is not None
    with running(mapping):
        leaves = [
            leaf if dim is None else batching.enter_batch(leaf, batch, dim)
            for leaf, dim in zip(call.leaves, call.dims, strict=True)
        ]
        outputs, spec = call.run(leaves)
        dims = checks.checked_out_dims(call.func, call.out_dims, outputs, spec)
        results = [
            _result(call, output, dim, batch) for output, dim in zip(outputs, dims, strict=True)
        ]
    return tree_unflatten(results, spec)


def _result(call: _Call, output: Any, dim: int | None, batch: Batch) -> Any:
    """An output with the samples along a dimension."""
    if dim is None:
        if not isinstance(output, Tensor) or batch not in batches_of(output._array):
            return output
        if differs_in(output._array, batch):
            raise checks.batched_without_dim(call.func)
        return traced.select(batching.leave_batch(output, batch, 0), 0, 0)
    output = lift_tensor(output, [batch])
    return batching.leave_batch(output, batch, checks.out_dim(dim, output.ndim))


# --- one after another ---------------------------------------------------------------------------


def _one_by_one(call: _Call) -> Any:
    rows: list[list[Any]] = []
    first: PyTreeSpec | None = None
    with running(Mapping(call.size, call.randomness, None)):
        for leaves in _samples(call):
            outputs, spec = call.run(leaves)
            if first is not None and spec != first:
                raise checks.changing_structure(call.func, first, spec)
            first = spec
            rows.append(outputs)
    assert first is not None
    dims = checks.checked_out_dims(call.func, call.out_dims, rows[0], first)
    columns = zip(*rows, strict=True)
    joined = [_joined(call, list(c), dim) for c, dim in zip(columns, dims, strict=True)]
    return tree_unflatten(joined, first)


def _samples(call: _Call) -> Iterator[list[Any]]:
    """The arguments of one sample after another."""
    stream = stream_of(CPU)
    before = stream.get_state() if call.randomness == "same" else None
    for number in range(call.size):
        if before is not None:
            stream.set_state(before)
        yield [
            leaf if dim is None else traced.select(leaf, dim, number)
            for leaf, dim in zip(call.leaves, call.dims, strict=True)
        ]


def _joined(call: _Call, outputs: list[Any], dim: int | None) -> Any:
    if dim is None:
        for output in outputs[1:]:
            if isinstance(output, Tensor) and not _is_alike(output, outputs[0]):
                raise checks.batched_without_dim(call.func)
        return outputs[0]
    shapes = [output.shape for output in outputs]
    if any(shape != shapes[0] for shape in shapes):
        raise checks.ragged(call.func, shapes)
    return traced.stack(outputs, checks.out_dim(dim, outputs[0].ndim))


def _is_alike(output: Tensor, other: Tensor) -> bool:
    return output is other or np.array_equal(output._array, other._array, equal_nan=True)


def _of_no_samples(call: _Call) -> Any:
    """The results for no samples: their shapes are those for one sample of zeros."""
    leaves = [
        leaf if dim is None else _with_one_sample(leaf, dim)
        for leaf, dim in zip(call.leaves, call.dims, strict=True)
    ]
    found, spec = tree_flatten(_mapped(call._replace(leaves=leaves, size=1)))
    dims = checks.checked_out_dims(call.func, call.out_dims, found, spec)
    return tree_unflatten(
        [
            output if dim is None else output.narrow(checks.out_dim(dim, output.ndim - 1), 0, 0)
            for output, dim in zip(found, dims, strict=True)
        ],
        spec,
    )


def _with_one_sample(leaf: Tensor, dim: int) -> Tensor:
    shape = (*leaf.shape[:dim], 1, *leaf.shape[dim + 1 :])
    return wrap(np.zeros_like(leaf._array, shape=shape), None)
