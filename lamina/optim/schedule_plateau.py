"""A schedule that listens: the rate falls when a metric stops getting better."""

from __future__ import annotations

import math
from typing import Any

from lamina.errors import InvalidValue
from lamina.optim.optimizer import Optimizer
from lamina.optim.schedule import LRScheduler, copied, per_group, set_lr

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by `factor` when a metric has not improved for `patience` epochs.

    Args:
        optimizer: whose rates are changed.
        mode: whether "min" or "max" is better.
        factor: below 1.
        patience: how many epochs without improvement are let pass.
        threshold: what counts as improvement.
        threshold_mode: "rel" for a fraction of the best value, "abs" for a difference.
        cooldown: how many epochs after a change are not counted.
        min_lr: the least rate, or one for each group.
        eps: a change smaller than this is not made.

    Example:
        >>> import lamina
        >>> optimizer = lamina.optim.SGD([lamina.ones(1, requires_grad=True)], lr=1.0)
        >>> schedule = ReduceLROnPlateau(optimizer, patience=1)
        >>> for loss in (1.0, 1.0, 1.0):
        ...     schedule.step(loss)
        >>> optimizer.param_groups[0]["lr"]
        0.1
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise InvalidValue("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise InvalidValue(f"mode {mode} is unknown: it is 'min' or 'max'")
        if threshold_mode not in ("rel", "abs"):
            raise InvalidValue(f"threshold mode {threshold_mode} is unknown: it is 'rel' or 'abs'")
        self.optimizer = optimizer
        self.factor = factor
        self.default_min_lr = None if isinstance(min_lr, list | tuple) else min_lr
        self.min_lrs = per_group(optimizer, "min_lr", min_lr)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._current()
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self._reset()

    def _reset(self) -> None:
        """Forget what was seen."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether the rate was changed so lately that epochs are not counted."""
        return self.cooldown_counter > 0

    def is_better(self, value: float, best: float) -> bool:
        """Return whether `value` improves on `best` by more than the threshold."""
        if self.threshold_mode == "abs":
            margin = self.threshold
            return value < best - margin if self.mode == "min" else value > best + margin
        if self.mode == "min":
            return value < best * (1.0 - self.threshold)
        return value > best * (1.0 + self.threshold)

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Tell the schedule the metric of an epoch.

        Args:
            metrics: a number, or a tensor of one element.
            epoch: the number of the epoch; one more than the last when left out.
        """
        value = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value, self.best):
            self.best = value
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = [copied(lr) for lr in self._current()]

    def _reduce(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_lr(group, new)
