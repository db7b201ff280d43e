"""Sums over products of named dimensions: `einsum`, `tensordot`, `inner`.

All of them come down to one operation on two tensors, `contract`, whose derivatives are
contractions again. It brings the dimensions into order and multiplies matrices in batches.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.arguments import native
from lamina.core.blame.products import c_name, product_dtypes
from lamina.core.call import operation
from lamina.core.op import traced
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.product_checks import check_tensors, dot_of, legacy, refuse, stack_of

__all__ = ["einsum", "inner", "tensordot"]


def _size(shape: Sequence[int]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count


def _contract(input: Any, other: Any, first: str, second: str, result: str) -> Any:
    """`first`, `second`, `result` name dimensions by letters; a letter that is not in the result
    is summed over, and must be in both inputs."""
    order_x, order_y, order, (b, n, k) = _plan(first, second, result)
    x, y = np.transpose(input, order_x), np.transpose(other, order_y)
    outer, rows, columns = x.shape[:b], x.shape[b : b + n], y.shape[b + k :]
    depth = _size(y.shape[b : b + k])
    x = x.reshape((_size(outer), _size(rows), depth))
    y = y.reshape((_size(outer), depth, _size(columns)))
    made = dot_of(x[0], y[0]) if not b else stack_of(x, y) if depth != 1 else x * y
    return np.transpose(made.reshape((*outer, *rows, *columns)), order)


@functools.lru_cache(maxsize=4096)
def _plan(first: str, second: str, result: str) -> Any:
    """The orders that make both inputs matrices in batches, and how many dimensions are what."""
    batch = [c for c in first if c in second and c in result]
    summed = [c for c in first if c in second and c not in result]
    left = [c for c in first if c not in second]
    right = [c for c in second if c not in first]
    found = batch + left + right
    return (
        tuple(first.index(c) for c in batch + left + summed),
        tuple(second.index(c) for c in batch + summed + right),
        tuple(found.index(c) for c in result),
        (len(batch), len(left), len(summed)),
    )


contract = operation(
    "contract",
    _contract,
    tensors="input other",
    grad={
        "input": lambda F, g, other, first, second, result: F.contract(
            g, F.conj(other), result, second, first
        ),
        "other": lambda F, g, input, first, second, result: F.contract(
            g, F.conj(input), result, first, second
        ),
    },
    node_name="ViewBackward0",
    samples=lambda make: [
        sample(make(2, 3, 4), make(4, 2, 5), "bij", "jbk", "kbi"),
        sample(make(2, 3), make(4), "ij", "k", "kji"),
    ],
    doc="The sum of products of two tensors with named dimensions.",
)

# --- einsum ------------------------------------------------------------------------------------

_LETTERS = "".join(chr(code) for code in (*range(65, 91), *range(97, 123)))
# What an ellipsis stands for gets letters that no equation can use.
_HIDDEN = "".join(map(chr, range(0x3B1, 0x3B1 + 24)))


def einsum(*args: Any) -> Any:
    r"""A sum over products, written with letters for the dimensions.

    Letters that occur several times are multiplied together along that dimension; letters that are
    not in the output (after `->`) are summed over. `...` stands for any further dimensions. Lists
    of numbers may be used in place of letters: `einsum(x, [0, 1], y, [1, 2], [0, 2])`.

    >>> import lamina
    >>> x = lamina.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> lamina.einsum("ij,kj->ik", x, x)
    tensor([[ 5., 11.],
            [11., 25.]])
    >>> lamina.einsum("ii", x)
    tensor(5.)
    """
    equation, operands = _equation_of(args)
    _check_operands(operands)
    inputs, output = _parse(equation, tuple([x.ndim for x in operands]))
    terms = [_diagonals(x, names) for x, names in zip(operands, inputs, strict=True)]
    terms = _of_common_sizes(terms)
    return _ordered(*_all_contracted(terms, output), output)


def _equation_of(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The equation as text, and the operands as a list."""
    if not args:
        raise _wrong("must specify the equation string and at least one operand")
    if isinstance(args[0], str):
        operands = args[1:]
        if len(operands) == 1 and isinstance(operands[0], list | tuple):
            operands = tuple(operands[0])
        return args[0].replace(" ", ""), list(operands)
    if len(args) > 1 and not isinstance(args[1], list | tuple):
        raise errors.ArgumentTypeError(
            f"einsum(): argument 'equation' (position 1) must be str, not {type(args[0]).__name__}"
        )
    pairs = len(args) // 2
    parts = [_letters(args[2 * k + 1]) for k in range(pairs)]
    equation = ",".join(parts) + ("->" + _letters(args[-1]) if len(args) % 2 else "")
    return equation, list(args[0 : 2 * pairs : 2])


