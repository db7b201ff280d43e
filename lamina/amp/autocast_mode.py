"""`autocast`: operations compute in low precision where it pays, in float32 where it is needed."""

from __future__ import annotations

import functools
from typing import Any, Self

import numpy as np

from lamina import dtypes
from lamina.amp.casting import settings
from lamina.core.blame import this_place
from lamina.core.modes import Mode
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.devices import device
from lamina.devices.simulation import simulation
from lamina.errors import InvalidValue, NotSupported

__all__ = [
    "autocast", "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache",
    "custom_bwd", "custom_fwd", "get_autocast_cpu_dtype", "get_autocast_dtype",
    "get_autocast_gpu_dtype", "is_autocast_available", "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype",
    "set_autocast_enabled", "set_autocast_gpu_dtype",
]  # fmt: skip

_LOW = (dtypes.bfloat16, dtypes.float16)


class autocast(Mode):
    """Within it, products and convolutions compute in a half type, and losses in float32.

    A context, or a decorator. Inputs are cast, not parameters: these stay float32, and so do their
    gradients. Backward passes belong outside; each operation's derivative runs in the dtype that
    the operation had.

    Args:
        device_type: "cpu" or "cuda": tensors on other devices are left alone.
        dtype: the half type; for None bfloat16 on the CPU, float16 on CUDA devices.
        enabled: False leaves autocast for the length of the block.
        cache_enabled: whether a parameter that is used several times is cast once.

    Raises:
        InvalidValue: If `device_type` is no string.
        NotSupported: If there is no autocast for such a device.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.Linear(2, 3)
        >>> with lamina.autocast("cpu"):
        ...     y = layer(lamina.ones(1, 2))
        >>> y.dtype, layer.weight.dtype
        (torch.bfloat16, torch.float32)
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self.device = _checked(device_type)
        self.fast_dtype = settings.dtype_of(self.device) if dtype is None else dtype
        self._cache_enabled = settings.caches if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled)
        trouble = _trouble(self.device, self.fast_dtype) if self._enabled else None
        if trouble is not None:
            warn(f"{trouble} Disabling autocast.")
            self._enabled = False

    def __enter__(self) -> Self:
        self._before = (
            settings.enabled.get(self.device, False),
            settings.dtype_of(self.device),
            settings.caches,
        )
        settings.nesting += 1
        self._set(self._enabled, self.fast_dtype, self._cache_enabled)
        return self

    def __exit__(self, *_: object) -> None:
        settings.nesting -= 1
        if not settings.nesting:
            settings.cache.clear()
        self._set(*self._before)

    def _set(self, is_on: bool, dtype: dtypes.dtype, caches: bool) -> None:
        settings.enabled[self.device] = is_on
        settings.dtypes[self.device] = dtype
        settings.caches = caches
        settings.apply()

    def copy(self) -> autocast:
        """A fresh context with the same settings."""
        made = object.__new__(type(self))
        made.device, made.fast_dtype = self.device, self.fast_dtype
        made._cache_enabled, made._enabled = self._cache_enabled, self._enabled
        return made


def _checked(device_type: Any) -> str:
    """The type of device that a name means."""
    if not isinstance(device_type, str):
        raise InvalidValue(
            f"Expected `device_type` of type `str`, got: `{type(device_type)}`",
            [(this_place(), "given here")],
            ["for example torch.autocast('cpu')"],
        )
    place = device(device_type).type
    if place == "meta":
        raise NotSupported(
            "there is no autocast for meta tensors: they have no values",
            [(this_place(), "asked for here")],
        )
    return place


def _trouble(place: str, dtype: dtypes.dtype) -> str | None:
    """Why autocast cannot be on, if it cannot."""
    if place == "cuda" and not simulation.count:
        return "CUDA is not available."
    if place == "cpu" and dtype not in _LOW:
        return (
            "In CPU autocast, but the target dtype is not supported: it supports dtypes of "
            f"torch.bfloat16 and torch.float16, not {dtype}."
        )
    return None


# --- asking and setting --------------------------------------------------------------------------


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a type of device."""
    return device(device_type).type in ("cpu", "cuda")


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on in this thread, for a type of device.

    >>> import lamina
    >>> with lamina.autocast("cpu"):
    ...     lamina.is_autocast_enabled("cpu")
    True
    """
    return settings.enabled.get(device(device_type).type, False)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Turn autocast on or off for a type of device ("cuda" if only the flag is given)."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    settings.enabled[device(device_type).type] = bool(enabled)
    settings.apply()


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """The half type that autocast uses on a type of device."""
    return settings.dtype_of(device(device_type).type)


def set_autocast_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    """Choose the half type that autocast uses on a type of device."""
    settings.dtypes[device(device_type).type] = dtype
    settings.apply()


def is_autocast_cache_enabled() -> bool:
    """Whether a parameter that is used several times inside autocast is cast once."""
    return settings.caches


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Choose whether a parameter that is used several times is cast once."""
    settings.caches = bool(enabled)
    settings.apply()


