"""Declarations: read from text, found in annotations, and what calls must fit."""

import math
from functools import partial

import pytest
from autograd.recording import Cases, raises
from hypothesis import given
from hypothesis import strategies as st

import lamina
from lamina.library.schema_parser import parse_schema

case = Cases(__file__)


def defined(torch, declaration):
    """How a declaration is printed, or what is raised."""
    library = torch.library.Library("declared", "FRAGMENT")
    try:
        name = library.define(declaration)
    except RuntimeError:
        return "RuntimeError"
    packet = getattr(torch.ops.declared, name.partition(".")[0])
    return [str(getattr(packet, overload)._schema) for overload in packet.overloads()]


@case
def declarations_are_printed_in_one_way(torch):
    return [
        defined(torch, declaration)
        for declaration in (
            "a(Tensor x) -> Tensor",
            "b(Tensor  x ,int y = 3)->Tensor",
            "c.overload(Tensor x, *, float s=1.0) -> (Tensor, Tensor)",
            "d(Tensor(a!) x, Tensor? y=None, Tensor[] z=[]) -> ()",
            "e(Tensor(a) x) -> Tensor(a)",
            "f(int[2] n=1, int[] m=[1, 2], float[] w=[0.5, 2], bool b=False, str s='a') -> Tensor",
            "g(ScalarType d=float32, ScalarType? e=None, Device v='cpu', Scalar c=2.5) -> Tensor",
            "h(float x=1e300, float y=3.0, float z=0.1, float w=123456789.0, float v=-1e-7) -> int",
            "i(Tensor(a!)[] xs, Tensor?[] ys, SymInt[]? n=None) -> (Tensor first, Tensor[] rest)",
            "j(Tensor self, int dim) -> Tensor self",
            "k(bool? b=None, MemoryFormat? m=None, Layout? l=None) -> ((Tensor))",
        )
    ]


@case
def what_is_no_declaration(torch):
    return [
        defined(torch, declaration)
        for declaration in (
            "a", "a(Tensor x", "a(Tensor x) Tensor", "a(Tensor) -> Tensor", "a(Foo x) -> Tensor",
            "a(Tensor x) -> Foo", "a(Tensor x=) -> ()", "a(int x=b) -> ()", "a(Tensor x;) -> ()",
            "a(Tensor(a x) -> ()", "a(Tensor? x=[]) -> ()", "a b(Tensor x) -> ()",
            "other::a(Tensor x) -> Tensor", "a(float x=y) -> ()", "a(Tensor x) -> Tensor -> int",
        )
    ]  # fmt: skip


@case
def parts_of_a_declaration(torch):
    library = torch.library.Library("parts", "FRAGMENT")
    library.define("f.g(Tensor(a!) x, int[2] n, *, float? k=1.5, str q='a') -> (Tensor, int r)")
    schema = torch.ops.parts.f.g._schema
    return (
        schema.name, schema.overload_name, schema.is_mutable, str(schema),
        [
            [
                each.name, str(each.type), each.N, each.default_value, each.has_default_value(),
                each.kwarg_only, each.alias_info is not None and each.alias_info.is_write,
            ]
            for each in schema.arguments
        ],
        [[each.name, str(each.type)] for each in schema.returns],
    )  # fmt: skip


def annotated(torch):
    """Functions, with what annotations say."""
    Tensor = torch.Tensor

    def plain(x: Tensor) -> Tensor: ...
    def several(x: Tensor, y: Tensor) -> tuple[Tensor, int, float, bool, list[Tensor]]: ...
    def single(x: Tensor) -> tuple[Tensor]: ...
    def nothing(x: Tensor) -> None: ...
    def numbers(a: int, b: float = 1e-5, c: bool = True, *, d: int = -3, e: float = 2) -> int: ...
    def lists(a: list[int], b: list[float], c: list[bool], d: list[Tensor]) -> list[Tensor]: ...
    def maybe(
        a: Tensor | None, b: int | None = None, c: list[int] | None = None, d: str | None = "z"
    ) -> float: ...

    cpu = torch.device("cpu")

    def kinds(a: torch.dtype = torch.bfloat16, b: torch.device = cpu) -> bool: ...

    return plain, several, single, nothing, numbers, lists, maybe, kinds


@case
def annotations_become_declarations(torch):
    infer = torch.library.infer_schema
    first = annotated(torch)[0]
    return (
        [infer(function, mutates_args=()) for function in annotated(torch)],
        infer(first, mutates_args={"x"}, op_name="space::name"),
        infer(annotated(torch)[1], mutates_args="unknown"),
    )


