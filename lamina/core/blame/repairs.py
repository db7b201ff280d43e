"""Repairs as code: small rewritings of the user's own expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable

from lamina.core.blame.reading import added_value, bracketed, last_name

FLAG = "requires_grad"


def _rewritten(expression: str, change: Callable[[ast.expr], ast.expr | None]) -> str | None:
    """The source of a changed expression; None if it can't be parsed or `change` declines."""
    try:
        found = change(ast.parse(expression.strip(), mode="eval").body)
        return None if found is None else ast.unparse(ast.fix_missing_locations(found))
    except Exception:
        return None


def leaf_last(expression: str) -> str | None:
    """The same tensor with gradients asked for at the end, so that it is a leaf.

    >>> leaf_last("torch.ones(3, requires_grad=True).double()")
    'torch.ones(3).double().requires_grad_()'
    >>> leaf_last("nn.Parameter(torch.ones(3)).double()")
    'nn.Parameter(torch.ones(3).double())'
    >>> leaf_last("torch.randn(2, requires_grad=True) * 0.01")
    '(torch.randn(2) * 0.01).requires_grad_()'
    """

    def change(tree: ast.expr) -> ast.expr | None:
        mover = _FlagRemover()
        plain = mover.visit(tree)
        if mover.wrapper is not None:
            return ast.Call(mover.wrapper, [plain], [])
        if not mover.removed:
            return None
        return ast.Call(ast.Attribute(plain, FLAG + "_", ast.Load()), [], [])

    return _rewritten(expression, change)


class _FlagRemover(ast.NodeTransformer):
    """Takes `requires_grad=True`, `requires_grad_()`, `nn.Parameter()` out of an expression."""

    def __init__(self) -> None:
        self.removed = 0
        self.wrapper: ast.expr | None = None

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == FLAG + "_":
            self.removed += 1
            return function.value
        if last_name(function) == "Parameter" and len(node.args) == 1:
            self.wrapper = function
            return node.args[0]
        keywords = [keyword for keyword in node.keywords if keyword.arg != FLAG]
        self.removed += len(keywords) != len(node.keywords)
        node.keywords = keywords
        return node


def out_of_place(statement: str) -> str | None:
    """An augmented assignment as an ordinary one.

    >>> out_of_place("x += 1"), out_of_place("y[0] *= 2")
    ('x = x + 1', None)
    """
    try:
        (tree,) = ast.parse(statement.strip()).body
        if isinstance(tree, ast.AugAssign) and isinstance(tree.target, ast.Name | ast.Attribute):
            target = ast.unparse(tree.target)
            value = ast.BinOp(ast.parse(target, mode="eval").body, tree.op, tree.value)
            return f"{target} = {ast.unparse(ast.fix_missing_locations(value))}"
    except Exception:
        pass
    return None


def without_keyword(expression: str, name: str) -> str | None:
    """A call without one of its keyword arguments.

    >>> without_keyword("F.relu(x, inplace=True)", "inplace")
    'F.relu(x)'
    """

    def change(tree: ast.expr) -> ast.expr | None:
        if not isinstance(tree, ast.Call) or all(k.arg != name for k in tree.keywords):
            return None
        tree.keywords = [keyword for keyword in tree.keywords if keyword.arg != name]
        return tree

    return _rewritten(expression, change)


def with_keyword(expression: str, name: str, value: str) -> str | None:
    """A call with one more keyword argument.

    >>> with_keyword("loss.backward()", "retain_graph", "True")
    'loss.backward(retain_graph=True)'
    """

    def change(tree: ast.expr) -> ast.expr | None:
        if not isinstance(tree, ast.Call) or any(k.arg == name for k in tree.keywords):
            return None
        tree.keywords.append(ast.keyword(name, ast.parse(value, mode="eval").body))
        return tree

    return _rewritten(expression, change)


def with_argument(expression: str, position: int, value: str) -> str | None:
    """A call with one of its positional arguments replaced.

    >>> with_argument("torch.autograd.grad(y, x[1])", 1, "x")
    'torch.autograd.grad(y, x)'
    """

    def change(tree: ast.expr) -> ast.expr | None:
        if not isinstance(tree, ast.Call) or len(tree.args) <= position:
            return None
        tree.args[position] = ast.parse(value, mode="eval").body
        return tree

    return _rewritten(expression, change)


