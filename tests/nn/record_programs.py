"""Writes PyTorch's answers to `programs`.

PYTHONPATH=tests .venv-oracle/bin/python tests/nn/record_programs.py
"""

import importlib
import json
from pathlib import Path

import nn.module_programs  # noqa: F401  adds to the table
from nn.programs import PROGRAMS, answer

if __name__ == "__main__":
    torch = importlib.import_module("torch")
    importlib.import_module("torch.nn.utils.prune")
    lines = [
        f"{json.dumps(name)}: {json.dumps(answer(name, torch), separators=(',', ':'))}"
        for name in PROGRAMS
    ]
    path = Path(__file__).with_name("recorded_programs.json")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
