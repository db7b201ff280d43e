"""Filling tensors with random numbers, in place."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.inplace import check_replaced, is_filled_directly, replace_values
from lamina.core.plain_writes import note_written
from lamina.core.tensor import Tensor
from lamina.devices import CPU
from lamina.ops.draws import check_std, draw_integers, draw_like, probabilities, source_of


def _fill(self: Tensor, name: str, method: str, generator: Any, *args: Any) -> Tensor:
    array = self._array
    if is_filled_directly(self, name):
        draw = getattr(source_of(generator, CPU), method)
        draw(array.shape, array.dtype, *args, out=array)
        note_written(self)
        return self
    check_replaced(self, name)
    array = draw_like(method, generator, array, array.dtype, self.device, *args)
    return replace_values(self, array, name)


def uniform_(
    self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **old: Any
) -> Tensor:
    """Fill with uniform random numbers."""
    if old:
        from_ = old.get("from", old.get("a", from_))
        to = old.get("b", to)
    if from_ > to:
        raise errors.InvalidArgument(
            f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}",
            [(this_place(), "drawn here")],
        )
    return _fill(self, "uniform", "uniform", generator, float(from_), float(to))


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with normal random numbers."""
    check_std(std)
    method = "normal" if self._array.flags.c_contiguous else "normal_by_pairs"
    return _fill(self, "normal", method, generator, mean, std)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones and zeros, ones with probability `p`."""
    return _fill(self, "bernoulli", "chosen", generator, probabilities(p))


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with exponentially distributed numbers of rate `lambd`."""
    return _fill(self, "exponential", "exponential", generator, lambd)


def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None
) -> Tensor:
    """Fill with exponentials of normal random numbers."""
    return _fill(self, "log_normal", "log_normal", generator, mean, std)


def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None
) -> Tensor:
    """Fill with Cauchy distributed numbers."""
    return _fill(self, "cauchy", "cauchy", generator, median, sigma)


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with the number of tries up to the first success of probability `p`."""
    return _fill(self, "geometric", "geometric", generator, p)


def random_(
    self: Tensor, from_: Any = None, to: Any = None, *, generator: Any = None, **old: Any
) -> Tensor:
    """Fill with whole numbers: below `to`, from `from_` up to `to`, or over the dtype's range."""
    from_ = old.get("from", from_)
    if from_ is None and to is None:
        return _fill(self, "random", "random_full", generator)
    low, high = (0, from_) if to is None else (from_, to)
    check_replaced(self, "random")
    array = draw_integers(
        int(low), int(high), self.shape, generator, self._array.dtype, self.device
    )
    return replace_values(self, array, "random")
