"""Writes the recorded answers: `python -m tests.library.record_answers` with PyTorch 2.13."""

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))  # as the tests see it
    torch = importlib.import_module("torch")
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = importlib.import_module(f"{__package__}.{path.stem}")
        if hasattr(module, "case"):
            module.case.record(torch)
