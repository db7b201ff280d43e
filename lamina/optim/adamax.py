"""Adamax: Adam with the largest gradient in the place of the mean square."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.ops.creation import zeros_like
from lamina.optim.elementwise import ElementwiseOptimizer, number_of, one_number
from lamina.optim.settings import check_betas, check_lr, check_nonnegative
from lamina.optim.updates import Formula

__all__ = ["Adamax"]


class Adamax(ElementwiseOptimizer):
    """Steps by the mean of past gradients, divided by a decaying maximum of their size.

        m = beta1 * m + (1 - beta1) * g
        u = max(beta2 * u, abs(g) + eps)
        w = w - lr / (1 - beta1**t) * m / u

    From Kingma and Ba, "Adam: a method for stochastic optimization" (2014), section 7.

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the learning rate.
        betas: how much of the mean and of the maximum is kept in a step.
        eps: added to the size of each gradient.
        weight_decay: the factor of an L2 penalty.
        foreach: accepted for compatibility.
        maximize: whether to climb instead.
        differentiable: whether the step itself is recorded for autograd.
        capturable: whether counts of steps are kept beside their parameter.

    Raises:
        OptimizerArgumentError: If a setting is negative, or a beta is not below 1.

    Example:
        >>> import lamina
        >>> w = lamina.ones(2, requires_grad=True)
        >>> optimizer = lamina.optim.Adamax([w], lr=0.25)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.7500, 0.7500])
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
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_betas(betas)
        check_nonnegative(eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": one_number(param, group),
            "exp_avg": zeros_like(param),
            "exp_inf": zeros_like(param),
        }

    def _formula(self, group: dict[str, Any]) -> Formula:
        return _step

    def _given(
        self, state: dict[str, Any], group: dict[str, Any]
    ) -> tuple[tuple[Tensor, ...], tuple[Any, ...]]:
        lr = group["lr"]
        beta1, beta2 = group["betas"]
        count = number_of(state["step"].add_(1), lr)
        numbers = (1 - beta1, beta2, group["eps"], lr / (1 - beta1**count))
        return (state["exp_avg"], state["exp_inf"]), numbers


def _step(
    F: Any,
    grad: Any,
    mean: Any,
    largest: Any,
    param: Any,
    share: Any,
    kept: Any,
    eps: Any,
    step_size: Any,
) -> None:
    mean += (grad - mean) * share
    F.assign(largest, F.maximum(largest * kept, F.abs(grad) + eps))
    param -= mean * step_size / largest
