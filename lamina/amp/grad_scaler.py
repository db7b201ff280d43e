"""`GradScaler`: a loss in float16 is scaled up, so that small gradients do not vanish."""

from __future__ import annotations

import enum
import math
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, final

from lamina import dtypes
from lamina.core.blame import this_place
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.devices.simulation import simulation
from lamina.errors import InvalidArgument, InvalidValue, NotSupported
from lamina.ops.creation import full

if TYPE_CHECKING:
    from lamina.optim.optimizer import Optimizer

__all__ = ["GradScaler", "OptState"]


@final
class OptState(enum.Enum):
    """How far an optimizer is in a step."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales losses, takes the scale out of gradients, and finds a scale that does not overflow.

        scaler.scale(loss).backward()
        scaler.step(optimizer)        does nothing where a gradient is infinite or NaN
        scaler.update()               then halves the scale; after long enough without, doubles it

    Args:
        device: where the scale is kept: "cuda" or "cpu".
        init_scale: the first scale.
        growth_factor: what it is multiplied by after `growth_interval` steps without overflow.
        backoff_factor: what it is multiplied by after an overflow.
        growth_interval: see `growth_factor`.
        enabled: False makes all methods pass on what they are given.

    Raises:
        AssertionError: If `growth_factor` is not above 1, or `backoff_factor` not below.

    Example:
        >>> import lamina
        >>> w = lamina.ones(1, requires_grad=True)
        >>> optimizer = lamina.optim.SGD([w], lr=0.5)
        >>> scaler = lamina.amp.GradScaler("cpu", init_scale=8.0)
        >>> scaler.scale(w.sum()).backward()
        >>> w.grad
        tensor([8.])
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> w.detach(), scaler.get_scale()
        (tensor([0.5000]), 8.0)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled and not simulation.count:
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict[int, dict[str, Any]] = _fresh_states()

    # -- the scale ---------------------------------------------------------------------------

    def _now(self, what: str) -> tuple[Tensor, Tensor]:
        """The scale and the count of steps since it changed, which the first `scale` makes."""
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(
                f"Attempted {what} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale, self._growth_tracker

    def scale(self, outputs: Any) -> Any:
        """Multiply a tensor, or each in nested lists and tuples, by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._start(outputs.device)
            return outputs * self._now("scale")[0].to(outputs.device)
        if isinstance(outputs, list | tuple):
            return type(outputs)([self.scale(item) for item in outputs])
        if isinstance(outputs, Iterable):
            return map(self.scale, outputs)
        raise InvalidValue(
            "outputs must be a Tensor or an iterable of Tensors",
            [(this_place(), "given here")],
            ["pass the loss: `scaler.scale(loss).backward()`"],
        )

    def _start(self, device: Any) -> None:
        self._scale = full((), self._init_scale, dtype=dtypes.float32, device=device)
        self._growth_tracker = full(
            (), self._init_growth_tracker, dtype=dtypes.int32, device=device
        )

    # -- a step ------------------------------------------------------------------------------

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, to clip them, say."""
        if not self._enabled:
            return
        scale, _ = self._now("unscale_")
        mine = self._per_optimizer_states[id(optimizer)]
        if mine["stage"] is OptState.UNSCALED:
            raise InvalidArgument(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if mine["stage"] is OptState.STEPPED:
            raise InvalidArgument("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        mine["found_inf_per_device"] = _unscaled(optimizer, inverse, scale)
        mine["stage"] = OptState.UNSCALED

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Make the optimizer's step, unless a gradient is infinite or NaN.

        Args:
            optimizer: its gradients are unscaled first, unless `unscale_` did that.
            args, kwargs: for the optimizer's `step`; no closure.

        Returns:
            What the step returned; None where there was none.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise NotSupported("Closure use is not currently supported if GradScaler is enabled.")
        self._now("step")
        mine = self._per_optimizer_states[id(optimizer)]
        if mine["stage"] is OptState.STEPPED:
            raise InvalidArgument("step() has already been called since the last update().")
        if mine["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not mine["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None
        if not sum(found.item() for found in mine["found_inf_per_device"].values()):
            result = optimizer.step(*args, **kwargs)
        mine["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """End the step of all optimizers: lower the scale after an overflow, or let it grow.

        Args:
            new_scale: the next scale, instead.
        """
        if not self._enabled:
            return
        scale, tracker = self._now("update")
        if new_scale is not None:
            scale.fill_(new_scale)
        else:
            found = [
                found.item()
                for mine in self._per_optimizer_states.values()
                for found in mine["found_inf_per_device"].values()
            ]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adjust(scale, tracker, has_overflow=any(found))
        self._per_optimizer_states = _fresh_states()

    def _adjust(self, scale: Tensor, tracker: Tensor, has_overflow: bool) -> None:
        if has_overflow:
            scale.mul_(self._backoff_factor)
            tracker.zero_()
            return
        tracker.add_(1)
        if tracker.item() == self._growth_interval:
            if math.isfinite((scale * self._growth_factor).item()):
                scale.mul_(self._growth_factor)
            tracker.zero_()

    # -- asking and setting ------------------------------------------------------------------

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_scale(self) -> float:
        """Return the scale; 1.0 if disabled."""
        if not self._enabled:
            return 1.0
        return float(self._init_scale if self._scale is None else self._scale.item())

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return after how many steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if self._growth_tracker is None:
            return self._init_growth_tracker
        return int(self._growth_tracker.item())

    # -- saving ------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the scale and the settings as Python numbers; nothing if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; nothing happens if disabled."""
        if not self._enabled:
            return
        if not state_dict:
            raise InvalidArgument(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        state["_per_optimizer_states"] = {}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._per_optimizer_states = _fresh_states()


def _fresh_states() -> dict[int, dict[str, Any]]:
    return defaultdict(lambda: {"stage": OptState.READY, "found_inf_per_device": {}})


def _unscaled(optimizer: Optimizer, inverse: Tensor, scale: Tensor) -> dict[Any, Tensor]:
    """Take the scale out of all gradients; returns by device whether one is not finite."""
    found: dict[Any, Tensor] = {}
    with no_grad():
        for group in optimizer.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if grad.dtype is dtypes.float16:
                    raise InvalidValue(
                        "Attempting to unscale FP16 gradients.",
                        help=["keep parameters in float32: autocast casts where it should"],
                    )
                grad.mul_(inverse.to(grad.device))
                is_bad = (~grad.isfinite()).any().float()
                known = found.get(grad.device)
                found[grad.device] = is_bad if known is None else known.maximum(is_bad)
    return found
