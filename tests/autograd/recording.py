"""Cases whose answers were recorded from PyTorch: the same function runs on it and on Lamina."""

from __future__ import annotations

import builtins
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Cases:
    """The cases of one test file, and their recorded answers next to it."""

    def __init__(self, file: str) -> None:
        path = Path(file)
        self.path = path.with_name(path.stem.replace("test_", "recorded_") + ".json")
        self.functions: dict[str, Callable[[Any], Any]] = {}

    def __call__(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Decorator of a case: a function of the module to test (PyTorch, or Lamina)."""
        assert function.__name__ not in self.functions
        self.functions[function.__name__] = function
        return function

    def answer(self, name: str, torch: Any) -> Any:
        """What a module answers to a case, as plain data."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return json.loads(json.dumps(plain(self.functions[name](torch))))

    def recorded(self, name: str) -> Any:
        """What PyTorch answered."""
        return json.loads(self.path.read_text())[name]

    def record(self, torch: Any) -> None:
        """Write PyTorch's answers."""
        answers = {name: self.answer(name, torch) for name in self.functions}
        lines = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items()]
        self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def plain(value: Any) -> Any:
    """Tensors as nested lists, floats rounded to 5 digits, names for classes."""
    if isinstance(value, type):
        return value.__name__
    if hasattr(value, "tolist"):
        return plain(value.detach().tolist())
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def raises(call: Callable[[], Any], *phrases: str) -> Any:
    """The builtin class of what a call raises, and whether the phrases are in its message."""
    try:
        found = call()
    except Exception as error:
        kind = next(c for c in type(error).__mro__ if c.__module__ == builtins.__name__)
        return [kind.__name__, *(phrase in str(error) for phrase in phrases)]
    return ["no error", plain(found)]


def warns(call: Callable[[], Any], phrase: str) -> Any:
    """How many UserWarnings with a phrase a call gives, and its result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return [
        sum(phrase in str(w.message) and issubclass(w.category, UserWarning) for w in caught),
        result,
    ]


def node_name(tensor: Any) -> str | None:
    """The name of a tensor's node."""
    return None if tensor.grad_fn is None else type(tensor.grad_fn).__name__
