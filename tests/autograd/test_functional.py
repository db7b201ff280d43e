"""`autograd.functional` with all its options, and gradients in batches."""

from __future__ import annotations

import pytest

import lamina

from .recording import Cases, raises

case = Cases(__file__)


def vectors(torch):
    return torch.tensor([0.5, -1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0])


def pair(a, b):
    return a * b, (a + b).sum()


def flags(nest):
    return [o.requires_grad for o in (nest if isinstance(nest, tuple) else (nest,))]


@case
def jacobians_row_by_row_and_in_one_pass(torch):
    (x, y), jacobian = vectors(torch), torch.autograd.functional.jacobian
    leaf = x.clone().requires_grad_()
    found = []
    for vectorize in (False, True):
        found += [
            jacobian(torch.square, x, vectorize=vectorize),
            jacobian(pair, (x, y), vectorize=vectorize),
            flags(jacobian(torch.square, leaf, create_graph=True, vectorize=vectorize)),
            flags(jacobian(torch.square, leaf, vectorize=vectorize)),
            jacobian(lambda a: torch.ones(2), x, vectorize=vectorize),
            jacobian(lambda a, b: a * 2, (x, y), vectorize=vectorize),
        ]
    return (
        *found,
        jacobian(torch.square, x, vectorize=True, strategy="forward-mode"),
        jacobian(pair, (x, y), vectorize=True, strategy="forward-mode"),
        jacobian(lambda a: torch.ones(2), x, vectorize=True, strategy="forward-mode"),
    )


@case
def hessians(torch):
    (x, y), hessian = vectors(torch), torch.autograd.functional.hessian

    def cubes(a):
        return (a**3).sum()

    def mixed(a, b):
        return (a**2 * b).sum()

    return (
        *[hessian(cubes, x, vectorize=v) for v in (False, True)],
        *[hessian(mixed, (x, y), vectorize=v) for v in (False, True)],
        *[hessian(lambda a: a.sum(), x, vectorize=v) for v in (False, True)],
        hessian(mixed, (x, y), vectorize=True, outer_jacobian_strategy="forward-mode"),
        hessian(cubes, x, vectorize=True, outer_jacobian_strategy="forward-mode"),
    )


@case
def products_with_hessians_keep_the_shape_of_the_output(torch):
    x, y = vectors(torch)
    found = []
    for product in (torch.autograd.functional.hvp, torch.autograd.functional.vhp):
        found += [
            product(lambda a: (a**3).sum(), x, y),
            product(lambda a: (a**3).sum().reshape(1), x, y),
            product(lambda a, b: (a**2 * b).sum(), (x, y), (y, x)),
            raises(lambda p=product: p(lambda a: (a.sum(), a.sum()), x, y), "a single Tensor"),
            raises(lambda p=product: p(torch.square, x, y), "contain a single element"),
        ]
    return found


@case
def mistakes(torch):
    (x, _), functional = vectors(torch), torch.autograd.functional
    jacobian = functional.jacobian

    def constant(a):
        return torch.ones(2)

    return (
        raises(lambda: jacobian(constant, x, strict=True), "does not require gradients"),
        raises(lambda: jacobian(lambda a, b: a, (x, x), strict=True), "independent of input 1"),
        raises(lambda: jacobian(torch.square, x, strict=True, vectorize=True), "not supported"),
        raises(lambda: jacobian(torch.square, x, strategy="forward-mode"), "vectorize=True"),
        raises(
            lambda: jacobian(
                torch.square, x, vectorize=True, create_graph=True, strategy="forward-mode"
            ),
            "are not supported together (yet)",
        ),
        raises(
            lambda: jacobian(torch.square, x, strict=True, strategy="forward-mode"),
            "are not supported together",
        ),
        raises(lambda: jacobian(torch.square, x, strategy="x"), "Expected strategy to be either"),
        raises(lambda: jacobian(lambda a, b: a, [x, x]), "must be either a Tensor or a tuple"),
        raises(lambda: jacobian(lambda a: [a, a], x), "must be either a Tensor or a tuple"),
        raises(lambda: jacobian(lambda a: a, 3), "must be either a Tensor or a tuple"),
        raises(
            lambda: functional.hessian(lambda a: a.sum(), x, outer_jacobian_strategy="x"),
            "Expected strategy to be either",
        ),
    )


@case
def gradients_in_batches(torch):
    x, y = vectors(torch)
    x.requires_grad_()
    y.requires_grad_()
    eye, grad = torch.eye(3), torch.autograd.grad
    square = x**2
    return (
        grad(x * 2, x, eye, is_grads_batched=True),
        grad([x * 2, x.sum()], x, [eye, torch.ones(3)], is_grads_batched=True),
        flags(grad(x**2, x, eye, is_grads_batched=True, create_graph=True)),
        grad(x * 2, (x, y), eye, is_grads_batched=True, allow_unused=True)[1] is None,
        grad(x * 2, (x, y), eye, is_grads_batched=True, materialize_grads=True)[1],
        grad(square, x, eye, is_grads_batched=True, retain_graph=True),
        grad(square, x, eye[:2], is_grads_batched=True),
        raises(lambda: grad(square, x, eye, is_grads_batched=True), "a second time"),
        raises(lambda: grad(x * 2, (x, y), eye, is_grads_batched=True), "to not have been used"),
        raises(
            lambda: grad(x * 2, x, torch.ones(2, 4), is_grads_batched=True),
            "we interpret the first dimension of each grad_output as the batch dimension",
        ),
        raises(
            lambda: grad([x * 2, x * 3], x, [eye, eye[:2]], is_grads_batched=True),
            "to have the same size",
        ),
        raises(lambda: grad(x.sum(), x, None, is_grads_batched=True)),
    )


@pytest.mark.parametrize("name", case.functions)
def test_case(name):
    assert case.answer(name, lamina) == case.recorded(name)
