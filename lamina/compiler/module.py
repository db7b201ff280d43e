"""Compiled modules: modules whose call is a compiled function."""

from __future__ import annotations

from typing import Any

from lamina.compiler.function import CompiledFunction
from lamina.compiler.report import Report
from lamina.nn.module import Module


class CompiledModule(Module):
    """A module around another one, whose calls are compiled.

    Parameters and submodules are those of the original, which is `_orig_mod`.
    """

    def __init__(self, module: Module, fullgraph: bool) -> None:
        super().__init__()
        self._orig_mod = module
        self.__dict__["_compiled"] = CompiledFunction(module, fullgraph)
        self.__dict__["training"] = module.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the original module as a compiled function."""
        return self._compiled(*args, **kwargs)

    def explain(self) -> Report:
        """Which programs there are, and why."""
        report: Report = self._compiled.explain()
        return report

    def program(self) -> str:
        """The text of the program that ran last."""
        text: str = self._compiled.program()
        return text

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "_orig_mod":
                raise
            return getattr(self._modules["_orig_mod"], name)
