"""What names stand for in the scopes of a file: a path of PyTorch's, or something else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias

__all__ = ["Scope", "is_torch", "lookup", "resolve", "scope_of"]

Scope: TypeAlias = dict[str, str | None]
"""Name to the full path it stands for, such as `torch.nn`; None for what is not imported."""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_NEW_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def scope_of(node: ast.AST, outer: list[Scope]) -> Scope:
    """What is bound in a module, function or class itself, without what stands deeper."""
    scope: Scope = {}
    if isinstance(node, Function):
        arguments = node.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        given += [extra for extra in (arguments.vararg, arguments.kwarg) if extra]
        scope.update((argument.arg, None) for argument in given)
    # Assignments before imports: `try: import torch ... except ImportError: torch = None`.
    statements = list(_own_nodes(node))
    for statement in statements:
        if isinstance(statement, ast.Name) and isinstance(statement.ctx, ast.Store):
            scope.setdefault(statement.id, None)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope[statement.name] = None
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            scope.update(_imported(statement))
        elif isinstance(statement, ast.Assign):  # nn = torch.nn
            path = resolve(statement.value, [*outer, scope])
            for target in statement.targets:
                if isinstance(target, ast.Name) and path and is_torch(path):
                    scope[target.id] = path
    return scope


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    body = node.body if isinstance(node, ast.Lambda) else getattr(node, "body", [])
    waiting = [body] if isinstance(body, ast.AST) else list(body)
    for child in waiting:
        yield child
        if not isinstance(child, _NEW_SCOPES):
            waiting.extend(ast.iter_child_nodes(child))


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str | None]]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            # `import a.b` binds a; `import a.b as c` binds c to a.b.
            yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
        elif alias.name != "*":
            base = "." * node.level + (node.module or "")
            yield alias.asname or alias.name, f"{base}.{alias.name}"


def lookup(name: str, scopes: list[Scope]) -> str | None:
    """What a name stands for, the innermost scope first; None if that is not known."""
    for scope in reversed(scopes):
        if name in scope:
            return scope[name]
    return None


def resolve(node: ast.AST, scopes: list[Scope]) -> str | None:
    """The full path of `t.nn.functional` where `t` was imported; None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    base = lookup(node.id, scopes) if isinstance(node, ast.Name) else None
    return base and ".".join([base, *reversed(parts)])


def is_torch(path: str) -> bool:
    """Whether a path begins at PyTorch."""
    return path == "torch" or path.startswith("torch.")
