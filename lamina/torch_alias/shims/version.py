"""`torch.version`: built for no GPU."""

from __future__ import annotations

from lamina.torch_alias.shims.torch_version import __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

cuda: str | None = None
hip: str | None = None
xpu: str | None = None
debug = False
git_version = "unknown"
