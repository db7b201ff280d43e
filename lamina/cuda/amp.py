"""`torch.cuda.amp`: the older names of what `lamina.amp` has, for CUDA devices."""

from __future__ import annotations

import functools
from typing import Any

from lamina import amp, dtypes
from lamina.amp.older_names import OlderGradScaler, warn_of_older_name

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """`lamina.autocast("cuda", ...)`."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: dtypes.dtype = dtypes.float16,
        cache_enabled: bool = True,
    ) -> None:
        warn_of_older_name("cuda", "autocast")
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(OlderGradScaler):
    """`lamina.amp.GradScaler("cuda", ...)`."""

    of_device = "cuda"


def custom_fwd(fwd: Any = None, *, cast_inputs: dtypes.dtype | None = None) -> Any:
    """`lamina.amp.custom_fwd` for CUDA devices."""
    warn_of_older_name("cuda", "custom_fwd")
    return functools.partial(amp.custom_fwd, device_type="cuda")(fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """`lamina.amp.custom_bwd` for CUDA devices."""
    warn_of_older_name("cuda", "custom_bwd")
    return amp.custom_bwd(bwd, device_type="cuda")
