"""Shape rules of products: NumPy's functions that multiply and sum."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lamina.devices.layouts import Layout, fresh
from lamina.devices.shape_rules import quietly, tiny, tiny_dtype

# Letters that an ellipsis of einsum can stand for: Greek, which no caller has used so far.
_ELLIPSIS: Final = "".join(map(chr, range(0x3B1, 0x3B1 + 24)))


def dot_rule(a: Any, b: Any) -> Layout:
    """`dot`: the last axis of the first and the second last of the second cancel."""
    first, second = np.shape(a), np.shape(b)
    dtype = tiny_dtype(np.multiply, a, b)
    if not first or not second:
        return fresh(first + second, dtype)
    at = max(len(second) - 2, 0)
    if first[-1] != second[at]:
        raise ValueError(f"shapes {first} and {second} not aligned: {first[-1]} != {second[at]}")
    return fresh(first[:-1] + second[:at] + second[at + 1 :], dtype)


def tensordot_rule(a: Layout, b: Layout, axes: Any = 2) -> Layout:
    """`tensordot`: the contracted axes cancel, and the others follow each other."""
    if isinstance(axes, int):
        axes = (list(range(a.ndim - axes, a.ndim)), list(range(axes)))
    left, right = ([axis] if isinstance(axis, int) else list(axis) for axis in axes)
    left, right = [i % a.ndim for i in left], [i % b.ndim for i in right]
    if [a.shape[i] for i in left] != [b.shape[i] for i in right]:
        raise ValueError("shape-mismatch for sum")
    kept = [n for i, n in enumerate(a.shape) if i not in left]
    kept += [n for i, n in enumerate(b.shape) if i not in right]
    return fresh(kept, tiny_dtype(np.multiply, a, b))


def einsum_rule(subscripts: str, *operands: Any, **options: Any) -> Layout:
    """Sizes follow from the letters; an ellipsis becomes letters of its own."""
    text = subscripts.replace(" ", "")
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    if not arrow:
        letters = left.replace(",", "").replace("...", "")
        output = "".join(sorted({c for c in letters if letters.count(c) == 1}))
        output = "..." + output if "..." in left else output
    extra = [
        np.ndim(operand) - len(names.replace("...", "")) if "..." in names else 0
        for names, operand in zip(inputs, operands, strict=True)
    ]
    inputs = [
        names.replace("...", _ELLIPSIS[-count:] if count else "")
        for names, count in zip(inputs, extra, strict=True)
    ]
    output = output.replace("...", _ELLIPSIS[-max(extra) :] if max(extra) else "")
    quietly(np.einsum, subscripts, *tiny(operands))
    sizes: dict[str, int] = {}
    for names, operand in zip(inputs, operands, strict=True):
        for letter, size in zip(names, np.shape(operand), strict=True):
            known = sizes.setdefault(letter, size)
            if known != size and 1 not in (size, known):
                raise ValueError(f"einsum: the sizes {known} and {size} of one letter differ")
            sizes[letter] = size if known == 1 else known
    dtype = options.get("dtype") or np.result_type(*operands)
    return fresh([sizes[letter] for letter in output], dtype)
