"""RMSprop: gradients divided by the root of their running mean square."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from lamina.core.tensor import Tensor
from lamina.ops.creation import zeros_like
from lamina.optim.elementwise import ElementwiseOptimizer, one_number
from lamina.optim.settings import check_lr, check_nonnegative
from lamina.optim.updates import Formula

__all__ = ["RMSprop"]


class RMSprop(ElementwiseOptimizer):
    """Steps by the gradient, divided by the root of its running mean square.

        v = alpha * v + (1 - alpha) * g**2
        w = w - lr * g / (sqrt(v) + eps)

    With `momentum`, `b = momentum * b + g / (sqrt(v) + eps)` and `w = w - lr * b`. Centered, `v` in
    the root is less the square of the running mean gradient. From Tieleman and Hinton, "Lecture
    6.5: rmsprop" (2012); the centered form from Graves, "Generating sequences with recurrent neural
    networks" (2013).

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the learning rate.
        alpha: how much of the means is kept in a step.
        eps: added to the denominator, outside the root.
        weight_decay: the factor of an L2 penalty.
        momentum: how much of the last step is kept.
        centered: whether the variance is estimated instead of the mean square.
        capturable: whether counts of steps are kept beside their parameter.
        foreach: accepted for compatibility.
        maximize: whether to climb instead.
        differentiable: whether the step itself is recorded for autograd.

    Raises:
        OptimizerArgumentError: If a setting is negative.

    Example:
        >>> import lamina
        >>> w = lamina.ones(2, requires_grad=True)
        >>> optimizer = lamina.optim.RMSprop([w], lr=0.1, alpha=0.75)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.8000, 0.8000])
    """

    _added_later: ClassVar = {
        "momentum": 0,
        "centered": False,
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_nonnegative(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": one_number(param, group), "square_avg": zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = zeros_like(param)
        return state

    def _formula(self, group: dict[str, Any]) -> Formula:
        return _FORMULAS[bool(group["centered"]), group["momentum"] > 0]

    def _given(
        self, state: dict[str, Any], group: dict[str, Any]
    ) -> tuple[tuple[Tensor, ...], tuple[Any, ...]]:
        state["step"].add_(1)
        alpha = group["alpha"]
        targets = [state["square_avg"]]
        numbers = [alpha, 1 - alpha, group["eps"], group["lr"]]
        if group["centered"]:
            targets.append(state["grad_avg"])
        if group["momentum"] > 0:
            targets.append(state["momentum_buffer"])
            numbers.append(group["momentum"])
        return tuple(targets), tuple(numbers)


def _take_in(grad: Any, square: Any, kept: Any, share: Any) -> None:
    square *= kept
    square += grad * grad * share


def _variance(grad: Any, square: Any, mean: Any, kept: Any, share: Any) -> Any:
    _take_in(grad, square, kept, share)
    mean += (grad - mean) * share
    return square - mean * mean


def _move(buffer: Any, param: Any, change: Any, momentum: Any, lr: Any) -> None:
    buffer *= momentum
    buffer += change
    param -= buffer * lr


def _plain(
    F: Any, grad: Any, square: Any, param: Any, kept: Any, share: Any, eps: Any, lr: Any
) -> None:
    _take_in(grad, square, kept, share)
    param -= grad * lr / (F.sqrt(square) + eps)


def _centered(
    F: Any, grad: Any, square: Any, mean: Any, param: Any, kept: Any, share: Any, eps: Any, lr: Any
) -> None:
    variance = _variance(grad, square, mean, kept, share)
    param -= grad * lr / (F.sqrt(variance) + eps)


def _with_momentum(F: Any, grad: Any, square: Any, buffer: Any, param: Any, *numbers: Any) -> None:
    kept, share, eps, lr, momentum = numbers
    _take_in(grad, square, kept, share)
    _move(buffer, param, grad / (F.sqrt(square) + eps), momentum, lr)


def _centered_with_momentum(
    F: Any, grad: Any, square: Any, mean: Any, buffer: Any, param: Any, *numbers: Any
) -> None:
    kept, share, eps, lr, momentum = numbers
    variance = _variance(grad, square, mean, kept, share)
    _move(buffer, param, grad / (F.sqrt(variance) + eps), momentum, lr)


_FORMULAS: Final[dict[tuple[bool, bool], Formula]] = {
    (False, False): _plain,
    (True, False): _centered,
    (False, True): _with_momentum,
    (True, True): _centered_with_momentum,
}
