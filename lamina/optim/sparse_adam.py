"""SparseAdam: Adam for gradients that have few rows."""

from __future__ import annotations

from typing import Any

from lamina.core.tensor import Tensor
from lamina.errors import NotSupported, OptimizerArgumentError
from lamina.optim.optimizer import Optimizer
from lamina.optim.settings import check_betas, check_lr, check_nonnegative

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that changes only the rows which a sparse gradient has.

    Gradients are dense in Lamina, an embedding's too, and for dense ones PyTorch's raises as well:
    so `step` refuses every gradient, and says what to use.

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the learning rate.
        betas: how much of the two means is kept in a step.
        eps: added to the denominator.
        maximize: whether to climb instead.

    Raises:
        OptimizerArgumentError: If a setting is out of its range, or a parameter is complex.
        NotSupported: From `step`, if there is a gradient.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        check_nonnegative(eps=eps)
        if not isinstance(lr, Tensor) and lr == 0:
            raise OptimizerArgumentError(f"Invalid learning rate: {lr}", help=["lr must be > 0"])
        if eps == 0:
            raise OptimizerArgumentError(f"Invalid epsilon value: {eps}", help=["eps must be > 0"])
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        complex_ones = [
            [g, k]
            for g, group in enumerate(self.param_groups)
            for k, param in enumerate(group["params"])
            if param.is_complex()
        ]
        if complex_ones:
            raise OptimizerArgumentError(
                f"Complex params at indices {complex_ones}: SparseAdam does not support complex "
                "parameters"
            )

    def _update(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        raise NotSupported(
            "SparseAdam does not support dense gradients, please consider Adam instead",
            help=["use `torch.optim.Adam`: gradients are dense here, those of embeddings too"],
        )
