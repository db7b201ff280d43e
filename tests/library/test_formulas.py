"""Derivatives of operators: registered, missing, of lists, in transforms."""

import numpy as np
import pytest
from autograd.recording import Cases, node_name, raises, warns

import lamina
import lamina.func

case = Cases(__file__)


def sine_of(torch, name):
    """An operator computed by NumPy, with the derivative of its results written out."""

    def sine(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.sin(x.numpy(force=True)))

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()

    made = torch.library.custom_op(name, sine, mutates_args=())
    made.register_autograd(backward, setup_context=keep)
    return made


@case
def a_registered_derivative_is_used(torch):
    sine = sine_of(torch, "formulas::sine")
    x = torch.arange(3.0, dtype=torch.float64, requires_grad=True)
    y = sine(x)
    y.sum().backward()
    (once,) = torch.autograd.grad(sine(x).sum(), x, create_graph=True)
    (twice,) = torch.autograd.grad(once.sum(), x)
    with torch.no_grad():
        free = sine(x)
    return (
        node_name(y), repr(y.grad_fn).partition(" object")[0], x.grad, twice, free.requires_grad,
        torch.autograd.gradcheck(sine, (x.detach().requires_grad_(),)),
        y.is_leaf, y.grad_fn.next_functions[0][0].variable is x,
    )  # fmt: skip


