"""The names of PyTorch's that a file uses: certain ones by path, methods by their name alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple, final

from lamina.torch_alias.missing.bindings import Scope, is_torch, resolve, scope_of
from lamina.torch_alias.missing.program import File

__all__ = ["Use", "uses"]

_CAUGHT = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception"})


class Use(NamedTuple):
    """One use of a name.

    Attributes:
        path: The full path, `torch.nn.functional.gelu`; of a method its name alone, `.unfold`.
        file: The file.
        line: Its line.
        guarded: Whether the program says itself what happens without it.
    """

    path: str
    file: File
    line: int
    guarded: bool


def uses(file: File) -> Iterator[Use]:
    """Every use in a file, in the order of the text."""
    walk = _Walk(file)
    walk.visit(file.tree)
    yield from sorted(walk.found, key=lambda use: use.line)


@final
class _Walk(ast.NodeVisitor):
    def __init__(self, file: File) -> None:
        self.file = file
        self.found: list[Use] = []
        self.scopes: list[Scope] = []
        self.guarded = False
        self.asked: set[str] = set()  # names inside `if hasattr(torch, "name")`

    def visit_Module(self, node: ast.Module) -> None:
        self._visit_scope(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_scope(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_scope(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_scope(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_scope(node)

    def _visit_scope(self, node: ast.AST) -> None:
        body = getattr(node, "body", [])
        inside: list[ast.AST] = body if isinstance(body, list) else [body]  # a lambda has one
        for child in ast.iter_child_nodes(node):  # decorators, defaults, base classes
            if child not in inside:
                self.visit(child)
        self.scopes.append(scope_of(node, self.scopes))
        for part in inside:
            self.visit(part)
        self.scopes.pop()

    def visit_Try(self, node: ast.Try) -> None:
        before, self.guarded = self.guarded, self.guarded or any(map(_catches, node.handlers))
        for child in node.body:
            self.visit(child)
        self.guarded = before
        for other in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(other)

    def visit_If(self, node: ast.If) -> None:
        before = self.asked
        self.asked = before | set(_asked_for(node.test))
        self.generic_visit(node)
        self.asked = before

    def visit_IfExp(self, node: ast.IfExp) -> None:
        before = self.asked
        self.asked = before | set(_asked_for(node.test))
        self.generic_visit(node)
        self.asked = before

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if is_torch(alias.name):
                self._note(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level == 0 and is_torch(module):
            self._note(module, node)
            for alias in node.names:
                if alias.name != "*":
                    self._note(f"{module}.{alias.name}", node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = resolve(node, self.scopes)
        if path is None:
            self._note(f".{node.attr}", node)
            self.visit(node.value)
        elif is_torch(path):
            self._note(path, node)

    def _note(self, path: str, node: ast.AST) -> None:
        guarded = self.guarded or not self.asked.isdisjoint(path.split("."))
        # An attribute stands at its end: `(torch ... .nope)` may begin lines above.
        at = "end_lineno" if isinstance(node, ast.Attribute) else "lineno"
        line = getattr(node, at)
        self.found.append(Use(path, self.file, line, guarded))


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether an `except` would catch the error of a missing name."""
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in _CAUGHT for kind in kinds)


def _asked_for(test: ast.expr) -> Iterator[str]:
    """The names in `hasattr(x, "name")` and `getattr(x, "name", ...)` inside a condition."""
    for node in ast.walk(test):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("hasattr", "getattr")
            and len(node.args) > 1
            and isinstance(node.args[1], ast.Constant)
        ):
            yield str(node.args[1].value)
