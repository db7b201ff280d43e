"""Source files as the explainer reads them: lines, syntax tree, and what stands where.

Positions here are those of Python's syntax tree and of `code.co_positions()`: lines from 1,
columns in bytes of UTF-8. `Span.column` and `SourceFile.slice` turn them into characters.
"""

from __future__ import annotations

import ast
import io
import keyword
import linecache
import os
import sys
import tokenize
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

MODULE_NAMES = frozenset(
    {"torch", "lamina", "nn", "F", "functional", "np", "numpy", "math"}
    | {"optim", "linalg", "fft", "special", "autograd", "init"}
)
FILES_KEPT = 32


class Span(NamedTuple):
    """A stretch of source: from `line`, `column` up to `end_line`, `end_column`."""

    line: int
    column: int
    end_line: int
    end_column: int


class SourceFile:
    """One file's lines, and an index of its syntax tree, made when first asked.

    Args:
        lines: The file's lines, each with its line end, as `linecache` has them.
    """

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.parents: dict[ast.AST, ast.AST] = {}
        self.modules = set(MODULE_NAMES)
        self._ending: dict[tuple[int, int], list[ast.AST]] = {}
        try:
            self._read(parse("".join(lines)))
        except Exception:
            # Not Python (a template, a shell cell): lines can still be shown.
            self._ending.clear()

    def _read(self, tree: ast.Module) -> None:
        """Fill the index, parents before children."""
        waiting: list[ast.AST] = [tree]
        for node in waiting:
            if hasattr(node, "end_col_offset"):
                span = span_of(node)
                self._ending.setdefault((span.end_line, span.end_column), []).append(node)
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.modules.update(_imported_modules(node))
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr_context | ast.operator):
                    continue  # shared between nodes, without a position
                self.parents[child] = node
                waiting.append(child)

    def find(self, span: Span) -> ast.AST | None:
        """The outermost node at exactly `span`, else the smallest that ends there and holds it.

        The second case is a call of a method on a later line than its receiver: CPython
        reports it from the method's name on.
        """
        ending = self._ending.get((span.end_line, span.end_column), ())
        for node in ending:
            if span_of(node) == span and not isinstance(node, ast.Expr):
                return node
        start = (span.line, span.column)
        around = [node for node in ending if span_of(node)[:2] <= start]
        around = [node for node in around if not isinstance(node, ast.Expr | ast.keyword)]
        return max(around, key=lambda node: span_of(node)[:2], default=None)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around `node`, inner ones first."""
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def statement(self, node: ast.AST) -> ast.AST:
        """The statement that `node` is, or is part of."""
        if isinstance(node, ast.stmt):
            return node
        return next((n for n in self.ancestors(node) if isinstance(n, ast.stmt)), node)

    def column(self, line: int, offset: int) -> int:
        """The character column of a byte `offset` in `line`."""
        text = self.lines[line - 1]
        if text.isascii():
            return offset
        return len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))

    def slice(self, span: Span) -> str:
        """The source text of `span`, line ends included."""
        lines = [line.rstrip("\r\n") for line in self.lines[span.line - 1 : span.end_line]]
        lines[-1] = lines[-1][: self.column(span.end_line, span.end_column)]
        lines[0] = lines[0][self.column(span.line, span.column) :]
        return "\n".join(lines)

    def text(self, node: ast.AST) -> str:
        """The source of `node` on one line."""
        return one_line(self.slice(span_of(node)))

    def operands(self, node: ast.AST) -> list[ast.AST]:
        """The parts of an expression or assignment that were put together by it."""
        return operands_of(node, self.modules)


_files: OrderedDict[str, SourceFile] = OrderedDict()


def source_file(filename: str) -> SourceFile | None:
    """The source of a file, cell or `exec` whose text `linecache` has; None if it has not."""
    lines = linecache.getlines(filename) or _loaded_lines(filename)
    if not lines:
        return None
    known = _files.get(filename)
    if known is None or (known.lines is not lines and known.lines != lines):
        known = _files[filename] = SourceFile(lines)
        if len(_files) > FILES_KEPT:
            _files.popitem(last=False)
    return known


def _loaded_lines(filename: str) -> list[str]:
    """The lines of a module that is not a plain file, such as one in a zip archive."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == filename:
            return linecache.getlines(filename, vars(module))
    return []


