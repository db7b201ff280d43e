"""Optimizers: each one's formula is written once, as plain arithmetic on tensors.

Each is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from lamina.late_loading import late_names

if TYPE_CHECKING:
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

_HOMES = {
    "lamina.optim.adadelta": "Adadelta",
    "lamina.optim.adafactor": "Adafactor",
    "lamina.optim.adagrad": "Adagrad",
    "lamina.optim.adam": "Adam",
    "lamina.optim.adamax": "Adamax",
    "lamina.optim.adamw": "AdamW",
    "lamina.optim.asgd": "ASGD",
    "lamina.optim.lbfgs": "LBFGS",
    "lamina.optim.muon": "Muon",
    "lamina.optim.nadam": "NAdam",
    "lamina.optim.optimizer": "Optimizer",
    "lamina.optim.radam": "RAdam",
    "lamina.optim.rmsprop": "RMSprop",
    "lamina.optim.rprop": "Rprop",
    "lamina.optim.sgd": "SGD",
    "lamina.optim.sparse_adam": "SparseAdam",
}
__getattr__, __dir__ = late_names(__name__, _HOMES, "lr_scheduler swa_utils")

__all__ = [
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam",
    "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam", "lr_scheduler", "swa_utils",
]  # fmt: skip
