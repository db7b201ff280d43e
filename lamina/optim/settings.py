"""Checks of settings, with PyTorch's messages."""

from __future__ import annotations

from typing import Any

from lamina.core.tensor import Tensor
from lamina.errors import NotSupported, OptimizerArgumentError

__all__ = ["check_betas", "check_lr", "check_nonnegative", "check_variants"]


def check_lr(lr: Any, message: str = "Invalid learning rate: {}") -> None:
    """Check that a learning rate is a number of at least 0, or a tensor of one."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise OptimizerArgumentError(
            "Tensor lr must be 1-element",
            help=["one rate for each group of parameters: pass groups, each with its `lr`"],
        )
    if not isinstance(lr, Tensor) and not lr >= 0:
        raise OptimizerArgumentError(message.format(lr), help=["lr must be >= 0"])


def check_variants(fused: Any, foreach: Any, differentiable: bool) -> None:
    """Refuse the ways of computing a step that exclude each other."""
    if fused and differentiable:
        raise NotSupported("`fused` does not support `differentiable`")
    if fused and foreach:
        raise NotSupported("`fused` and `foreach` cannot be `True` together.")


def check_nonnegative(**settings: Any) -> None:
    """Check that each setting is a number (or tensor) of at least 0; names as in the messages."""
    for name, value in settings.items():
        if not isinstance(value, Tensor) and not value >= 0:
            label = "epsilon" if name == "eps" else name
            raise OptimizerArgumentError(
                f"Invalid {label} value: {value}", help=[f"{name} must be >= 0"]
            )


def check_betas(betas: Any) -> None:
    """Check that both shares of running means lie between 0 and 1."""
    for i, beta in enumerate(betas):
        if not isinstance(beta, Tensor) and not 0.0 <= beta < 1.0:
            raise OptimizerArgumentError(
                f"Invalid beta parameter at index {i}: {beta}",
                help=["both betas lie between 0 and 1; (0.9, 0.999) is usual"],
            )
