"""Reading the user's own expressions: what is called on what, written where, read out of what."""

from __future__ import annotations

import ast

_READERS = frozenset({"item", "tolist", "numpy"})

_ON_THE_WAY_OUT = frozenset({"detach", "cpu", "data", "numpy"})


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


def last_name(function: ast.expr) -> str:
    """The name after the last dot of what is called; empty if it has none."""
    match function:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
    return ""


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
                    while _leaves(value):
                        step = value.func if isinstance(value, ast.Call) else value
                        assert isinstance(step, ast.Attribute)
                        value = step.value
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


def is_expression(source: str) -> bool:
    """Whether it is an expression, and no statement such as `x += 1`.

    >>> is_expression("x + 1"), is_expression("x += 1")
    (True, False)
    """
    try:
        ast.parse(source.strip(), mode="eval")
    except Exception:
        return False
    return True


def names_in(expression: str) -> list[str]:
    """The variables whose values an expression is made of: no positions, and no functions.

    >>> names_in("total / len(losses) + table[i]")
    ['total', 'losses', 'table']
    """
    try:
        found = _names(ast.parse(expression.strip(), mode="eval"))
    except Exception:
        return []
    return list(dict.fromkeys(found))


def _names(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(name):
            return [name]
        case ast.Subscript(value):
            return _names(value)
        case ast.Call(ast.Name(), arguments):
            return [name for argument in arguments for name in _names(argument)]
    return [name for child in ast.iter_child_nodes(node) for name in _names(child)]


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


def written_value(statement: str) -> str | None:
    """What a statement or in-place call writes, as something a method can be called on.

    >>> written_value("buf[1:2] = w"), written_value("buf.copy_(w * 2)"), written_value("b += w")
    ('w', '(w * 2)', 'w')
    """
    try:
        (tree,) = ast.parse(statement.strip()).body
        match tree:
            case (
                ast.Assign(_, value)
                | ast.AugAssign(_, _, value)
                | ast.Expr(ast.Call(_, [value, *_]))
            ):
                return bracketed(ast.unparse(value))
    except Exception:
        pass
    return None


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
