"""Optimizers: each one's formula is written once, as plain arithmetic on tensors."""

from lamina.optim import lr_scheduler, swa_utils
from lamina.optim.adadelta import Adadelta
from lamina.optim.adafactor import Adafactor
from lamina.optim.adagrad import Adagrad
from lamina.optim.adam import Adam
from lamina.optim.adamax import Adamax
from lamina.optim.adamw import AdamW
from lamina.optim.asgd import ASGD
from lamina.optim.lbfgs import LBFGS
from lamina.optim.muon import Muon
from lamina.optim.nadam import NAdam
from lamina.optim.optimizer import Optimizer
from lamina.optim.radam import RAdam
from lamina.optim.rmsprop import RMSprop
from lamina.optim.rprop import Rprop
from lamina.optim.sgd import SGD
from lamina.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam",
    "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam", "lr_scheduler", "swa_utils",
]  # fmt: skip
