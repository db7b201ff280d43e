"""Keeping gradients small: by their common norm, or each number by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.ops.data import tensor
from lamina.ops.joining import stack

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]


def _listed(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Sequence[Tensor]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Return the norm of all tensors as if they were one vector.

    Args:
        tensors: one tensor or several.
        norm_type: the p of the norm; infinity for the largest number.
        error_if_nonfinite: whether a norm of nan or infinity is an error.
        foreach: accepted for compatibility.
    """
    given = _listed(tensors)
    if not given:
        return tensor(0.0)
    with no_grad():
        norms = [each.norm(float(norm_type)) for each in given]
        place = norms[0].device
        total = stack([norm.to(device=place) for norm in norms]).norm(float(norm_type))
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is "
            "non-finite, so it cannot be clipped; pass error_if_nonfinite=False to scale by it "
            "anyway"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale the gradients in place by `max_norm / total_norm`, if that is less than one.

    Args:
        parameters: the tensors whose `.grad` is scaled.
        max_norm: the greatest norm.
        total_norm: the norm of all gradients; see `get_total_norm`.
        foreach: accepted for compatibility.
    """
    with no_grad():
        # The small number keeps the division defined; the clamp keeps small gradients as they are
        # without a branch on a tensor's value.
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for gradient in _gradients(_listed(parameters)):
            gradient.mul_(factor.to(device=gradient.device))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients in place so that their norm, taken together, is at most `max_norm`.

    Args:
        parameters: the tensors whose `.grad` is scaled.
        max_norm: the greatest norm.
        norm_type: the p of the norm; infinity for the largest number.
        error_if_nonfinite: whether a norm of nan or infinity is an error.
        foreach: accepted for compatibility.

    Returns:
        The norm before clipping.

    Example:
        >>> import lamina
        >>> w = lamina.zeros(2, requires_grad=True)
        >>> (w * lamina.tensor([3.0, 4.0])).sum().backward()
        >>> lamina.nn.utils.clip_grad_norm_([w], max_norm=1.0)
        tensor(5.)
        >>> w.grad
        tensor([0.6000, 0.8000])
    """
    given = _listed(parameters)
    total = get_total_norm(_gradients(given), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """Call `clip_grad_norm_`, which replaced this older name; it warns."""
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(*args, **kwargs)


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clip every number of the gradients to `[-clip_value, clip_value]`, in place.

    Args:
        parameters: the tensors whose `.grad` is clipped.
        clip_value: the bound.
        foreach: accepted for compatibility.
    """
    bound = float(clip_value)
    with no_grad():
        for gradient in _gradients(_listed(parameters)):
            gradient.clamp_(min=-bound, max=bound)
