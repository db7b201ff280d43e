"""Random numbers, in PyTorch's own CPU stream: the same seed gives the same numbers, everywhere.

A tensor on another device gets the numbers that the CPU would have drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lamina import dtypes, errors
from lamina.codegen.later import Later
from lamina.core import generator as streams
from lamina.core.arguments import native, takes_tensors
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.generator_math import NotChances
from lamina.core.inplace import replace_values
from lamina.core.modes import door, state
from lamina.core.op import ZERO
from lamina.core.tensor import Tensor
from lamina.devices import CPU, device_of, to_device
from lamina.ops.draws import (
    check_draws_alike,
    check_std,
    draw,
    draw_for,
    draw_integers,
    draw_like,
    no_chances,
    probabilities,
    source_of,
)
from lamina.ops.generators import (
    Generator,
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
    thread_safe_generator,
)
from lamina.ops.making import given_size, place_of_device, settle, size_of

if TYPE_CHECKING:
    from lamina.core import count_draws
else:
    count_draws = Later("lamina.core.count_draws")

__all__ = [
    "Generator", "bernoulli", "binomial", "default_generator", "fork_rng", "get_rng_state",
    "initial_seed", "manual_seed", "multinomial", "normal", "poisson", "rand", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "randperm", "seed", "set_rng_state",
    "thread_safe_generator",
]  # fmt: skip


def _kind(dtype: Any) -> Any:
    return (dtypes.get_default_dtype() if dtype is None else dtype).numpy


def _make(
    name: str, method: str, size: Any, generator: Any, dtype: Any, device: Any, requires_grad: bool,
    out: Any,
) -> Tensor:  # fmt: skip
    kind = _kind(dtype if out is None else out.dtype)
    array = draw(method, generator, size_of(size), kind, place_of_device(device))
    return _delivered(array, name, requires_grad, out)


def _delivered(array: Any, name: str, requires_grad: bool, out: Any) -> Tensor:
    """The random numbers as a new leaf, or in `out`, which takes their shape."""
    if out is None:
        return settle(array, name, requires_grad)
    out.resize_(array.shape)
    return replace_values(out, array, name)


def rand(
    *sizes: Any, size: Any = None, generator: Any = None, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Uniform random numbers from 0 up to, not including, 1.

    >>> import lamina
    >>> _ = lamina.manual_seed(0)
    >>> lamina.rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    """
    sizes = given_size("rand", sizes, size)
    return _make("rand", "uniform", sizes, generator, dtype, device, requires_grad, out)


