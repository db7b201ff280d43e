"""Adadelta: steps in the unit of the parameters, from running means of past steps."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.errors import OptimizerArgumentError
from lamina.ops.creation import zeros_like
from lamina.optim.elementwise import ElementwiseOptimizer, one_number
from lamina.optim.settings import check_lr, check_nonnegative
from lamina.optim.updates import Formula

__all__ = ["Adadelta"]


class Adadelta(ElementwiseOptimizer):
    """Steps by the gradient times the ratio of two roots: of past steps, and of past gradients.

        v = rho * v + (1 - rho) * g**2
        d = sqrt(u + eps) / sqrt(v + eps) * g
        u = rho * u + (1 - rho) * d**2
        w = w - lr * d

    From Zeiler, "ADADELTA: an adaptive learning rate method" (2012).

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the factor of a step; the method itself needs none.
        rho: how much of the two means is kept in a step.
        eps: added inside the roots.
        weight_decay: the factor of an L2 penalty.
        foreach: accepted for compatibility.
        capturable: whether counts of steps are kept beside their parameter.
        maximize: whether to climb instead.
        differentiable: whether the step itself is recorded for autograd.

    Raises:
        OptimizerArgumentError: If a setting is negative, or `rho` is above 1.

    Example:
        >>> import lamina
        >>> w = lamina.ones(2, requires_grad=True)
        >>> optimizer = lamina.optim.Adadelta([w], rho=0.75, eps=0.0625)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.5528, 0.5528])
    """

    _added_later: ClassVar = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise OptimizerArgumentError(
                f"Invalid rho value: {rho}", help=["rho lies between 0 and 1; 0.9 is usual"]
            )
        check_nonnegative(eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": one_number(param, group),
            "square_avg": zeros_like(param),
            "acc_delta": zeros_like(param),
        }

    def _formula(self, group: dict[str, Any]) -> Formula:
        return _step

    def _given(
        self, state: dict[str, Any], group: dict[str, Any]
    ) -> tuple[tuple[Tensor, ...], tuple[Any, ...]]:
        state["step"].add_(1)
        rho = group["rho"]
        numbers = (rho, 1 - rho, group["eps"], group["lr"])
        return (state["square_avg"], state["acc_delta"]), numbers


def _step(
    F: Any, grad: Any, square: Any, steps: Any, param: Any, kept: Any, share: Any, eps: Any, lr: Any
) -> None:
    square *= kept
    square += grad * grad * share
    change = F.sqrt(steps + eps) / F.sqrt(square + eps) * grad
    steps *= kept
    steps += change * change * share
    param -= change * lr
