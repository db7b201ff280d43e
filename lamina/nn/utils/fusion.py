"""Batch norm in evaluation mode, folded into the layer before it."""

from __future__ import annotations

import copy
from typing import TypeVar

from lamina.core.tensor import Tensor
from lamina.errors import LayerMismatch
from lamina.nn.linear import Linear
from lamina.nn.module import Module
from lamina.nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]

Layer = TypeVar("Layer", bound=Module)


def _folded(
    layer: tuple[Tensor, Tensor | None],
    averages: tuple[Tensor, Tensor, float],
    affine: tuple[Tensor | None, Tensor | None],
    dim: int,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a layer whose output is normalized; `dim` counts its outputs."""
    (weight, bias), (mean, variance, eps), (scale, shift) = layer, averages, affine
    factor = (variance + eps).rsqrt()
    factor = factor if scale is None else factor * scale
    sizes = [1] * weight.ndim
    sizes[dim] = -1
    moved = -mean if bias is None else bias - mean
    moved = moved * factor
    moved = moved if shift is None else moved + shift
    return (
        Parameter((weight * factor.reshape(sizes)).to(weight.dtype), weight.requires_grad),
        Parameter(
            moved.to(weight.dtype), weight.requires_grad if bias is None else bias.requires_grad
        ),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a convolution that does the work of a batch norm after it too.

    Args:
        conv_w: the convolution's weight.
        conv_b: its bias, or None.
        bn_rm: the running mean.
        bn_rv: the running variance.
        bn_eps: what is added to it.
        bn_w: the scale, or None.
        bn_b: the shift, or None.
        transpose: whether the convolution is a transposed one.
    """
    averages = (bn_rm, bn_rv, bn_eps)
    return _folded((conv_w, conv_b), averages, (bn_w, bn_b), 1 if transpose else 0)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a linear layer that does the work of a batch norm after it too.

    Args:
        linear_w: the layer's weight.
        linear_b: its bias, or None.
        bn_rm: the running mean.
        bn_rv: the running variance.
        bn_eps: what is added to it.
        bn_w: the scale, or None.
        bn_b: the shift, or None.
    """
    return _folded((linear_w, linear_b), (bn_rm, bn_rv, bn_eps), (bn_w, bn_b), 0)


def _check_eval(layer: Module, norm: Module) -> None:
    if layer.training or norm.training:
        raise LayerMismatch("Fusion only for eval!", help=["call `.eval()` on both modules first"])


def _fused(layer: Layer, weights: tuple[Parameter, Parameter]) -> Layer:
    made = copy.deepcopy(layer)
    made.weight, made.bias = weights
    return made


def fuse_conv_bn_eval(conv: Layer, bn: Module, transpose: bool = False) -> Layer:
    """Return a convolution that does the work of a batch norm after it too, in evaluation mode.

    Args:
        conv: the convolution.
        bn: the batch norm, with running averages.
        transpose: whether the convolution is a transposed one.

    Example:
        >>> import lamina
        >>> conv, norm = lamina.nn.Conv2d(2, 3, 1).eval(), lamina.nn.BatchNorm2d(3).eval()
        >>> fuse_conv_bn_eval(conv, norm)
        Conv2d(2, 3, kernel_size=(1, 1), stride=(1, 1))
    """
    _check_eval(conv, bn)
    averages = (bn.running_mean, bn.running_var, bn.eps)
    layer = (conv.weight, conv.bias)
    return _fused(conv, fuse_conv_bn_weights(*layer, *averages, bn.weight, bn.bias, transpose))


def fuse_linear_bn_eval(linear: Linear, bn: Module) -> Linear:
    """Return a linear layer that does the work of a batch norm after it too, in evaluation mode.

    Args:
        linear: the layer.
        bn: the batch norm, with running averages.
    """
    _check_eval(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise LayerMismatch(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    averages = (bn.running_mean, bn.running_var, bn.eps)
    layer = (linear.weight, linear.bias)
    return _fused(linear, fuse_linear_bn_weights(*layer, *averages, bn.weight, bn.bias))
