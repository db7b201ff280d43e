"""`LRScheduler`: the base of everything that changes the learning rate between steps.

A scheduler that computes the new rate from the current one can be combined with others on the same
optimizer; so `get_lr` does that where it can. `_get_closed_form_lr`, where there is one, gives the
rate at any epoch from the first one, for a jump (`step(epoch)`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamina.core.tensor import Tensor
from lamina.core.warning import warn
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
    """The base of schedulers. A subclass writes `get_lr`, and may write `_get_closed_form_lr`.

    Making one does its first step, which sets the rates of epoch 0.

    Args:
        optimizer: whose learning rates are changed.
        last_epoch: -1 to begin; the number of the last epoch to go on after loading a state (the
            groups then have "initial_lr").

    Attributes:
        base_lrs: the rates that the schedule starts from, one a group.
        last_epoch: the number of the current epoch.
    """

    _get_lr_called_within_step = True
    _is_initial = False

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
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    f"scheduler with last_epoch >= 0: to go on from epoch {last_epoch}, load the "
                    "optimizer's state first"
                )
        self.base_lrs: list[Any] = [copied(g["initial_lr"]) for g in optimizer.param_groups]
        self.last_epoch = last_epoch
        optimizer.__dict__.setdefault("_step_when_scheduled", _function_of(optimizer.step))
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> Sequence[Any]:
        """Return the rates of the current epoch, one a group; for `step` to call.

        `get_last_lr` is what tells the current rates.
        """
        if not self._get_lr_called_within_step:
            warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`."
            )
        return self._rates()

    def _rates(self) -> Sequence[Any]:
        """What `get_lr` returns."""
        raise NotImplementedError

    def _current(self) -> list[Any]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[Any]:
        """Return the rates that the last step set, one a group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch and set its rates; call it after `optimizer.step()`.

        Args:
            epoch: an epoch to jump to (deprecated).
        """
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warn(
                "The epoch parameter in `scheduler.step()` was not necessary and is being "
                "deprecated where possible. Please use `scheduler.step()` to step the scheduler."
            )
        self._update_lr(epoch)

    def _check_order(self) -> None:
        """Warn if the optimizer has not made a step, or if that cannot be known."""
        step = _function_of(self.optimizer.step)
        if step is not self.optimizer.__dict__.get("_step_when_scheduled", step):
            message = (
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization: whether it is called before `lr_scheduler.step()` is not known"
            )
        elif hasattr(step, "_notes_call") and not self.optimizer._opt_called:
            message = (
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`: the first rate "
                "of the schedule is skipped. Call optimizer.step() first"
            )
        else:
            return
        warn(message)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._apply(self._asked_rates(is_jump=epoch is not None))

    def _asked_rates(self, is_jump: bool = False) -> Sequence[Any]:
        """What `get_lr` says, or the closed form where there is one, after a jump."""
        self._get_lr_called_within_step = True
        try:
            if is_jump and hasattr(self, "_get_closed_form_lr"):
                closed: Sequence[Any] = self._get_closed_form_lr()
                return closed
            return self.get_lr()
        finally:
            self._get_lr_called_within_step = False

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


def _function_of(method: Any) -> Any:
    return getattr(method, "__func__", method)
