"""Operations on lists of tensors, `torch._foreach_add` and its like: each tensor in turn.

PyTorch runs them as one call; optimizers written for it use them. `FOREACH` has them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.tensor import Tensor
from lamina.ops.norms import norm

__all__ = ["FOREACH"]

_UNARY: Final = """
abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg
reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
"""
_BINARY: Final = "add sub mul div pow maximum minimum clamp_max clamp_min lerp"


def _checked(name: str, tensors: Any) -> Sequence[Tensor]:
    """A list of tensors, with at least one."""
    if not isinstance(tensors, list | tuple):
        raise errors.ArgumentTypeError(
            f"{name}() takes a list or tuple of tensors first, not {type(tensors).__name__}",
            [(this_place(), "called here")],
        )
    if not tensors:
        raise errors.InvalidArgument(
            "Tensor list must have at least one tensor.", [(this_place(), "called here")]
        )
    for k, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise errors.ArgumentTypeError(
                f"expected Tensor as element {k} in argument 0, but got {type(tensor).__name__}",
                [(this_place(), "called here")],
            )
    return tensors


def _spread(value: Any, count: int) -> Sequence[Any]:
    """One value for each tensor: a list as it is, anything else repeated."""
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) != count:
        kind = "tensors" if value and isinstance(value[0], Tensor) else "scalars"
        raise errors.InvalidArgument(
            f"Tensor list must have same number of elements as scalar list. There are {count} "
            f"tensors and {len(value)} {kind}",
            [(this_place(), "called here")],
        )
    return value


def _each(name: str, apply: Callable[..., Any]) -> Callable[..., Any]:
    """The function that applies an operation to each tensor, with its share of the arguments."""

    def call(self: Any, *others: Any, **kwargs: Any) -> Any:
        tensors = _checked(name, self)
        rows = zip(tensors, *(_spread(other, len(tensors)) for other in others), strict=True)
        made = tuple([apply(*row, **kwargs) for row in rows])
        return self if name.endswith("_") else made

    call.__name__ = call.__qualname__ = name
    call.__module__ = "lamina"  # whose `__getattr__` finds it
    call.__doc__ = f"`{name.removeprefix('_foreach_')}` of each tensor of a list."
    return call


def _method(name: str) -> Callable[..., Any]:
    return lambda tensor, *others, **kwargs: getattr(tensor, name)(*others, **kwargs)


def _bounded(name: str) -> Callable[..., Any]:
    """`maximum` and `minimum` take numbers too, here."""
    clamp = {"maximum": "clamp_min", "minimum": "clamp_max"}

    def apply(tensor: Tensor, other: Any) -> Any:
        stem, end = name.rstrip("_"), name[len(name.rstrip("_")) :]
        if isinstance(other, Tensor) and not end:
            return getattr(tensor, stem)(other)
        return getattr(tensor, clamp[stem] + end)(other)

    return apply


def _scaled(name: str) -> Callable[..., Any]:
    """`addcmul` and `addcdiv`, whose factors may come as a list or as one tensor."""
    full = f"_foreach_{name}"

    def call(self: Any, tensor1: Any, tensor2: Any, value: Any = 1, **given: Any) -> Any:
        factors = given.get("scalars", value)
        if isinstance(factors, Tensor):
            factors = factors.tolist()
        tensors = _checked(full, self)
        lists = [_spread(other, len(tensors)) for other in (tensor1, tensor2, factors)]
        made = tuple(
            [
                getattr(tensor, name)(first, second, value=factor)
                for tensor, first, second, factor in zip(tensors, *lists, strict=True)
            ]
        )
        return self if name.endswith("_") else made

    call.__name__ = call.__qualname__ = full
    call.__module__ = "lamina"  # whose `__getattr__` finds it
    call.__doc__ = f"`{name}` of each tensor of a list."
    return call


def _power(self: Any, exponent: Any) -> Any:
    """`pow` of each tensor of a list; of a number, to the power of each."""
    if isinstance(self, list | tuple):
        return _each("_foreach_pow", _method("pow"))(self, exponent)
    return tuple([self**tensor for tensor in _checked("_foreach_pow", exponent)])


def _norm(tensor: Tensor, ord: Any = 2, dtype: Any = None) -> Any:
    return norm(tensor, ord, dtype=dtype)


def _all() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for stem in (_UNARY + _BINARY).split():
        for name in (stem, stem + "_"):
            apply = _bounded(name) if stem in ("maximum", "minimum") else _method(name)
            found["_foreach_" + name] = _each("_foreach_" + name, apply)
    for name in ("clone", "copy_", "max", "mm", "zero_"):
        found["_foreach_" + name] = _each("_foreach_" + name, _method(name))
    for name in ("addcmul", "addcmul_", "addcdiv", "addcdiv_"):
        found["_foreach_" + name] = _scaled(name)
    found["_foreach_pow"] = _power
    found["_foreach_norm"] = _each("_foreach_norm", _norm)
    return found


FOREACH: Final = _all()
