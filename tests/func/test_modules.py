"""`functional_call` and `stack_module_state`: other parameters in a module, many models as one."""

from __future__ import annotations

import pytest
from autograd.recording import Cases, raises

import lamina
import lamina.func

case = Cases(__file__)


def network(torch, seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


def rows(torch):
    return torch.arange(12.0).reshape(4, 3) / 6 - 1


@case
def calls_with_other_parameters(torch):
    model, x = network(torch), rows(torch)
    own = {name: p.detach() for name, p in model.named_parameters()}
    call = torch.func.functional_call
    zeros = {name: torch.zeros_like(p) for name, p in own.items()}
    return (
        call(model, own, (x,)),
        call(model, own, x),
        call(model, zeros, (x,)),
        call(model, {"0.bias": torch.ones(4)}, (x,)),
        call(model, ({"0.bias": torch.ones(4)}, {"2.bias": torch.ones(2)}), (), {"input": x}),
        model(x),
    )


@case
def gradients_of_each_sample(torch):
    model, x = network(torch), rows(torch)
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss(parameters, row):
        return torch.func.functional_call(model, parameters, (row,)).pow(2).sum()

    gradients = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, x)
    return {name: g.tolist() for name, g in gradients.items()}["0.weight"], gradients["2.bias"]


@case
def ensembles(torch):
    models, x = [network(torch, seed) for seed in range(3)], rows(torch)
    parameters, buffers = torch.func.stack_module_state(models)

    def call(parameters, buffers, x):
        return torch.func.functional_call(models[0], (parameters, buffers), (x,))

    found = torch.func.vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
    leaf = parameters["0.weight"]
    return found, list(leaf.shape), leaf.requires_grad, leaf.is_leaf


@case
def tied_weights(torch):
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    model[1].weight = model[0].weight
    torch.nn.init.ones_(model[0].weight)
    torch.nn.init.zeros_(model[0].bias)
    torch.nn.init.zeros_(model[1].bias)
    call = torch.func.functional_call
    eye = {"0.weight": torch.eye(3)}
    x = rows(torch)
    return call(model, eye, (x,)), call(model, eye, (x,), tie_weights=False)


@case
def batch_normalization_without_statistics(torch):
    model = torch.nn.Sequential(
        torch.nn.BatchNorm1d(3), torch.nn.InstanceNorm1d(3, track_running_stats=True)
    )
    same = torch.func.replace_all_batch_norm_modules_(model)
    return (
        same is model,
        [layer.track_running_stats for layer in model],
        [layer.running_var is None for layer in model],
        model[0].eval()(rows(torch)),
    )


@case
def mistakes(torch):
    model, x = network(torch), rows(torch)
    call, stack = torch.func.functional_call, torch.func.stack_module_state
    own = dict(model.named_parameters())
    frozen = network(torch).requires_grad_(False)

    def failing(row):
        raise KeyError("x")

    model.forward = failing
    after = raises(lambda: call(model, {"0.bias": torch.zeros(4)}, (x,)))
    del model.forward
    return (
        raises(lambda: call(model, 3, (x,)), "Expected parameter_and_buffer_dicts to be a dict"),
        raises(lambda: call(model, {"0.bias": 3}, (x,)), "is not an instance of torch.Tensor"),
        raises(lambda: call(model, (own, own), (x,)), "appeared in multiple dictionaries"),
        raises(lambda: call(model, {}, (x,), strict=True), "Error(s) in", "Missing key(s)"),
        raises(lambda: call(model, own | {"k": x}, (x,), strict=True), "Unexpected key(s)"),
        raises(lambda: stack([]), "Expected at least one model, got 0."),
        raises(lambda: stack([model, network(torch).eval()]), "same training/eval mode"),
        raises(lambda: stack([model, torch.nn.ReLU()]), "to be of the same class"),
        raises(lambda: stack([model, frozen]), "to have the same .requires_grad"),
        after,
        model[0].bias is own["0.bias"],
    )


@pytest.mark.parametrize("name", case.functions)
def test_case(name):
    assert case.answer(name, lamina) == case.recorded(name)
