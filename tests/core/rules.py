"""The rules that tensors and their gradients follow, each as a few lines whose value is compared.

They stand in `rules.txt`: a name that starts with the number of the rule, and a program, whose last
expression is the answer. PyTorch's answers are in `recorded_rules.json`.
"""

from __future__ import annotations

import ast
import builtins
import threading
import warnings
from pathlib import Path
from typing import Any


def _programs() -> dict[str, str]:
    found: dict[str, str] = {}
    text = Path(__file__).with_name("rules.txt").read_text()
    for block in text.strip().removeprefix("## ").split("\n## "):
        name, _, program = block.partition("\n")
        assert name not in found, name
        found[name] = program
    return found


PROGRAMS = _programs()


def answer(name: str, torch: Any) -> Any:
    """What a module answers to a case, as plain data."""
    program = ast.parse(PROGRAMS[name])
    last = program.body.pop()
    assert isinstance(last, ast.Expr)
    scope = {"torch": torch, "raises": raises, "warns": warns, "node": node,
             "next_names": next_names, "threading": threading}  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(program, name, "exec"), scope)
        return plain(eval(compile(ast.Expression(last.value), name, "eval"), scope))


def plain(value: Any) -> Any:
    """Tensors as their values; floats rounded; tuples as lists."""
    if hasattr(value, "detach"):
        return plain(value.detach().tolist())
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, complex):
        return ["complex", plain(value.real), plain(value.imag)]
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def raises(call: Any, *phrases: str) -> Any:
    """The builtin class of what a call raises, and which phrases are in its message."""
    try:
        found = call()
    except Exception as error:
        kind = next(c for c in type(error).__mro__ if c.__module__ == builtins.__name__)
        name = "RuntimeError" if kind is NotImplementedError else kind.__name__
        # The newest PyTorch leaves `Backward0` out where it names an operation.
        text = str(error).replace("ExpBackward0", "Exp").replace("Exp,", "ExpBackward0,")
        return [name, *(phrase in text for phrase in phrases)]
    return ["no error", found]


def warns(call: Any, phrase: str) -> Any:
    """How many warnings with a phrase a call gives, and its result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call()
    return [
        sum(phrase in str(w.message) and issubclass(w.category, UserWarning) for w in caught),
        found,
    ]


def node(tensor: Any) -> str | None:
    """The name of a tensor's node."""
    return None if tensor.grad_fn is None else type(tensor.grad_fn).__name__


def next_names(tensor: Any) -> list[Any]:
    """The names of the nodes before a tensor's."""
    return [None if f is None else [type(f).__name__, k] for f, k in tensor.grad_fn.next_functions]
