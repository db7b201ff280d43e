"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any

from lamina.core.tensor import Tensor
from lamina.errors import OptimizerArgumentError
from lamina.optim.optimizer import Optimizer
from lamina.optim.settings import check_lr, check_nonnegative, check_variants
from lamina.optim.updates import Row, Update

__all__ = ["SGD"]


class SGD(Optimizer):
    """Stochastic gradient descent.

    With `g` the gradient plus `weight_decay * w`:

        v = momentum * v + (1 - dampening) * g      (v = g in the first step)
        w = w - lr * v                              (nesterov: lr * (g + momentum * v))

    The learning rate is outside `v`, as in PyTorch and other than in Sutskever et al., "On the
    importance of initialization and momentum in deep learning" (2013).

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the learning rate.
        momentum: how much of the last step is kept.
        dampening: how much less of the gradient is added to the momentum.
        weight_decay: the factor of an L2 penalty.
        nesterov: whether the gradient is taken as if the momentum step had been made.
        maximize: whether to climb instead.
        foreach: accepted for compatibility.
        differentiable: whether the step itself is recorded for autograd.
        fused: accepted for compatibility.

    Example:
        >>> import lamina
        >>> w = lamina.ones(2, requires_grad=True)
        >>> optimizer = lamina.optim.SGD([w], lr=0.5, momentum=0.9)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_variants(fused, foreach, differentiable)
        check_nonnegative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise OptimizerArgumentError(
                "Nesterov momentum requires a momentum and zero dampening",
                help=["pass momentum=0.9, for example"],
            )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name in ("nesterov", "maximize", "foreach", "differentiable", "fused"):
                group.setdefault(name, None if name in ("foreach", "fused") else False)

    def _update_all(self, pairs: list[tuple[Tensor, Tensor]], group: dict[str, Any]) -> None:
        momentum = group["momentum"]
        if group["maximize"]:
            pairs = [(param, -grad) for param, grad in pairs]
        if group["weight_decay"] != 0:
            decay = group["weight_decay"]
            pairs = [(param, grad.add(param, alpha=decay)) for param, grad in pairs]
        if momentum != 0:
            buffers = self._moved_on(pairs, (momentum, 1 - group["dampening"]))
            if group["nesterov"]:
                buffers = [
                    grad.add(buffer, alpha=momentum)
                    for (_, grad), buffer in zip(pairs, buffers, strict=True)
                ]
            pairs = [(param, buffer) for (param, _), buffer in zip(pairs, buffers, strict=True)]
        lr = group["lr"]
        is_tensor = isinstance(lr, Tensor)
        _descend.all(
            [
                Row((grad,), (param,), (lr.to(dtype=param.dtype) if is_tensor else lr,))
                for param, grad in pairs
            ]
        )

    def _moved_on(
        self, pairs: list[tuple[Tensor, Tensor]], shares: tuple[float, float]
    ) -> list[Tensor]:
        """The momentum of each parameter, with its gradient taken in."""
        rows: list[Row] = []
        for param, grad in pairs:
            state = self.state[param]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                state["momentum_buffer"] = grad.detach().clone()
            else:
                rows.append(Row((grad,), (buffer,), shares))
        _take_in.all(rows)
        return [self.state[param]["momentum_buffer"] for param, _ in pairs]


def _taken_in(F: Any, grad: Any, buffer: Any, kept: Any, share: Any) -> None:
    buffer *= kept
    buffer += grad * share


def _descended(F: Any, grad: Any, param: Any, lr: Any) -> None:
    param -= grad * lr


_take_in, _descend = Update(_taken_in), Update(_descended)
