"""The state of autocast in a thread, and what casts the inputs of operations meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, final

from lamina import dtypes
from lamina.amp.policies import WIDEST, policies_for
from lamina.core.modes import door, state
from lamina.core.tensor import Tensor
from lamina.devices import current_recorder
from lamina.ops.conversion import convert

Cache = dict[tuple[int, dtypes.dtype, bool], tuple[Tensor, int, Tensor]]
"""Parameters that were cast, by identity, dtype, and whether it was recorded: with the version."""


@final
class Caster:
    """Casts the inputs of operations; it is in `state.autocast` while autocast is on.

    Attributes:
        settings: The types of device for which it is on, each with its low dtype.
    """

    def __init__(self, settings: tuple[tuple[str, dtypes.dtype], ...], cache: Cache | None) -> None:
        self.settings = settings
        self._policies = policies_for(settings)
        self._cache = cache

    def cast(self, name: str, values: Sequence[Any]) -> Sequence[Any]:
        """The inputs of an operation, cast as its policy says."""
        policy = self._policies.get(name)
        if policy is None:
            return values
        wanted = policy
        if WIDEST in policy.values():
            widest = _widest(values)
            wanted = {p: widest if kind is WIDEST else kind for p, kind in policy.items()}
        return [self._cast_value(value, wanted) for value in values]

    def run_in_float32(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function with its inputs in float32, and autocast off inside."""
        wanted: dict[str, object] = {place: dtypes.float32 for place, _ in self.settings}
        args = [self._cast_value(value, wanted) for value in args]
        kwargs = {key: self._cast_value(value, wanted) for key, value in kwargs.items()}
        return self.run_without(function, args, kwargs)

    def run_without(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function with autocast off inside."""
        state.autocast = None
        try:
            return function(*args, **kwargs)
        finally:
            state.autocast = self

    def _cast_value(self, value: Any, wanted: dict[str, object]) -> Any:
        if value.__class__ is list or value.__class__ is tuple:
            return value.__class__([self._cast_value(item, wanted) for item in value])
        if not isinstance(value, Tensor):
            return value
        kind = wanted.get(value.device.type)
        if kind is None or value.dtype is kind or not _is_eligible(value):
            return value
        return self._cast_tensor(value, kind)

    def _cast_tensor(self, tensor: Tensor, kind: Any) -> Tensor:
        is_kept = (
            self._cache is not None
            and tensor._requires_grad
            and tensor._node is None
            and tensor._view is None
            and kind is not dtypes.float32
            and current_recorder() is None  # what is computed there is no value yet
        )
        if not is_kept or self._cache is None:
            return convert(tensor, kind, None)
        key = id(tensor), kind, state.grad_enabled
        known = self._cache.get(key)
        if known is None or known[1] != tensor._version:
            known = self._cache[key] = tensor, tensor._version, convert(tensor, kind, None)
        return known[2]


def _is_eligible(tensor: Tensor) -> bool:
    """float64 stays what it is, as do whole numbers."""
    return tensor.dtype.is_floating_point and tensor.dtype is not dtypes.float64


def _widest(values: Sequence[Any]) -> dtypes.dtype | None:
    """The common dtype of the low and float32 tensors among some inputs."""
    found: dtypes.dtype | None = None
    for value in values:
        if isinstance(value, Tensor) and _is_eligible(value):
            found = value.dtype if found is None else dtypes.promote_types(found, value.dtype)
    return found


@final
class Settings(threading.local):
    """What a thread has set: on or off, and the low dtype, by type of device."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, dtypes.dtype] = {
            "cpu": dtypes.bfloat16,
            "cuda": dtypes.float16,
        }
        self.caches = True
        self.nesting = 0
        self.cache: Cache = {}

    def apply(self) -> None:
        """Bring what operations see up to date with the settings."""
        places = sorted(place for place, is_on in self.enabled.items() if is_on)
        chosen = tuple((place, self.dtype_of(place)) for place in places)
        was_on = state.autocast is not None
        state.autocast = Caster(chosen, self.cache if self.caches else None) if chosen else None
        if was_on != bool(chosen):
            door.watch(1 if chosen else -1)

    def now(self) -> Any:
        """All that is set, for `again`."""
        return dict(self.enabled), dict(self.dtypes), self.caches

    @contextmanager
    def again(self, then: Any) -> Iterator[None]:
        """Have everything set as it was, when a function runs a second time."""
        before = self.now()
        if then == before:
            yield
            return
        self._set(then)
        try:
            yield
        finally:
            self._set(before)

    def _set(self, wanted: Any) -> None:
        enabled, kinds, self.caches = wanted
        self.enabled, self.dtypes = dict(enabled), dict(kinds)
        self.apply()

    def dtype_of(self, place: str) -> dtypes.dtype:
        """The low dtype of a type of device."""
        return self.dtypes.get(place, dtypes.float16)


settings: Final = Settings()
