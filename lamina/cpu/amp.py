"""`torch.cpu.amp`: the older names of what `lamina.amp` has, for the CPU."""

from __future__ import annotations

from lamina import amp, dtypes
from lamina.amp.older_names import OlderGradScaler, warn_of_older_name

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """`lamina.autocast("cpu", ...)`."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.bfloat16,
        cache_enabled: bool = True,
    ) -> None:
        warn_of_older_name("cpu", "autocast")
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(OlderGradScaler):
    """`lamina.amp.GradScaler("cpu", ...)`."""

    of_device = "cpu"
