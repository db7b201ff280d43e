"""Functions over two declared operations, of which the kind of an argument chooses one.

PyTorch's graph has one kind of node for `x % 2` and another for `x % y`; hence two declarations.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lamina import dtypes, errors
from lamina.core.call import settled
from lamina.core.fast import shown_two
from lamina.core.inplace import apply_inplace, inplace
from lamina.core.numpy_names import MISSING, again
from lamina.core.tensor import Tensor

Function = Callable[..., Any]


def by_kind_of_other(with_tensor: Function, with_number: Function, doc: str) -> Function:
    """A function of (input, other) that runs one operation for a tensor, another for a number."""

    def call(input: Any = MISSING, other: Any = MISSING, **options: Any) -> Any:
        if options or other is MISSING:
            values, out = settled(with_tensor.op, (input, other), options)  # type: ignore[attr-defined]
            chosen = with_tensor if isinstance(values[1], Tensor) else with_number
            return chosen(*values, out=out)
        return with_tensor(input, other) if isinstance(other, Tensor) else with_number(input, other)

    call.__wrapped__ = shown_two  # type: ignore[attr-defined]
    call.__module__ = with_tensor.__module__  # where `pickle` finds it
    return named(call, with_tensor.__name__, doc)


def by_kind_of_other_inplace(with_tensor: Function, with_number: Function) -> Function:
    """The in-place form of `by_kind_of_other`."""
    tensor_form, number_form = inplace(with_tensor), inplace(with_number)

    def change(self: Any, other: Any = MISSING, **numpy_names: Any) -> Any:
        if numpy_names or other is MISSING:
            return again(change, numpy_names, self, other)
        return tensor_form(self, other) if isinstance(other, Tensor) else number_form(self, other)

    return named(change, with_tensor.__name__ + "_", str(tensor_form.__doc__))


def change_by(function: Function, target: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a declared operation in place: `change_by(relu, x)` is `x.relu_()`."""
    op = function.op  # type: ignore[attr-defined]
    return apply_inplace(op, target, op.bind((target, *args), kwargs))


def checked(function: Function, check: Callable[..., None]) -> Function:
    """Run a check before an operation's kernel; not on the short way, which takes floats only."""
    op = function.op  # type: ignore[attr-defined]
    kernel = op.kernel

    @functools.wraps(kernel)
    def checked_kernel(*args: Any, **kwargs: Any) -> Any:
        check(*args)
        return kernel(*args, **kwargs)

    op.kernel = checked_kernel
    return function


def refuse(kinds: str, message: str, kind: type[Exception] = errors.DtypeError) -> Any:
    """A check that the first input is of none of NumPy's kinds of dtype (such as "bc")."""

    def check(input: Any, *others: Any) -> None:
        if input.dtype.kind in kinds:
            raise kind(message.format(dtypes.from_numpy(input.dtype)))

    return check


def named(function: Any, name: str, doc: str) -> Any:
    """A function with the name and the words that users see."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function
