"""The affine map of a layer: `linear`."""

from __future__ import annotations

from typing import Any

from lamina.core.autocasting import autocast_inputs
from lamina.core.blame.products import c_name, product_dtypes, product_mismatch
from lamina.core.call import execute
from lamina.core.fast_products import affine_caller, affine_op
from lamina.core.op import Rule, offer, traced
from lamina.core.samples import sample
from lamina.core.tensor import Tensor
from lamina.ops.product_checks import check_tensors, dot_of, legacy, refuse, refuse_bool, rows_of

__all__: list[str] = []


def _linear(input: Any, weight: Any, bias: Any = None) -> Any:
    shape = input.shape
    rows = input if len(shape) == 2 else input.reshape(rows_of(shape))
    result = dot_of(rows, weight.T)
    if bias is not None:
        result += bias
    return result if len(shape) == 2 else result.reshape((*shape[:-1], weight.shape[0]))


def _bias_rule(F: Any, g: Any, bias_shape: Any) -> Any:
    return F.sum_to_size(g, bias_shape)


def _input_rule(F: Any, g: Any, weight: Any, input_shape: Any) -> Any:
    weight = F.conj(weight)
    if len(input_shape) == 2:
        return F.mm(g, weight)
    rows = F.reshape(g, rows_of(tuple(g.shape)))
    return F.reshape(F.mm(rows, weight), input_shape)


def _weight_rule(F: Any, g: Any, input: Any, weight_shape: Any) -> Any:
    # In this order the result has the layout of the weight, and can become its `.grad` as it is.
    if g.ndim != 2:
        g = F.reshape(g, rows_of(tuple(g.shape)))
        input = F.reshape(input, rows_of(tuple(input.shape)))
    return F.conj(F.mm(F.conj_transpose(g), input))


_rules: dict[str, Rule] = {"bias": _bias_rule, "input": _input_rule, "weight": _weight_rule}


def _general_linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`linear` of anything but float matrices and batches of one dtype."""
    check_tensors("linear", ("input", input), ("weight", weight))
    if bias is not None:
        check_tensors("linear", ("bias", bias))
    input, weight, bias = autocast_inputs("linear", (input, weight, bias))
    if weight.ndim != 2 or input.ndim == 0:
        product = traced.matmul(input, weight.t() if weight.ndim <= 2 else weight)
        return product if bias is None else product + bias
    _check_linear(input, weight, bias)
    if input.ndim == 2:
        op = _linear_ops[bias is None]
    elif input.ndim == 1 and bias is None:
        op = _vector_op
    else:
        op = _linear_ops[2 + (bias is None)]
    return execute(op, [input, weight, bias])


def _check_linear(input: Tensor, weight: Tensor, bias: Any) -> None:
    kind = input._array.dtype
    if weight._array.dtype != kind or (bias is not None and bias._array.dtype != kind):
        tensors = [t for t in (input, weight, bias) if t is not None]
        if bias is None:
            headline = (
                "expected m1 and m2 to have the same dtype, but got: "
                f"{c_name(input.dtype)} != {c_name(weight.dtype)}"
            )
        else:
            name, first = "mat1", input
            if bias._array.dtype != weight._array.dtype:
                name, first = "self", bias
            headline = (
                f"{name} and mat2 must have the same dtype, but got "
                f"{legacy(first)} and {legacy(weight)}"
            )
        raise product_dtypes(headline, tensors)
    refuse_bool("addmm_impl_cpu_", input._array)
    shape, other_shape = input._array.shape, weight._array.shape[::-1]
    if shape[-1] != other_shape[0]:
        raise product_mismatch(input, weight, rows_of(shape), other_shape, is_layer=True)
    if bias is not None and bias.ndim and bias._array.shape[-1] not in (1, other_shape[1]):
        raise refuse(
            f"The expanded size of the tensor ({other_shape[1]}) must match the existing size "
            f"({bias._array.shape[-1]}) at non-singleton dimension 1.  Target sizes: "
            f"{[rows_of(shape)[0], other_shape[1]]}.  Tensor sizes: {list(bias._array.shape)}",
            "the bias must have one element for each row of the weight",
        )


def _linear_op(name: str, node_name: str, *shapes: Any) -> Any:
    return affine_op(
        name, _linear, grad=_rules, node_name=node_name,
        samples=lambda make: [sample(*(make(*shape) for shape in shapes))],
        doc="An affine map of the last dimension: $x W^T + b$.",
    )  # fmt: skip


_linear_ops = (
    _linear_op("linear", "AddmmBackward0", (2, 3), (4, 3), (4,)),
    _linear_op("linear_of_matrix", "MmBackward0", (2, 3), (4, 3)),
    _linear_op("linear_of_batch", "ViewBackward0", (5, 2, 3), (4, 3), (4,)),
    _linear_op("linear_of_batch_without_bias", "UnsafeViewBackward0", (5, 2, 3), (4, 3)),
)
_vector_op = _linear_op("linear_of_vector", "SqueezeBackward4", (3,), (4, 3))
linear = affine_caller(_linear, _linear_ops, _general_linear)
linear.__name__ = linear.__qualname__ = "linear"
linear.__module__ = __name__
linear.__doc__ = r"""An affine map of the last dimension: $y = x W^T + b$.

    >>> import lamina
    >>> weight, bias = lamina.tensor([[1.0, 2.0]]), lamina.tensor([10.0])
    >>> lamina.nn.functional.linear(lamina.tensor([[3.0, 4.0]]), weight, bias)
    tensor([[21.]])
    """
linear.op = _linear_ops[0]  # type: ignore[attr-defined]
offer("linear", _linear, linear)
