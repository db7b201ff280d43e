"""What schedules share that move momentum against the rate."""

from __future__ import annotations

from typing import Any

from lamina.errors import InvalidValue
from lamina.optim.optimizer import Optimizer
from lamina.optim.schedule import LRScheduler, per_group

__all__ = ["MomentumScheduler"]


class MomentumScheduler(LRScheduler):
    """A schedule that also sets momentum, or Adam's first beta."""

    use_beta1: bool

    def _prepare_momentum(
        self, optimizer: Optimizer, least: Any, greatest: Any, last_epoch: int
    ) -> tuple[list[Any], list[Any]]:
        """Find out what to set, and begin with the greatest; returns the bounds of all groups."""
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise InvalidValue(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled",
                help=["pass cycle_momentum=False, or an optimizer with momentum"],
            )
        self.use_beta1 = "betas" in optimizer.defaults
        lows = per_group(optimizer, "base_momentum", least)
        highs = per_group(optimizer, "max_momentum", greatest)
        if last_epoch == -1:
            for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return lows, highs

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value
