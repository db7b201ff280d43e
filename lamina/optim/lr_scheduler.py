"""Schedules of the learning rate: by epoch, by a function, or by how a metric goes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from lamina.errors import InvalidValue
from lamina.optim.optimizer import Optimizer
from lamina.optim.schedule import LRScheduler, per_group
from lamina.optim.schedule_chains import ChainedScheduler, SequentialLR
from lamina.optim.schedule_cycles import CosineAnnealingWarmRestarts, OneCycleLR
from lamina.optim.schedule_cyclic import CyclicLR
from lamina.optim.schedule_plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


class _LRScheduler(LRScheduler):
    """The name that older programs import, and make subclasses of."""


class _ByFunction(LRScheduler):
    """What `LambdaLR` and `MultiplicativeLR` share: one function a group, saved if it can be."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = per_group(optimizer, "lr_lambda", lr_lambda)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer; plain functions are left out, as they have none."""
        state = super().state_dict()
        del state["lr_lambdas"]
        state["lr_lambdas"] = [
            None if isinstance(function, type(lambda: None)) else dict(function.__dict__)
            for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        state = dict(state_dict)
        saved = state.pop("lr_lambdas")
        self.__dict__.update(state)
        for function, values in zip(self.lr_lambdas, saved, strict=True):
            if values is not None:
                function.__dict__.update(values)


class LambdaLR(_ByFunction):
    """The first rate times a function of the epoch.

    Args:
        optimizer: whose rates are changed.
        lr_lambda: the function, or one for each group.
        last_epoch: see `LRScheduler`.

    Example:
        >>> import lamina
        >>> optimizer = lamina.optim.SGD([lamina.ones(1, requires_grad=True)], lr=1.0)
        >>> schedule = LambdaLR(optimizer, lambda epoch: 0.5**epoch)
        >>> optimizer.step(); schedule.step()
        >>> schedule.get_last_lr()
        [0.5]
    """

    def _rates(self) -> list[Any]:
        return [
            base * function(self.last_epoch)
            for base, function in zip(self.base_lrs, self.lr_lambdas, strict=True)
        ]


class MultiplicativeLR(_ByFunction):
    """The current rate times a function of the epoch, in each epoch after the first.

    Args:
        optimizer: whose rates are changed.
        lr_lambda: the function, or one for each group.
        last_epoch: see `LRScheduler`.
    """

    def _rates(self) -> list[Any]:
        if self._is_initial:
            return self._current()
        return [
            lr * function(self.last_epoch)
            for lr, function in zip(self._current(), self.lr_lambdas, strict=True)
        ]


class StepLR(LRScheduler):
    """Multiplies the rate by `gamma` every `step_size` epochs.

    Args:
        optimizer: whose rates are changed.
        step_size: how many epochs a rate lasts.
        gamma: the factor.
        last_epoch: see `LRScheduler`.
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._current()
        return [lr * self.gamma for lr in self._current()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self.gamma ** (self.last_epoch // self.step_size) for lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiplies the rate by `gamma` at each of the given epochs.

    Args:
        optimizer: whose rates are changed.
        milestones: the epochs; one that is named twice counts twice.
        gamma: the factor.
        last_epoch: see `LRScheduler`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self.last_epoch not in self.milestones:
            return self._current()
        return [lr * self.gamma ** self.milestones[self.last_epoch] for lr in self._current()]

    def _get_closed_form_lr(self) -> list[Any]:
        passed = sum(1 for epoch in self.milestones.elements() if epoch <= self.last_epoch)
        return [lr * self.gamma**passed for lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiplies the rate by `gamma` every epoch.

    Args:
        optimizer: whose rates are changed.
        gamma: the factor.
        last_epoch: see `LRScheduler`.
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self._is_initial:
            return self._current()
        return [lr * self.gamma for lr in self._current()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self.gamma**self.last_epoch for lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """The first rate times `factor` for `total_iters` epochs, then the first rate.

    Args:
        optimizer: whose rates are changed.
        factor: between 0 and 1.
        total_iters: how many epochs it lasts.
        last_epoch: see `LRScheduler`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise InvalidValue("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._current()]
        if self.last_epoch != self.total_iters:
            return self._current()
        return [lr * (1.0 / self.factor) for lr in self._current()]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.factor if self.last_epoch < self.total_iters else 1.0
        return [lr * factor for lr in self.base_lrs]


class LinearLR(LRScheduler):
    """The first rate times a factor that goes in a line from `start_factor` to `end_factor`.

    Args:
        optimizer: whose rates are changed.
        start_factor: the factor in epoch 0, above 0 and at most 1.
        end_factor: the factor from epoch `total_iters` on, between 0 and 1.
        total_iters: how many epochs the line takes.
        last_epoch: see `LRScheduler`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise InvalidValue(
                "Starting multiplicative factor expected to be greater than 0 and at most 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise InvalidValue("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self._current()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return [lr * (1.0 + rise / before) for lr in self._current()]

    def _get_closed_form_lr(self) -> list[Any]:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * share
        return [lr * factor for lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The first rate times `(1 - epoch / total_iters)**power`, down to zero.

    Args:
        optimizer: whose rates are changed.
        total_iters: the epoch in which the rate is zero.
        power: the exponent.
        last_epoch: see `LRScheduler`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        now = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return [lr * (now / before) ** self.power for lr in self._current()]

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [lr * left**self.power for lr in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine wave from the first rate down to `eta_min` in `T_max` epochs, and up again.

        lr = eta_min + (first - eta_min) * (1 + cos(pi * epoch / T_max)) / 2

    From Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts" (2016).

    Args:
        optimizer: whose rates are changed.
        T_max: how many epochs the way down takes.
        eta_min: the least rate.
        last_epoch: see `LRScheduler`.
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        if self._is_initial:
            return self._current()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The rate before was eta_min, from which no factor leads up.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                lr + (base - self.eta_min) * rise
                for base, lr in zip(self.base_lrs, self._current(), strict=True)
            ]
        now = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        before = 1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        return [now / before * (lr - self.eta_min) + self.eta_min for lr in self._current()]

    def _get_closed_form_lr(self) -> list[Any]:
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (lr - self.eta_min) * height for lr in self.base_lrs]
