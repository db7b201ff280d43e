"""Numbers of gamma distributions, drawn one by one from the same stream as PyTorch's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lamina.core.generator import Generator
from lamina.core.single_numbers import SingleNumbers

# PyTorch has these two in single precision, and from them its samples.
_THIRD = float(np.float32(1 / 3))
_SQUEEZE = float(np.float32(0.0331))


def gamma(stream: Generator, shapes: Any) -> Any:
    """A number of rate 1 for each shape parameter of a host array; float64."""
    numbers = SingleNumbers(stream)
    flat = shapes.astype(np.float64).reshape(-1).tolist()
    drawn = [_one(shape, numbers) for shape in flat]
    numbers.finish()
    return np.array(drawn, np.float64).reshape(shapes.shape)


def _one(shape: float, numbers: SingleNumbers) -> float:
    """Marsaglia and Tsang (2000), "A simple method for generating gamma variables"."""
    scale = 1.0
    if shape < 1.0:
        if shape == 0.0:
            return 0.0
        scale = (1.0 - numbers.uniform()) ** (1.0 / shape)
        shape += 1.0
    if not math.isfinite(shape):
        return shape
    d = shape - _THIRD
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        y = 0.0
        while y <= 0.0:
            x = numbers.normal()
            y = 1.0 + c * x
        v = y * y * y
        u, square = 1.0 - numbers.uniform(), x * x
        if u < 1.0 - _SQUEEZE * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v
