"""Random numbers, in PyTorch's own CPU stream: the same seed gives the same numbers, everywhere.

A tensor on another device gets the numbers that the CPU would have drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, final

import numpy as np

from lamina import dtypes, errors
from lamina.core import generator as streams
from lamina.core.arguments import takes_tensors
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.inplace import replace_values
from lamina.core.modes import door
from lamina.core.op import ZERO
from lamina.core.streams import restore, seed_all, states, stream_of
from lamina.core.tensor import Tensor
from lamina.devices import (
    CPU,
    backend_of,
    current_recorder,
    device,
    device_of,
    to_device,
)
from lamina.devices.layouts import fresh
from lamina.ops.creation import place_of_device, settle, size_of

__all__ = [
    "Generator", "bernoulli", "default_generator", "fork_rng", "get_rng_state", "initial_seed",
    "manual_seed", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like",
    "randn", "randn_like", "randperm", "seed", "set_rng_state",
]  # fmt: skip


@final
class Generator:
    """A source of random numbers of its own, with a seed and a state.

    >>> import lamina
    >>> first = lamina.rand(2, generator=lamina.Generator().manual_seed(1))
    >>> bool((first == lamina.rand(2, generator=lamina.Generator().manual_seed(1))).all())
    True
    """

    def __init__(self, device: Any = "cpu", stream: streams.Generator | None = None) -> None:
        self.device = place_of_device(device)
        self.stream = streams.Generator() if stream is None else stream

    def manual_seed(self, seed: int) -> Generator:
        """Start over from a seed; returns the generator."""
        self.stream.manual_seed(seed)
        return self

    def seed(self) -> int:
        """Start over from a seed that nobody knows yet; returns it."""
        return self.stream.seed()

    def initial_seed(self) -> int:
        """The seed that the generator last started from."""
        return self.stream.initial_seed()

    def get_state(self) -> Tensor:
        """The state as a tensor of 5056 bytes, in PyTorch's layout."""
        return settle(self.stream.get_state(), "get_state")

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from a state that `get_state` gave."""
        if not isinstance(new_state, Tensor):
            raise errors.ArgumentTypeError(
                f"expected a torch.ByteTensor, but got {type(new_state).__name__}"
            )
        self.stream.set_state(to_device(new_state._array, CPU))
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        return Generator(self.device, self.stream.clone())


default_generator: Final = Generator(stream=streams.default_generator)


def manual_seed(seed: int) -> Generator:
    """Seed the default generators of all devices; returns the CPU's."""
    seed_all(seed)
    return default_generator


def seed() -> int:
    """Seed the default generators of all devices from the system; returns the seed."""
    found = default_generator.seed()
    seed_all(found)
    return found


def initial_seed() -> int:
    """The seed that the default generator last started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the default generator's state."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Any = None, enabled: bool = True, device_type: str = "cuda"
) -> Iterator[None]:
    """A block that leaves the default generators as they were before."""
    state = states() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            restore(state)


# --- drawing -------------------------------------------------------------------------------------


def draw(method: str, generator: Any, shape: Sequence[int], kind: Any, place: device, *args: Any) -> Any:
    """An array of random numbers: the stream's `method(shape, kind, *args)`, on a device."""
    function = getattr(source_of(generator, place), method)
    shape = tuple(shape)
    if door.is_watched and (recorder := current_recorder()) is not None:
        return recorder.call(function, (shape, kind, *args), {}, fresh(shape, kind), place)
    if place.type == "meta":
        return backend_of(place).empty(shape, kind)
    array = function(shape, kind, *args)
    return array if place is CPU else backend_of(place).constant(array)


def source_of(generator: Any, place: device) -> streams.Generator:
    """The stream for numbers on a device: a generator's, which must be of that kind of device."""
    if generator is None:
        return stream_of(place)
    if generator.device.type != place.type and place.type != "meta":
        raise errors.InvalidDevice(
            f"Expected a '{place.type}' device type for generator but found "
            f"'{generator.device.type}'",
            [(this_place(), "drawn here")],
            [f"make it on that device: torch.Generator(device={place.type!r})"],
        )
    found: streams.Generator = generator.stream
    return found


def _kind(dtype: Any) -> Any:
    return (dtypes.get_default_dtype() if dtype is None else dtype).numpy