@case
def annotations_that_say_too_little(torch):
    Tensor = torch.Tensor

    def bare(x) -> Tensor: ...
    def open_end(*xs: Tensor) -> Tensor: ...
    def pair(x: tuple[int, int]) -> Tensor: ...
    def table(x: dict) -> Tensor: ...
    def without_result(x: Tensor): ...
    def gives_table(x: Tensor) -> dict: ...
    def number(x: int) -> Tensor: ...
    def unknown(x: "Unknown") -> Tensor: ...  # noqa: F821
    def default(x: list[int] = [1]) -> Tensor: ...  # noqa: B006

    infer = torch.library.infer_schema
    return [
        raises(partial(infer, function, mutates_args=written), phrase)
        for function, written, phrase in (
            (bare, (), "Parameter x must have a type annotation."),
            (open_end, (), "We do not support positional-only args, varargs, or varkwargs."),
            (pair, (), "please try to use List instead"),
            (table, (), "Parameter x has unsupported type <class 'dict'>"),
            (without_result, (), "No return type annotation was provided"),
            (gives_table, (), "Return has unsupported type <class 'dict'>"),
            (number, ["x"], "only Tensors or collections of Tensors can be mutated"),
            (unknown, (), "Unsupported type annotation Unknown"),
            (default, (), "has an unsupported default value type <class 'list'>"),
            (number, ["y"], "in mutates_args were not found"),
            (number, "all", "or the string 'unknown'"),
        )
    ]


@case
def arguments_must_fit_the_declaration(torch):
    seen = []

    def kernel(*args, **kwargs):
        seen.append([args[1:], {name: str(value) for name, value in kwargs.items()}])
        return args[0] * 1

    operator = torch.library.custom_op(
        "fits::f", kernel, mutates_args=(),
        schema="(Tensor x, int n=1, float[] w=[], *, str s='', ScalarType? d=None) -> Tensor",
    )  # fmt: skip
    x = torch.ones(2)
    expected = "fits::f() Expected a value of type '{}' for argument '{}'"
    return [
        raises(partial(operator, *args, **kwargs), phrase)
        for args, kwargs, phrase in (
            ((), {}, "fits::f() is missing value for argument 'x'. Declaration: fits::f(Tensor x"),
            ((3,), {}, expected.format("Tensor", "x")),
            ((x, 2.5), {}, expected.format("int", "n")),
            ((x, "a"), {}, "but instead found type 'str'"),
            ((x, 1, 2.0), {}, expected.format("List[float]", "w")),
            ((x, 1, ["a"]), {}, expected.format("List[float]", "w")),
            ((x,), {"s": 1}, expected.format("str", "s")),
            ((x,), {"d": "float32"}, expected.format("Optional[int]", "d")),
            ((x,), {"q": 1}, "Unknown keyword argument 'q' for operator 'fits::f'"),
            ((x,), {"x": x}, "Argument 'x' specified both as positional and keyword argument"),
            ((x, 1, [], "a"), {}, "fits::f() takes 3 positional argument(s) but 4 was/were given"),
            ((x, True, (1, 2)), {"d": torch.float32}, ""),
        )
    ], seen


@pytest.mark.parametrize("name", case.functions)
def test_answers_are_pytorchs(name):
    assert case.answer(name, lamina) == case.recorded(name)


KINDS = st.sampled_from(["Tensor", "int", "SymInt", "float", "bool", "str", "Scalar", "Device"])
SUFFIXES = st.sampled_from(["", "[]", "?", "[]?", "?[]", "[3]"])
NAMES = st.lists(st.sampled_from("abcdefg"), unique=True, max_size=5)


@st.composite
def declarations(choose):
    parts = [f"{choose(KINDS)}{choose(SUFFIXES)} {name}" for name in choose(NAMES)]
    if parts and choose(st.booleans()):
        parts.insert(choose(st.integers(0, len(parts) - 1)), "*")
    results = choose(st.lists(KINDS, max_size=3))
    returns = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"space::f({', '.join(parts)}) -> {returns}"


@given(declarations())
def test_a_printed_declaration_is_read_as_itself(text):
    assert str(parse_schema(text)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_defaults_keep_every_digit(number):
    (argument,) = parse_schema(f"f(float x={number!r}) -> ()").arguments
    (again,) = parse_schema(f"f({argument}) -> ()").arguments
    assert argument.default == number == again.default
    assert math.copysign(1, argument.default) == math.copysign(1, number)


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_texts_as_defaults_are_printed_so_that_they_can_be_read(text):
    written = text.replace("\\", "\\\\").replace('"', '\\"')
    (argument,) = parse_schema(f'f(str x="{written}") -> ()').arguments
    (again,) = parse_schema(f"f({argument}) -> ()").arguments
    assert argument.default == text == again.default


def test_the_error_marks_the_place():
    with pytest.raises(lamina.errors.InvalidSchema) as caught:
        parse_schema("f(Tensor x, count n) -> Tensor")
    lines = caught.value.headline.splitlines()
    assert lines[1:] == ["f(Tensor x, count n) -> Tensor", " " * 12 + "~~~~~ <--- HERE"]


def test_the_error_of_a_call_shows_the_call():
    @lamina.library.custom_op("fits_here::scaled", mutates_args=())
    def scaled(x: lamina.Tensor, factor: float) -> lamina.Tensor:
        return x * factor

    with pytest.raises(lamina.errors.OperatorCallError) as caught:
        scaled(lamina.ones(2), "two")
    assert caught.value.places[0].expression == 'scaled(lamina.ones(2), "two")'
    assert "fits_here::scaled(Tensor x, float factor) -> Tensor" in str(caught.value)
