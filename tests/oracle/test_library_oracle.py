"""Operators that programs define, and those of `aten`: declarations, answers, refusals."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina
from lamina.library import aten, ops
from lamina.library.schema_parser import parse_schema
from tests.library.record_aten import FILE

# --- declarations --------------------------------------------------------------------------------

OF_TORCHSCRIPT = (
    "Dict(",
    "t[]",
    "t item",
    "RRef",
    "Future",
    "__torch__",
    "AnyEnum",
    "...",
    "[](a",
    "t1 ",
    "b|a",
)
DECLARATIONS = [
    text
    for text in map(str, torch._C._jit_get_all_schemas())
    if text.startswith("aten::")
    and not any(word in text for word in OF_TORCHSCRIPT)
    and " t " not in text.replace("(", " ")
]


def test_every_declaration_of_pytorch_is_printed_as_pytorch_does():
    different = [text for text in DECLARATIONS if str(parse_schema(text)) != text]
    assert len(DECLARATIONS) > 3000
    assert [text for text in different if r"\n\t" not in text] == []


VALUES = {
    "Tensor": ["T.ones(2)", "1.0", "None", "[T.ones(2)]"],
    "int": [
        "1",
        "True",
        "2.0",
        "'a'",
        "T.tensor(3)",
        "T.tensor(2.5)",
        "np.int64(4)",
        "None",
        "[1]",
    ],
    "float": ["1", "2.5", "True", "'a'", "T.tensor(2.5)", "np.float32(2)", "1j", "None"],
    "bool": ["True", "1", "0.5", "'a'", "None"],
    "str": ["'a'", "1", "None"],
    "Scalar": ["1", "2.5", "True", "T.tensor(3)", "'a'", "None", "1j"],
    "ScalarType": ["T.float32", "6", "'float32'", "None"],
    "Device": ["'cpu'", "T.device('cpu')", "1.5", "None"],
    "int[]": ["[1, 2]", "(1,)", "1", "[1.5]", "[]", "'ab'", "[True]", "T.Size([2])"],
    "int[2]": ["1", "[1, 2]", "[1, 2, 3]", "1.5"],
    "float[]": ["[1, 2.5]", "1.0", "['a']", "(1,)"],
    "Tensor[]": ["[T.ones(2)]", "(T.ones(1), T.ones(2))", "T.ones(2)", "[1]", "[]"],
    "int?": ["None", "1", "1.5"],
    "Tensor?": ["None", "T.ones(2)", "3"],
    "int[]?": ["None", "[1]", "1", "[None]"],
    "Tensor?[]": ["[None, T.ones(2)]", "None", "[3]"],
}
CALLS = [(kind, value) for kind, values in VALUES.items() for value in values]


def shown(value):
    """A value that a kernel got, as text."""
    if isinstance(value, list):
        return [shown(each) for each in value]
    if isinstance(value, torch.Tensor | lamina.Tensor):
        return ["tensor", value.tolist()]
    return [type(value).__name__, str(value)]


def what_a_kernel_gets(module, kind, value):
    """The argument as an operator's kernel sees it; the class of the error if it is refused."""
    seen = []
    library = module.library.Library("oracle_of_arguments", "FRAGMENT")
    library.define(f"f({kind} x) -> ()")
    library.impl("f", lambda x: seen.append(shown(x)), "CompositeExplicitAutograd")
    space = module.library.ops if module is lamina else module.ops
    try:
        space.oracle_of_arguments.f(eval(value, {"T": module, "np": np}))
    except RuntimeError:
        return "RuntimeError"
    finally:
        library._destroy()
    return seen


@pytest.mark.parametrize(("kind", "value"), CALLS)
def test_arguments_are_converted_and_refused_as_in_pytorch(kind, value):
    ours, theirs = (what_a_kernel_gets(module, kind, value) for module in (lamina, torch))
    assert ours == theirs


# --- programs ------------------------------------------------------------------------------------

KERNELS = {
    "sine": ("(Tensor x) -> Tensor", lambda x: x.sin()),
    "scaled": ("(Tensor x, float k=2.0) -> Tensor", lambda x, k=2.0: x * k),
    "product": ("(Tensor x, Tensor y) -> Tensor", lambda x, y: x * y),
    "pair": ("(Tensor x, *, int n=1) -> (Tensor, Tensor)", lambda x, n=1: (x + n, x * x)),
    "summed": ("(Tensor[] xs, Tensor w) -> Tensor", lambda xs, w: sum(xs) * w),
    "each": ("(Tensor[] xs) -> Tensor[]", lambda xs: [x * 3 for x in xs]),
}
FORMULAS = {
    "sine": lambda ctx, g: g * ctx.inputs[0].cos(),
    "scaled": lambda ctx, g: (g * ctx.inputs[1], None),
    "product": lambda ctx, g: (g * ctx.inputs[1], g * ctx.inputs[0]),
    "pair": lambda ctx, a, b: a + b * 2 * ctx.inputs[0],
    "summed": lambda ctx, g: ([g * ctx.inputs[1] for _ in ctx.inputs[0]], g * sum(ctx.inputs[0])),
    "each": lambda ctx, gs: [g * 3 for g in gs],
}
FORMS = [
    "sine(a)", "scaled(a)", "scaled(a, 3.0)", "scaled(k=0.5, x=a)", "product(a, b)",
    "product(a, a)", "pair(a)[0] * pair(b, n=2)[1]", "pair(a)[1]", "summed([a, b], a)",
    "summed([a, b, a], b)", "each([a, b])[0]", "each([a * b, b])[1] + each([a])[0]", "a + b",
]  # fmt: skip


