"""Transforms of random functions, and the tangents of every operation, compared with PyTorch."""

from __future__ import annotations

import random
import re
import warnings

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle.both import WITH_SAMPLES, as_tensors, callers

import lamina
import lamina.func
from lamina.core.op import catalogue
from lamina.core.samples import Make

# --- random functions ----------------------------------------------------------------------------

FORMS = """
x + y | x - y | x * y | x / (y * y + 1) | x @ y.t() @ x | torch.maximum(x, y) | x * 2 - y |
torch.where(x > y, x, y) |
x.sin() | x.exp() | x.tanh() | x.sigmoid() | x.abs() | (x * x + 1).log() |
(x * x + 1).sqrt() | x.relu() | x.softmax(-1) | x.log_softmax(0) | x - x.sum() | x / x.norm() |
x - x.mean(0) | x * x.amax(-1, keepdim=True) | x.cumsum(0) | x.flip(0) | x.roll(1, -1) | x.tril() |
x.sort(-1)[0] | x.logsumexp(0) + y | x.var(0) + y | x.t().t() | x.reshape(3, 2).reshape(2, 3) |
torch.cat([x[1:], y[:1]]) | torch.stack([x[0], y[1]]) | x[:, [2, 0, 1]] | x.clamp(-1, 1) |
x.unsqueeze(0).expand(2, 2, 3).sum(0) | torch.nn.functional.layer_norm(x, (3,)) | x.pow(3) |
x.masked_fill(y > 0, 0.5) | torch.nn.functional.gelu(x) | x.gather(1, y.argsort(1)) |
torch.nn.functional.linear(x, y.t() @ y) | torch.einsum("ij,kj->ik", x, y) @ y | x.prod(0) + y |
x.index_select(0, torch.tensor([1, 0])) | x.movedim(0, 1).contiguous().view(2, 3) |
x.diff().sum() + x
""".replace("\n", " ").split(" | ")
CHANGES = """
x.mul_(y) | x.add_(y, alpha=2) | x.sin_() | x[0] = y[1] | x[:, 1] += 1 | x[1:].mul_(2) |
x.copy_(y * 2) |
x.t().add_(1) | x[0].copy_(x[1]) | x.clamp_(min=-1) | x.sub_(x.mean()) |
x.fill_(0.5) | x[y > 0] = 0.25
""".replace("\n", " ").split(" | ")


# PyTorch's forward mode is wrong where a tensor is changed by itself, as in `a.mul_(a)`.
BY_ITSELF = re.compile(r"(\w+)(\.(mul_|add_|copy_)\(\1\b|\[0\] = \1\[)")


def program_of(choose):
    """Statements over `a` and `b`, which are arguments, and over what was computed."""
    names, lines = ["a", "b"], []
    for number in range(choose(range(2, 7))):
        x, y = choose(names), choose(names)
        changes = choose([False, False, True])
        form = choose(CHANGES if changes else FORMS).strip()
        text = re.sub(r"\by\b", y, re.sub(r"\bx\b", x, form))
        if changes and BY_ITSELF.match(text):
            continue
        if not changes:
            name = f"c{number}"
            names.append(name)
            text = f"{name} = {text}"
        lines.append(text)
    return lines, names[-1]


def function_of(module, lines, last):
    def function(a, b):
        space = {"torch": module, "a": a.clone(), "b": b.clone()}
        exec("\n".join(lines), space)
        return space[last]

    return function


def weights(module, like):
    return module.linspace(0.5, 1.5, like.numel(), dtype=module.float64).reshape(like.shape)


