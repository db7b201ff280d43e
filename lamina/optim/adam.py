"""Adam, and AdamW, which decays weights apart from the gradient."""

from __future__ import annotations

from typing import Any

from lamina import dtypes
from lamina.core.tensor import Tensor
from lamina.devices import current_recorder
from lamina.errors import OptimizerArgumentError
from lamina.ops.complex_numbers import view_as_real
from lamina.ops.creation import zeros_like
from lamina.ops.data import tensor
from lamina.optim.optimizer import Optimizer, nonnegative
from lamina.optim.updates import Row, Update

__all__ = ["Adam", "AdamW"]


def _check_settings(lr: Any, betas: tuple[Any, Any], eps: float, weight_decay: float) -> None:
    nonnegative(lr=lr)
    if not eps >= 0:
        raise OptimizerArgumentError(f"Invalid epsilon value: {eps}", help=["eps must be >= 0"])
    for i, beta in enumerate(betas):
        if not isinstance(beta, Tensor) and not 0.0 <= beta < 1.0:
            raise OptimizerArgumentError(
                f"Invalid beta parameter at index {i}: {beta}",
                help=["both betas lie between 0 and 1; (0.9, 0.999) is usual"],
            )
    nonnegative(weight_decay=weight_decay)


class Adam(Optimizer):
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
        _check_settings(lr, betas, eps, weight_decay)
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        absent = {"amsgrad": False, "maximize": False, "foreach": None, "capturable": False}
        absent |= {"differentiable": False, "fused": None, "decoupled_weight_decay": False}
        for group in self.param_groups:
            for name, value in absent.items():
                group.setdefault(name, value)

    def _start(self, param: Tensor, state: dict[str, Any], amsgrad: bool) -> None:
        is_double = dtypes.get_default_dtype() is dtypes.float64
        state["step"] = tensor(0.0, dtype=dtypes.float64 if is_double else dtypes.float32)
        state["exp_avg"] = zeros_like(param)
        state["exp_avg_sq"] = zeros_like(param)
        if amsgrad:
            state["max_exp_avg_sq"] = zeros_like(param)

    def _update_all(self, pairs: list[tuple[Tensor, Tensor]], group: dict[str, Any]) -> None:
        rows: list[Row] = []
        for param, grad in pairs:
            self._prepare(param, grad, group, rows)
        _step.all(rows)

    def _prepare(self, param: Tensor, grad: Tensor, group: dict[str, Any], rows: list[Row]) -> None:
        """Append what a step is for one parameter, or make it at once where it is unusual."""
        state = self.state[param]
        if not state:
            self._start(param, state, group["amsgrad"])
        beta1, beta2 = group["betas"]
        lr, weight_decay = group["lr"], group["weight_decay"]
        step, mean, square = state["step"], state["exp_avg"], state["exp_avg_sq"]
        if group["maximize"]:
            grad = -grad
        step.add_(1)
        if weight_decay != 0:
            if group["decoupled_weight_decay"]:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        largest = state["max_exp_avg_sq"] if group["amsgrad"] else None
        if param.is_complex():
            # Real and imaginary part are two numbers to Adam, each with its own scale.
            param, grad, mean, square = (view_as_real(t) for t in (param, grad, mean, square))
            largest = None if largest is None else view_as_real(largest)

        shares = (1 - beta1, beta2, 1 - beta2)
        scales = (*_bias_corrections(step, lr, beta1, beta2, param), group["eps"])
        if largest is None:
            rows.append(Row((grad,), (mean, square, param), (*shares, *scales)))
            return
        _take_in.all([Row((grad,), (mean, square), shares)])
        largest.copy_(largest.maximum(square))
        _descend.all([Row((mean, largest), (param,), scales)])


def _averaged(
    F: Any, grad: Any, mean: Any, square: Any, share: Any, square_kept: Any, square_share: Any
) -> None:
    mean += (grad - mean) * share
    square *= square_kept
    square += grad * grad * square_share


def _descended(
    F: Any, mean: Any, square: Any, param: Any, step_size: Any, root: Any, eps: Any
) -> None:
    param -= mean * step_size / (F.sqrt(square) / root + eps)


def _stepped(F: Any, grad: Any, mean: Any, square: Any, param: Any, *numbers: Any) -> None:
    _averaged(F, grad, mean, square, *numbers[:3])
    _descended(F, mean, square, param, *numbers[3:])


_take_in, _descend, _step = Update(_averaged), Update(_descended), Update(_stepped)


def _bias_corrections(
    step: Tensor, lr: Any, beta1: float, beta2: float, param: Tensor
) -> tuple[Any, Any]:
    """Return `lr / (1 - beta1**step)` and `sqrt(1 - beta2**step)`.

    The same arithmetic on a Python number or, in a step that is being captured, on tensors, so
    that the program holds for every step number. Both are in float64: in float32, `1 - 0.999**t`
    would lose five of its digits to cancellation in the first steps.
    """
    if current_recorder() is None and not isinstance(lr, Tensor):
        count = step.item()
        return lr / (1 - beta1**count), (1 - beta2**count) ** 0.5
    count = step.to(dtype=dtypes.float64)
    step_size = lr / (1 - beta1**count)
    root = (1 - beta2**count) ** 0.5
    place, dtype = param.device, param.dtype
    return step_size.to(device=place, dtype=dtype), root.to(device=place, dtype=dtype)


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
