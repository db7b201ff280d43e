"""Schedules made of schedules: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from lamina.errors import InvalidValue
from lamina.optim.optimizer import Optimizer
from lamina.optim.schedule import LRScheduler, copied, set_lr
from lamina.optim.schedule_plateau import ReduceLROnPlateau

__all__ = ["ChainedScheduler", "SequentialLR"]


def _check_schedulers(schedulers: Sequence[Any], optimizer: Optimizer, owner: str) -> None:
    if not schedulers:
        raise InvalidValue(f"{owner} expects at least one scheduler")
    for i, scheduler in enumerate(schedulers):
        if isinstance(scheduler, ReduceLROnPlateau):
            raise InvalidValue(f"{owner} does not take ReduceLROnPlateau: its step needs a metric")
        if scheduler.optimizer is not optimizer:
            raise InvalidValue(f"{owner}: scheduler {i} belongs to a different optimizer")


class _OfSchedulers(LRScheduler):
    """What the two share: saving the schedulers inside."""

    _schedulers: list[LRScheduler]

    def _take_back(self) -> None:
        """Take back the first steps of all schedulers inside."""
        for scheduler in self._schedulers:
            if isinstance(scheduler, _OfSchedulers):
                scheduler._take_back()
            else:
                scheduler.last_epoch -= 1

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer, with the states of the schedulers inside."""
        state = super().state_dict()
        del state["_schedulers"]
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        state = dict(state_dict)
        inner = state.pop("_schedulers")
        self.__dict__.update(state)
        for scheduler, its_state in zip(self._schedulers, inner, strict=True):
            scheduler.load_state_dict(its_state)


class SequentialLR(_OfSchedulers):
    """Schedules one after the other, each beginning at its epoch 0.

    Args:
        optimizer: whose rates are changed.
        schedulers: in order.
        milestones: the epochs at which the second and further ones take over.
        last_epoch: accepted for compatibility.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        _check_schedulers(schedulers, optimizer, "SequentialLR")
        if len(milestones) != len(schedulers) - 1:
            raise InvalidValue(
                "SequentialLR expects the number of milestones to be one less than the number of "
                f"schedulers, but got {len(schedulers)} and {len(milestones)}"
            )
        self._schedulers = list(schedulers)
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each scheduler did its first step when it was made: take these back, then let only the
        # first one begin.
        for group in optimizer.param_groups:
            set_lr(group, group["initial_lr"])
        self._take_back()
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_OfSchedulers):
    """Schedules that all act in every epoch, one on the result of the other.

    Args:
        schedulers: in order.
        optimizer: theirs; it is found from the first when left out.
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        owner = optimizer or (schedulers[0].optimizer if schedulers else None)
        _check_schedulers(schedulers, owner, "ChainedScheduler")  # type: ignore[arg-type]
        self._schedulers = list(schedulers)
        self.optimizer = self._schedulers[0].optimizer
        self._last_lr = [copied(lr) for lr in self._current()]

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [copied(lr) for lr in self._current()]
