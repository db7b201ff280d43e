"""`LRScheduler`: the base of everything that changes the learning rate between steps.

A scheduler that computes the new rate from the current one can be combined with others on the same
optimizer; so `get_lr` does that where it can. `_closed_form` gives the rate at any epoch from the
first one, for a jump (`step(epoch)`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError
from lamina.optim.optimizer import Optimizer

__all__ = ["LRScheduler", "per_group"]


def set_lr(group: dict[str, Any], lr: Any) -> None:
    """Set a group's learning rate, in place where it is a tensor."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(lr)
    else:
        group["lr"] = lr


def copied(value: Any) -> Any:
    """Return a number as it is, a tensor as a copy that later changes do not reach."""
    return value.detach().clone() if isinstance(value, Tensor) else value


def per_group(optimizer: Optimizer, name: str, value: Any) -> list[Any]:
    """Return one value for each group: a list as it is, anything else repeated."""
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{name} must have one value for each group: {count}, not {len(value)}")
    return list(value)


class LRScheduler:
    """The base of schedulers. A subclass writes `get_lr`, and `_closed_form` if there is one.

    Making one does its first step, which sets the rates of epoch 0.

    Args:
        optimizer: whose learning rates are changed.
        last_epoch: -1 to begin; the number of the last epoch to go on after loading a state (the
            groups then have "initial_lr").

    Attributes:
        base_lrs: the rates that the schedule starts from, one a group.
        last_epoch: the number of the current epoch.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentTypeError(
                f"{type(optimizer).__name__} is not an Optimizer",
                help=["make the optimizer first: `StepLR(torch.optim.SGD(...), ...)`"],
            )
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}]: to go on from "
                    f"epoch {last_epoch}, load the optimizer's state first"
                )
        self.base_lrs: list[Any] = [copied(g["initial_lr"]) for g in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self.step()

    def get_lr(self) -> Sequence[Any]:
        """Return the rates of the current epoch, one a group; called inside `step`."""
        raise NotImplementedError

    def _closed_form(self) -> Sequence[Any] | None:
        return None

    def _current(self) -> list[Any]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[Any]:
        """Return the rates that the last step set, one a group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch and set its rates; call it after `optimizer.step()`.

        Args:
            epoch: an epoch to jump to.
        """
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`: the first rate "
                "of the schedule is skipped. Call optimizer.step() first",
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            closed = self._closed_form()
            rates = self.get_lr() if closed is None else closed
        self._apply(rates)

    def _apply(self, rates: Sequence[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            set_lr(group, lr)
        self._last_lr = [copied(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.__dict__.update(state_dict)
