"""RAdam: Adam that does without its denominator while that is not known well enough."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.ops.creation import zeros_like
from lamina.optim.elementwise import (
    ElementwiseOptimizer,
    chosen,
    larger,
    number_of,
    one_number,
)
from lamina.optim.settings import check_betas, check_lr, check_nonnegative
from lamina.optim.updates import Formula

__all__ = ["RAdam"]


class RAdam(ElementwiseOptimizer):
    """Adam with its variance rectified.

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        n = 2 / (1 - beta2) - 1
        r = n - 2 * t * beta2**t / (1 - beta2**t)
        k = sqrt((r - 4) * (r - 2) * n / ((n - 4) * (n - 2) * r))
        w = w - lr * m / (1 - beta1**t) * k * sqrt(1 - beta2**t) / (sqrt(v) + eps)    where r > 5
        w = w - lr * m / (1 - beta1**t)                                               before

    From Liu et al., "On the variance of the adaptive learning rate and beyond" (2019).

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the learning rate.
        betas: how much of the two means is kept in a step.
        eps: added to the denominator.
        weight_decay: the factor of an L2 penalty.
        decoupled_weight_decay: whether weights decay apart from the gradient, as in `AdamW`.
        foreach: accepted for compatibility.
        maximize: whether to climb instead.
        capturable: whether counts of steps are kept beside their parameter.
        differentiable: whether the step itself is recorded for autograd.

    Raises:
        OptimizerArgumentError: If a setting is negative, or a beta is not below 1.

    Example:
        >>> import lamina
        >>> w = lamina.ones(2, requires_grad=True)
        >>> optimizer = lamina.optim.RAdam([w], lr=0.25)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.7500, 0.7500])
    """

    _added_later: ClassVar = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_betas(betas)
        check_nonnegative(eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": one_number(param, group),
            "exp_avg": zeros_like(param),
            "exp_avg_sq": zeros_like(param),
        }

    def _formula(self, group: dict[str, Any]) -> Formula:
        return _step

    def _given(
        self, state: dict[str, Any], group: dict[str, Any]
    ) -> tuple[tuple[Tensor, ...], tuple[Any, ...]]:
        lr = group["lr"]
        beta1, beta2 = group["betas"]
        count = number_of(state["step"].add_(1), lr)
        correction = 1 - beta2**count
        most = 2 / (1 - beta2) - 1
        length = most - 2 * count * beta2**count / correction
        is_known = length > 5
        length = larger(length, 5)  # before that, there is no root of what follows
        rectified = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
        scale = chosen(is_known, (rectified * correction) ** 0.5, 0.0)
        numbers = (
            1 - beta1,
            beta2,
            1 - beta2,
            lr / (1 - beta1**count),
            scale,
            chosen(is_known, 0.0, 1.0),
            group["eps"],
        )
        return (state["exp_avg"], state["exp_avg_sq"]), numbers


def _step(F: Any, grad: Any, mean: Any, square: Any, param: Any, *numbers: Any) -> None:
    share, square_kept, square_share, step_size, scale, is_plain, eps = numbers
    mean += (grad - mean) * share
    square *= square_kept
    square += grad * grad * square_share
    # `is_plain` is 1 while the scale is 0: the quotient then vanishes, also where `square` does.
    param -= mean * step_size * (scale / (F.sqrt(square) + eps + is_plain) + is_plain)
