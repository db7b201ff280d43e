"""Hooks around forward and backward."""

import copy

import pytest

import lamina as torch
from lamina import nn
from lamina.nn import hooks


@pytest.fixture
def layer():
    layer = nn.Linear(1, 1)
    with torch.no_grad():
        layer.weight.fill_(2.0)
        layer.bias.fill_(0.0)
    return layer


def test_forward_hooks_see_and_replace(layer):
    seen = []
    layer.register_forward_pre_hook(lambda m, args: seen.append(args[0].item()))
    layer.register_forward_pre_hook(lambda m, args: args[0] + 1)
    layer.register_forward_hook(lambda m, args, out: seen.append((args[0].item(), out.item())))
    layer.register_forward_hook(lambda m, args, out: out * 10)
    assert layer(torch.ones(1)).item() == 40.0
    assert seen == [1.0, (2.0, 4.0)]


def test_prepended_hooks_come_first(layer):
    order = []
    layer.register_forward_hook(lambda *args: order.append("later"))
    layer.register_forward_hook(lambda *args: order.append("first"), prepend=True)
    layer(torch.ones(1))
    assert order == ["first", "later"]


def test_removed_hooks_are_silent(layer):
    calls = []
    handle = layer.register_forward_hook(lambda *args: calls.append(1))
    layer(torch.ones(1))
    handle.remove()
    handle.remove()
    layer(torch.ones(1))
    with layer.register_forward_hook(lambda *args: calls.append(2)):
        layer(torch.ones(1))
    layer(torch.ones(1))
    assert calls == [1, 2]


class Scale(nn.Module):
    """Takes a keyword."""

    def forward(self, x, *, factor=1.0):
        return x * factor


def test_hooks_with_keyword_arguments():
    module = Scale()
    seen = []
    module.register_forward_pre_hook(
        lambda m, args, kwargs: (args, kwargs | {"factor": 5.0}), with_kwargs=True
    )
    module.register_forward_hook(
        lambda m, args, kwargs, out: seen.append(kwargs["factor"]), with_kwargs=True
    )
    assert module(torch.ones(1), factor=2.0).item() == 5.0
    assert seen == [5.0]


def test_a_pre_hook_with_kwargs_must_return_a_pair():
    module = Scale()
    module.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"tuple of \(new_args, new_kwargs\)"):
        module(torch.ones(1))


class Fails(nn.Module):
    """Raises."""

    def forward(self, x):
        raise KeyError("broken")


def test_hooks_that_are_always_called():
    module = Fails()
    calls = []
    module.register_forward_hook(lambda m, args, out: calls.append(out), always_call=True)
    module.register_forward_hook(lambda m, args, out: calls.append("never"))
    with pytest.raises(KeyError, match="broken"):
        module(torch.ones(1))
    assert calls == [None]


def test_an_error_of_an_always_called_hook_is_a_warning():
    module = Fails()

    def worse(m, args, out):
        raise ValueError("worse")

    module.register_forward_hook(worse, always_call=True)
    with pytest.warns(UserWarning, match="worse"), pytest.raises(KeyError, match="broken"):
        module(torch.ones(1))


def test_hooks_on_every_module(layer):
    order = []
    layer.register_forward_hook(lambda *args: order.append("own"))
    with hooks.register_module_forward_hook(lambda m, args, out: order.append(type(m).__name__)):
        nn.Sequential(layer)(torch.ones(1))
    layer(torch.ones(1))
    assert order == ["Linear", "own", "Sequential", "own"]
    assert not hooks.EVERYWHERE


def test_full_backward_hooks(layer):
    seen = []
    layer.register_full_backward_pre_hook(lambda m, grad_output: seen.append(grad_output))
    layer.register_full_backward_hook(
        lambda m, grad_input, grad_output: seen.append((grad_input, grad_output))
    )
    x = torch.ones(1, requires_grad=True)
    layer(x).backward(torch.tensor([3.0]))
    (before,), (after_in, after_out) = seen
    assert before.item() == 3.0
    assert after_in[0].item() == 6.0
    assert after_out[0].item() == 3.0
    assert x.grad.item() == 6.0


def test_full_backward_hooks_replace_gradients(layer):
    layer.register_full_backward_pre_hook(lambda m, grad_output: (grad_output[0] * 10,))
    layer.register_full_backward_hook(lambda m, grad_input, out: (grad_input[0] + 1,))
    x = torch.ones(1, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad.item() == 21.0
    assert layer.weight.grad.item() == 10.0


def test_grad_input_is_none_where_no_gradient_is_needed(layer):
    seen = []
    layer.register_full_backward_hook(lambda m, grad_input, out: seen.append(grad_input))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(torch.ones(1)).sum().backward()
    assert seen == [(None,)]


class Two(nn.Module):
    """Two tensors and a number in, two tensors out."""

    def forward(self, x, y, factor):
        return x * factor, x + y


def test_several_inputs_and_outputs():
    module = Two()
    seen = []
    module.register_full_backward_hook(lambda m, g_in, g_out: seen.append((g_in, g_out)))
    x, y = torch.ones(1, requires_grad=True), torch.ones(1)
    a, b = module(x, y, 3.0)
    (a + b).sum().backward()
    (g_in, g_out) = seen[0]
    assert len(g_in) == 3
    assert g_in[0].item() == 4.0
    # y needs no gradient. PyTorch shows zeros here, made for its node's sake; None says the same.
    assert g_in[1] is None or g_in[1].item() == 0.0
    assert g_in[2] is None
    assert [g.item() for g in g_out] == [1.0, 1.0]


def test_a_backward_hook_must_return_as_many(layer):
    layer.register_full_backward_hook(lambda m, g_in, g_out: (None, None))
    out = layer(torch.ones(1, requires_grad=True))
    with pytest.raises(RuntimeError, match="invalid number of grad_input"):
        out.sum().backward()


def test_a_backward_pre_hook_must_return_as_many(layer):
    layer.register_full_backward_pre_hook(lambda m, g_out: (None, None))
    out = layer(torch.ones(1, requires_grad=True))
    with pytest.raises(RuntimeError, match="Backward pre hook returned an invalid number"):
        out.sum().backward()


def test_output_that_is_no_tensor():
    class Named(nn.Module):
        def forward(self, x):
            return {"out": x}

    module = Named()
    module.register_full_backward_hook(lambda *args: None)
    with pytest.warns(UserWarning, match="Tensor or a tuple of Tensors"):
        module(torch.ones(1, requires_grad=True))


def test_backward_hooks_do_nothing_without_grad(layer):
    layer.register_full_backward_hook(lambda *args: None)
    with torch.no_grad():
        assert layer(torch.ones(1)).grad_fn is None


def test_hooks_are_copied_with_the_module(layer):
    calls = []
    layer.register_forward_hook(lambda *args: calls.append(1))
    copy.deepcopy(layer)(torch.ones(1))
    assert calls == [1]
