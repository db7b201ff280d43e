"""Custom functions: both styles, what ctx offers, outputs, gradients, and mistakes."""

from __future__ import annotations

import gc
import weakref

import pytest

import lamina

from .recording import Cases, node_name, raises

case = Cases(__file__)


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


def make(torch, forward, backward=lambda ctx, *g: g[0], name="Custom", **others):
    """A Function with these static methods."""
    methods = {"forward": forward, "backward": backward, **others}
    return type(torch.autograd.Function)(
        name,
        (torch.autograd.Function,),
        {key: staticmethod(value) for key, value in methods.items() if value is not None},
    )


# --- both styles ----------------------------------------------------------------------------------


@case
def context_style(torch):
    def forward(ctx, x, n):
        ctx.n = n
        ctx.save_for_backward(x)
        return x * x * n

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * ctx.n * x * g, None

    square = make(torch, forward, backward, "Square")
    x = leaf(torch, 1.0, 2.0)
    y = square.apply(x, 3)
    y.sum().backward()
    return y, node_name(y), x.grad, y.grad_fn.n, y.requires_grad, y.is_leaf


@case
def setup_context_style(torch):
    seen = []

    def forward(x, n=3):
        return x * n

    def setup_context(ctx, inputs, output):
        seen.append((len(inputs), inputs[1], torch.is_grad_enabled(), type(output) is torch.Tensor))
        ctx.n = inputs[1]
        ctx.save_for_backward(inputs[0], output)

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * ctx.n + 0 * x + 0 * y, None

    scale = make(torch, forward, backward, setup_context=setup_context)
    x = leaf(torch, 1.0, 2.0)
    found = [
        torch.autograd.grad(call().sum(), x)
        for call in (lambda: scale.apply(x), lambda: scale.apply(x, 5), lambda: scale.apply(x, n=7))
    ]
    return found, seen


@case
def keywords(torch):
    def forward(ctx, x, n=2):
        return x * n

    scale = make(torch, forward, lambda ctx, g: (g, None) if len(ctx.needs_input_grad) == 2 else g)
    x = leaf(torch, 1.0, 2.0)
    return (
        [
            torch.autograd.grad(y.sum(), x)
            for y in (scale.apply(x), scale.apply(x=x), scale.apply(x, n=3))
        ],
        raises(lambda: scale.apply(x, k=3), "unexpected keyword argument"),
        raises(lambda: scale.apply(), "missing 1 required positional argument: 'x'"),
        raises(
            lambda: scale.apply(x, 2, 3), "takes from 2 to 3 positional arguments but 4 were given"
        ),
    )


@case
def modes_inside(torch):
    seen = []

    def forward(ctx, x):
        seen.append((torch.is_grad_enabled(), (x * 2).requires_grad, ctx.needs_input_grad))
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        seen.append((torch.is_grad_enabled(), g.requires_grad, (2 * x * g).requires_grad))
        return 2 * x * g

    square = make(torch, forward, backward)
    x = leaf(torch, 1.0, 2.0)
    (g,) = torch.autograd.grad(square.apply(x).sum(), x)
    (h,) = torch.autograd.grad((square.apply(x) ** 2).sum(), x, create_graph=True)
    with torch.no_grad():
        plain = square.apply(x)
    return (
        seen,
        g.requires_grad,
        torch.autograd.grad(h.sum(), x),
        plain.requires_grad,
        node_name(plain),
    )


