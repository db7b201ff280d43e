"""What a node keeps: what the rules of the wanted gradients name, and nothing else."""

from __future__ import annotations

import gc
import itertools
import weakref
from typing import Any

import all_chapters  # noqa: F401  the whole catalogue
import numpy as np
import pytest

import lamina as torch
from lamina.core.fast_nodes import PointwiseNode
from lamina.core.fast_products import AffineNode
from lamina.core.node import NOTHING, OutputEdge
from lamina.core.op import Op, catalogue, is_written, traced
from lamina.core.parameters import parameters_of
from lamina.core.samples import Make
from lamina.core.saved import KeptResult
from lamina.core.tensor import Tensor

WITH_SAMPLES = sorted(
    name for name, op in catalogue.items() if op.samples is not None and op.is_differentiable
)


def as_tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return torch.tensor(value)
    if isinstance(value, list) and value and all(isinstance(v, np.ndarray) for v in value):
        return [torch.tensor(item) for item in value]
    return value


def tensors_of(value: Any) -> list[Tensor]:
    found = value if isinstance(value, list) else [value]
    return [t for t in found if isinstance(t, Tensor) and t.dtype.is_differentiable]


def masks(count: int) -> Any:
    """All choices of the inputs that want a gradient, or each alone where they are many."""
    if count <= 4:
        return [mask for mask in itertools.product((False, True), repeat=count) if any(mask)]
    return [tuple(k == chosen for k in range(count)) for chosen in range(count)]


def names_wanted(op: Op, wanted: set[int]) -> set[tuple[str, int]]:
    """The inputs and outputs that the rules of some inputs name, read from the rules themselves."""
    found = set()
    for position in wanted:
        names = parameters_of(op.rules[position])[2:]
        for name in names:
            if name in op.names:
                found.add(("in", op.names.index(name)))
            elif name.startswith("out"):
                found.add(("out", int(name[3:] or 0)))
    return found


def kept(node: Any) -> set[tuple[str, int]]:
    """Which inputs and outputs a node holds on to."""
    if node.saved is NOTHING:
        return set()
    held = [entry.__class__ in (Tensor, KeptResult, tuple) for entry in node.saved]
    slots = node.op.slots
    if isinstance(node, PointwiseNode | AffineNode):
        slots = [("in", 0), ("in", 1), ("out", 0)][: len(node.saved)]
    return {slot for slot, is_held in zip(slots, held, strict=True) if is_held}


def node_of(tensor: Tensor) -> Any:
    node = tensor._node
    return node.node if isinstance(node, OutputEdge) else node


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_only_what_a_wanted_rule_names_is_kept(name: str) -> None:
    op = catalogue[name]
    with_rules = [p for p in op.tensor_positions if is_written(op.rules.get(p))]
    for sample in op.samples(Make(1)):
        bound = op.bind([as_tensors(a) for a in sample.args], sample.kwargs)
        count = sum(len(tensors_of(bound[p])) for p in with_rules)
        for mask in masks(count):
            args = [as_tensors(a) for a in sample.args]
            kwargs = {key: as_tensors(value) for key, value in sample.kwargs.items()}
            bound = op.bind(args, kwargs)
            inputs = [(p, tensor) for p in with_rules for tensor in tensors_of(bound[p])]
            for (_, tensor), chosen in zip(inputs, mask, strict=True):
                tensor.requires_grad_(chosen)
            result = getattr(traced, name)(*args, **kwargs)
            results = result if isinstance(result, tuple | list) else [result]
            recorded = [t for t in results if t is not None and t.requires_grad]
            if not recorded:
                continue
            node = node_of(recorded[0])
            if node.op is not op:
                continue  # one form of an operation calls another, which has its own turn
            wanted = {p for (p, _), chosen in zip(inputs, mask, strict=True) if chosen}
            assert kept(node) <= names_wanted(op, wanted), mask
            values = () if node.context is None else getattr(node.context, "values", ())
            assert not any(isinstance(value, Tensor | np.ndarray) for value in values)