def transformed(module, lines, last, transform):
    f = function_of(module, lines, last)

    def scalar(a, b):
        output = f(a, b)
        return (output * weights(module, output)).sum()

    generator = np.random.default_rng(5)
    a, b, v, w = (module.tensor(generator.standard_normal((2, 3))) for _ in range(4))
    many = module.tensor(generator.standard_normal((2, 3, 4)))
    func = module.func
    if transform == "grad":
        return func.grad(scalar, argnums=(0, 1))(a, b)
    if transform == "jvp":
        return func.jvp(f, (a, b), (v, w))
    if transform == "jacrev":
        return func.jacrev(f, argnums=(0, 1))(a, b)
    if transform == "jacfwd":
        return func.jacfwd(f, argnums=(0, 1))(a, b)
    if transform == "hessian":
        return func.hessian(scalar)(a, b)
    if transform == "vmap":
        return func.vmap(f, in_dims=(2, None), out_dims=-1)(many, b)
    if transform == "vmap of grad":
        return func.vmap(func.grad(scalar, argnums=(0, 1)), in_dims=(2, None))(many, b)
    if transform == "vmap of jvp":
        pushed = func.vmap(lambda a: func.jvp(lambda a: f(a, b), (a,), (v,))[1], in_dims=2)
        return pushed(many)
    total = func.grad(lambda b: func.vmap(scalar, in_dims=(2, None))(many, b).sum())
    return total(b)


TRANSFORMS = [
    "grad", "jvp", "jacrev", "jacfwd", "hessian", "vmap", "vmap of grad", "vmap of jvp",
    "grad of vmap",
]  # fmt: skip


@st.composite
def programs(draw):
    return program_of(lambda options: draw(st.sampled_from(options)))


@settings(
    max_examples=250, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(programs(), st.sampled_from(TRANSFORMS))
def test_a_random_function_is_transformed_alike(program, transform):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = transformed(torch, *program, transform)
        except Exception:
            return  # what PyTorch refuses is no question
        found = transformed(lamina, *program, transform)
    assert all(tensor._array.__class__ is np.ndarray for tensor in lamina_leaves(found))
    close(found, expected)


def lamina_leaves(nest):
    return (
        [nest] if isinstance(nest, lamina.Tensor) else [t for n in nest for t in lamina_leaves(n)]
    )


def close(found, expected):
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            close(ours, theirs)
        return
    assert tuple(found.shape) == tuple(expected.shape)
    np.testing.assert_allclose(
        found.detach().numpy(), expected.detach().numpy(), rtol=1e-7, atol=1e-9
    )


# --- every operation -----------------------------------------------------------------------------


def dual_results(module, function, sample, op, directions):
    """The tangents of a function's results, in forward mode."""
    mode = module.autograd.forward_ad
    with mode.dual_level():
        args = []
        for position, value in enumerate(sample.args):
            tensor = as_tensors(module, value)
            if position in directions:
                tensor = mode.make_dual(tensor, module.tensor(directions[position]))
            args.append(tensor)
        kwargs = {key: as_tensors(module, v) for key, v in sample.kwargs.items()}
        made = function(*args, **kwargs)
        outputs = made if isinstance(made, list | tuple) else [made]
        found = [mode.unpack_dual(o).tangent for o in outputs if isinstance(o, module.Tensor)]
        return [None if t is None else t.detach().clone() for t in found]


def directions_for(op, sample):
    """For each tensor argument with a derivative, a direction."""
    generator, found = random.Random(op.name), {}
    for position, value in enumerate(sample.args):
        if isinstance(value, np.ndarray) and position in op.rules and value.dtype.kind in "fc":
            flat = [generator.gauss(0, 1) for _ in range(value.size)]
            found[position] = np.array(flat).reshape(value.shape).astype(value.dtype)
    return found


# Singular vectors have a sign that is nobody's choice; PyTorch drops the tangent of products in
# the second, and takes the tangent of a whole matrix for that of its triangle in the third.
APART = {"linalg_svd", "scatter_reduce", "triangular_solve"}
DIFFERENTIABLE = [n for n in WITH_SAMPLES if catalogue[n].is_differentiable and n not in APART]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_tangents_are_those_of_pytorch(name):
    op = catalogue[name]
    for sample in op.samples(Make(7)):
        directions = directions_for(op, sample)
        for label, functions in callers(name):
            pairs = zip((torch, lamina), reversed(functions), strict=True)
            try:
                expected, found = (
                    dual_results(module, function, sample, op, directions)
                    for module, function in pairs
                )
            except Exception:  # the sample is one of the kernel's own signature
                break
            for ours, theirs in zip(found, expected, strict=True):
                if theirs is None:
                    assert ours is None or not ours.any(), label
                elif ours is None:
                    assert not theirs.any(), label
                else:
                    close(ours.resolve_conj(), theirs.resolve_conj())
