"""Graphs of PyTorch's own tensors, and Lamina's beside them."""

import json

import pytest
import torch
from torch import nn

import lamina
from lamina.errors import NoGraph
from lamina.explain import graph

F = nn.functional


def module(T):
    net = T.nn.Sequential(T.nn.Linear(3, 4), T.nn.Tanh(), T.nn.Linear(4, 1))
    return net(T.ones(2, 3)).pow(2).mean()


def shared(T):
    x = T.ones(3, requires_grad=True)
    h = T.exp(x)
    return (h * h + h).sum()


def parts(T):
    x = T.ones(6, requires_grad=True)
    a, b, c = x.split(2)
    return (a * c).sum() + b.prod()


def undefined(T):
    x = T.ones(4, requires_grad=True)
    a, b = x.unbind(0)[:2]
    return a * b


def retained(T):
    x = T.ones(3, requires_grad=True)
    h = x * 2
    h.retain_grad()
    return (h * h).sum()


def unused(T):
    x, y = (T.ones(3, requires_grad=True) for _ in range(2))
    return (x.cos() + y.sin()).sum()


PROGRAMS = [module, shared, parts, undefined, retained, unused]


def real_pass(root):
    """The names of PyTorch's nodes as they run, with the shapes that arrive."""
    seen, found = [], set()

    def note(node):
        if node is None or node in found:
            return
        found.add(node)
        node.register_prehook(
            lambda gradients: seen.append(
                (node.name(), [None if g is None else tuple(g.shape) for g in gradients])
            )
        )
        for following, _ in node.next_functions:
            note(following)

    note(root.grad_fn)
    root.backward()
    return seen


def foreseen_pass(model):
    """The names of nodes in the order of the model's steps, with the shapes that arrive."""
    seen = []
    for step in model.steps:
        node = model.nodes[step.node]
        if step.action == "accumulate":
            seen.append(("torch::autograd::AccumulateGrad", [node.outputs[0].shape]))
            continue
        arrived = {model.edges[number].output for number in step.arrived}
        arrived |= {0} if node.id in model.roots else set()
        shapes = [facts.shape if k in arrived else None for k, facts in enumerate(node.outputs)]
        seen.append((node.class_name, shapes))
    return seen


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_foreseen_pass_is_the_one_that_pytorch_runs(program):
    root = program(torch)
    foreseen = foreseen_pass(graph(root).model)
    assert foreseen == real_pass(root)


# Not `module`, whose linear layers are other operations in each; nor `undefined`: Lamina does not
# know the shape of a result that nobody uses.
@pytest.mark.parametrize(
    "program", [shared, parts, retained, unused], ids=lambda program: program.__name__
)
def test_both_libraries_have_the_same_graph(program):
    def told(T):
        model = graph(program(T)).model
        kinds = {node.id for node in model.nodes if node.kind != "data"}
        order = {number: place for place, number in enumerate(sorted(kinds))}
        nodes = [(n.kind, n.class_name, [f.shape for f in n.outputs])
                 for n in model.nodes if n.kind == "operation"]  # fmt: skip
        edges = [
            (order[e.source], order[e.target], e.output, e.gradient.shape)
            for e in model.edges if e.source in kinds
        ]  # fmt: skip
        return nodes, sorted(edges)

    assert told(lamina) == told(torch)


def test_modules_are_boxes():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    model = graph(net, torch.ones(2, 3)).model
    assert [(group.path, group.detail) for group in model.groups] == [
        ("net", "Sequential"), ("net.0", "Linear"), ("net.1", "ReLU"), ("net.2", "Linear"),
    ]  # fmt: skip
    parents = [group.parent for group in model.groups]
    assert parents == [None, 0, 0, 0]
    leaves = {node.name for node in model.nodes if node.kind == "leaf"}
    assert leaves == {f"net.{name}" for name, _ in net.named_parameters()}


def test_parameters_tell_modules_of_a_loss():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    loss = F.cross_entropy(net(torch.ones(2, 3)), torch.tensor([0, 1]))
    model = graph(loss).model
    assert [group.path for group in model.groups] == ["net", "net.0", "net.2"]
    assert model.title == "loss"


def test_kept_values_and_their_memory():
    x = torch.ones(1000, requires_grad=True)
    h = torch.tanh(x)
    model = graph((h * h).sum()).model
    assert model.kept_bytes == 4000
    kept = [(k.what, k.bytes, k.is_extra) for node in model.nodes for k in node.kept]
    assert kept == [("its result", 4000, True), ("other", 4000, True), ("self", 4000, True)]


def test_anomaly_mode_tells_the_source():
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        y = torch.exp(x).sum()
    places = [node.place for node in graph(y).model.nodes if node.kind == "operation"]
    assert {place.text for place in places} == {"y = torch.exp(x).sum()"}
    assert {place.file for place in places} == {"test_graph_oracle.py"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64])
def test_values_are_measured_and_nothing_is_changed(dtype):
    a = torch.tensor([3.0, 4.0], dtype=dtype, requires_grad=True)
    model = graph((a * a).sum(), values=True).model
    (leaf,) = [node.id for node in model.nodes if node.kind == "leaf"]
    norms = {edge.values.norm for edge in model.edges if edge.source == leaf}
    assert norms == {10.0}  # of the sum of both: what PyTorch hands on
    assert a.grad is None


def test_a_change_that_makes_the_pass_fail_is_seen():
    x = torch.ones(3, requires_grad=True)
    h = torch.tanh(x)
    h += 1
    model = graph(h.sum()).model
    assert "modified by an inplace operation" in model.nodes[model.steps[-1].node].problem


def test_it_can_be_written():
    drawn = graph(module(torch))
    assert json.loads(drawn.json())["library"] == "torch"
    assert drawn.html().startswith("<!doctype html>")
    assert "leaf" in str(drawn)
    assert drawn.svg().startswith("<svg")


def test_nothing_to_draw():
    with pytest.raises(NoGraph, match="nothing here requires grad"):
        graph(torch.ones(3))


def test_a_function_of_pytorchs_tensors():
    x = torch.ones(3, requires_grad=True)
    words = [node.word for node in graph(lambda t: t.log_softmax(0), x).model.nodes]
    assert words == ["leaf", "log_softmax"]
