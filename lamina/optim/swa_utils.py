"""Averages of models: of the weights on the way (SWA), or with exponentially falling weights (EMA).

From Izmailov et al., "Averaging weights leads to wider optima and better generalization" (2018).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

from lamina import dtypes
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.errors import InvalidValue
from lamina.nn.channel_normalization import _BatchNorm
from lamina.nn.module import Module
from lamina.ops.data import tensor
from lamina.optim.optimizer import Optimizer
from lamina.optim.schedule import LRScheduler, per_group

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverage = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise InvalidValue(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.",
            help=["how much of the average is kept in a step: 0.999 is usual"],
        )


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return the function `(average, current, count)`: `decay` of the one, the rest of the other.

    >>> import lamina
    >>> get_ema_avg_fn(0.75)(lamina.tensor(1.0), lamina.tensor(5.0), 1)
    tensor(2.)
    """
    _check_decay(decay)

    def average(average: Tensor, current: Tensor, count: Any) -> Tensor:
        with no_grad():
            return decay * average + (1 - decay) * current

    return average


def get_swa_avg_fn() -> Average:
    """Return the function `(average, current, count)` that gives the mean of one model more.

    >>> import lamina
    >>> get_swa_avg_fn()(lamina.tensor(1.0), lamina.tensor(5.0), 3)
    tensor(2.)
    """

    def average(average: Tensor, current: Tensor, count: Any) -> Tensor:
        with no_grad():
            return average + (current - average) / (count + 1)

    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """Return `get_ema_avg_fn` for lists of tensors, the averages changed in place."""
    _check_decay(decay)

    def update(averages: Sequence[Tensor], currents: Sequence[Tensor], count: Any) -> None:
        _move(averages, currents, 1 - decay)

    return update


def get_swa_multi_avg_fn() -> MultiAverage:
    """Return `get_swa_avg_fn` for lists of tensors, the averages changed in place."""

    def update(averages: Sequence[Tensor], currents: Sequence[Tensor], count: Any) -> None:
        _move(averages, currents, 1 / (count + 1))

    return update


def _move(averages: Sequence[Tensor], currents: Sequence[Tensor], share: Any) -> None:
    with no_grad():
        for average, current in zip(averages, currents, strict=True):
            if average.is_floating_point() or average.is_complex():
                weight = share.to(dtype=average.dtype) if isinstance(share, Tensor) else share
                average.lerp_(current, weight)
            else:
                average.copy_(average + (current - average) * share)


class AveragedModel(Module):
    """A copy of a model whose parameters are an average of those the model has had.

    The first `update_parameters` takes over the model's parameters, later ones average.

    Args:
        model: it is copied, and not changed.
        device: where the copy is kept; the model's for None.
        avg_fn: the new value of one parameter, from the average, the model's and the count.
        multi_avg_fn: changes a list of averages in place; without either, the mean of all.
        use_buffers: whether buffers are averaged too; else they are copied.

    Attributes:
        module: the copy.
        n_averaged: how many models were taken in; it is saved with the state.

    Raises:
        AssertionError: If both functions are given.

    Example:
        >>> import lamina
        >>> from lamina import nn
        >>> model = nn.Linear(1, 1, bias=False)
        >>> average = AveragedModel(model)
        >>> for value in (1.0, 2.0, 6.0):
        ...     _ = nn.init.constant_(model.weight, value)
        ...     average.update_parameters(model)
        >>> average.module.weight.item()
        3.0
    """

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=dtypes.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the model's present parameters in."""
        own = [value.detach() for value in self._averaged(self.module)]
        new = [
            value.detach().to(mine.device)
            for mine, value in zip(own, self._averaged(model), strict=True)
        ]
        if self.n_averaged == 0:
            for mine, value in zip(own, new, strict=True):
                mine.copy_(value)
        elif self.avg_fn is not None:
            for mine, value in zip(own, new, strict=True):
                mine.copy_(self.avg_fn(mine, value, self.n_averaged.to(mine.device)))
        else:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            for some, others in _alike(own, new):
                update(some, others, self.n_averaged.to(some[0].device))
        if not self.use_buffers:
            for mine, value in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(value.detach().to(mine.device))
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterable[Tensor]:
        if self.use_buffers:
            return itertools.chain(model.parameters(), model.buffers())
        return model.parameters()


def _alike(own: list[Tensor], new: list[Tensor]) -> Iterable[tuple[list[Tensor], list[Tensor]]]:
    """Lists of tensors of one device and dtype, which is what users' functions are given."""
    groups: dict[Any, tuple[list[Tensor], list[Tensor]]] = {}
    for mine, value in zip(own, new, strict=True):
        some, others = groups.setdefault((mine.device, mine.dtype), ([], []))
        some.append(mine)
        others.append(value)
    return groups.values()


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of all batch normalizations anew, as an averaged model needs.

    Args:
        loader: gives batches; of a list or tuple, the first entry is the input.
        model: it is called on all of them, in training mode and without recording.
        device: where inputs are moved to first.
    """
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]
    was_training = model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # the mean of all batches
    with no_grad():
        for batch in loader:
            input = batch[0] if isinstance(batch, list | tuple) else batch
            model(input if device is None else input.to(device))
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """The rate goes to `swa_lr` in some epochs, and stays there.

    Args:
        optimizer: whose rates are changed.
        swa_lr: the last rate, or one for each group.
        anneal_epochs: how many epochs the way takes.
        anneal_strategy: its form, "cos" or "linear".
        last_epoch: see `LRScheduler`.

    Raises:
        InvalidValue: If the strategy is unknown, or the number of epochs negative.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = per_group(optimizer, "swa_lr", swa_lr)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise InvalidValue(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise InvalidValue(
                f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}"
            )
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How much of the way lies behind."""
        share = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return share if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * share)) / 2

    def _rates(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            # From the current rate, since another schedule may have changed it meanwhile.
            first = group["swa_lr"]
            if before != 1:
                first = (group["lr"] - before * group["swa_lr"]) / (1 - before)
            rates.append(group["swa_lr"] * now + first * (1 - now))
        return rates
