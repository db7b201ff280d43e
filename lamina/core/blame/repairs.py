"""Repairs as code: small rewritings of the user's own expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable

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
    """Takes `requires_grad=True`, `.requires_grad_()` and `nn.Parameter(...)` out of an expression."""

    def __init__(self) -> None:
        self.removed = 0
        self.wrapper: ast.expr | None = None

    def visit_Call(self, node: ast.Call) -> ast.expr:  # noqa: N802  the name that ast asks for
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == FLAG + "_":
            self.removed += 1
            return function.value
        if _last_name(function) == "Parameter" and len(node.args) == 1:
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


def keyword_source(expression: str, name: str) -> str | None:
    """The source of a keyword argument of a call.

    >>> keyword_source("torch.add(x, 1, out=buf)", "out")
    'buf'
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        assert isinstance(tree, ast.Call)
        return next(ast.unparse(k.value) for k in tree.keywords if k.arg == name)
    except Exception:
        return None


def receiver(expression: str) -> str | None:
    """What a method is called on, or an attribute read from.

    >>> receiver("y.data"), receiver("b2.detach().zero_()"), receiver("f(x)")
    ('y', 'b2.detach()', None)
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        tree = tree.func if isinstance(tree, ast.Call) else tree
        return ast.unparse(tree.value) if isinstance(tree, ast.Attribute) else None
    except Exception:
        return None


def sides(statement: str) -> tuple[str, str] | None:
    """Both sides of an assignment to one target.

    >>> sides("w = w - 0.1 * w.grad")
    ('w', 'w - 0.1 * w.grad')
    """
    try:
        (tree,) = ast.parse(statement.strip()).body
        if isinstance(tree, ast.Assign) and len(tree.targets) == 1:
            return ast.unparse(tree.targets[0]), ast.unparse(tree.value)
    except Exception:
        pass
    return None


def reads(expression: str, name: str) -> bool:
    """Whether an expression uses a variable or attribute such as `w` or `self.w`."""
    try:
        tree = ast.parse(expression.strip())
        return any(
            isinstance(node, ast.Name | ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and ast.unparse(node) == name
            for node in ast.walk(tree)
        )
    except Exception:
        return False


def _last_name(function: ast.expr) -> str:
    match function:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
    return ""


_READERS = frozenset({"item", "tolist", "numpy"})
_ON_THE_WAY_OUT = frozenset({"detach", "cpu", "data", "numpy"})


def _leaves(node: ast.expr) -> bool:
    """Whether an expression ends in a step that leads out of the graph, such as `.detach()`."""
    step = node.func if isinstance(node, ast.Call) else node
    return isinstance(step, ast.Attribute) and step.attr in _ON_THE_WAY_OUT


def read_out_of(expression: str) -> tuple[str, str] | None:
    """The call in an expression that reads numbers out of a tensor, and that tensor's source.

    >>> read_out_of("torch.tensor(x.sum().item() * 2)")
    ('x.sum().item()', 'x.sum()')
    """
    try:
        for node in ast.walk(ast.parse(expression.strip(), mode="eval")):
            match node:
                case ast.Call(ast.Attribute(value, name), []) if name in _READERS:
                    while isinstance(value, ast.Call | ast.Attribute) and _leaves(value):
                        value = value.func.value if isinstance(value, ast.Call) else value.value
                    return ast.unparse(node), ast.unparse(value)
    except Exception:
        pass
    return None


def list_argument(expression: str) -> str | None:
    """The list that is a call's first argument.

    >>> list_argument("torch.tensor([x[0], y])")
    '[x[0], y]'
    """
    found = first_argument(expression)
    return found if found is not None and found.startswith("[") else None


def first_argument(expression: str) -> str | None:
    """The source of a call's first argument.

    >>> first_argument("torch.tensor(t * 3)")
    't * 3'
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        assert isinstance(tree, ast.Call)
        return ast.unparse(tree.args[0])
    except Exception:
        return None


def bracketed(expression: str) -> str:
    """An expression in brackets if a method can't be called on it as it stands.

    >>> bracketed("a + b"), bracketed("x[0]"), bracketed("(a + b)")
    ('(a + b)', 'x[0]', '(a + b)')
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except Exception:
        return expression
    closed = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.List | ast.Tuple
    if isinstance(tree, closed) or (tree.col_offset and expression.startswith("(")):
        return expression
    return f"({expression})"


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


def receiver_of_index(expression: str) -> str | None:
    """What is indexed in an expression.

    >>> receiver_of_index("x[1]"), receiver_of_index("f(x)")
    ('x', None)
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        return ast.unparse(tree.value) if isinstance(tree, ast.Subscript) else None
    except Exception:
        return None


def written_to(statement: str) -> str | None:
    """The name of the tensor that a statement or in-place call changes.

    >>> written_to("y[2:] = 7.0"), written_to("h.add_(1)"), written_to("w *= 2")
    ('y', 'h', 'w')
    """
    try:
        (tree,) = ast.parse(statement.strip()).body
        match tree:
            case (
                ast.Assign([target])
                | ast.AugAssign(target)
                | ast.Expr(ast.Call(ast.Attribute(target)))
            ):
                while isinstance(target, ast.Subscript):
                    target = target.value
                return ast.unparse(target) if isinstance(target, ast.Name | ast.Attribute) else None
    except Exception:
        pass
    return None


def detached_receiver(statement: str) -> str | None:
    """The `y.detach()` whose result is changed in place by a call on it.

    >>> detached_receiver("y.detach().zero_()")
    'y.detach()'
    """
    found = receiver(statement)
    return found if found is not None and found.endswith(".detach()") else None


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


def added_value(statement: str) -> str | None:
    """What a statement adds to a running total.

    >>> added_value("total += loss"), added_value("total = total + loss")
    ('loss', 'loss')
    """
    try:
        (tree,) = ast.parse(statement.strip()).body
        match tree:
            case ast.AugAssign(_, ast.Add(), value):
                return ast.unparse(value)
            case ast.Assign([_], ast.BinOp(_, ast.Add(), value)) | ast.Expr(
                ast.BinOp(_, ast.Add(), value)
            ):
                return ast.unparse(value)
    except Exception:
        pass
    return None


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


def data_owner(statement: str) -> str | None:
    """The tensor whose `.data` a statement uses.

    >>> data_owner("lin.weight.data.requires_grad = False")
    'lin.weight'
    """
    try:
        for node in ast.walk(ast.parse(statement.strip())):
            if isinstance(node, ast.Attribute) and node.attr == "data":
                return ast.unparse(node.value)
    except Exception:
        pass
    return None


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
                or _last_name(node.func) != "where"
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
    return f"torch.where({condition}, {source}, {ones})" if is_first else f"torch.where({condition}, {ones}, {source})"


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


def is_reference(expression: str) -> bool:
    """Whether an expression only names something: a variable, attribute or element.

    >>> is_reference("net.hidden[0].weight"), is_reference("f(x)")
    (True, False)
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
        while isinstance(tree, ast.Attribute | ast.Subscript):
            tree = tree.value
        return isinstance(tree, ast.Name)
    except Exception:
        return False


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