x, w = torch.ones(2, 2), torch.ones(2, 2)
IMAGES, FILTERS = torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)


@pytest.mark.parametrize(
    ("function", "inputs", "wanted", "expected"),
    [
        (lambda a, b: a @ b, (x, w), "10", {("in", 1)}),
        (lambda a, b: a @ b, (x, w), "01", {("in", 0)}),
        (lambda a, b: a @ b, (x, w), "11", {("in", 0), ("in", 1)}),
        (lambda a, b: a * b, (x, w), "10", {("in", 1)}),
        (lambda a, b: a * b, (x, w), "01", {("in", 0)}),
        (lambda a, b: a / b, (x, w), "10", {("in", 1)}),
        (lambda a, b: a + b, (x, w), "11", set()),
        (lambda a, b: a - b, (x, w), "11", set()),
        (torch.bmm, (torch.ones(1, 2, 2), torch.ones(1, 2, 2)), "10", {("in", 1)}),
        (torch.nn.functional.linear, (x, w), "10", {("in", 1)}),
        (torch.nn.functional.linear, (x, w), "01", {("in", 0)}),
        (torch.nn.functional.conv2d, (IMAGES, FILTERS), "10", {("in", 1)}),
        (torch.nn.functional.conv2d, (IMAGES, FILTERS), "01", {("in", 0)}),
        (torch.linalg.solve, (3 * torch.eye(2), x), "01", {("in", 0)}),
        (torch.linalg.solve, (3 * torch.eye(2), x), "10", {("in", 0), ("out", 0)}),
        (torch.exp, (x,), "1", {("out", 0)}),
        (torch.sigmoid, (x,), "1", {("out", 0)}),
        (torch.tanh, (x,), "1", {("out", 0)}),
        (torch.log, (x,), "1", {("in", 0)}),
        (torch.relu, (x,), "1", {("out", 0)}),
        (torch.sum, (x,), "1", set()),
        (torch.mean, (x,), "1", set()),
        (torch.t, (x,), "1", set()),
        (lambda a: a.reshape(4), (x,), "1", set()),
        (lambda a: a[0], (x,), "1", set()),
        (lambda a: torch.softmax(a, 0), (x,), "1", {("out", 0)}),
        (lambda a: torch.log_softmax(a, 0), (x,), "1", {("out", 0)}),
        (lambda a, b: torch.where(w > 0, a, b), (x, w), "11", {("in", 0)}),
        (lambda a, b: torch.cat([a, b]), (x, w), "11", set()),
        (lambda a: a * 3.0, (x,), "1", set()),
        (lambda a: a + 3.0, (x,), "1", set()),
    ],
)  # fmt: skip
def test_what_a_step_keeps_depends_on_what_is_wanted(
    function: Any, inputs: Any, wanted: str, expected: Any
) -> None:
    fresh = [t.clone().requires_grad_(k == "1") for t, k in zip(inputs, wanted, strict=True)]
    assert kept(node_of(function(*fresh))) == expected


def test_an_input_of_a_frozen_layer_is_free_to_go() -> None:
    w = torch.ones(3, 3)
    x = torch.ones(2, 3, requires_grad=True)
    hidden = x * 2
    seen = weakref.ref(hidden)
    out = hidden @ w
    del hidden
    assert seen() is None
    out.sum().backward()
    assert x.grad is not None


def test_kept_values_go_with_the_last_name_of_the_result() -> None:
    gc.collect()
    gc.disable()
    try:
        x = torch.ones(2, 3, requires_grad=True)
        hidden = (x * 2).exp()
        seen = weakref.ref(hidden)
        out = hidden.log().sum()
        del hidden
        assert seen() is not None
        del out
        assert seen() is None
    finally:
        gc.enable()


def test_backward_frees_what_was_kept_before_it_ends() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    hidden = x * 2
    seen = weakref.ref(hidden)
    out = hidden.log().sum()
    del hidden
    alive = []
    x.register_hook(lambda gradient: alive.append(seen() is not None))
    out.backward()
    assert alive == [False]