def randn(
    *sizes: Any, size: Any = None, generator: Any = None, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Random numbers of the normal distribution with mean 0 and variance 1."""
    sizes = given_size("randn", sizes, size)
    return _make("randn", "normal", sizes, generator, dtype, device, requires_grad, out)


@native
def rand_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None, generator: Any = None,
) -> Tensor:  # fmt: skip
    """Like `rand`, with the shape, dtype and device of a tensor."""
    kind, place = _kind(dtype or input.dtype), place_of_device(device or input.device)
    array = draw_like("uniform", generator, input._array, kind, place)
    return settle(array, "rand_like", requires_grad)


@native
def randn_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None, generator: Any = None,
) -> Tensor:  # fmt: skip
    """Like `randn`, with the shape, dtype and device of a tensor."""
    method = "normal" if input._array.flags.c_contiguous else "normal_by_pairs"
    kind, place = _kind(dtype or input.dtype), place_of_device(device or input.device)
    array = draw_like(method, generator, input._array, kind, place)
    return settle(array, "randn_like", requires_grad)


def randint(
    low: Any = 0, high: Any = None, size: Any = None, *, generator: Any = None, out: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Random whole numbers from `low` up to, not including, `high`.

    Call forms: `randint(high, size)` and `randint(low, high, size)`.
    """
    if high is None or size is None or isinstance(high, list | tuple):
        low, high, size = (0, low, high if size is None else size)
    kind = (dtypes.int64 if dtype is None else dtype).numpy
    shape, place = size_of((tuple(size),)), place_of_device(device)
    array = draw_integers(int(low), int(high), shape, generator, kind, place)
    return _delivered(array, "randint", requires_grad, out)


@native
def randint_like(
    input: Tensor, low: Any = 0, high: Any = None, *, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Like `randint`, with the shape, dtype and device of a tensor."""
    low, high = (0, low) if high is None else (low, high)
    place = input.device if device is None else place_of_device(device)
    kind = (dtype or input.dtype).numpy
    array = draw_integers(int(low), int(high), input.shape, None, kind, place)
    return settle(array, "randint_like", requires_grad)


def randperm(
    n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The numbers from 0 to n - 1 in random order."""
    if n < 0:
        raise errors.InvalidArgument(
            f"n must be non-negative, got {n}", help=["give a count of 0 or more"]
        )
    kind = (dtypes.int64 if dtype is None else dtype).numpy
    array = draw("shuffled", generator, (n,), kind, place_of_device(device))
    return _delivered(array, "randperm", requires_grad, out)


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Random numbers of normal distributions with given means and standard deviations."""
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        kind = _kind(dtype if out is None else out.dtype)
        shape, place = size_of((size,)), place_of_device(device)
        array = draw("normal", generator, shape, kind, place, float(mean), float(std))
        return _delivered(array, "normal", requires_grad, out)
    check_std(std)
    result: Tensor = _normal_around(mean, std, generator)
    return result if out is None else _delivered(result._array, "normal", False, out)


def _normal_kernel(mean: Any, std: Any, generator: Any) -> Any:
    model = mean if hasattr(mean, "dtype") else std
    shape, other = np.shape(mean), np.shape(std)
    if shape != other:
        shape = np.broadcast_shapes(shape, other)
    noise = draw("normal", generator, shape, model.dtype, device_of(model))
    return noise * std + mean


def _nothing_for(F: Any, g: Any, shape: Any) -> Any:
    """A draw does not depend on its parameters differentiably: their gradients are zero."""
    return F.sum_to_size(F.zeros_like(g), shape)


_normal_around = operation(
    "normal_around",
    _normal_kernel,
    tensors="#mean #std",
    grad={
        "mean": lambda F, g, mean_shape: _nothing_for(F, g, mean_shape),
        "std": lambda F, g, std_shape: _nothing_for(F, g, std_shape),
    },
    node_name="NormalBackward0",
    doc="Normal random numbers around given means, with given standard deviations.",
)


@native
def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """Ones and zeros: each element is 1 with the probability that the input gives (or `p`)."""
    if p is not None and not isinstance(p, Tensor):
        p = probabilities(p)
    try:
        result: Tensor = _bernoulli_like(input, p, generator)
    except NotChances:
        raise no_chances(input if p is None else p) from None
    return result if out is None else _delivered(result._array, "bernoulli", False, out)


def _bernoulli_kernel(input: Any, p: Any, generator: Any) -> Any:
    chance = input if p is None else getattr(p, "_array", p)
    if hasattr(chance, "dtype"):
        chance = to_device(chance, CPU) if device_of(chance).type != "meta" else 0.5
    return draw("chosen", generator, input.shape, input.dtype, device_of(input), chance)


_bernoulli_like = operation(
    "bernoulli_like",
    _bernoulli_kernel,
    grad={"input": ZERO},
    node_name="BernoulliBackward0",
    halves_in_float=False,
    doc="Ones and zeros, drawn with the probabilities that the input holds.",
)


@native
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None,
    out: Any = None,
) -> Tensor:  # fmt: skip
    """Indices drawn with probabilities proportional to the input's elements, row by row."""
    if door.is_watched and state.mappings:
        check_draws_alike(input._array)
    weights = to_device(input._array, CPU)
    try:
        source = source_of(generator, input.device)
        array = source.multinomial(weights, num_samples, replacement)
    except (ValueError, RuntimeError) as error:
        raise errors.InvalidArgument(str(error), [(this_place(), "drawn here")]) from None
    return _delivered(to_device(array, input.device), "multinomial", False, out)


@native
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Random counts of Poisson distributions with the input's elements as rates."""
    array = draw_for(generator, _counts_for, input._array)
    return settle(array, "poisson")


def _counts_for(stream: streams.Generator, rates: Any) -> Any:
    """Poisson counts for a host array of rates."""
    if rates.dtype.kind not in "fV":
        raise errors.NotImplementedForDtype(
            f"\"poisson_cpu\" not implemented for '{rates.dtype.name}'",
            [(this_place(), "drawn here")],
            ["give rates as floating-point numbers"],
        )
    if not (rates >= 0).all():
        raise errors.InvalidArgument(
            "invalid Poisson rate, expected rate to be non-negative", [(this_place(), "drawn here")]
        )
    return count_draws.poisson(stream, rates)


@takes_tensors
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Random counts of successes in `count` tries, each with probability `prob`.

    Args:
        count: Numbers of tries, floating-point.
        prob: Probabilities of the same dtype, in a shape that broadcasts.
        generator: The stream; that of the device if None.

    Raises:
        InvalidValue: Counts that are no floating-point numbers.
        InvalidArgument: Different dtypes.
    """
    if not count.is_floating_point():
        raise errors.InvalidValue(
            f"binomial only supports floating-point dtypes for count, got: {count.dtype}",
            [(this_place(), "drawn here")],
        )
    if count.dtype is not prob.dtype:
        raise errors.InvalidArgument(
            f"Found dtype {prob.dtype} but expected {count.dtype}: count and prob must be alike",
            [(this_place(), "drawn here")],
        )
    counts, chances = np.broadcast_arrays(count._array, prob._array)
    return settle(draw_for(generator, count_draws.binomial, counts, chances), "binomial")
