"""A schedule that goes up and down between two rates, again and again."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from lamina.errors import ArgumentTypeError, InvalidValue
from lamina.optim.optimizer import Optimizer
from lamina.optim.schedule import per_group, set_lr
from lamina.optim.schedule_momentum import MomentumScheduler

__all__ = ["CyclicLR"]


class CyclicLR(MomentumScheduler):
    """The rate goes in a line from `base_lr` to `max_lr` and back; one step a batch.

    Momentum (or Adam's first beta) goes the opposite way. From Smith, "Cyclical learning rates for
    training neural networks" (2015).

    Args:
        optimizer: whose rates are changed.
        base_lr: the least rate, or one for each group.
        max_lr: the greatest rate, or one for each group.
        step_size_up: how many steps the way up takes.
        step_size_down: how many steps the way down takes; as many as up for None.
        mode: "triangular" for cycles of one height, "triangular2" for half the height in each
            cycle, "exp_range" for a height of `gamma**step`.
        gamma: see `mode`.
        scale_fn: a function that gives the height instead of `mode`, between 0 and 1.
        scale_mode: whether it takes the number of the "cycle" (from 1), or of the step
            ("iterations").
        cycle_momentum: whether momentum moves too.
        base_momentum: the least momentum, or one for each group.
        max_momentum: the greatest momentum, or one for each group; at which it starts.
        last_epoch: see `LRScheduler`.

    Raises:
        InvalidValue: If the mode is unknown, or momentum is to move and there is none.

    Example:
        >>> import lamina
        >>> w = lamina.ones(1, requires_grad=True)
        >>> optimizer = lamina.optim.SGD([w], lr=1.0, momentum=0.9)
        >>> schedule = CyclicLR(optimizer, base_lr=1.0, max_lr=2.0, step_size_up=2)
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     schedule.step()
        ...     print(schedule.get_last_lr())
        [1.5]
        [2.0]
        [1.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentTypeError(f"{type(optimizer).__name__} is not an Optimizer")
        base_lrs = per_group(optimizer, "base_lr", base_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                set_lr(group, lr)
        self.max_lrs = per_group(optimizer, "max_lr", max_lr)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up) + float(down)
        self.step_ratio = float(step_size_up) / self.total_size
        if mode not in _MODES and scale_fn is None:
            raise InvalidValue(
                "mode is invalid and scale_fn is None",
                help=[f"it is one of {', '.join(map(repr, _MODES))}"],
            )
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else _MODES[mode]
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._prepare_momentum(
                optimizer, base_momentum, max_momentum, last_epoch
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the height of a cycle, given its number or that of the step (`scale_mode`)."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return float(0.5 ** (x - 1))
        return float(self.gamma**x) if self.mode == "exp_range" else 1.0

    def _rates(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        share = 1.0 + self.last_epoch / self.total_size - cycle
        up = self.step_ratio
        height = share / up if share <= up else (share - 1) / (up - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                self._set_momentum(group, high - (high - low) * height)
        return [
            low + (high - low) * height
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer; a plain function is left out, as it has no state."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        has_state = function is not None and not isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = dict(function.__dict__) if has_state else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        state = dict(state_dict)
        saved = state.pop("_scale_fn_custom")
        super().load_state_dict(state)
        if saved is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(saved)


_MODES = {"triangular": "cycle", "triangular2": "cycle", "exp_range": "iterations"}
