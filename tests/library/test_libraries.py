"""`Library`, `define`, `impl` and the functions that register; `torch.ops`, and `aten` in it."""

import gc

import pytest
from autograd.recording import Cases, node_name, raises

import lamina
from lamina.library.aten import names

case = Cases(__file__)


@case
def operators_are_defined_step_by_step(torch):
    library = torch.library.Library("steps", "DEF")
    name = library.define("scaled(Tensor x, int k=2, *, float s=1.0) -> Tensor")
    x = torch.ones(2)
    before = raises(lambda: torch.ops.steps.scaled(x), "Could not run 'steps::scaled' with argum")
    library.impl("scaled", lambda x, k=2, s=1.0: x * k * s, "CPU")
    library.define("composed(Tensor x) -> Tensor")
    library.impl("composed", lambda x: x * 3)
    wants = torch.ones(2, requires_grad=True)
    return (
        name, before, torch.ops.steps.scaled(x), torch.ops.steps.scaled(x, 4, s=2.0),
        node_name(torch.ops.steps.composed(wants)),
        list(torch.ops.steps.composed(x.to("meta")).shape),
        raises(lambda: torch.ops.steps.scaled(x.to("meta")), "no fake impl or Meta kernel"),
        repr(library),
    )  # fmt: skip


@case
def kernels_for_keys(torch):
    library = torch.library.Library("keys", "DEF")
    for name in "abcd":
        library.define(f"{name}(Tensor x) -> Tensor")
    library.impl("a", lambda x: x * 2, "Autograd")
    library.impl("b", lambda x: x * 3, "CompositeExplicitAutograd")
    library.impl("c", torch.library.fallthrough_kernel, "Autograd")
    library.impl("c", lambda x: x * 4, "CPU")
    library.impl("d", lambda x: x * 5, "CPU")
    library.impl("d", lambda x: torch.empty(7, device="meta"), "Meta")
    cuda = torch.library.Library("keys", "IMPL", "CUDA")
    cuda.impl("d", lambda x: x * 6)
    x = torch.ones(2, requires_grad=True)
    ops = torch.ops.keys
    return (
        ops.a(x), ops.b(x), node_name(ops.b(x)), ops.c(x), ops.d(x.detach()),
        list(ops.d(x.to("meta")).shape), list(ops.b(x.to("meta")).shape),
        raises(lambda: library.impl("a", 3), "is required to be a callable"),
        raises(lambda: library.impl("a", abs, "Somewhere"), "could not parse dispatch key"),
        raises(
            lambda: library.impl("d", abs, "CPU", allow_override=False),
            "there's already a kernel registered from python overriding",
        ),
    )  # fmt: skip


@case
def the_functions_define_too(torch):
    define, impl = torch.library.define, torch.library.impl
    library = torch.library.Library("functions", "FRAGMENT")
    define("functions::f", "(Tensor x) -> Tensor", lib=library)
    given = impl("functions::f", "default", lambda x: x * 2, lib=library)

    @define(library, "g(Tensor x) -> Tensor")
    def g(x):
        return x * 3

    library.define("h(Tensor x) -> Tensor")

    @impl(library, "h", "CPU")
    def h(x):
        return x * 4

    library.define("i(Tensor x) -> Tensor")

    @impl("functions::i", ["cpu", "cuda"], lib=library)
    def i(x):
        return x * 5

    x = torch.ones(2)
    ops = torch.ops.functions
    return (
        given, ops.f(x), g(x), ops.g(x), h(x), ops.h(x), i is None, ops.i(x),
        raises(lambda: define("functions::f", "(Tensor x) -> Tensor"), "multiple times"),
        raises(lambda: define("f", "(Tensor x) -> Tensor"), 'of the form "namespace::name"'),
        raises(lambda: define("functions::z", "Tensor x -> Tensor"), "expected schema to look"),
        raises(lambda: define(3, "(Tensor x) -> Tensor"), "to be instance of str"),
        raises(lambda: impl("functions::f", "somewhere", abs), "Expected one of cpu, cuda"),
    )  # fmt: skip


@case
def a_library_takes_back_what_it_made(torch):
    def made():
        library = torch.library.Library("passing", "DEF")
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x * 2, "CPU")
        return torch.ops.passing.f(torch.ones(1)), hasattr(torch.ops.passing, "f")

    first, second = made(), made()
    gc.collect()
    gone = raises(lambda: torch.ops.passing.f, "has no attribute")
    library = torch.library.Library("passing", "DEF")
    library.define("g(Tensor x) -> Tensor")
    library._destroy()
    return first, second, gone, raises(lambda: torch.ops.passing.g, "has no attribute")


