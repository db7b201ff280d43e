"""What `torch.cuda.amp` and `torch.cpu.amp` have in common: older names, each for one device."""

from __future__ import annotations

from typing import ClassVar

from lamina.amp.grad_scaler import GradScaler
from lamina.core.warning import warn


def warn_of_older_name(device: str, name: str) -> None:
    """Say what is to be written today."""
    warn(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use "
        f"`torch.amp.{name}('{device}', args...)` instead.",
        FutureWarning,
    )


class OlderGradScaler(GradScaler):
    """A `GradScaler` that does not ask for its device.

    Attributes:
        of_device: The device that a subclass is for.
    """

    of_device: ClassVar[str]

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_of_older_name(self.of_device, "GradScaler")
        super().__init__(
            self.of_device, init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