def clear_autocast_cache() -> None:
    """Forget the parameters that were cast."""
    settings.cache.clear()


def autocast_increment_nesting() -> int:
    """Count one block of autocast more: what was cast is kept until all have ended."""
    settings.nesting += 1
    return settings.nesting


def autocast_decrement_nesting() -> int:
    """Count one block of autocast less."""
    settings.nesting -= 1
    return settings.nesting


def _deprecated(name: str, instead: str) -> None:
    warn(f"torch.{name}() is deprecated. Please use torch.{instead} instead.", DeprecationWarning)


def is_autocast_cpu_enabled() -> bool:
    """The older form of `is_autocast_enabled("cpu")`."""
    _deprecated("is_autocast_cpu_enabled", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """The older form of `set_autocast_enabled("cpu", enabled)`."""
    _deprecated("set_autocast_cpu_enabled", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dtypes.dtype:
    """The older form of `get_autocast_dtype("cpu")`."""
    _deprecated("get_autocast_cpu_dtype", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtypes.dtype) -> None:
    """The older form of `set_autocast_dtype("cpu", dtype)`."""
    _deprecated("set_autocast_cpu_dtype", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtypes.dtype:
    """The older form of `get_autocast_dtype("cuda")`."""
    _deprecated("get_autocast_gpu_dtype", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dtypes.dtype) -> None:
    """The older form of `set_autocast_dtype("cuda", dtype)`."""
    _deprecated("set_autocast_gpu_dtype", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


# --- functions with derivatives of their own -----------------------------------------------------


def custom_fwd(
    fwd: Any = None, *, device_type: str, cast_inputs: dtypes.dtype | None = None
) -> Any:
    """Decorate the `forward` of a `Function` so that its `backward` finds the same autocast.

    Args:
        fwd: the method.
        device_type: whose autocast is meant.
        cast_inputs: inside autocast, the dtype that floating-point inputs are cast to; the method
            then runs with autocast off.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        is_on = is_autocast_enabled(device_type)
        ctx._dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_on and cast_inputs is None
        if cast_inputs is None or not is_on:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            args, kwargs = _cast((args, kwargs), device_type, cast_inputs)
            return fwd(ctx, *args, **kwargs)

    return decorated


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the `backward` of a `Function` whose `forward` has `custom_fwd`.

    Args:
        bwd: the method.
        device_type: as for `custom_fwd`.
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return decorated


def _cast(value: Any, place: str, dtype: dtypes.dtype) -> Any:
    """Tensors on a type of device in a dtype, in nested containers too; float64 stays."""
    if isinstance(value, Tensor):
        is_meant = value.is_floating_point() and value.device.type == place
        return value.to(dtype=dtype) if is_meant and value.dtype is not dtypes.float64 else value
    if isinstance(value, str | np.ndarray):
        return value
    if isinstance(value, dict):
        return {_cast(k, place, dtype): _cast(v, place, dtype) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_cast(item, place, dtype) for item in value])
    return value
