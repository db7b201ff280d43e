"""Where in the user's program something happened.

Every recorded operation stores an `Origin`: the code object that was running in the user's
frame, and the offset of the instruction it had reached. That costs a fraction of a microsecond.
Only when someone asks is it turned into a `Place`, with the exact expression, by `place_of`.

Nothing that explains may raise: an explainer that crashes hides the error it explains. Where
something cannot be found out, the answer has less detail.
"""

from __future__ import annotations

import ast
import dis
import sys
import textwrap
import types
from itertools import islice

from lamina.core.names import name_of
from lamina.core.positions import internal_files, user_frame
from lamina.core.source import (
    MODULE_NAMES,
    SourceFile,
    Span,
    header_end,
    one_line,
    operands_of,
    parse,
    short_name,
    source_file,
    span_of,
)
from lamina.errors import Place

__all__ = [
    "argument_names",
    "assigned_name",
    "current_place",
    "enclosing_call_chain",
    "is_in_annotation",
    "name_of",
    "place_of",
    "short_name",
]

# ------------------------------------------------------------------------------ to a place


def place_of(code: types.CodeType, lasti: int) -> Place:
    """The expression at an origin. Never raises: unknown source gives a file and a line.

    A store (`x[i] = v`, `x += 1`) is shown as the whole statement, a method call with what it
    is called on, `for` and `with` up to their bodies.
    """
    try:
        return _place(code, lasti)
    except Exception:
        return _bare_place(code, lasti)


def enclosing_call_chain(code: types.CodeType, lasti: int) -> Place:
    """The whole chain of calls that the expression at an origin is a link of.

    For the call of `ones` in `torch.ones(3).double()` that is `torch.ones(3).double()`.
    """
    try:
        source, node = _locate(code, lasti)
        if source is None or node is None:
            return place_of(code, lasti)
        return _place_of_node(source, _chain_end(source, node), code)
    except Exception:
        return place_of(code, lasti)


def assigned_name(code: types.CodeType, lasti: int, chain: bool = False) -> str | None:
    """The name to which the value computed at an origin is assigned, as in `h = f(x)`.

    Args:
        chain: Whether to name it also if it is only a link of the assigned chain of calls, as
            `f(x)` in `h = f(x).double()`, which is then another tensor than `h`.

    Returns:
        "h", or "self.h", or None if it is used otherwise.
    """
    try:
        source, node = _locate(code, lasti)
        if source is None or node is None:
            return None
        return _target(source, _chain_end(source, node) if chain else node)
    except Exception:
        return None


def is_in_annotation(code: types.CodeType, lasti: int) -> bool:
    """Whether an origin's expression says of what type something is, and is no value."""
    try:
        source, node = _locate(code, lasti)
        if source is None or node is None:
            return False
        inside = node
        for outer in source.ancestors(node):
            if getattr(outer, "annotation", None) is inside:  # of an argument, or `x: T = ...`
                return True
            if getattr(outer, "returns", None) is inside:
                return True
            inside = outer
        return False
    except Exception:
        return False


def argument_names(place: Place) -> list[str]:
    """The sources of an expression's operands: [receiver,] arguments, or both sides.

    >>> argument_names(Place("a.py", 1, "x @ w.t()", 0, 9, "x @ w.t()"))
    ['x', 'w.t()']
    >>> argument_names(Place("a.py", 1, "F.relu(x)", 0, 9, "F.relu(x)"))
    ['x']
    """
    try:
        if place.operands is not None:
            return list(place.operands)
        text = place.expression
        tree = parse(text).body[0]
        parts = operands_of(tree, MODULE_NAMES)
        return [ast.get_source_segment(text, part) or "" for part in parts]
    except Exception:
        return []


def _place(code: types.CodeType, lasti: int) -> Place:
    """`place_of`, where everything is as it should be."""
    source, node = _locate(code, lasti)
    if source is not None and node is not None:
        return _place_of_node(source, node, code)
    span = _span(code, lasti)
    if source is None or span is None or not 1 <= span.line <= len(source.lines):
        return _bare_place(code, lasti)
    if span.column < 0:  # Python run with -X no_debug_ranges
        line = source.lines[span.line - 1].rstrip()
        indent = len(line) - len(line.lstrip())
        text = line.strip()
        return _make(code, span.line, text, 0, len(line) - indent, text)
    return _place_of_span(source, span, code)


def _bare_place(code: types.CodeType, lasti: int) -> Place:
    """File and line, without source."""
    try:
        span = _span(code, lasti)
        line = span.line if span is not None else code.co_firstlineno
        return _make(code, line)
    except Exception:
        return Place("<unknown>", 0)


def _make(
    code: types.CodeType,
    line: int,
    text: str = "",
    start: int = 0,
    end: int = 0,
    expression: str = "",
    operands: tuple[str, ...] | None = None,
) -> Place:
    name = short_name(code.co_filename)
    return Place(name, line, text, start, end, expression, code.co_name, operands)


def _span(code: types.CodeType, lasti: int) -> Span | None:
    """What CPython knows about an instruction's source; column -1 if it knows the line only."""
    index = max(lasti, 0) // 2
    line, end_line, column, end_column = next(
        islice(code.co_positions(), index, None), (None, None, None, None)
    )
    if line is None:
        return None
    if column is None or end_column is None or end_line is None:
        return Span(line, -1, line, -1)
    return Span(line, column, end_line, end_column)


