"""`summary`: the one entrance."""

from __future__ import annotations

from typing import Any

from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError
from lamina.explain.summaries.modules import ModuleSummary, summary_of_module
from lamina.explain.summaries.tensors import TensorSummary, summary_of_tensor
from lamina.nn import Module


def summary(subject: Any, *inputs: Any, **keywords: Any) -> TensorSummary | ModuleSummary:
    """A tensor or a model at a glance; what is returned prints itself.

    Args:
        subject: A tensor: its shape, range, mean, and how many elements are NaN, infinite or zero.
            A module: its layers with their parameters.
        inputs: For a module, what to call it with, which tells the shapes between its layers. It
            is called once, in evaluation mode and without recording; nothing of it is left behind.
        keywords: The same, by name.

    Raises:
        ArgumentTypeError: If the subject is neither.

    Example:
        >>> import lamina
        >>> lamina.summary(lamina.tensor([1.0, 0.0, float("nan")]))
        float32[3], n=3 (12 bytes), from 0 to 1, mean 0.5, std 0.5, 1 zeros, 1 NaN: [1.0, 0.0, nan]
        >>> lamina.summary(lamina.nn.Linear(4, 2), lamina.ones(3, 4))
        layer   output  parameters
        --------------------------
        Linear  [3, 2]          10
        --------------------------
        10 parameters; 40 bytes
    """
    if isinstance(subject, Tensor):
        return summary_of_tensor(subject)
    if isinstance(subject, Module):
        return summary_of_module(subject, inputs, keywords)
    raise ArgumentTypeError(
        f"summary() tells of a tensor or a module, not of {type(subject).__name__}",
        help=["pass `model`, or one tensor such as `model.weight`"],
    )
