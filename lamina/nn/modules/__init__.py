"""PyTorch's files of layers, by their names: for programs that import from them.

Every name is one of `lamina.nn`; the bases with an underscore are for `isinstance`.
"""

# fmt: off
# ruff: isort: skip_file
from lamina.nn import *  # noqa: F403  all layers have their names here too
from lamina.nn.modules import (
    activation, adaptive, batchnorm, channelshuffle, container, conv, distance, dropout, flatten,
    fold, instancenorm, lazy, linear, loss, module, normalization, padding, pixelshuffle, pooling,
    rnn, sparse, transformer, upsampling,
)
from lamina.nn.modules import utils  # type: ignore[no-redef]

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