@case
def old_names(torch):
    function = torch.autograd.function

    class Old(function.InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    seen = []
    probe = make(torch, lambda ctx, x: seen.append(isinstance(ctx, function.FunctionCtx)) or x * 1)
    x = leaf(torch, 1.0)
    y = Old.apply(x)
    probe.apply(x)
    return torch.autograd.grad(y, x), isinstance(y.grad_fn, function.BackwardCFunction), seen


@case
def vjp_in_place_of_backward(torch):
    x = leaf(torch, 1.0)
    forward = lambda ctx, x: x * 2  # noqa: E731
    with_vjp = make(torch, forward, None, vjp=lambda ctx, g: g * 7)
    both = make(torch, forward, vjp=lambda ctx, g: g)
    return (
        torch.autograd.grad(with_vjp.apply(x), x),
        raises(lambda: both.apply(x).backward(), "Implementing both 'backward' and 'vjp'"),
    )


# --- ctx ------------------------------------------------------------------------------------------


@case
def saved_tensors(torch):
    seen = []

    def forward(ctx, a, b):
        seen.append(ctx.saved_tensors)
        y = a * b
        ctx.save_for_backward(a, None, y)
        return y

    def backward(ctx, g):
        a, nothing, y = ctx.saved_tensors
        seen.append((nothing, y.requires_grad, y.grad_fn is not None, torch.is_grad_enabled()))
        return g * a, None

    product = make(torch, forward, backward)
    x = leaf(torch, 1.0, 2.0)
    y = product.apply(x, x.detach())
    held = (
        y.grad_fn.saved_tensors[0] is x,
        y.grad_fn.saved_tensors[2] is y,
        len(y.grad_fn._raw_saved_tensors),
    )
    y.sum().backward()
    message = "Trying to backward through the graph a second time"
    return (
        held, seen, x.grad, raises(lambda: y.grad_fn.saved_tensors, message),
        raises(lambda: y.sum().backward(), message),
    )  # fmt: skip


@case
def saved_tensors_are_checked(torch):
    def forward(ctx, a):
        y = a * 2
        ctx.save_for_backward(a, y)
        return y

    def backward(ctx, g):
        assert ctx.saved_tensors
        return g

    twice = make(torch, forward, backward, "Twice")
    message = "modified by an inplace operation"
    x = leaf(torch, 1.0, 2.0)
    result = twice.apply(x)
    result.add_(1)
    h = x * 1
    of_input = twice.apply(h)
    h.add_(1)
    bad = make(torch, lambda ctx, a: ctx.save_for_backward(a, 3))
    return (
        raises(lambda: result.sum().backward(), message),
        raises(lambda: of_input.sum().backward(), message),
        raises(
            lambda: bad.apply(x),
            "save_for_backward can only save variables, but argument 1 is of type int",
        ),
    )


@case
def saved_tensors_and_hooks(torch):
    def forward(ctx, a):
        ctx.save_for_backward(a, a * 2)
        return a * a

    square = make(torch, forward, lambda ctx, g: g * ctx.saved_tensors[1])
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 10, lambda t: t):
        y = square.apply(x)
    z = square.apply(x)
    z.grad_fn._raw_saved_tensors[1].register_hooks(lambda t: t * 5, lambda t: t)
    return torch.autograd.grad(y.sum(), x), torch.autograd.grad(z.sum(), x)


@case
def which_inputs_need_gradients(torch):
    seen = []
    probe = make(torch, lambda ctx, *a: seen.append(ctx.needs_input_grad) or a[0] * 1)
    x, plain, n = leaf(torch, 1.0), torch.ones(1), torch.tensor([1])
    probe.apply(x, plain, n, 3, None, [x])
    probe.apply(plain, x)
    with torch.no_grad():
        probe.apply(x)
    return seen


@case
def missing_output_gradients(torch):
    seen = []

    def setup(materialize):
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3, x.long(), "text"

        def backward(ctx, *gradients):
            seen.append(gradients)
            return gradients[1]

        return make(torch, forward, backward)

    x = leaf(torch, 1.0, 2.0)
    for materialize in (True, False):
        _, b, whole, text = setup(materialize).apply(x)
        b.sum().backward()
    return seen, x.grad, whole.requires_grad, text


@pytest.mark.parametrize("name", case.functions)
def test_answer(name):
    assert case.answer(name, lamina) == case.recorded(name)


class Scaled(lamina.autograd.Function):
    """Forgets that forward has two arguments."""

    @staticmethod
    def forward(ctx, x, factor):
        return x * factor

    @staticmethod
    def backward(ctx, gradient):
        if gradient is None:
            return None, None
        return gradient * 2


def test_errors_show_backward_forward_and_the_call():
    x = lamina.ones(2, requires_grad=True)
    y = Scaled.apply(x, 3)
    with pytest.raises(lamina.errors.WrongNumberOfGradients) as caught:
        y.sum().backward()
    backward, forward, call = caught.value.places
    assert backward.expression == "return gradient * 2"
    assert forward.expression == "def forward(ctx, x, factor)"
    assert call.expression == "Scaled.apply(x, 3)"
    assert caught.value.help[0] == "write `return gradient * 2, None`"


def test_any_name_is_free_on_ctx():
    names = [
        "next",
        "saved",
        "stamp",
        "code",
        "lasti",
        "outputs",
        "op",
        "context",
        "order",
        "kinds",
    ]

    def forward(ctx, x):
        for name in names:
            setattr(ctx, name, name)
        return x * 2

    function = make(lamina, forward, lambda ctx, g: g * all(getattr(ctx, n) == n for n in names))
    x = lamina.ones(1, requires_grad=True)
    assert lamina.autograd.grad(function.apply(x), x)[0].tolist() == [1.0]


def test_saved_output_makes_no_cycle():
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    function = make(lamina, forward)
    gc.disable()
    try:
        y = function.apply(lamina.ones(1, requires_grad=True))
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()