@case
def without_a_derivative_the_backward_pass_fails(torch):
    @torch.library.custom_op("formulas::bare", mutates_args=())
    def bare(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    x = torch.ones(2, requires_grad=True)
    y = bare(x)
    phrase = "Trying to backward through formulas.bare.default but no autograd formula was register"
    return y, y.requires_grad, node_name(y), raises(lambda: y.sum().backward(), phrase)


@case
def setup_gets_all_arguments_and_keyword_only_ones_apart(torch):
    seen = []

    @torch.library.custom_op("formulas::linear", mutates_args=())
    def linear(
        x: torch.Tensor, y: torch.Tensor, n: int = 2, *, s: float = 1.0
    ) -> tuple[torch.Tensor, torch.Tensor, int]:
        return x * n * s, y + 1, 5

    def keep(ctx, inputs, keyword_only_inputs, output):
        seen.append([list(inputs), type(inputs), keyword_only_inputs, output])
        ctx.factor = inputs[2] * keyword_only_inputs["s"]

    def backward(ctx, *g):
        seen.append([g, ctx.needs_input_grad[:2]])
        return g[0] * ctx.factor, g[1], None

    linear.register_autograd(backward, setup_context=keep)
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    first, second, number = linear(x, y)
    first.sum().backward()
    linear(y=x, x=y, s=2.0, n=3)[1].sum().backward()
    return seen, node_name(second), number, x.grad


@case
def gradients_of_arguments_left_out_may_be_left_out(torch):
    @torch.library.custom_op("formulas::powers", mutates_args=())
    def powers(x: torch.Tensor, n: int = 2, m: int = 1) -> torch.Tensor:
        return x * n * m

    x = torch.ones(2, requires_grad=True)
    powers.register_autograd(lambda ctx, g: g * 2)
    powers(x).sum().backward()
    powers.register_autograd(lambda ctx, g: (g * 4, None))
    powers(x, 4).sum().backward()
    powers.register_autograd(lambda ctx, g: (g[:1], None))
    phrase = "returned an invalid gradient at index 0 - got [1] but expected shape compatible"
    return x.grad, raises(lambda: powers(x, 4).sum().backward(), phrase)


@case
def lists_of_tensors_have_lists_of_gradients(torch):
    seen = []

    @torch.library.custom_op("formulas::each", mutates_args=())
    def each(xs: list[torch.Tensor], w: torch.Tensor, k: list[int]) -> list[torch.Tensor]:
        return [x * w for x in xs]

    def keep(ctx, inputs, output):
        seen.append([type(inputs[0]), type(output), inputs[2]])
        ctx.save_for_backward(inputs[1])

    def backward(ctx, gs):
        seen.append([gs, ctx.needs_input_grad])
        (w,) = ctx.saved_tensors
        return [g * w for g in gs], None, None

    each.register_autograd(backward, setup_context=keep)
    x, w = torch.ones(2, requires_grad=True), torch.arange(2.0)
    first, second = each([x, w], w, [1])
    (first * 3).sum().backward()
    phrase = "Expected the return from backward to be of the same structure as the inputs"
    each.register_autograd(lambda ctx, gs: ([gs[0]], None, None), setup_context=keep)
    short = raises(lambda: each([x, w], w, [1])[0].sum().backward(), phrase)
    each.register_autograd(lambda ctx, gs: gs, setup_context=keep)
    alone = raises(lambda: each([x, w], w, [1])[0].sum().backward(), phrase)
    return seen[:2], x.grad, node_name(second), short, alone


@case
def several_results_and_lists_among_them(torch):
    @torch.library.custom_op("formulas::mixed", mutates_args=())
    def mixed(
        x: torch.Tensor, ys: list[torch.Tensor]
    ) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
        return x * 2, [y * 3 for y in ys], x * 4

    mixed.register_autograd(lambda ctx, a, bs, c: (a * 2 + c * 4, [b * 3 for b in bs]))
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    a, (b, c), d = mixed(x, [y, y])
    (a.sum() + 2 * b.sum() + 3 * c.sum() + 4 * d.sum()).backward()
    return x.grad, y.grad


@case
def integer_results_do_not_require_grad(torch):
    @torch.library.custom_op("formulas::counted", mutates_args=())
    def counted(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 2, x.long()

    counted.register_autograd(lambda ctx, a, b: a * 2)
    x = torch.ones(2, requires_grad=True)
    a, b = counted(x)
    a.sum().backward()
    return b, b.requires_grad, x.grad


@case
def operators_that_write_have_no_derivative(torch):
    @torch.library.custom_op("formulas::double_", mutates_args={"x"})
    def double_(x: torch.Tensor) -> None:
        x.mul_(2)

    phrase = "Cannot register autograd formula for non-functional operator <CustomOpDef"
    x = torch.ones(2, requires_grad=True) * 1
    double_(x)
    return raises(lambda: double_.register_autograd(lambda ctx: None), phrase), x, node_name(x)


@case
def operators_of_a_library_record_their_kernels(torch):
    library = torch.library.Library("formulas_of_libraries", "DEF")
    library.define("tripled(Tensor x) -> Tensor")
    library.define("sine(Tensor x) -> Tensor")
    library.impl("tripled", lambda x: x * 3, "CPU")
    library.impl("sine", lambda x: torch.from_numpy(np.sin(x.detach().numpy())), "CPU")
    ops = torch.ops.formulas_of_libraries
    x = torch.ones(2, requires_grad=True)
    recorded, bare = ops.tripled(x), ops.sine(x)
    phrase = "an autograd kernel was not registered to the Autograd key"
    told = warns(lambda: bare.sum().backward(), phrase), x.grad
    torch.library.register_autograd(
        "formulas_of_libraries::sine", lambda ctx, g: g * 2, lib=library
    )
    made = ops.sine(x)
    made.sum().backward()
    return node_name(recorded), repr(bare).partition("grad_fn=")[2], told, node_name(made), x.grad


@case
def a_derivative_may_be_an_operator_too(torch):
    sine = sine_of(torch, "formulas::outer_sine")

    @torch.library.custom_op("formulas::cosine", mutates_args=())
    def cosine(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(g.numpy(force=True) * np.cos(x.numpy(force=True)))

    sine.register_autograd(
        lambda ctx, g: torch.ops.formulas.cosine(g, *ctx.saved_tensors),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x = torch.arange(3.0, requires_grad=True)
    sine(x).sum().backward()
    return x.grad


@case
def results_can_be_saved(torch):
    @torch.library.custom_op("formulas::exponential", mutates_args=())
    def exponential(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.exp(x.numpy(force=True)))

    exponential.register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
    )
    x = torch.arange(3.0, requires_grad=True)
    y = exponential(x)
    y.sum().backward()
    return x.grad, raises(lambda: y.sum().backward(), "Trying to backward through the graph a sec")


@case
def many_samples_at_once(torch):
    seen = []

    @torch.library.custom_op("formulas::weighted", mutates_args=())
    def weighted(xs: list[torch.Tensor], k: int, *, w: float = 1.0) -> list[torch.Tensor]:
        return [torch.from_numpy(x.numpy(force=True) * k * w) for x in xs]

    x, y = torch.arange(6.0).reshape(2, 3), torch.ones(3)

    def mapped(a):
        return weighted([a, y], 2, w=2.0)[0]

    @weighted.register_vmap
    def _(info, in_dims, xs, k, **kwargs):
        seen.append([info.batch_size, info.randomness, in_dims, kwargs])
        return weighted(xs, k, **kwargs), [0, 0]

    sine = sine_of(torch, "formulas::mapped_sine")
    return torch.vmap(mapped)(x), seen, torch.vmap(sine)(x), torch.vmap(sine, in_dims=1)(x)


@pytest.mark.parametrize("name", case.functions)
def test_answers_are_pytorchs(name):
    assert case.answer(name, lamina) == case.recorded(name)


def test_functional_transforms_differentiate_operators():
    sine = sine_of(lamina, "formulas_here::sine")
    x = lamina.arange(3.0)
    assert lamina.allclose(lamina.func.grad(lambda x: sine(x).sum())(x), x.cos())
    assert lamina.allclose(lamina.func.jacrev(sine)(x), lamina.diag(x.cos()))
    each = lamina.vmap(lamina.func.grad(lambda x: sine(x).sum()))(lamina.stack([x, x + 1]))
    assert lamina.allclose(each, lamina.stack([x, x + 1]).cos())


def test_forward_mode_is_refused():
    sine = sine_of(lamina, "formulas_here::tangent_sine")
    x = lamina.arange(3.0)
    with pytest.raises(RuntimeError, match="has no formula for forward mode"):
        lamina.func.jvp(sine, (x,), (x,))


def test_a_sample_by_sample_kernel_needs_no_rule():
    @lamina.library.custom_op("formulas_here::sign", mutates_args=())
    def sign(x: lamina.Tensor) -> lamina.Tensor:
        return x.clone() if x.sum() > 0 else -x

    x = lamina.tensor([[1.0, 2.0], [-3.0, 1.0]])
    assert lamina.vmap(sign)(x).tolist() == [[1.0, 2.0], [3.0, -1.0]]
