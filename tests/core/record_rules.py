"""Writes PyTorch's answers: `PYTHONPATH=tests python tests/core/record_rules.py`, PyTorch 2.13."""

import importlib
import json
from pathlib import Path

from core.rules import PROGRAMS, answer

if __name__ == "__main__":
    torch = importlib.import_module("torch")
    lines = [f"{json.dumps(name)}: {json.dumps(answer(name, torch))}" for name in PROGRAMS]
    path = Path(__file__).with_name("recorded_rules.json")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