def update_in_place(target: str, expression: str) -> str:
    """A rebinding of `target` as a change in place.

    >>> update_in_place("w", "w - 0.1 * w.grad"), update_in_place("w", "f(w)")
    ('w -= 0.1 * w.grad', 'w.copy_(f(w))')
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        if isinstance(tree, ast.BinOp) and ast.unparse(tree.left) == target:
            name = ast.parse(target).body[0].value  # type: ignore[attr-defined]
            name.ctx = ast.Store()
            return ast.unparse(ast.fix_missing_locations(ast.AugAssign(name, tree.op, tree.right)))
    except Exception:
        pass
    return f"{target}.copy_({expression})"


def with_added(statement: str, ending: str) -> str:
    """A statement that adds something, with `ending` put behind what it adds.

    >>> with_added("total += a * b", ".item()")
    'total += (a * b).item()'
    """
    value = added_value(statement)
    if value is None or not statement.rstrip().endswith(value):
        return statement
    return statement.rstrip().removesuffix(value) + bracketed(value) + ending


def as_parameter(expression: str) -> str | None:
    """An expression that makes a tensor, as one that makes a parameter.

    >>> as_parameter("nn.Parameter(torch.ones(3)).double()")
    'nn.Parameter(torch.ones(3).double())'
    >>> as_parameter("torch.zeros(3, requires_grad=True)")
    'nn.Parameter(torch.zeros(3))'
    """

    def change(tree: ast.expr) -> ast.expr | None:
        remover = _FlagRemover()
        plain = remover.visit(tree)
        wrapper = remover.wrapper or ast.parse("nn.Parameter", mode="eval").body
        return ast.Call(wrapper, [plain], [])

    return _rewritten(expression, change)


def masked_inside(line: str, expression: str) -> str | None:
    """A branch of `where` with its argument masked before the operation.

    >>> masked_inside("y = torch.where(x > 1, x.log(), x - 1)", "x.log()")
    'torch.where(x > 1, x, torch.ones_like(x)).log()'
    >>> masked_inside("torch.where(x > 0, 1 / x, x)", "1 / x")
    '1 / torch.where(x > 0, x, torch.ones_like(x))'
    """
    try:
        for node in ast.walk(ast.parse(line.strip())):
            if (
                not isinstance(node, ast.Call)
                or last_name(node.func) != "where"
                or len(node.args) != 3
            ):
                continue
            condition, *branches = node.args
            for branch in branches:
                inner = next((n for n in ast.walk(branch) if ast.unparse(n) == expression), None)
                first = branch is node.args[1]
                if isinstance(inner, ast.Call):
                    return _masked_call(inner, ast.unparse(condition), first)
                if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Div):
                    divisor = _masked(ast.unparse(inner.right), ast.unparse(condition), first)
                    return f"{ast.unparse(inner.left)} / {divisor}"
    except Exception:
        pass
    return None


def _masked(source: str, condition: str, is_first: bool) -> str:
    """A value, and 1 where the condition leaves it unused."""
    ones = f"torch.ones_like({source})"
    return (
        f"torch.where({condition}, {source}, {ones})"
        if is_first
        else f"torch.where({condition}, {ones}, {source})"
    )


def _masked_call(call: ast.Call, condition: str, is_first: bool) -> str | None:
    """A call whose argument is 1 where the condition leaves its result unused."""
    method = isinstance(call.func, ast.Attribute) and not call.args
    source = ast.unparse(call.func.value if method else call.args[0])  # type: ignore[attr-defined]
    masked = _masked(source, condition, is_first)
    if method:
        return f"{masked}.{call.func.attr}()"  # type: ignore[attr-defined]
    return f"{ast.unparse(call.func)}({masked})"


def detached_first(expression: str) -> str | None:
    """A move or cast of values without history, whose result is then a leaf.

    >>> detached_first("x.to(torch.float64)")
    'x.detach().to(torch.float64).requires_grad_()'
    """

    def change(tree: ast.expr) -> ast.expr | None:
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute):
            return None
        tree.func.value = ast.Call(ast.Attribute(tree.func.value, "detach", ast.Load()), [], [])
        return ast.Call(ast.Attribute(tree, FLAG + "_", ast.Load()), [], [])

    return _rewritten(expression, change)


def with_operand(expression: str, operand: str, changed: str) -> str | None:
    """A call on `operand`, as its method or as a function of it, with that operand changed.

    >>> with_operand("x.log()", "x", "x.clamp(min=1e-12)")
    'x.clamp(min=1e-12).log()'
    >>> with_operand("torch.log(p)", "p", "(p + 1)")
    'torch.log(p + 1)'
    """

    def change(tree: ast.expr) -> ast.expr | None:
        if not isinstance(tree, ast.Call):
            return None
        new = ast.parse(changed, mode="eval").body
        if tree.args and ast.unparse(tree.args[0]) == operand:
            tree.args[0] = new
        elif isinstance(tree.func, ast.Attribute) and ast.unparse(tree.func.value) == operand:
            tree.func.value = new
        else:
            return None
        return tree

    return _rewritten(expression, change)
