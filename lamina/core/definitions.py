"""Where a function of the user's program is defined, and where it returns."""

from __future__ import annotations

import ast
import inspect
from types import CodeType
from typing import Any

from lamina.core.own_files import internal_files
from lamina.core.source import SourceFile, one_line, short_name, source_file, span_of
from lamina.errors import Place

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def definition(function: Any) -> Place | None:
    """The first line of a function's definition; None if it is not written in Python."""
    try:
        code = inspect.unwrap(function).__code__
    except Exception:
        return None
    try:
        source, node = _find(code)
        if source is not None and node is not None:
            return _place(source, node, code)
    except Exception:
        pass  # an error that explains another one must not hide it
    return Place(short_name(code.co_filename), code.co_firstlineno)


def is_internal(function: Any) -> bool:
    """Whether a function is not the user's own code, as far as that is known."""
    try:
        return inspect.unwrap(function).__code__.co_filename in internal_files
    except Exception:
        return True


def returned(function: Any, count: int | None = None) -> Place | None:
    """The `return` line of a function: its last one, or the last one that returns `count` values.

    A function without one is shown by its first line.
    """
    try:
        code = inspect.unwrap(function).__code__
        source, node = _find(code)
        if source is None or node is None or isinstance(node, ast.Lambda):
            return definition(function)
        lines = [n for n in _own_nodes(node) if isinstance(n, ast.Return)]
        lines.sort(key=lambda n: (count is not None and _length(n) == count, n.lineno))
        return _place(source, lines[-1], code) if lines else definition(function)
    except Exception:
        return definition(function)


def earlier_assignment(code: CodeType, line: int, name: str) -> Place | None:
    """What a variable was last given above a line of its function, as the source has it."""
    try:
        source = source_file(code.co_filename)
        if source is None or not name.isidentifier():
            return None
        first = code.co_firstlineno if code.co_name != "<module>" else 0
        found = [
            value
            for node in source.parents
            if isinstance(node, ast.stmt)
            and first <= node.lineno < line
            and (value := _value_for(node, name)) is not None
        ]
        if not found:
            return None
        return _place(source, max(found, key=lambda node: node.lineno), code)
    except Exception:
        return None


def _value_for(node: ast.stmt, name: str) -> ast.expr | None:
    """What a statement gives to a variable: `x = value`, `x += value`, `x.append(value)`."""
    match node:
        case ast.Assign(targets, value):
            return value if any(_is_name(target, name) for target in targets) else None
        case ast.AugAssign(target, _, value):
            return value if _is_name(target, name) else None
        case ast.Expr(ast.Call(ast.Attribute(target, "append"), [value])):
            return value if _is_name(target, name) else None
    return None


def _is_name(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _find(code: CodeType) -> tuple[SourceFile | None, Definition | None]:
    source = source_file(code.co_filename)
    if source is None:
        return None, None
    found = [
        node
        for node in source.parents
        if isinstance(node, Definition)
        and code.co_firstlineno
        in (node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ())))
        and getattr(node, "name", "<lambda>") == code.co_name
    ]
    return source, found[0] if found else None


def _own_nodes(function: ast.AST) -> list[ast.AST]:
    """The nodes of a function's body, without those of functions defined inside."""
    waiting: list[ast.AST] = [function]
    for node in waiting:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, Definition):
                waiting.append(child)
    return waiting


def _length(line: ast.Return) -> int:
    """How many values a `return` line returns, as far as one can see."""
    if isinstance(line.value, ast.Tuple):
        return len(line.value.elts)
    return 1


def _place(source: SourceFile, node: ast.AST, code: CodeType) -> Place:
    """A node's place: of a function with a body, its first line only."""
    span = span_of(node)
    line = source.lines[span.line - 1].rstrip()
    indent = len(line) - len(line.lstrip())
    start = source.column(span.line, span.column)
    end = len(line)
    if isinstance(node, ast.Return | ast.expr) and span.end_line == span.line:
        end = source.column(span.line, span.end_column)
    elif not isinstance(node, ast.Return | ast.expr):
        end -= line.endswith(":")
    is_whole = isinstance(node, ast.Return | ast.expr)
    expression = one_line(source.slice(span)) if is_whole else line[start:end]
    return Place(
        short_name(code.co_filename), span.line, line[indent:], start - indent, end - indent,
        expression, code.co_name,
    )  # fmt: skip
