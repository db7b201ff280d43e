"""Layers, losses and the modules that hold them; written with the public tensor API only.

Each file is loaded when one of its names is first used.
"""

# Names stand in paragraphs here, not one to a line: the file is read for what exists.
# fmt: off
# ruff: isort: skip_file

from typing import TYPE_CHECKING

from lamina.late_loading import late_names

if TYPE_CHECKING:
    from lamina.nn import attention, functional, init, parallel, utils
    from lamina.nn.activation import (
        CELU, ELU, GELU, Hardswish, Hardtanh, LeakyReLU, Mish, PReLU, RReLU, ReLU, ReLU6, SELU,
        SiLU, Threshold,
    )
    from lamina.nn.adaptive_softmax import AdaptiveLogSoftmaxWithLoss
    from lamina.nn.channel_normalization import (
        BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d,
        SyncBatchNorm,
    )
    from lamina.nn.containers import Container, ModuleDict, ModuleList, Sequential
    from lamina.nn.convolution import (
        Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d,
    )
    from lamina.nn.distance import CosineSimilarity, PairwiseDistance
    from lamina.nn.dropout import (
        AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout,
    )
    from lamina.nn.embedding import Embedding
    from lamina.nn.embedding_bag import EmbeddingBag
    from lamina.nn.flatten import Flatten, Unflatten
    from lamina.nn.fractional_pooling import FractionalMaxPool2d, FractionalMaxPool3d
    from lamina.nn.lazy_layers import (
        LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d, LazyConv1d, LazyConv2d, LazyConv3d,
        LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d, LazyInstanceNorm1d,
        LazyInstanceNorm2d, LazyInstanceNorm3d, LazyLinear,
    )
    from lamina.nn.likelihood_loss import (
        CTCLoss, GaussianNLLLoss, LinearCrossEntropyLoss, LinearCrossEntropyOptions, NLLLoss2d,
        PoissonNLLLoss,
    )
    from lamina.nn.linear import Bilinear, Identity, Linear
    from lamina.nn.loss import (
        BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, HuberLoss, KLDivLoss, L1Loss, MSELoss,
        NLLLoss, SmoothL1Loss,
    )
    from lamina.nn.margin_loss import (
        CosineEmbeddingLoss, HingeEmbeddingLoss, MarginRankingLoss, MultiLabelMarginLoss,
        MultiLabelSoftMarginLoss, MultiMarginLoss, SoftMarginLoss, TripletMarginLoss,
        TripletMarginWithDistanceLoss,
    )
    from lamina.nn.module import Module
    from lamina.nn.multi_head_attention import MultiheadAttention
    from lamina.nn.normalization import GroupNorm, LayerNorm, RMSNorm
    from lamina.nn.padding import (
        CircularPad1d, CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d, ConstantPad3d,
        ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d, ReplicationPad2d,
        ReplicationPad3d, ZeroPad1d, ZeroPad2d, ZeroPad3d,
    )
    from lamina.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
    from lamina.nn.parameter_containers import ParameterDict, ParameterList
    from lamina.nn.patches import ChannelShuffle, Fold, PixelShuffle, PixelUnshuffle, Unfold
    from lamina.nn.pooling import (
        AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d,
        AdaptiveMaxPool2d, AdaptiveMaxPool3d, AvgPool1d, AvgPool2d, AvgPool3d, MaxPool1d, MaxPool2d,
        MaxPool3d,
    )
    from lamina.nn.recurrent import GRU, LSTM, RNN, RNNBase
    from lamina.nn.recurrent_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
    from lamina.nn.response_normalization import CrossMapLRN2d, LocalResponseNorm
    from lamina.nn.squashing import (
        GLU, Hardshrink, Hardsigmoid, LogSigmoid, LogSoftmax, Sigmoid, Softmax, Softmax2d, Softmin,
        Softplus, Softshrink, Softsign, Tanh, Tanhshrink,
    )
    from lamina.nn.transformer import Transformer, TransformerDecoder, TransformerEncoder
    from lamina.nn.transformer_layers import TransformerDecoderLayer, TransformerEncoderLayer
    from lamina.nn.unpooling import (
        LPPool1d, LPPool2d, LPPool3d, MaxUnpool1d, MaxUnpool2d, MaxUnpool3d,
    )
    from lamina.nn.upsampling import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d
    from lamina.nn.parallel import DataParallel
    from lamina.nn import common_types as common_types, grad as grad, modules as modules

