"""The adaptive softmax. The place where PyTorch has them."""

from lamina.nn.adaptive_softmax import AdaptiveLogSoftmaxWithLoss, _ASMoutput

__all__ = ["AdaptiveLogSoftmaxWithLoss", "_ASMoutput"]
