"""PyTorch's files of layers, by their names: for programs that import from them.

Every name is one of `lamina.nn`; the bases with an underscore are for `isinstance`.
"""

# fmt: off
# ruff: isort: skip_file
from typing import Any as _Any

from lamina import nn as _nn
from lamina.nn.modules import (
    activation, adaptive, batchnorm, channelshuffle, container, conv, distance, dropout, flatten,
    fold, instancenorm, lazy, linear, loss, module, normalization, padding, pixelshuffle, pooling,
    rnn, sparse, transformer, upsampling, utils,
)


def __getattr__(name: str) -> _Any:
    return getattr(_nn, name)


__all__ = [
    "activation",
    "adaptive",
    "batchnorm",
    "channelshuffle",
    "container",
    "conv",
    "distance",
    "dropout",
    "flatten",
    "fold",
    "instancenorm",
    "lazy",
    "linear",
    "loss",
    "module",
    "normalization",
    "padding",
    "pixelshuffle",
    "pooling",
    "rnn",
    "sparse",
    "transformer",
    "upsampling",
    "utils",
]
