"""`custom_op`: calls, kernels for devices, what is written, what may be returned, `opcheck`."""

import numpy as np
import pytest
from autograd.recording import Cases, node_name, raises

import lamina

case = Cases(__file__)


def scaled_of(torch, name, **options):
    """An operator with a default and a keyword-only argument."""

    def scaled(x: torch.Tensor, factor: int = 3, *, shift: float = 1.0) -> torch.Tensor:
        return torch.from_numpy(x.numpy(force=True) * factor + shift)

    return torch.library.custom_op(name, scaled, mutates_args=(), **options)


@case
def an_operator_is_called_by_all_its_names(torch):
    scaled = scaled_of(torch, "calls::scaled")
    x = torch.arange(3.0)
    return (
        scaled(x), scaled(x, 2), scaled(x=x, factor=2, shift=0.5), scaled(x, shift=2),
        torch.ops.calls.scaled(x, 2), torch.ops.calls.scaled.default(x, factor=1),
        repr(scaled), str(torch.ops.calls.scaled.default), str(scaled._opoverload._schema),
        scaled._qualname,
    )  # fmt: skip


@case
def a_decorator_gives_the_operator(torch):
    @torch.library.custom_op("calls::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    return type(doubled), doubled(torch.ones(2))


@case
def results_of_every_kind(torch):
    @torch.library.custom_op("kinds::several", mutates_args=())
    def several(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
        return x + 1, x * 2, 5

    @torch.library.custom_op("kinds::listed", mutates_args=())
    def listed(xs: list[torch.Tensor], n: int = 2) -> list[torch.Tensor]:
        return [x * n for x in xs]

    @torch.library.custom_op("kinds::nothing", mutates_args=())
    def nothing(x: torch.Tensor) -> None:
        return None

    @torch.library.custom_op("kinds::number", mutates_args=())
    def number(x: torch.Tensor) -> int:
        return 4

    @torch.library.custom_op("kinds::maybe", mutates_args=())
    def maybe(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x + 1, None

    x = torch.ones(2)
    return (
        several(x), type(several(x)), listed([x, x]), type(listed((x, x), 3)), nothing(x),
        number(x), maybe(x), listed([]),
    )  # fmt: skip


@case
def arguments_of_every_kind(torch):
    seen = []

    def take(
        x: torch.Tensor, parts: list[torch.Tensor | None], y: torch.Tensor | None = None,
        kind: torch.dtype = torch.float32, place: torch.device | None = None, word: str = "a",
        flag: bool = False, rate: float | None = None, sizes: list[int] | None = None,
    ) -> torch.Tensor:  # fmt: skip
        seen.append([y, str(kind), str(place), word, flag, rate, sizes, parts])
        return x.clone()

    operator = torch.library.custom_op("kinds::take", take, mutates_args=())
    x = torch.ones(2)
    operator(x, [x])
    operator(x, [None, x], x, torch.float64, "cpu", "b", 1, 3, (1, torch.tensor(2)))
    operator(x, (), rate=torch.tensor(0.5), sizes=[np.int64(4)], flag=0.5)
    return seen, str(operator._opoverload._schema)


@case
def kernels_are_called_without_defaults_at_the_end(torch):
    seen = []

    def kernel(*args, **kwargs):
        seen.append([args[1:], kwargs])
        return args[0] * 1

    operator = torch.library.custom_op(
        "kinds::defaults", kernel, mutates_args=(),
        schema="(Tensor x, int a=1, int b=2, *, float c=3.0, str d='q') -> Tensor",
    )  # fmt: skip
    x = torch.ones(2)
    operator(x)
    operator(x, 1, 2, c=3.0)
    operator(x, 1, 3)
    operator(x, b=2, a=5, d="z")
    operator(x, 2, 2)
    return seen


@case
def what_is_written_counts_in_the_version(torch):
    @torch.library.custom_op("writes::double_", mutates_args={"x"})
    def double_(x: torch.Tensor) -> None:
        array = x.numpy()
        np.multiply(array, 2, out=array)

    @torch.library.custom_op("writes::into", mutates_args=("out",))
    def into(x: torch.Tensor, out: torch.Tensor, k: int = 3) -> None:
        out.numpy()[:] = x.numpy() * k

    x, out = torch.arange(3.0), torch.zeros(3)
    double_(x)
    into(x, out)
    return x, x._version, out, out._version, str(into._opoverload._schema)


@case
def what_is_written_and_kept_is_noticed(torch):
    @torch.library.custom_op("writes::zero_", mutates_args={"x"})
    def zero_(x: torch.Tensor) -> None:
        x.numpy()[:] = 0

    x = torch.ones(2, requires_grad=True)
    y = (x * 2).exp()
    with torch.no_grad():
        zero_(y.detach())
    return raises(lambda: y.sum().backward(), "modified by an inplace operation")


@case
def what_is_written_may_be_returned_with_a_tag(torch):
    @torch.library.custom_op("writes::sine_", mutates_args={"x"}, tags=torch.Tag.inplace)
    def sine_(x: torch.Tensor) -> torch.Tensor:
        return x.sin_()

    @torch.library.custom_op("writes::sine_out", mutates_args={"out"}, tags=torch.Tag.out)
    def sine_out(x: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        out.copy_(x.sin())
        return out

    @torch.library.custom_op("writes::wrong_", mutates_args={"x"}, tags=torch.Tag.inplace)
    def wrong_(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    x, out = torch.ones(2), torch.zeros(2)
    wants = torch.ones(2, requires_grad=True)
    return (
        sine_(x) is x, x, sine_out(x, out=out) is out, out,
        raises(lambda: wrong_(x), "must return its first argument"),
        raises(lambda: sine_out(wants, out=out), "don't support automatic differentiation"),
        str(sine_out._opoverload._schema), str(sine_._opoverload._schema),
    )  # fmt: skip


@case
def results_are_checked(torch):
    def made(name, kernel, schema):
        return torch.library.custom_op(f"wrong::{name}", kernel, mutates_args=(), schema=schema)

    x = torch.ones(3)
    phrase = "may not alias any inputs to this custom operator"
    same = made("same", lambda x: x, "(Tensor x) -> Tensor")
    view = made("view", lambda x: x[:1], "(Tensor x) -> Tensor")
    twice = made("twice", lambda x: (x + 1,) * 2, "(Tensor x) -> (Tensor, Tensor)")
    number = made("number", lambda x: 3, "(Tensor x) -> Tensor")
    something = made("something", lambda x: 3, "(Tensor x) -> ()")
    declared = made("declared", lambda x: x.view(-1), "(Tensor(a) x) -> Tensor(a)")
    return (
        raises(lambda: same(x), phrase),
        raises(lambda: same(x.clone().requires_grad_()), phrase),
        raises(lambda: view(x), phrase),
        raises(lambda: twice(x), phrase),
        raises(lambda: number(x), "Unable to cast 3 to Tensor"),
        raises(lambda: something(x), "to return None but it returned something else"),
        declared(x),
    )


@case
def what_the_kernel_raises_is_raised(torch):
    @torch.library.custom_op("wrong::raising", mutates_args=())
    def raising(x: torch.Tensor) -> torch.Tensor:
        raise KeyError("a key")

    return raises(lambda: raising(torch.ones(2, requires_grad=True)), "a key")


@case
def the_meta_device_asks_the_fake_function(torch):
    @torch.library.custom_op("fakes::sine", mutates_args=())
    def sine(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.sin(x.numpy()))

    @torch.library.custom_op("fakes::zero_", mutates_args={"x"})
    def zero_(x: torch.Tensor) -> None:
        x.numpy()[:] = 0

    x = torch.ones(2, 3, device="meta")
    before = raises(lambda: sine(x), "There was no fake impl registered for <CustomOpDef")
    sine.register_fake(lambda x: torch.empty_like(x.t()))
    return before, list(sine(x).shape), str(sine(x).device), zero_(x)


@case
def kernels_for_devices(torch):
    @torch.library.custom_op("places::one", mutates_args=(), device_types="cuda")
    def one(x: torch.Tensor) -> torch.Tensor:
        return torch.ones(1)

    x = torch.zeros(2)
    before = raises(lambda: one(x), "Could not run 'places::one' with arguments from the 'CPU'")
    given = one.register_kernel("cpu", lambda x: torch.full((1,), 2.0))
    after = one(x)
    with one.set_kernel_enabled("cpu", enabled=False):
        disabled = one(x)
        one.register_kernel("cpu", lambda x: torch.full((1,), 4.0))
        still = one(x)

    @torch.library.register_kernel("places::one", "cpu")
    def _(x):
        return torch.full((1,), 3.0)

    return (
        before, callable(given), after, disabled, still, one(x),
        raises(lambda: one.register_kernel("somewhere", abs), "Expected one of cpu, cuda"),
    )  # fmt: skip


@case
def operators_without_tensors(torch):
    @torch.library.custom_op("places::filled", mutates_args=(), device_types="cpu")
    def filled(n: int, device: torch.device) -> torch.Tensor:
        return torch.ones(n, device=device)

    @torch.library.custom_op("places::five", mutates_args=())
    def five() -> int:
        return 5

    return (
        filled(2, "cpu"), filled(1, device=torch.device("cpu")), five(),
        raises(
            lambda: torch.library.custom_op(
                "places::nowhere", lambda n: n, mutates_args=(), schema="(int n) -> Tensor",
                device_types="cpu",
            ),
            "required to have a `device: torch.device` argument",
        ),
    )  # fmt: skip


@case
def an_operator_of_the_same_name_replaces_the_first(torch):
    first = torch.library.custom_op(
        "again::f", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    second = torch.library.custom_op(
        "again::f", lambda x: x * 5, mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    x = torch.ones(2)
    before = second(x), first(x), torch.ops.again.f(x)
    third = torch.library.custom_op(
        "again::f", lambda x, n: x * n, mutates_args=(), schema="(Tensor x, int n) -> Tensor"
    )
    return before, third(x, 7), str(torch.ops.again.f.default._schema)


@case
def declarations_and_mutated_arguments_agree(torch):
    def made(schema, written):
        return torch.library.custom_op(
            "agree::f", lambda x, y: x, mutates_args=written, schema=schema
        )

    return (
        raises(lambda: made("(Tensor x, Tensor y) -> Tensor", ("y",)), "Attempted to create"),
        raises(lambda: made("(Tensor x, *, Tensor y) -> Tensor", ()), "kwarg-only Tensor args"),
        raises(lambda: torch.library.custom_op("agree::f", lambda x: x), "mutates_args"),
        raises(lambda: made.__call__("(Tensor x, int y -> Tensor", ()), "but found"),
    )


@case
def checks_find_what_is_not_declared(torch):
    def made(name, kernel):
        return torch.library.custom_op(
            f"checks::{name}", kernel, mutates_args=(), schema="(Tensor x) -> Tensor"
        )

    good, writing = made("good", lambda x: x * 2), made("writing", lambda x: x.add_(1) * 2)
    good.register_fake(torch.empty_like)
    good.register_autograd(lambda ctx, g: g * 2)
    wrong = made("wrong", lambda x: x * 2)
    wrong.register_fake(lambda x: torch.empty(x.shape[0] + 1))
    x = torch.ones(3, requires_grad=True)

    def found(operator, x):
        answers = torch.library.opcheck(operator, (x,), raise_exception=False)
        return {name: answer == "SUCCESS" for name, answer in answers.items()}

    return (
        found(good, x), found(writing, x.detach()), found(wrong, x.detach())["test_faketensor"],
        found(torch.ops.aten.sin.default, x),
        raises(lambda: torch.library.opcheck(good, (x,), test_utils="test_all"), "subset of"),
        raises(lambda: torch.library.opcheck(3, (x,)), "must be instance of"),
    )  # fmt: skip


@case
def autocast_casts_arguments(torch):
    kinds = []

    @torch.library.custom_op("casts::f", mutates_args=())
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        kinds.append([str(x.dtype), str(y.dtype), torch.is_autocast_enabled("cpu")])
        return x.clone()

    f.register_autocast("cpu", torch.bfloat16)
    x, y = torch.ones(2), torch.ones(2, dtype=torch.float64)
    f(x, y)
    with torch.autocast("cpu"):
        f(x, y)
    return kinds, raises(lambda: f.register_autocast(3, torch.bfloat16), "of type `str`")


@case
def a_kernel_sees_the_arguments_themselves(torch):
    seen = []

    @torch.library.custom_op("sees::f", mutates_args=())
    def f(x: torch.Tensor) -> torch.Tensor:
        seen.append([x is value, x.requires_grad, (x * 2).requires_grad])
        return x.clone()

    value = torch.ones(2, requires_grad=True)
    made = f(value)
    with torch.no_grad():
        f(value)
    return seen, node_name(made)


@pytest.mark.parametrize("name", case.functions)
def test_answers_are_pytorchs(name):
    assert case.answer(name, lamina) == case.recorded(name)