def _make(
    name: str, method: str, size: Any, generator: Any, dtype: Any, device: Any, requires_grad: bool,
    out: Any,
) -> Tensor:  # fmt: skip
    if out is not None:
        dtype = out.dtype
    array = draw(method, generator, size_of(size), _kind(dtype), place_of_device(device))
    if out is not None:
        out.resize_(array.shape)
        replace_values(out, array, name)
        result: Tensor = out
        return result
    return settle(array, name, requires_grad)


def rand(
    *size: Any, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Uniform random numbers from 0 up to, not including, 1.

    >>> import lamina
    >>> _ = lamina.manual_seed(0)
    >>> lamina.rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    """
    return _make("rand", "uniform", size, generator, dtype, device, requires_grad, out)


def randn(
    *size: Any, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Random numbers of the normal distribution with mean 0 and variance 1."""
    return _make("randn", "normal", size, generator, dtype, device, requires_grad, out)


@takes_tensors
def rand_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None, generator: Any = None,
) -> Tensor:  # fmt: skip
    """Like `rand`, with the shape, dtype and device of a tensor."""
    return _make(
        "rand_like", "uniform", (input.shape,), generator, dtype or input.dtype,
        device or input.device, requires_grad, None,
    )  # fmt: skip


@takes_tensors
def randn_like(
    input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None, generator: Any = None,
) -> Tensor:  # fmt: skip
    """Like `randn`, with the shape, dtype and device of a tensor."""
    return _make(
        "randn_like", "normal", (input.shape,), generator, dtype or input.dtype,
        device or input.device, requires_grad, None,
    )  # fmt: skip


def _integers(low: int, high: int, size: Any, generator: Any, kind: Any, place: device) -> Any:
    if low >= high:
        raise errors.InvalidArgument(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}",
            [(this_place(), "drawn here")],
            ["`high` is not included: give at least low + 1"],
        )
    return draw("whole", generator, size_of((size,)), kind, place, low, high)