def _locate(code: types.CodeType, lasti: int) -> tuple[SourceFile | None, ast.AST | None]:
    """The file of an origin and the node to show for it, as far as they are known."""
    source = source_file(code.co_filename)
    span = _span(code, lasti)
    if source is None or span is None or span.column < 0:
        return source, None
    node = source.find(span)
    if node is None:
        return source, None
    return source, _widened(source, node, _operation(code, lasti))


def _operation(code: types.CodeType, lasti: int) -> str:
    """The name of an instruction, such as "BINARY_OP"."""
    return dis.opname[code.co_code[lasti]] if 0 <= lasti < len(code.co_code) else ""


def _widened(source: SourceFile, node: ast.AST, operation: str) -> ast.AST:
    """What to show for `node`: the statement for a store, a loop for its iteration."""
    parent = source.parents.get(node)
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        for outer in source.ancestors(node):
            if isinstance(outer, ast.stmt | ast.comprehension | ast.NamedExpr):
                return source.parents[outer] if isinstance(outer, ast.comprehension) else outer
    if operation in ("GET_ITER", "FOR_ITER") and isinstance(parent, ast.For):
        return parent
    if operation in ("BEFORE_WITH", "LOAD_SPECIAL") and isinstance(parent, ast.withitem):
        return source.statement(parent)
    if isinstance(node, ast.FormattedValue):
        return node.value
    return node


def _place_of_node(source: SourceFile, node: ast.AST, code: types.CodeType) -> Place:
    """The place of a node, a compound statement without its body."""
    string = next((n for n in source.ancestors(node) if isinstance(n, ast.JoinedStr)), None)
    if string is not None and not _stands_at(source, node):
        # Python 3.11 gives wrong columns inside f-strings of several lines.
        return _place_of_node(source, string, code)
    span = span_of(node)
    operands = tuple(source.text(part) for part in source.operands(node))
    end = header_end(node)
    if end is None:
        return _place_of_span(source, span, code, operands)
    last, column = end
    line = source.lines[last - 1].encode()
    if column < 0:
        column = len(line.rstrip().removesuffix(b":"))
    while line[column:].lstrip()[:1] == b")":  # brackets around are not in the tree
        column = line.index(b")", column) + 1
    return _place_of_span(source, Span(span.line, span.column, last, column), code, operands)


def _stands_at(source: SourceFile, node: ast.AST) -> bool:
    """Whether the text at the position of `node` is indeed its source."""
    try:
        (found,) = parse(source.slice(span_of(node)).strip()).body
    except Exception:
        return False
    return isinstance(found, ast.Expr) and ast.dump(found.value) == ast.dump(node)


def _place_of_span(
    source: SourceFile, span: Span, code: types.CodeType, operands: tuple[str, ...] | None = None
) -> Place:
    """The place of a stretch of source."""
    lines = [line.rstrip("\r\n") for line in source.lines[span.line - 1 : span.end_line]]
    lines = [line.rstrip() for line in lines]
    text = textwrap.dedent("\n".join(lines))
    common = len(lines[0]) - len(text.partition("\n")[0])
    start = source.column(span.line, span.column) - common
    end = len(lines[0]) - common
    if span.end_line == span.line:
        end = source.column(span.line, span.end_column) - common
    expression = one_line(source.slice(span))
    return _make(code, span.line, text, start, end, expression, operands)


def _chain_end(source: SourceFile, node: ast.AST) -> ast.AST:
    """The last call of the chain that starts with, or goes through, `node`."""
    end = node
    for outer in source.ancestors(node):
        match outer:
            case ast.Attribute() | ast.Subscript(value=ast.AST()) if outer.value is end:
                end = outer
            case ast.Call(function) if function is end:
                end = outer
            case _:
                break
    return end


def _target(source: SourceFile, node: ast.AST) -> str | None:
    """The name that the value of `node` is assigned to."""
    value: ast.AST = node
    if isinstance(node, ast.AugAssign):
        return _simple_name(node.target)
    for outer in source.ancestors(node):
        match outer:
            case ast.IfExp(_, first, second) if value in (first, second):
                value = outer
            case ast.Await():
                value = outer
            case ast.NamedExpr(target):
                return target.id
            case ast.AnnAssign(target):
                return _simple_name(target)
            case ast.Tuple(elements) if isinstance(source.parents.get(outer), ast.Assign):
                return _nth_target(source.parents[outer], elements, value)
            case ast.Assign(targets):
                names = (_simple_name(target) for target in targets)
                return next((name for name in names if name), None)
            case _:
                return None
    return None


def _nth_target(assign: ast.AST, elements: list[ast.expr], value: ast.AST) -> str | None:
    """The name for `value` in an assignment such as `a, b = f(x), g(x)`."""
    targets = getattr(assign, "targets", [])
    names = getattr(targets[0], "elts", [])
    if len(names) != len(elements) or any(isinstance(e, ast.Starred) for e in names + elements):
        return None
    return _simple_name(names[elements.index(value)])  # type: ignore[arg-type]


def _simple_name(target: ast.AST) -> str | None:
    """The source of a name or of attributes of a name."""
    inner = target
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return ast.unparse(target) if isinstance(inner, ast.Name) else None


def current_place() -> Place | None:
    """The expression that the user's program has reached; None if no code of theirs is running."""
    frame = user_frame(sys._getframe(1))
    if frame.f_code.co_filename in internal_files:
        return None
    return place_of(frame.f_code, frame.f_lasti)
