"""Samples of categories that gradients can flow through."""

from __future__ import annotations

from typing import Any

from lamina.core.arguments import takes_tensors
from lamina.core.op import traced
from lamina.core.tensor import wrap
from lamina.ops.draws import draw

__all__: list[str] = []


@takes_tensors
def gumbel_softmax(
    logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Any:
    """A random category drawn by its score, as a soft or hard one-hot vector.

    Args:
        logits: scores.
        tau: the temperature: the smaller, the nearer to one-hot.
        hard: whether to return one-hot vectors, with the gradient of soft ones.
        eps: has no effect any more.
        dim: the dimension along which categories lie.
    """
    waits = draw("exponential", None, logits.shape, logits._array.dtype, logits.device)
    soft = traced.softmax((logits - wrap(waits, None).log()) / tau, dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    one_hot = traced.zeros_like(logits).scatter(dim, index, 1.0)
    return one_hot - soft.detach() + soft
