"""Adam, and AdamW, which decays weights apart from the gradient."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from lamina.core.tensor import Tensor
from lamina.ops.creation import zeros_like
from lamina.optim.elementwise import ElementwiseOptimizer, number_of, one_number
from lamina.optim.settings import check_betas, check_lr, check_nonnegative, check_variants
from lamina.optim.updates import Formula

__all__ = ["Adam", "AdamW"]


class Adam(ElementwiseOptimizer):
    """Steps by the mean of past gradients, divided by the root of their mean square.

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        w = w - lr / (1 - beta1**t) * m / (sqrt(v / (1 - beta2**t)) + eps)

    From Kingma and Ba, "Adam: a method for stochastic optimization" (2014).

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the learning rate.
        betas: how much of the two means is kept in a step.
        eps: added to the denominator.
        weight_decay: the factor of an L2 penalty.
        amsgrad: whether `v` in the denominator never falls (Reddi et al., "On the convergence of
            Adam and beyond", 2018).
        foreach: accepted for compatibility.
        maximize: whether to climb instead.
        capturable: accepted for compatibility: a step never reads a tensor's value.
        differentiable: whether the step itself is recorded for autograd.
        fused: accepted for compatibility.
        decoupled_weight_decay: whether weights decay apart from the gradient, as in `AdamW`.

    Example:
        >>> import lamina
        >>> w = lamina.ones(2, requires_grad=True)
        >>> optimizer = lamina.optim.Adam([w], lr=0.5)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_lr(lr)
        check_betas(betas)
        check_variants(fused, foreach, differentiable)
        check_nonnegative(eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    _added_later: ClassVar = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        names = ("exp_avg", "exp_avg_sq") + ("max_exp_avg_sq",) * group["amsgrad"]
        return {"step": one_number(param, group)} | {name: zeros_like(param) for name in names}

    def _formula(self, group: dict[str, Any]) -> Formula:
        return _step_of_largest if group["amsgrad"] else _step

    def _given(
        self, state: dict[str, Any], group: dict[str, Any]
    ) -> tuple[tuple[Tensor, ...], tuple[Any, ...]]:
        beta1, beta2 = group["betas"]
        lr = group["lr"]
        count = number_of(state["step"].add_(1), lr)
        step_size, root = lr / (1 - beta1**count), (1 - beta2**count) ** 0.5
        names = _LARGEST if group["amsgrad"] else _MEANS
        numbers = (1 - beta1, beta2, 1 - beta2, step_size, root, group["eps"])
        return tuple(state[name] for name in names), numbers


_MEANS: Final = ("exp_avg", "exp_avg_sq")
_LARGEST: Final = (*_MEANS, "max_exp_avg_sq")


def _averaged(
    grad: Any, mean: Any, square: Any, share: Any, square_kept: Any, square_share: Any
) -> None:
    mean += (grad - mean) * share
    square *= square_kept
    square += grad * grad * square_share


def _descended(
    F: Any, mean: Any, square: Any, param: Any, step_size: Any, root: Any, eps: Any
) -> None:
    param -= mean * step_size / (F.sqrt(square) / root + eps)


def _step(F: Any, grad: Any, mean: Any, square: Any, param: Any, *numbers: Any) -> None:
    _averaged(grad, mean, square, *numbers[:3])
    _descended(F, mean, square, param, *numbers[3:])


def _step_of_largest(
    F: Any, grad: Any, mean: Any, square: Any, largest: Any, param: Any, *numbers: Any
) -> None:
    _averaged(grad, mean, square, *numbers[:3])
    F.assign(largest, F.maximum(largest, square))
    _descended(F, mean, largest, param, *numbers[3:])


class AdamW(Adam):
    """Adam whose weights decay by `lr * weight_decay` in each step, apart from the gradient.

    From Loshchilov and Hutter, "Decoupled weight decay regularization" (2017). It is an `Adam` with
    `decoupled_weight_decay=True` and another default, as in PyTorch.

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the learning rate.
        betas: how much of the two means is kept in a step.
        eps: added to the denominator.
        weight_decay: how fast weights decay.
        amsgrad: as for `Adam`.
        maximize: whether to climb instead.
        foreach: accepted for compatibility.
        capturable: accepted for compatibility.
        differentiable: whether the step itself is recorded for autograd.
        fused: accepted for compatibility.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
