"""Schedules that go up and down: one cycle, and cosines with restarts."""

from __future__ import annotations

import math
from typing import Any, TypedDict

from lamina.errors import InvalidValue
from lamina.optim.optimizer import Optimizer
from lamina.optim.schedule import LRScheduler, per_group
from lamina.optim.schedule_momentum import MomentumScheduler

__all__ = ["CosineAnnealingWarmRestarts", "OneCycleLR"]


class _Phase(TypedDict):
    """A stretch of the cycle: where it ends, and which settings it leads from and to."""

    end_step: float
    start_lr: str
    end_lr: str
    start_momentum: str
    end_momentum: str


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _line(start: float, end: float, share: float) -> float:
    return (end - start) * share + start


class OneCycleLR(MomentumScheduler):
    """One rise from a low rate to `max_lr` and a fall to far below the start; one step a batch.

    Momentum (or Adam's first beta) goes the opposite way. From Smith and Topin, "Super-convergence"
    (2017).

    Args:
        optimizer: whose rates are changed.
        max_lr: the greatest rate, or one for each group.
        total_steps: the length of the cycle; or give the next two.
        epochs: the number of epochs.
        steps_per_epoch: the number of steps in each.
        pct_start: the share of the cycle that is the rise.
        anneal_strategy: the form of rise and fall, "cos" or "linear".
        cycle_momentum: whether momentum moves too.
        base_momentum: the least momentum.
        max_momentum: the greatest momentum, at which it starts.
        div_factor: `max_lr` is this many times the first rate.
        final_div_factor: the first rate is this many times the last.
        three_phase: whether the fall first mirrors the rise.
        last_epoch: see `LRScheduler`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise InvalidValue(f"anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}")
        if not 0 <= pct_start <= 1:
            raise InvalidValue(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self.total_steps = _cycle_length(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        if last_epoch == -1:
            for group, top in zip(
                optimizer.param_groups, per_group(optimizer, "max_lr", max_lr), strict=True
            ):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self._prepare_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        step = self.last_epoch
        if step > self.total_steps:
            raise InvalidValue(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}",
                help=["a schedule with steps per batch needs total_steps=epochs * len(loader)"],
            )
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        share = (step - start) / (phase["end_step"] - start)
        anneal = _cosine if self._anneal_func_type == "cos" else _line
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, anneal(*ends, share))
        return rates


def _cycle_length(total: int | None, epochs: int | None, per_epoch: int | None) -> int:
    if total is None:
        if epochs is None or per_epoch is None:
            raise InvalidValue("You must define either total_steps OR (epochs AND steps_per_epoch)")
        for name, value in (("epochs", epochs), ("steps_per_epoch", per_epoch)):
            if value <= 0:
                raise InvalidValue(f"Expected positive integer {name}, but got {value}")
        return epochs * per_epoch
    if total <= 0 or not isinstance(total, int):
        raise InvalidValue(f"Expected positive integer total_steps, but got {total}")
    return total


def _phases(total: int, share: float, three: bool) -> list[_Phase]:
    low, high = "base_momentum", "max_momentum"
    rise = _phase(float(share * total) - 1, "initial_lr", "max_lr", high, low)
    if three:
        fall = _phase(float(2 * share * total) - 2, "max_lr", "initial_lr", low, high)
        return [rise, fall, _phase(total - 1, "initial_lr", "min_lr", high, high)]
    return [rise, _phase(total - 1, "max_lr", "min_lr", low, high)]


def _phase(
    end: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str
) -> _Phase:
    return _Phase(
        end_step=end,
        start_lr=start_lr,
        end_lr=end_lr,
        start_momentum=start_momentum,
        end_momentum=end_momentum,
    )


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine wave down, then a jump back to the first rate, each way longer than the last.

    From Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts" (2016).

    Args:
        optimizer: whose rates are changed.
        T_0: how many epochs the first way takes.
        T_mult: how many times longer each next one is.
        eta_min: the least rate.
        last_epoch: see `LRScheduler`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise InvalidValue(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise InvalidValue(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (lr - self.eta_min) * height for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to any point of one.

        Args:
            epoch: where to go; it may be a fraction, such as `epoch + batch / batches`.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise InvalidValue(f"Expected non-negative epoch, but got {epoch}")
            self._locate(epoch)
        self.last_epoch = math.floor(epoch)
        self._apply(self._asked_rates())

    def _locate(self, epoch: float) -> None:
        """Find the way that `epoch` falls in, and how far along it is."""
        start, length = 0, self.T_0
        if self.T_mult == 1:
            start = int(epoch // length) * length
        while epoch >= start + length:
            start += length
            length *= self.T_mult
        self.T_cur, self.T_i = epoch - start, length
