"""Layers, losses and the modules that hold them; written with the public tensor API only."""

from lamina.nn import functional, init, utils
from lamina.nn.activation import (
    CELU,
    ELU,
    GELU,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    Mish,
    PReLU,
    RReLU,
    ReLU,
    ReLU6,
    SELU,
    SiLU,
    Threshold,
)
from lamina.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from lamina.nn.dropout import (
    AlphaDropout,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    FeatureAlphaDropout,
)
from lamina.nn.embedding import Embedding
from lamina.nn.flatten import Flatten, Unflatten
from lamina.nn.linear import Bilinear, Identity, Linear
from lamina.nn.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from lamina.nn.module import Module
from lamina.nn.parameter import Buffer, Parameter
from lamina.nn.squashing import (
    GLU,
    Hardshrink,
    Hardsigmoid,
    LogSigmoid,
    LogSoftmax,
    Sigmoid,
    Softmax,
    Softmax2d,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
)
