"""Linear maps with something after them: cross-entropy of one, and forms of two inputs."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.core.arguments import takes_tensors
from lamina.core.autocasting import unaffected
from lamina.core.op import traced
from lamina.ops.affine import linear
from lamina.ops.class_loss import cross_entropy

__all__ = ["bilinear"]


@unaffected
@takes_tensors
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    r"""$x_1^T W_o x_2 + b_o$ for each output $o$.

    Args:
        input1: (*, I).
        input2: (*, J).
        weight: (O, I, J).
        bias: (O), or None.
    """
    outputs, first, second = weight._array.shape
    lead = input1._array.shape[:-1]
    if input2._array.shape[:-1] != lead:
        raise errors.InvalidArgument(
            "bilinear(): input batch dimensions do not match: "
            f"{list(input1._array.shape)} and {list(input2._array.shape)}"
        )
    if (input1._array.shape[-1], input2._array.shape[-1]) != (first, second):
        raise errors.InvalidArgument(
            f"bilinear(): input sizes {input1._array.shape[-1]} and {input2._array.shape[-1]} do "
            f"not match the weight's {first} and {second}"
        )
    rows = 1
    for size in lead:
        rows *= size
    matrix = weight.permute(1, 0, 2).reshape(first, outputs * second)
    halfway = traced.matmul(input1.reshape(rows, first), matrix).reshape(rows, outputs, second)
    made = (halfway * input2.reshape(rows, 1, second)).sum(-1).reshape(*lead, outputs)
    return made if bias is None else made + bias


@takes_tensors
def linear_cross_entropy(
    input: Any,
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:
    """The cross-entropy of a linear map's scores.

    Args:
        input: (N, I) or (I).
        linear_weight: (C, I), or (C, d1, ..., I) for a loss over several dimensions.
        target: classes or probabilities, as for `cross_entropy`.
        linear_bias: (C), or (C, d1, ...), or None.
        weight, reduction, label_smoothing: as for `cross_entropy`.
        ignore_index: the class of targets that don't count; none if None.
        options: how PyTorch saves memory; it changes no result, and nothing here.
    """
    *outputs, size = linear_weight._array.shape
    scores = linear(
        input,
        linear_weight.reshape(-1, size),
        None if linear_bias is None else linear_bias.reshape(-1),
    )
    if len(outputs) > 1:
        scores = scores.reshape(*input._array.shape[:-1], *outputs)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(scores, target, weight, None, ignored, None, reduction, label_smoothing)
