"""`torch._C`: what programs reach of PyTorch's compiled half."""

from __future__ import annotations

from lamina.errors import LinAlgError as _LinAlgError
from lamina.torch_alias.shims.dispatch_keys import (
    DispatchKey,
    DispatchKeySet,
)
from lamina.torch_alias.shims.dispatch_keys import (
    excluding as _ExcludeDispatchKeyGuard,
)
from lamina.torch_alias.shims.torch_function import (
    NothingChanged as DisableTorchFunction,
)
from lamina.torch_alias.shims.torch_function import (
    NothingChanged as DisableTorchFunctionSubclass,
)
from lamina.torch_alias.shims.torch_function import (
    disabled_torch_function_impl as _disabled_torch_function_impl,
)

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "DispatchKey",
    "DispatchKeySet",
    "_disabled_torch_function_impl",
    "_ExcludeDispatchKeyGuard",
    "_LinAlgError",
    "_get_tracing_state",
    "_jit_can_fuse_on_cpu",
    "_jit_can_fuse_on_gpu",
    "_jit_override_can_fuse_on_cpu",
    "_jit_override_can_fuse_on_gpu",
    "_jit_set_profiling_executor",
    "_jit_set_profiling_mode",
    "_jit_set_texpr_fuser_enabled",
    "_log_api_usage_once",
]


def _get_tracing_state() -> None:
    """None: nothing is traced by `torch.jit`."""


def _log_api_usage_once(*names: str) -> None:
    """Nothing: usage is not counted."""


# Switches of TorchScript's executor, which Lamina does not have: accepted, and nothing changes.


def _jit_set_profiling_executor(enabled: bool) -> bool:
    """False, as before: there is no such executor."""
    return False


def _jit_set_profiling_mode(enabled: bool) -> bool:
    """False, as before: there is no such mode."""
    return False


def _jit_override_can_fuse_on_cpu(enabled: bool) -> None:
    """Nothing: scripts are run as Python."""


def _jit_override_can_fuse_on_gpu(enabled: bool) -> None:
    """Nothing: scripts are run as Python."""


def _jit_set_texpr_fuser_enabled(enabled: bool) -> None:
    """Nothing: scripts are run as Python."""


def _jit_can_fuse_on_cpu() -> bool:
    """False: scripts are run as Python."""
    return False


def _jit_can_fuse_on_gpu() -> bool:
    """False: scripts are run as Python."""
    return False