def _letters(sublist: Any) -> str:
    text = ""
    for item in sublist:
        if item is Ellipsis:
            text += "..."
        elif 0 <= item < len(_LETTERS):
            text += _LETTERS[item]
        else:
            raise _wrong("not in the range [0, 52): a number in a sublist of dimensions")
    return text


def _wrong(text: str) -> errors.InvalidArgument:
    return refuse(f"einsum(): {text}")


def _check_operands(operands: list[Any]) -> None:
    if not operands:
        raise _wrong("must provide at least one operand")
    check_tensors("einsum", *(("operands", x) for x in operands))


def _of_one_dtype(x: Any, y: Any, sums: bool) -> tuple[Any, Any]:
    """Products without a sum are promoted, as `x * y` is; sums of products need one dtype."""
    if x.dtype is y.dtype:
        return x, y
    if sums:
        text = f"expected scalar type {legacy(x)} but found {legacy(y)}"
        raise product_dtypes(text, [x, y])
    common = dtypes.promote_types(x.dtype, y.dtype).numpy
    return traced.cast_like_input(x, common), traced.cast_like_input(y, common)


@functools.lru_cache(maxsize=1024)
def _parse(equation: str, ranks: tuple[int, ...]) -> tuple[list[str], str]:
    """Letters for each dimension of each operand, and of the result."""
    left, arrow, output = equation.partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        more = "more" if len(ranks) > len(parts) else "fewer"
        raise _wrong(f"{more} operands were provided than specified in the equation")
    for c in left.replace("...", "").replace(",", "") + output.replace("...", ""):
        if c not in _LETTERS:
            raise _wrong(f"invalid subscript given: {c!r}, subscripts must be in [a-zA-Z]")
    inputs, longest = [], 0
    for k, (names, ndim) in enumerate(zip(parts, ranks, strict=True)):
        extra = ndim - len(names.replace("...", ""))
        if extra < 0 or (extra and "..." not in names):
            raise _wrong_count(k, ndim, names)
        longest = max(longest, extra)
        inputs.append(names.replace("...", _HIDDEN[:extra][::-1]))
    hidden = _HIDDEN[:longest][::-1]
    if not arrow:
        letters = left.replace("...", "").replace(",", "")
        output = "..." + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    for c in output.replace("...", ""):
        if c not in left:
            raise _wrong(
                f"output subscript {c} does not appear in the equation for any input operand"
            )
        if output.count(c) > 1:
            raise _wrong(f"output subscript {c} appears more than once in the output")
    return inputs, output.replace("...", hidden)


def _wrong_count(k: int, ndim: int, names: str) -> errors.InvalidArgument:
    has_ellipsis = "..." in names
    return _wrong(
        f"the number of subscripts in the equation ({len(names.replace('...', ''))}) "
        f"{'is more than' if has_ellipsis else 'does not match'} the number of dimensions ({ndim}) "
        f"for operand {k}" + ("" if has_ellipsis else " and no ellipsis was given")
    )


def _diagonals(x: Any, names: str) -> tuple[Any, str]:
    """A tensor in which no letter occurs twice: of those that did, the diagonal."""
    for c in dict.fromkeys(names):
        while names.count(c) > 1:
            i = names.index(c)
            j = names.index(c, i + 1)
            if x.shape[i] != x.shape[j]:
                raise _wrong(
                    f"subscript {c} is repeated for operand 0 but the sizes don't match, "
                    f"{x.shape[j]} != {x.shape[i]}"
                )
            x = traced.diagonal(x, 0, i, j)
            names = names[:i] + names[i + 1 : j] + names[j + 1 :] + c
    return x, names


