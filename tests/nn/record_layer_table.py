"""Writes PyTorch's answers to `layers.txt`.

PYTHONPATH=tests .venv-oracle/bin/python tests/nn/record_layer_table.py
"""

import importlib
import json
from pathlib import Path

from nn.layer_table import CASES, recorded

if __name__ == "__main__":
    torch = importlib.import_module("torch")
    lines = []
    for case in CASES:
        answer = json.dumps(recorded(torch, *case), separators=(",", ":"))
        lines.append(f"{json.dumps(' | '.join(case))}: {answer}")
    path = Path(__file__).with_name("recorded_layer_table.json")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