_HOMES = {
    "lamina.nn.activation": (
        "CELU ELU GELU Hardswish Hardtanh LeakyReLU Mish PReLU RReLU ReLU ReLU6 SELU SiLU "
        "Threshold"
    ),
    "lamina.nn.adaptive_softmax": "AdaptiveLogSoftmaxWithLoss",
    "lamina.nn.channel_normalization": (
        "BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d "
        "SyncBatchNorm"
    ),
    "lamina.nn.containers": "Container ModuleDict ModuleList Sequential",
    "lamina.nn.convolution": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    "lamina.nn.distance": "CosineSimilarity PairwiseDistance",
    "lamina.nn.dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "lamina.nn.embedding": "Embedding",
    "lamina.nn.embedding_bag": "EmbeddingBag",
    "lamina.nn.flatten": "Flatten Unflatten",
    "lamina.nn.fractional_pooling": "FractionalMaxPool2d FractionalMaxPool3d",
    "lamina.nn.lazy_layers": (
        "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d "
        "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d "
        "LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear"
    ),
    "lamina.nn.likelihood_loss": (
        "CTCLoss GaussianNLLLoss LinearCrossEntropyLoss LinearCrossEntropyOptions NLLLoss2d "
        "PoissonNLLLoss"
    ),
    "lamina.nn.linear": "Bilinear Identity Linear",
    "lamina.nn.loss": (
        "BCELoss BCEWithLogitsLoss CrossEntropyLoss HuberLoss KLDivLoss L1Loss MSELoss NLLLoss "
        "SmoothL1Loss"
    ),
    "lamina.nn.margin_loss": (
        "CosineEmbeddingLoss HingeEmbeddingLoss MarginRankingLoss MultiLabelMarginLoss "
        "MultiLabelSoftMarginLoss MultiMarginLoss SoftMarginLoss TripletMarginLoss "
        "TripletMarginWithDistanceLoss"
    ),
    "lamina.nn.module": "Module",
    "lamina.nn.multi_head_attention": "MultiheadAttention",
    "lamina.nn.normalization": "GroupNorm LayerNorm RMSNorm",
    "lamina.nn.padding": (
        "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d "
        "ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d "
        "ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d"
    ),
    "lamina.nn.parameter": "Buffer Parameter UninitializedBuffer UninitializedParameter",
    "lamina.nn.parameter_containers": "ParameterDict ParameterList",
    "lamina.nn.patches": "ChannelShuffle Fold PixelShuffle PixelUnshuffle Unfold",
    "lamina.nn.pooling": (
        "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
        "AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d MaxPool1d MaxPool2d MaxPool3d"
    ),
    "lamina.nn.recurrent": "GRU LSTM RNN RNNBase",
    "lamina.nn.recurrent_cells": "GRUCell LSTMCell RNNCell RNNCellBase",
    "lamina.nn.response_normalization": "CrossMapLRN2d LocalResponseNorm",
    "lamina.nn.squashing": (
        "GLU Hardshrink Hardsigmoid LogSigmoid LogSoftmax Sigmoid Softmax Softmax2d Softmin "
        "Softplus Softshrink Softsign Tanh Tanhshrink"
    ),
    "lamina.nn.transformer": "Transformer TransformerDecoder TransformerEncoder",
    "lamina.nn.transformer_layers": "TransformerDecoderLayer TransformerEncoderLayer",
    "lamina.nn.unpooling": "LPPool1d LPPool2d LPPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d",
    "lamina.nn.upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
    "lamina.nn.parallel": "DataParallel",
}
_FILES = "attention common_types functional grad init modules utils"
__getattr__, __dir__ = late_names(__name__, _HOMES, _FILES)

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveLogSoftmaxWithLoss",
    "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AlphaDropout", "AvgPool1d",
    "AvgPool2d", "AvgPool3d", "BCELoss", "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d",
    "BatchNorm3d", "Bilinear", "Buffer", "CELU", "CTCLoss", "ChannelShuffle", "CircularPad1d",
    "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "Container", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
    "ConvTranspose3d", "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss",
    "CrossMapLRN2d", "DataParallel", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "ELU",
    "Embedding", "EmbeddingBag", "FeatureAlphaDropout", "Flatten", "Fold",
    "FractionalMaxPool2d", "FractionalMaxPool3d", "GELU", "GLU", "GRU", "GRUCell",
    "GaussianNLLLoss", "GroupNorm", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "HingeEmbeddingLoss", "HuberLoss", "Identity", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "KLDivLoss", "L1Loss", "LPPool1d", "LPPool2d", "LPPool3d", "LSTM",
    "LSTMCell", "LayerNorm", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d",
    "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d",
    "LazyLinear", "LeakyReLU", "Linear", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions",
    "LocalResponseNorm", "LogSigmoid", "LogSoftmax", "MSELoss", "MarginRankingLoss",
    "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "Mish",
    "Module", "ModuleDict", "ModuleList", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss",
    "MultiMarginLoss", "MultiheadAttention", "NLLLoss", "NLLLoss2d", "PReLU",
    "PairwiseDistance", "Parameter", "ParameterDict", "ParameterList", "PixelShuffle",
    "PixelUnshuffle", "PoissonNLLLoss", "RMSNorm", "RNN", "RNNBase", "RNNCell", "RNNCellBase",
    "RReLU", "ReLU", "ReLU6", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d",
    "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "SELU", "Sequential", "SiLU",
    "Sigmoid", "SmoothL1Loss", "SoftMarginLoss", "Softmax", "Softmax2d", "Softmin", "Softplus",
    "Softshrink", "Softsign", "SyncBatchNorm", "Tanh", "Tanhshrink", "Threshold", "Transformer",
    "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
    "Unflatten", "Unfold", "UninitializedBuffer", "UninitializedParameter", "Upsample",
    "UpsamplingBilinear2d", "UpsamplingNearest2d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
    "attention", "functional", "init", "parallel", "utils",
]