def randint(
    low: Any = 0, high: Any = None, size: Any = None, *, generator: Any = None, out: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Random whole numbers from `low` up to, not including, `high`.

    Call forms: `randint(high, size)` and `randint(low, high, size)`.
    """
    if size is None or isinstance(high, list | tuple):
        low, high, size = (0, low, high if size is None else size)
    kind = (dtypes.int64 if dtype is None else dtype).numpy
    array = _integers(int(low), int(high), tuple(size), generator, kind, place_of_device(device))
    if out is not None:
        replace_values(out, array, "randint")
        result: Tensor = out
        return result
    return settle(array, "randint", requires_grad)


@takes_tensors
def randint_like(
    input: Tensor, low: Any = 0, high: Any = None, *, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Like `randint`, with the shape, dtype and device of a tensor."""
    low, high = (0, low) if high is None else (low, high)
    place = input.device if device is None else place_of_device(device)
    kind = (dtype or input.dtype).numpy
    array = _integers(int(low), int(high), tuple(input.shape), None, kind, place)
    return settle(array, "randint_like", requires_grad)


def randperm(
    n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The numbers from 0 to n - 1 in random order."""
    if n < 0:
        raise errors.InvalidArgument(f"n must be non-negative, got {n}", help=["give a count of 0 or more"])
    kind = (dtypes.int64 if dtype is None else dtype).numpy
    array = draw("shuffled", generator, (n,), kind, place_of_device(device))
    if out is not None:
        out.resize_(array.shape)
        replace_values(out, array, "randperm")
        result: Tensor = out
        return result
    return settle(array, "randperm", requires_grad)


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Random numbers of normal distributions with given means and standard deviations."""
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        array = draw("normal", generator, size_of((size,)), _kind(dtype), place_of_device(device), float(mean), float(std))
        return settle(array, "normal", requires_grad)
    _check_std(std)
    result = _normal_around(mean, std, generator)
    if out is not None:
        out.resize_(result.shape).copy_(result.detach())
        return out  # type: ignore[no-any-return]
    return result  # type: ignore[no-any-return]


def _normal_kernel(mean: Any, std: Any, generator: Any) -> Any:
    model = mean if hasattr(mean, "dtype") else std
    shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
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


def _check_std(std: Any) -> None:
    low = std._array.min() if isinstance(std, Tensor) and std._array.size else getattr(std, "size", std)
    if not isinstance(low, int | float | np.generic):
        return
    if low < 0:
        raise errors.InvalidArgument(
            f"normal expects all elements of std >= 0.0, but found {low}",
            [(this_place(), "drawn here")],
            ["a standard deviation is not negative"],
        )


def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """Ones and zeros: each element is 1 with the probability that the input gives (or `p`)."""
    chance = input if p is None else p
    _probabilities(chance)
    result = _bernoulli_like(input, chance if p is not None else None, generator)
    if out is not None:
        replace_values(out, result._array, "bernoulli")
        return out  # type: ignore[no-any-return]
    return result  # type: ignore[no-any-return]


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


def _probabilities(p: Any) -> Any:
    """Probabilities as a host array or a float; anything outside 0..1 raises."""
    if not isinstance(p, Tensor):
        chance: Any = float(p)
        bad = not 0 <= chance <= 1
    elif p.is_meta:
        return 0.5
    else:
        chance = to_device(p._array, CPU)
        bad = bool(((chance < 0) | (chance > 1) | (chance != chance)).any())
    if bad:
        raise errors.InvalidArgument(
            f"bernoulli expects p >= 0 and p <= 1, got {p}" if not isinstance(p, Tensor)
            else "Expected p_in >= 0 && p_in <= 1 to be true: a probability is outside 0..1",
            [(this_place(), "drawn here")],
            ["pass probabilities, for example torch.sigmoid(logits)"],
        )  # fmt: skip
    return chance


@takes_tensors
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None,
    out: Any = None,
) -> Tensor:  # fmt: skip
    """Indices drawn with probabilities proportional to the input's elements, row by row."""
    weights = to_device(input._array, CPU)
    try:
        source = source_of(generator, input.device)
        array = source.multinomial(weights, num_samples, replacement)
    except (ValueError, RuntimeError) as error:
        raise errors.InvalidArgument(str(error), [(this_place(), "drawn here")]) from None
    return settle(to_device(array, input.device), "multinomial")


@takes_tensors
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Random counts of Poisson distributions with the input's elements as rates."""
    source = source_of(generator, input.device)
    seeds = source.integers(0, 2**31, (4,), np.int64)
    rates = to_device(input._array, CPU)
    counts = np.random.Generator(np.random.PCG64(seeds.tolist())).poisson(rates.astype(np.float64))
    return settle(to_device(np.asarray(counts, rates.dtype), input.device), "poisson")


# --- filling in place ------------------------------------------------------------------------------


def _fill(self: Tensor, name: str, method: str, generator: Any, *args: Any) -> Tensor:
    array = draw(method, generator, self.shape, self._array.dtype, self.device, *args)
    return replace_values(self, array, name)


def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **old: Any) -> Tensor:
    """Fill with uniform random numbers."""
    from_ = old.get("from", old.get("a", from_))
    to = old.get("b", to)
    if from_ > to:
        raise errors.InvalidArgument(
            f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}",
            [(this_place(), "drawn here")],
        )
    return _fill(self, "uniform", "uniform", generator, from_, to)


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with normal random numbers."""
    _check_std(std)
    return _fill(self, "normal", "normal", generator, mean, std)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones and zeros, ones with probability `p`."""
    return _fill(self, "bernoulli", "chosen", generator, _probabilities(p))


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with exponentially distributed numbers of rate `lambd`."""
    return _fill(self, "exponential", "exponential", generator, lambd)


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    """Fill with exponentials of normal random numbers."""
    return _fill(self, "log_normal", "log_normal", generator, mean, std)


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with Cauchy distributed numbers."""
    return _fill(self, "cauchy", "cauchy", generator, median, sigma)


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with the number of tries up to the first success of probability `p`."""
    return _fill(self, "geometric", "geometric", generator, p)


def random_(self: Tensor, from_: Any = None, to: Any = None, *, generator: Any = None, **old: Any) -> Tensor:
    """Fill with whole numbers: below `to`, from `from_` up to `to`, or over the dtype's range."""
    from_ = old.get("from", from_)
    if from_ is None and to is None:
        return _fill(self, "random", "random_full", generator)
    low, high = (0, from_) if to is None else (from_, to)
    array = _integers(int(low), int(high), tuple(self.shape), generator, self._array.dtype, self.device)
    return replace_values(self, array, "random")