def parse(text: str) -> ast.Module:
    """The syntax tree of `text`, without the warnings that Python gave when it compiled it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def span_of(node: ast.AST) -> Span:
    """Where a node stands."""
    return Span(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def operands_of(node: ast.AST, modules: set[str] | frozenset[str]) -> list[ast.AST]:
    """The operands of an expression; `modules` are names that are not receivers of methods."""
    match node:
        case ast.Expr(value) | ast.Starred(value) | ast.Await(value) | ast.Return(value):
            return operands_of(value, modules) if value is not None else []
        case ast.BinOp(left, _, right):
            return [left, right]
        case ast.UnaryOp(_, operand):
            return [operand]
        case ast.BoolOp(_, values):
            return list(values)
        case ast.Compare(left, _, comparators):
            return [left, *comparators]
        case ast.Subscript(value, index):
            return [value, index]
        case ast.Attribute(value):
            return [value]
        case ast.AugAssign(target, _, value):
            return [target, value]
        case ast.Assign(targets, value):
            return [*targets, value]
        case ast.AnnAssign(target, _, value) if value is not None:
            return [target, value]
        case ast.NamedExpr(_, value):
            return operands_of(value, modules)
        case ast.For(target, iterable):
            return [iterable]
        case ast.Call(function, arguments, keywords):
            given: list[ast.AST] = [*arguments, *(keyword.value for keyword in keywords)]
            if isinstance(function, ast.Attribute) and not _is_module(function.value, modules):
                return [function.value, *given]
            return given
    return []


def _is_module(node: ast.AST, modules: set[str] | frozenset[str]) -> bool:
    """Whether an expression such as `torch.nn.functional` names a module."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in modules


def _imported_modules(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Names that an import binds to modules, as far as one can tell from it."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            yield alias.asname or alias.name.partition(".")[0]
        elif alias.name in MODULE_NAMES:
            yield alias.asname or alias.name


def header_end(node: ast.AST) -> tuple[int, int] | None:
    """Where the part of a compound statement before its body ends; None for other nodes."""
    last: ast.AST | None = None
    match node:
        case ast.For(_, iterable) | ast.AsyncFor(_, iterable):
            last = iterable
        case ast.With(items) | ast.AsyncWith(items):
            last = items[-1].optional_vars or items[-1].context_expr
        case ast.If(test) | ast.While(test):
            last = test
        case ast.Match(subject):
            last = subject
        case _ if hasattr(node, "body") and isinstance(node, ast.stmt):
            return node.lineno, -1
        case _:
            return None
    span = span_of(last)
    return span.end_line, span.end_column


def one_line(text: str) -> str:
    """`text` of an expression on one line, without comments and needless white space.

    >>> one_line("f(\\n    x,  # why\\n    y,\\n)")
    'f(x, y)'
    >>> one_line("x\\n  .mul(2)")
    'x.mul(2)'
    """
    if "\n" not in text:
        return text
    try:
        return _joined(text)
    except Exception:
        return " ".join(text.split())


def _joined(text: str) -> str:
    """`one_line` for text that can be split into tokens."""
    skipped = {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.ENDMARKER}
    skipped |= {tokenize.INDENT, tokenize.DEDENT}
    # Brackets around, so that line ends inside do not end a statement.
    tokens = tokenize.generate_tokens(io.StringIO(f"({text}\n)").readline)
    kept = [token for token in tokens if token.type not in skipped][1:-1]
    calls: list[bool] = []
    parts: list[str] = []
    for index, token in enumerate(kept):
        before = kept[index - 1] if index else token
        if index:
            broken = token.start[0] != before.end[0]
            if broken and parts[-1] == "," and token.string in ")]}" and calls and calls[-1]:
                parts.pop()
            elif broken:
                parts.append(_gap(before.string, token.string))
            else:
                parts.append(" " * (token.start[1] - before.end[1]))
        if token.string in ("(", "[", "{"):
            called = before.type == tokenize.NAME and not keyword.iskeyword(before.string)
            calls.append(index > 0 and (called or before.string in (")", "]")))
        elif token.string in (")", "]", "}") and calls:
            calls.pop()
        parts.append(" ".join(token.string.split("\n")))
    return "".join(parts)


def _gap(before: str, after: str) -> str:
    """What goes between two tokens instead of a line end."""
    tight = before in ("(", "[", "{", ".") or after in (")", "]", "}", ".", ",", ":", "(", "[")
    return "" if tight else " "


def short_name(filename: str) -> str:
    """A file name to show: no folders, "In [3]" for a notebook's cell.

    >>> short_name("/home/me/train.py"), short_name("<case x>")
    ('train.py', '<case x>')
    """
    try:
        if filename.startswith("<ipython-input-"):
            return f"In [{filename.split('-')[2]}]"
        folder, name = os.path.split(filename)
        if os.path.basename(folder).startswith("ipykernel_"):
            return _cell_name(filename) or "notebook cell"
        if filename.startswith("<") or not name:
            return filename
        if name in ("__init__.py", "__main__.py"):
            return os.path.join(os.path.basename(folder), name).replace(os.sep, "/")
        return name
    except Exception:
        return str(filename)


def _cell_name(filename: str) -> str | None:
    """The number of a notebook's cell, as IPython knows it."""
    try:
        shell = sys.modules["IPython"].get_ipython()
        return "".join(shell.compile.format_code_name(filename)[1:]) or None
    except Exception:
        return None
