"""Optimizers: each one's formula is written once, as plain arithmetic on tensors."""

from lamina.optim import lr_scheduler
from lamina.optim.adam import Adam, AdamW
from lamina.optim.optimizer import Optimizer
from lamina.optim.sgd import SGD

__all__ = ["Adam", "AdamW", "Optimizer", "SGD", "lr_scheduler"]