def _of_common_sizes(terms: list[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Operands in which a letter has one size everywhere, or is left out where it has size 1."""
    sizes: dict[str, int] = {}
    for k, (x, names) in enumerate(terms):
        for c, size in zip(names, x.shape, strict=True):
            known = sizes.get(c, 1)
            if known not in (1, size) and size != 1:
                raise _wrong(
                    f"subscript {c} has size {size} for operand {k} which does not broadcast with "
                    f"previously seen size {known}"
                )
            sizes[c] = known if size == 1 else size
    found = []
    for x, names in terms:
        single = [i for i, c in enumerate(names) if x.shape[i] == 1 and sizes[c] != 1]
        if single:
            kept = [i for i in range(len(names)) if i not in single]
            x = traced.reshape(x, tuple(x.shape[i] for i in kept))
            names = "".join(names[i] for i in kept)
        found.append((x, names))
    return found


def _all_contracted(terms: list[tuple[Any, str]], output: str) -> tuple[Any, str]:
    """One tensor from all: two at a time, from the left, each sum as early as it can be."""
    x, names = terms[0]
    x, names = _summed(x, names, output + "".join(n for _, n in terms[1:]))
    for k, (y, other) in enumerate(terms[1:], 1):
        later = output + "".join(n for _, n in terms[k + 1 :])
        x, names = _summed(x, names, later + other)
        y, other = _summed(y, other, later + names)
        kept = "".join(c for c in dict.fromkeys(names + other) if c in later)
        kept = output if set(kept) == set(output) else kept
        x, y = _of_one_dtype(x, y, sums=not set(kept).issuperset(names + other))
        x = contract(x, y, names, other, kept)
        names = kept
    return x, names


def _summed(x: Any, names: str, wanted: str) -> tuple[Any, str]:
    """A tensor without the dimensions that nobody wants any more."""
    gone = [i for i, c in enumerate(names) if c not in wanted]
    if gone:
        x = traced.sum(x, gone)
    return x, "".join(c for c in names if c in wanted)


def _ordered(x: Any, names: str, output: str) -> Any:
    if names == output:
        return x
    return traced.permute(x, tuple(names.index(c) for c in output))


# --- forms with plainer arguments --------------------------------------------------------------


def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """The sum of products over chosen dimensions of two tensors.

    `dims` is a number (that many last dimensions of `a` and first ones of `b`), or two lists of
    dimensions. The result has the other dimensions of `a`, then those of `b`.
    """
    check_tensors("tensordot", ("a", a), ("b", b))
    left, right = _pairs(a, b, dims)
    if a.dtype is not b.dtype:
        raise product_dtypes(
            f"both inputs should have same dtype: {c_name(a.dtype)} != {c_name(b.dtype)}", [a, b]
        )
    for i, j in zip(left, right, strict=True):
        if a.shape[i] != b.shape[j] and 1 not in (a.shape[i], b.shape[j]):
            raise refuse(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} "
                f"and second has size {b.shape[j]} in dim {j}"
            )
    letters = iter(_LETTERS + _HIDDEN)
    first = [next(letters) for _ in range(a.ndim)]
    second = [next(letters) for _ in range(b.ndim)]
    for i, j in zip(left, right, strict=True):
        second[j] = first[i]
    result = [c for c in first if c not in second] + [c for c in second if c not in first]
    for i, j in zip(left, right, strict=True):
        if a.shape[i] != b.shape[j]:
            # A dimension of size 1 is repeated, which multiplies by the sum of the other.
            a = traced.sum(a, i, True) if a.shape[i] != 1 else a
            b = traced.sum(b, j, True) if b.shape[j] != 1 else b
    return into(out, contract(a, b, "".join(first), "".join(second), "".join(result)))


def _pairs(a: Any, b: Any, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise refuse(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise refuse(
                f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}", "use fewer"
            )
        return list(range(a.ndim - dims, a.ndim)), list(range(dims))
    if not isinstance(dims, list | tuple) or len(dims) != 2:
        raise refuse(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={dims!r}"
        )
    left, right = ([axis] if isinstance(axis, int) else list(axis) for axis in dims)
    if len(left) != len(right):
        raise refuse("both dimension lists should have same length")
    return [i % max(a.ndim, 1) for i in left], [j % max(b.ndim, 1) for j in right]


def into(out: Any, result: Any) -> Any:
    """The result, or `out` with the result copied into it."""
    if out is None:
        return result
    return traced.clone(result, out=out)


@native
def inner(input: Any, other: Any, *, out: Any = None) -> Any:
    r"""The sum of products over the last dimensions: $\sum_k x_{i k} y_{j k}$."""
    check_tensors("inner", ("input", input), ("other", other))
    if not input.ndim or not other.ndim:
        return into(out, input * other)
    if input.shape[-1] != other.shape[-1]:
        raise refuse(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]), out=out)
