"""Muon: momentum whose directions are all made equally long, for weight matrices."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from lamina.core.tensor import Tensor, wrap
from lamina.dtypes import bfloat16
from lamina.errors import NotSupported, OptimizerArgumentError
from lamina.ops.creation import zeros_like
from lamina.ops.matrix_sums import addmm
from lamina.ops.product_checks import dot_of
from lamina.optim.optimizer import Optimizer
from lamina.optim.settings import check_lr
from lamina.optim.updates import own_arrays

__all__ = ["Muon"]

_MOST_STEPS: Final = 100
_ADJUSTMENTS: Final = (None, "original", "match_rms_adamw")


class Muon(Optimizer):
    """Steps by the momentum, with its singular values brought near to 1.

        b = momentum * b + (1 - momentum) * g
        u = momentum * b + (1 - momentum) * g        (without nesterov: b)
        w = (1 - lr * weight_decay) * w - adjusted_lr * orthogonalized(u)

    `orthogonalized` scales `u` to norm 1 and then makes `ns_steps` times
    `x = a * x + (b * s + c * s @ s) @ x` with `s = x @ x.T`, in bfloat16. From Jordan, "Muon: an
    optimizer for hidden layers in neural networks" (2024); "match_rms_adamw" from Liu et al., "Muon
    is scalable for LLM training" (2025).

    Args:
        params: matrices of hidden layers; other parameters go to another optimizer.
        lr: the learning rate.
        weight_decay: how fast weights decay, apart from the gradient.
        momentum: how much of the last steps is kept.
        nesterov: whether the gradient is taken as if the momentum step had been made.
        ns_coefficients: `a`, `b` and `c`.
        eps: the least norm that is divided by.
        ns_steps: the number of iterations, below 100.
        adjust_lr_fn: "original" (also None) for `lr * sqrt(max(1, rows / columns))`, or
            "match_rms_adamw" for `lr * 0.2 * sqrt(max(rows, columns))`.

    Raises:
        OptimizerArgumentError: If a setting is out of its range, or a parameter is no matrix.
        NotSupported: From `step`, for complex parameters.

    Example:
        >>> import lamina
        >>> w = lamina.zeros(2, 2, requires_grad=True)
        >>> optimizer = lamina.optim.Muon([w], lr=0.5)
        >>> (w * lamina.tensor([[100.0, 0.0], [0.0, 1.0]])).sum().backward()
        >>> optimizer.step()
        >>> w.diag().sign()
        tensor([-1., -1.], grad_fn=<SignBackward0>)
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        for name, value in (("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0:
                raise OptimizerArgumentError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in _ADJUSTMENTS:
            raise OptimizerArgumentError(
                f"Adjust learning rate function {adjust_lr_fn} is not supported",
                help=["it is 'original' or 'match_rms_adamw'"],
            )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise OptimizerArgumentError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{param.size()}",
                        help=["give it the weight matrices, and the rest to AdamW"],
                    )

    def _update(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        if param.is_complex():
            raise NotSupported("Muon does not support complex parameters")
        state = self.state[param]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = zeros_like(grad)
        kept = group["momentum"]
        change = state["momentum_buffer"].lerp_(grad, 1 - kept)
        if group["nesterov"]:
            change = grad.lerp(change, kept)
        settings = group["ns_coefficients"], group["ns_steps"], group["eps"]
        arrays = own_arrays((change,), (param,))
        if arrays is None:
            change = _orthogonalized(change, *settings)
        else:
            with np.errstate(all="ignore"):
                change = wrap(_orthogonalized_array(arrays[0], *settings), None)
        lr = group["lr"]
        param.mul_(1 - lr * group["weight_decay"])
        param.sub_(change.to(dtype=param.dtype) * (lr * _ratio(group["adjust_lr_fn"], param)))


def _ratio(adjustment: str | None, param: Tensor) -> float:
    rows, columns = param.shape
    if adjustment == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _check(coefficients: Any, steps: int) -> None:
    if steps >= _MOST_STEPS:
        raise OptimizerArgumentError(
            "Number of steps must be less than 100 for computational efficiency",
            help=["5 is usual"],
        )
    if len(coefficients) != 3:
        raise OptimizerArgumentError("Coefficients must be a tuple of exactly 3 values")


def _orthogonalized(grad: Tensor, coefficients: Any, steps: int, eps: float) -> Tensor:
    """A matrix with the same singular vectors, and singular values near to 1."""
    _check(coefficients, steps)
    own, linear, quadratic = coefficients
    is_tall = grad.size(0) > grad.size(1)
    x = grad.bfloat16()
    if is_tall:
        x = x.T  # the smaller of the two products
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=linear, alpha=quadratic), x, beta=own)
    return x.T if is_tall else x


def _orthogonalized_array(grad: Any, coefficients: Any, steps: int, eps: float) -> Any:
    """The same of an array, to the last bit: bfloat16's numbers are kept in float32.

    Operations widen what they are given and round what they give, which takes as long as the
    products of small matrices. Here each result is rounded, and nothing is widened again.
    """
    _check(coefficients, steps)
    own, linear, quadratic = coefficients
    half = bfloat16.numpy

    def rounded(values: Any) -> Any:
        return values.astype(half).astype(np.float32)

    is_tall = grad.shape[0] > grad.shape[1]
    x = rounded(grad)
    if is_tall:
        x = x.T
    length = rounded(np.sqrt(np.sum(x * x, dtype=np.float64), dtype=np.float32))
    x = rounded(x / rounded(np.maximum(length, np.float32(eps))))
    for _ in range(steps):
        # A copy: NumPy multiplies a matrix by its own transpose three times slower.
        gram = rounded(dot_of(x, x.T.copy("K")))
        power = rounded(_sum_of(dot_of(gram, gram), quadratic, gram, linear))
        x = rounded(_sum_of(dot_of(power, x), 1, x, own))
    return x.T if is_tall else x


def _sum_of(product: Any, alpha: float, values: Any, beta: float) -> Any:
    """`alpha * product + beta * values`, in the product's memory."""
    if alpha != 1:
        product *= alpha
    product += values * beta
    return product
