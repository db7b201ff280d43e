"""Writes recorded_optim.json, PyTorch's own answers.

Run it with PyTorch 2.13: `.venv-oracle/bin/python -m tests.optim.record_optim`.
"""

import json
from pathlib import Path

from tests.nn.record_nn import optimizer

OPTIMIZERS = [
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.01, "weight_decay": 0.1, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1}),
    ("Adamax", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.001, "momentum": 0.9, "centered": True, "eps": 0.01}),
    ("Rprop", {"lr": 0.01}),
    ("ASGD", {"lr": 0.01, "lambd": 0.1, "t0": 50}),
    ("NAdam", {"lr": 0.01}),
    ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.01, "weight_decay": 0.1}),
    ("Adafactor", {"lr": 0.05, "weight_decay": 0.1}),
]


def main():
    recorded = {"optimizers": [optimizer(*case) for case in OPTIMIZERS]}
    text = json.dumps(recorded, separators=(",", ":"))
    Path(__file__).with_name("recorded_optim.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