def operators(module):
    """Operators with derivatives, by name."""

    def keep(ctx, inputs, output, keyword_only_inputs=None):
        ctx.inputs = inputs

    made = {}
    for name, (schema, kernel) in KERNELS.items():
        made[name] = module.library.custom_op(
            f"oracle_of_programs::{name}", kernel, mutates_args=(), schema=schema
        )
        made[name].register_autograd(FORMULAS[name], setup_context=keep)
    return made


SPACES = {module: operators(module) for module in (torch, lamina)}


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(FORMS)), min_size=1, max_size=5))
def test_programs_of_operators_have_pytorchs_values_and_gradients(program):
    answers = []
    for module, known in SPACES.items():
        x = module.tensor([0.3, -0.7], dtype=module.float64, requires_grad=True)
        y = module.tensor([0.5, 0.2], dtype=module.float64, requires_grad=True)
        space = {"a": x, "b": y}
        for target, form in program:
            space[target] = eval(form, dict(known), space)
        loss = (space["a"] + 2 * space["b"]).sum()
        first = module.autograd.grad(loss, [x, y], create_graph=True, allow_unused=True)
        total = sum(g.sum() for g in first if g is not None)
        second = [None, None]
        if total.requires_grad:
            second = module.autograd.grad(total, [x, y], allow_unused=True)
        names = [None if v.grad_fn is None else v.grad_fn.name() for v in space.values()]
        values = [loss, *first, *second]
        answers.append([names, [None if v is None else v.detach().numpy() for v in values]])
    (names, theirs), (own_names, ours) = answers
    assert own_names == names
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine is None) == (other is None)
        if mine is not None:
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


# --- aten ----------------------------------------------------------------------------------------

X = np.array([[0.3, 0.7, 0.2], [0.9, 0.4, 0.6], [0.5, 0.1, 0.8]])
TENSORS = {
    "square": X, "vector": np.sort(X[0]), "indices": np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]]),
    "index": np.array([0, 2, 1]), "image": X[None, None], "batch": X[None], "mask": X > 0.5,
    "number": np.array(0.5), "flags": np.sort(X[0]) > 0.25,
}  # fmt: skip
INTEGERS = ((1, [1]), (0, [0]), (2, [3, 3]), (1, [1, 0]), (3, [3]), (9, [1, 9]))
NUMBERS = {"float": 0.5, "bool": False, "str": "none", "ScalarType": "float64", "Device": "cpu"}
# Their results are random, or what was in memory.
RANDOM = ("alpha_dropout", "bernoulli", "binomial", "cauchy", "dropout", "empty", "exponential")
RANDOM += ("feature_", "geometric", "log_normal", "multinomial", "new_empty", "normal", "poisson")
RANDOM += ("rand", "resize", "rrelu", "uniform")


def argument(module, declared, tensor, integers):
    """A value of a declared type."""
    kind = declared.type
    if kind.kind == "Tensor":
        made = module.from_numpy(TENSORS[tensor].copy())
        return [made, made.clone()] if kind.is_list else made
    if kind.is_list:
        return {"int": integers[1], "SymInt": integers[1], "float": [0.5]}.get(kind.kind, [])
    value = NUMBERS.get(kind.kind, integers[0])
    return getattr(module, value) if kind.kind == "ScalarType" else value


def called(module, space, schema, tensors, integers):
    """The results of an operator, and its arguments after the call, as plain data."""
    tensors = itertools.cycle(tensors or ("square",))
    values = {
        each.name: argument(
            module, each, next(tensors) if each.type.kind == "Tensor" else None, integers
        )
        for each in schema.arguments
        if not each.has_default_value()
    }
    by_place = [values[each.name] for each in schema.positional if each.name in values]
    by_name = {each.name: values[each.name] for each in schema.keyword_only if each.name in values}
    packet = getattr(space.aten, schema.name)
    found = getattr(packet, schema.overload_name or "default")(*by_place, **by_name)
    return [plain(found), [plain(value) for value in by_place]]


def plain(value):
    """Tensors as dtype, shape and array."""
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, torch.Tensor | lamina.Tensor):
        array = value.detach().numpy()
        return [str(value.dtype), array.shape, array]
    return str(value)


def is_same(mine, other):
    if isinstance(mine, list) and isinstance(other, list):
        return len(mine) == len(other) and all(map(is_same, mine, other))
    if isinstance(mine, np.ndarray) or isinstance(other, np.ndarray):
        if not isinstance(mine, np.ndarray) or not isinstance(other, np.ndarray):
            return False
        return np.allclose(mine, other, 1e-5, 1e-7, equal_nan=True)
    return mine == other


def answers_of(declaration):
    """What both answer to the first arguments that PyTorch takes; None if it takes none."""
    schema = parse_schema(declaration)
    count = sum(
        each.type.kind == "Tensor" and not each.has_default_value() for each in schema.arguments
    )
    for integers in INTEGERS:
        for tensors in itertools.product(TENSORS, repeat=min(count, 3)):
            try:
                theirs = called(torch, torch.ops, schema, tensors, integers)
            except Exception:
                continue
            return called(lamina, ops, schema, tensors, integers), theirs
    return None


def test_operators_of_aten_answer_as_pytorchs_do():
    declarations = FILE.read_text(encoding="utf-8").splitlines()
    asked, different = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for declaration in declarations:
            if declaration.startswith(RANDOM):
                continue
            found = answers_of(declaration)
            asked += found is not None
            if found is not None and not is_same(*found):
                different.append(declaration)
    assert different == []
    assert asked > 600
    assert len(aten.names()) > 300
