"""Normalization on arrays: rows of a matrix, and channels of a batch.

The statistics take two passes, so that a large mean does not cost digits; results are built up in
one array, since fresh memory costs more than arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina.codegen.fused import fused


def standardized_rows(rows: Any, eps: float) -> tuple[Any, Any, Any]:
    """Each row shifted and scaled to mean 0 and variance 1, with its mean and 1 / deviation."""
    scale = 1 / max(rows.shape[-1], 1)
    mean = np.add.reduce(rows, axis=-1, keepdims=True) * scale
    made = rows - mean
    variance = np.vecdot(made, made)[..., None] * scale
    rate = 1 / np.sqrt(variance + eps)
    made *= rate
    return made, mean, rate


def standardize(rows: Any, mean: Any, rate: Any) -> Any:
    """The standardized values again, from the statistics."""
    made = rows - mean
    made *= rate
    return made


def rows_backward(gradient: Any, standard: Any, rate: Any) -> Any:
    """The gradient of rows from that of their standardized values; overwrites both arguments."""
    scale = 1 / max(standard.shape[-1], 1)
    along = np.vecdot(gradient, standard)[..., None] * scale
    gradient -= np.add.reduce(gradient, axis=-1, keepdims=True) * scale
    standard *= along
    gradient -= standard
    gradient *= rate
    return gradient


def through_moments(moments: Any, standard: Any, rate: Any, count: int) -> Any:
    """The gradient of values from those of their mean and of 1 / deviation (either may be None).

    Operators alone: it serves arrays and tensors.
    """
    g_mean, g_rate = moments
    made = standard * 0 if g_rate is None else standard * (-(rate * rate) * g_rate / count)
    return made if g_mean is None else made + g_mean / count


@fused
def layer_norm_backward(
    gradients: Any, input: Any, mean: Any, rate: Any, weight: Any, size: Any, eps: Any, needs: Any
) -> tuple[Any, Any, Any]:
    """The gradients of input, weight and bias, where `needs` asks for them."""
    g, *others = gradients
    if g is None:
        g = np.zeros_like(input)
    shape = mean.size, math.prod(size)
    rows, g = input.reshape(shape), g.reshape(shape)
    of_weight = of_bias = of_input = None
    if needs[2]:
        of_bias = np.add.reduce(g, axis=0).reshape(size)
    if needs[0] or needs[1]:
        standard = standardize(rows, mean.reshape(-1, 1), rate.reshape(-1, 1))
        if needs[1]:
            of_weight = np.add.reduce(g * standard, axis=0).reshape(size)
        if needs[0]:
            scaled = g.copy() if weight is None else g * weight.reshape(-1)
            of_input = rows_backward(scaled, standard, rate.reshape(-1, 1)).reshape(input.shape)
    if needs[0] and any(other is not None for other in others):
        standard = (input - mean) * rate
        of_input = of_input + through_moments(others, standard, rate, shape[1])
    return of_input, of_weight, of_bias


@fused
def rms_norm_backward(
    gradients: Any, input: Any, rate: Any, weight: Any, size: Any, eps: Any, needs: Any
) -> tuple[Any, Any]:
    """The gradients of input and weight, where `needs` asks for them."""
    g, of_rate = gradients
    if g is None:
        g = np.zeros_like(input)
    shape = rate.size, math.prod(size)
    g, flat_rate = g.reshape(shape), rate.reshape(-1, 1)
    standard = input.reshape(shape) * flat_rate
    of_weight = np.add.reduce(g * standard, axis=0).reshape(size) if needs[1] else None
    if not needs[0]:
        return None, of_weight
    made = g.copy() if weight is None else g * weight.reshape(-1)
    standard *= np.vecdot(made, standard)[..., None] / max(shape[1], 1)
    made -= standard
    made *= flat_rate
    made = made.reshape(input.shape)
    if of_rate is not None:
        made = made + through_moments((None, of_rate), input * rate, rate, shape[1])
    return made, of_weight


def _by_channel(array: Any, channels: int) -> Any:
    """(N, C, *sizes) as (N, C, positions)."""
    batch = array.shape[0]
    return array.reshape(batch, channels, array.size // max(batch * channels, 1))


@fused
def group_norm_backward(
    gradients: Any, input: Any, mean: Any, rate: Any, weight: Any, groups: int, eps: Any, needs: Any
) -> tuple[Any, Any, Any]:
    """The gradients of input, weight and bias, where `needs` asks for them."""
    g, *others = gradients
    if g is None:
        g = np.zeros_like(input)
    batch, channels = input.shape[:2]
    g = _by_channel(g, channels)
    of_weight = of_bias = of_input = None
    if needs[2]:
        of_bias = np.sum(g, axis=(0, 2))
    if needs[0] or needs[1]:
        rows = input.reshape(batch * groups, input.size // max(batch * groups, 1))
        rates, means = rate.reshape(-1, 1), mean.reshape(-1, 1)
        standard = standardize(rows, means, rates)
        if needs[1]:
            of_weight = np.sum(g * standard.reshape(g.shape), axis=(0, 2))
        if needs[0]:
            scaled = g.copy() if weight is None else g * weight[:, None]
            of_input = rows_backward(scaled.reshape(rows.shape), standard, rates)
            if any(other is not None for other in others):
                standard = standardize(rows, means, rates)
                flat = (None if other is None else other.reshape(-1, 1) for other in others)
                of_input = of_input + through_moments(flat, standard, rates, rows.shape[1])
            of_input = of_input.reshape(input.shape)
    return of_input, of_weight, of_bias


def channel_moments(values: Any) -> tuple[Any, Any]:
    """Mean and variance of each channel of (N, C, positions)."""
    scale = 1 / max(values.shape[0] * values.shape[2], 1)
    mean = np.add.reduce(values, axis=(0, 2)) * scale
    away = values - mean[:, None]
    if values.shape[2] == 1:
        away *= away
        return mean, np.add.reduce(away, axis=(0, 2)) * scale
    return mean, np.add.reduce(np.vecdot(away, away), axis=0) * scale


def batch_norm_forward(
    input: Any, weight: Any, bias: Any, mean: Any, variance: Any, eps: float
) -> tuple[Any, Any, Any]:
    """Normalized channels, their means and variances (those of the batch if none are given)."""
    values = _by_channel(input, input.shape[1])
    if mean is None:
        mean, variance = channel_moments(values)
    rate = 1 / np.sqrt(variance + eps)
    # Subtracting the mean first keeps digits that `slope * x + shift` would lose.
    made = values - mean[:, None]
    made *= (rate if weight is None else rate * weight)[:, None]
    if bias is not None:
        made += bias[:, None]
    return made.reshape(input.shape), mean, variance


@fused
def batch_norm_backward(
    gradients: Any, input: Any, mean: Any, variance: Any, weight: Any, eps: Any, needs: Any
) -> tuple[Any, Any, Any]:
    """The gradients of input, weight and bias, where `needs` asks for them."""
    g, g_mean, g_variance = gradients
    if g is None:
        g = np.zeros_like(input)
    g = _by_channel(g, input.shape[1])
    scale = 1 / max(g.shape[0] * g.shape[2], 1)
    of_bias = np.sum(g, axis=(0, 2)) if needs[0] or needs[2] else None
    of_weight = of_input = None
    if needs[0] or needs[1]:
        rate = 1 / np.sqrt(variance + eps)
        standard = _by_channel(input, input.shape[1]) - mean[:, None]
        standard *= rate[:, None]
        of_weight = np.sum(g * standard, axis=(0, 2))
    if needs[0]:
        slope = rate if weight is None else rate * weight
        along, level = of_weight * slope, of_bias * slope
        if g_variance is not None:
            along = along - 2 * g_variance / rate
        if g_mean is not None:
            level = level - g_mean
        standard *= (along * scale)[:, None]
        of_input = g * slope[:, None]
        of_input -= standard
        of_input -= (level * scale)[:, None]
        of_input = of_input.reshape(input.shape)
    return of_input, of_weight if needs[1] else None, of_bias if needs[2] else None
