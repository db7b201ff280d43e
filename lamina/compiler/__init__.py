"""The compiler's front half: capturing calls, guarding programs, and `compile` itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lamina.compiler.controls import (
    allow_in_graph,
    assume_constant_result,
    cudagraph_mark_step_begin,
    disable,
    is_compiling,
    is_dynamo_compiling,
    is_exporting,
    list_backends,
    reset,
)
from lamina.compiler.function import CompiledFunction
from lamina.compiler.module import CompiledModule
from lamina.compiler.report import Report
from lamina.errors import ArgumentTypeError
from lamina.nn.module import Module

__all__ = [
    "CompiledFunction",
    "CompiledModule",
    "Report",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
]


def compile(
    model: Callable[..., Any] | None = None, *, fullgraph: bool = False,
    dynamic: bool | None = None, backend: Any = "lamina", mode: str | None = None,
    options: Any = None, disable: bool = False,
) -> Any:  # fmt: skip
    """Compile a function, a module, or a whole training step; also a decorator.

    The first call captures what the function does, by running it once without computing anything:
    operations, `backward()`, `optimizer.step()`, `zero_grad()`, changes in place and random
    numbers. Later calls run the program that was made of it, with the same results. A call in
    another situation (other shapes, dtypes, strides, flags, settings or Python values) makes
    another program; `explain()` of the result tells which there are and why, and `program()` shows
    one. A learning rate is read at each call and never makes another program.

    What cannot be captured (a tensor's value that decides a branch, changes of Python state such
    as `losses.append(loss)`) lets the call run eagerly, with one warning.

    Args:
        model: The function or module; None to get a decorator.
        fullgraph: Whether what cannot be captured is an error instead.
        dynamic: Accepted for compatibility: programs are made for exact shapes.
        backend: Accepted for compatibility: there is one.
        mode: Accepted for compatibility.
        options: Accepted for compatibility.
        disable: Whether to give back the function as it is.

    >>> import lamina
    >>> double_and_sum = compile(lambda x: (x * 2).sum())
    >>> double_and_sum(lamina.ones(3))
    tensor(6.)
    """
    if model is None:
        return lambda function: compile(function, fullgraph=fullgraph, disable=disable)
    if not callable(model):
        raise ArgumentTypeError(
            f"compile() takes a function or a module, not a {type(model).__name__}",
            help=["pass the function itself: `torch.compile(step)`, not `torch.compile(step())`"],
        )
    if disable:
        return model
    if isinstance(model, Module):
        return CompiledModule(model, fullgraph)
    return CompiledFunction(model, fullgraph)