@case
def a_namespace_is_made_once_and_operators_too(torch):
    library = torch.library.Library("once", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.define("f.other(Tensor x, int n) -> Tensor")
    part = torch.library.Library("once", "FRAGMENT")
    return (
        raises(lambda: torch.library.Library("once", "DEF"), "Only a single TORCH_LIBRARY can be"),
        raises(lambda: torch.library.Library("once", "MORE"), "Unsupported kind: MORE"),
        raises(lambda: torch.library.Library("prim", "DEF"), "prim is a reserved namespace"),
        raises(lambda: part.define("f(Tensor x) -> Tensor"), "same name and overload name"),
        raises(lambda: library.define("f(Tensor x) -> Tensor", "PURE"), "Invalid alias_analysis"),
        torch.ops.once.f.overloads(),
    )


@case
def the_overload_that_fits_is_called(torch):
    library = torch.library.Library("fitting", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.define("f.number(Tensor x, int n) -> Tensor")
    library.define("f.tensor(Tensor x, Tensor y) -> Tensor")
    library.impl("f", lambda x: x, "CPU")
    library.impl("f.number", lambda x, n: x * n, "CPU")
    library.impl("f.tensor", lambda x, y: x + y, "CPU")
    f, x = torch.ops.fitting.f, torch.ones(2)
    return (
        f(x * 5), f(x, 3), f(x, x), f.number(x, 4), str(f), repr(f), str(f.number), repr(f.default),
        f.default is f.default, torch.ops.fitting.f is f, f.default.overloadpacket is f,
        f.number.name(), f.default.name(), f.default.namespace, f.number.__name__,
        raises(lambda: f.other, "has no overload name 'other'"),
    )  # fmt: skip


@case
def registering_asks_for_an_operator(torch):
    library = torch.library.Library("asks", "FRAGMENT")
    library.define("f(*, Tensor x) -> Tensor")
    fake, formula = torch.library.register_fake, torch.library.register_autograd
    vmap, kernel = torch.library.register_vmap, torch.library.register_kernel
    return (
        raises(lambda: fake("asks_missing::f", abs), "operator asks_missing::f does not exist"),
        raises(lambda: formula("asks::missing", abs), "has no attribute 'missing'"),
        raises(lambda: vmap("asks::missing", abs), "has no attribute 'missing'"),
        raises(lambda: fake("f", abs), 'of the form "namespace::name"'),
        raises(lambda: fake(3, abs), "register_fake(3): got unexpected type for op"),
        raises(lambda: formula(torch.ops.asks.f, abs), "got unexpected type for op"),
        raises(lambda: kernel(3, "cpu", abs), "got unexpected type for op"),
        raises(lambda: formula("asks::f", abs), "register_autograd with kwarg-only Tensor args"),
        raises(lambda: vmap("asks::f", abs), "register_vmap with kwarg-only Tensor args"),
    )


@case
def the_old_name_of_register_fake(torch):
    library = torch.library.Library("olds", "FRAGMENT")
    library.define("f(Tensor x) -> Tensor")
    torch.library.impl_abstract("olds::f", lambda x: x.t(), lib=library)
    return list(torch.ops.olds.f(torch.ones(2, 3, device="meta")).shape)


@case
def operations_are_in_aten(torch):
    aten, x = torch.ops.aten, torch.arange(4.0).reshape(2, 2)
    wants = x.clone().requires_grad_()
    y = aten.sin(wants)
    y.sum().backward()
    return (
        node_name(y), wants.grad, aten.add.Tensor(x, x, alpha=2), aten.add(x, 2), aten.mm(x, x),
        aten.sum.dim_IntList(x, [0], True), aten.max.dim(x, 1), aten.view.default(x, [4]),
        aten.relu_(x - 1), aten.cat([x, x], 1), aten.where.self(x > 1, x, -x),
        aten.add.Tensor(self=x, other=x), aten.clone(x), aten.to.dtype(x, torch.int64),
        str(aten.add.Tensor._schema), str(aten.add.Tensor), repr(aten.sin),
        raises(lambda: aten.add.Tensor(x, "a"), "Expected a value of type 'Tensor' for argument"),
        raises(lambda: aten.add.Missing, "has no overload name 'Missing'"),
        raises(lambda: aten.no_such_operation, "object has no attribute 'no_such_operation'"),
    )  # fmt: skip


@case
def tags_are_numbered(torch):
    kinds = torch.Tag.__members__
    return {name: [int(kind), str(kind), repr(kind)] for name, kind in kinds.items()}


@pytest.mark.parametrize("name", case.functions)
def test_answers_are_pytorchs(name):
    assert case.answer(name, lamina) == case.recorded(name)


def test_chapters_come_before_namespaces_of_their_names():
    library = lamina.library.Library("softmax", "FRAGMENT")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x * 2, "CPU")
    assert lamina.ops.softmax.__name__ == "lamina.ops.softmax"
    assert lamina.library.ops.softmax.f(lamina.ones(1)).tolist() == [2.0]


def test_namespaces_without_operators_are_no_part_of_the_catalogue():
    assert not hasattr(lamina.ops, "a_namespace_of_nobody")
    assert not hasattr(lamina.library.ops.a_namespace_of_nobody, "f")


def test_compiled_operators_are_refused():
    with pytest.raises(OSError, match="Could not load this library: operators"):
        lamina.library.ops.load_library("operators.so")
    assert lamina.library.ops.loaded_libraries == set()


@pytest.mark.parametrize(
    "call",
    [
        lambda: lamina.library.get_ctx(),
        lambda: lamina.library.triton_op("a::b", abs, mutates_args=()),
        lambda: lamina.library.wrap_triton(abs),
        lambda: lamina.library.register_torch_dispatch("a::b", object, abs),
        lambda: lamina.library.Library("aten", "IMPL").impl("sin", abs, "CPU"),
        lambda: lamina.library.Library("_", "IMPL").fallback(abs, "CPU"),
        lambda: lamina.library.Library("a", "IMPL").impl("b", abs, "CPU", with_keyset=True),
    ],
)
def test_what_has_no_counterpart_is_refused(call):
    with pytest.raises(NotImplementedError):
        call()


def test_every_declaration_of_aten_is_served():
    ops = lamina.library.ops
    assert [name for name in names() if not hasattr(ops.aten, name)] == []
