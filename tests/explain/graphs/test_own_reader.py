"""The model of Lamina's own graphs, held against what a real backward pass does."""

import math
import subprocess
import sys

import numpy as np
import pytest
from explain.graphs.programs import PROGRAMS, Net, Twice, residual

import lamina
from lamina import nn
from lamina.core.node import AccumulateGrad, Node
from lamina.errors import ArgumentTypeError, GraphFreed, NoGraph
from lamina.explain import graph


@pytest.fixture(autouse=True)
def same_numbers():
    lamina.manual_seed(0)


def real_pass(root):
    """What happens in a backward pass, as hooks on every node and leaf see it."""
    seen = []
    found = {}

    def note(node):
        if node is None or id(node) in found:
            return
        found[id(node)] = node

        def before(gradients):
            shapes = [None if g is None else tuple(g.shape) for g in gradients]
            seen.append((node.name(), shapes))

        node.register_prehook(before)
        for following, _ in node.next_functions:
            note(following)

    note(root.grad_fn)
    root.backward(lamina.ones_like(root))
    return seen


def foreseen_pass(model):
    """The same, as the model says."""
    seen = []
    for step in model.steps:
        node = model.nodes[step.node]
        if step.action == "accumulate":
            name = "torch::autograd::AccumulateGrad"
            parts = [model.edges[number] for number in step.arrived]
            defined = [edge for edge in parts if edge.state != "undefined"]
            seen.append((name, [defined[0].gradient.shape if defined else None]))
            continue
        arrived = {edge.output for edge in map(model.edges.__getitem__, step.arrived)}
        if node.id in model.roots:
            arrived.add(0)
        shapes = [facts.shape if k in arrived else None for k, facts in enumerate(node.outputs)]
        seen.append((node.class_name, shapes))
    return seen


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_foreseen_pass_is_the_one_that_runs(program):
    root, _alive = program()
    foreseen = foreseen_pass(graph(root).model)
    assert foreseen == real_pass(root)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_every_shape_is_known(program):
    root, _alive = program()
    model = graph(root).model
    assert all(edge.state in ("defined", "unwanted", "unknown") for edge in model.edges)
    used = {(edge.source, edge.output) for edge in model.edges} | {(n, 0) for n in model.roots}
    assert all(model.nodes[n].outputs[k].shape is not None for n, k in used)


def test_nodes_are_numbered_after_what_they_were_computed_from():
    for program in PROGRAMS:
        root, _alive = program()
        assert all(edge.source < edge.target for edge in graph(root).model.edges)


def test_a_product_has_its_leaf_its_data_and_its_operations():
    w = lamina.tensor([1.0, 2.0], requires_grad=True)
    x = lamina.tensor([3.0, 4.0])
    y = w * x
    model = graph(y.sum()).model
    found = [(node.kind, node.word, node.name) for node in model.nodes]
    assert found == [
        ("leaf", "leaf", "w"), ("data", "data", "x"), ("operation", "mul", "y"),
        ("operation", "sum", None),
    ]  # fmt: skip
    assert [node.place.expression for node in model.nodes[2:]] == ["w * x", "y.sum()"]
    assert [(edge.source, edge.target, edge.state) for edge in model.edges] == [
        (0, 2, "defined"), (1, 2, "unwanted"), (2, 3, "defined"),
    ]  # fmt: skip
    assert model.roots == (3,)


def test_kept_values_are_those_that_pack_hooks_are_given():
    def sizes(model):
        return sorted(kept.facts.shape for node in model.nodes for kept in node.kept)

    for program in PROGRAMS:
        lamina.manual_seed(0)
        packed = []

        def pack(tensor, packed=packed):
            packed.append(tuple(tensor.shape))
            return tensor

        with lamina.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            _hooked = program()
        lamina.manual_seed(0)
        root, _alive = program()
        live = sizes(graph(root).model)
        assert len(live) <= len(packed)
        for shape in live:
            assert shape in packed, program.__name__


def test_memory_is_that_of_what_was_computed_on_the_way():
    x = lamina.ones(1000, requires_grad=True)
    h = lamina.tanh(x)  # keeps its result
    y = h * h  # keeps the same memory
    z = lamina.exp(y)  # keeps its result
    model = graph(z.sum()).model
    assert model.kept_bytes == 2 * 1000 * 4
    assert [kept.bytes for node in model.nodes for kept in node.kept] == [4000] * 4


def test_what_is_expanded_costs_what_it_holds():
    x = lamina.ones(3, requires_grad=True)
    wide = lamina.ones(1).expand(1000, 3)
    (kept,) = [k for node in graph((x * wide).sum()).model.nodes for k in node.kept]
    assert (kept.facts.shape, kept.bytes) == ((1000, 3), 4)


def test_reading_changes_nothing():
    for program in PROGRAMS:
        lamina.manual_seed(0)
        root, _alive = program()
        before = snapshot(root)
        graph(root)
        assert snapshot(root) == before
    Twice.calls = 0
    root, _alive = next(p for p in PROGRAMS if p.__name__ == "custom")()
    graph(root)
    assert Twice.calls == 0


def snapshot(root):
    """Nodes with what they keep, and leaves with their gradients."""
    found, stack = {}, [root.grad_fn]
    while stack:
        node = stack.pop()
        if node is None or id(node) in found:
            continue
        if isinstance(node, AccumulateGrad):
            found[id(node.variable)] = node.variable._grad
            continue
        saved = node.saved
        found[id(node)] = id(saved) if isinstance(saved, Node) else tuple(map(id, saved or ()))
        stack += [following for following, _ in node.next_functions]
    return found


def test_hooks_are_counted_and_not_called():
    x = lamina.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: pytest.fail("called"))
    y.grad_fn.register_prehook(lambda g: pytest.fail("called"))
    model = graph(y.sum(), values=True).model
    assert "hooks that are called here: 2" in model.nodes[1].notes


def test_parameters_are_named_by_their_paths():
    root, net = residual()
    found = {node.name for node in graph(root).model.nodes if node.kind == "leaf"}
    assert found == {f"net.{name}" for name, _ in net.named_parameters()}


# --- modules -------------------------------------------------------------------------------------


def modules_of(model):
    """For each operation the path of the module it is in."""
    return [
        (node.word, "" if node.group is None else model.groups[node.group].path)
        for node in model.nodes
        if node.kind == "operation"
    ]


def test_calls_of_modules_are_noted_while_graph_calls_one():
    net = Net(depth=1)
    assert modules_of(graph(net, lamina.randn(5, 3)).model) == [
        ("linear", "net.start"), ("tanh", "net"), ("layer_norm", "net.blocks.0.norm"),
        ("linear", "net.blocks.0.mlp.0"), ("gelu", "net.blocks.0.mlp.1"),
        ("linear", "net.blocks.0.mlp.2"), ("add", "net.blocks.0"), ("linear", "net.head"),
    ]  # fmt: skip


def test_parameters_tell_nearly_the_same():
    net = Net(depth=3)
    x = lamina.randn(5, 3)
    noted = modules_of(graph(net, x).model)
    told = modules_of(graph(net(x)).model)
    # A module without parameters, called in a sequence, cannot be told from the sequence.
    assert told == [(word, path.removesuffix(".1") if word == "gelu" else path)
                    for word, path in noted]  # fmt: skip


def test_a_module_that_is_called_twice_has_two_boxes():
    net = nn.Linear(3, 3)
    x = lamina.randn(2, 3)
    model = graph(net(lamina.tanh(net(x))).sum()).model
    assert [group.path for group in model.groups] == ["net", "net"]


def test_keywords_are_passed_on():
    class Scaled(nn.Linear):
        def forward(self, x, *, factor):
            return super().forward(x) * factor

    model = graph(Scaled(2, 2), lamina.ones(1, 2), factor=lamina.tensor(3.0)).model
    assert [n.word for n in model.nodes if n.kind == "operation"] == ["linear", "mul"]


def test_functions_are_called_with_their_inputs():
    x = lamina.ones(3, requires_grad=True)
    assert [n.word for n in graph(lamina.exp, x).model.nodes] == ["leaf", "exp"]


# --- what goes wrong -----------------------------------------------------------------------------


def test_a_graph_that_was_freed_is_still_drawn():
    root, _alive = residual()
    shapes = [edge.gradient.shape for edge in graph(root).model.edges]
    root.backward()
    model = graph(root).model
    assert "needs retain_graph=True" in model.notes[0]
    known = [edge.gradient.shape for edge in model.edges if edge.gradient.shape is not None]
    assert len(known) > 0.6 * len(shapes)
    assert all(node.has_gradient for node in model.nodes if node.kind == "leaf")


def test_a_kept_value_that_was_changed_ends_the_pass_there():
    x = lamina.ones(3, requires_grad=True)
    h = lamina.tanh(x)
    h += 1
    root = h.sum()
    model = graph(root).model
    failing = model.nodes[model.steps[-1].node]
    assert failing.word == "tanh"
    with pytest.raises(RuntimeError) as raised:
        root.backward()
    assert str(raised.value) == failing.problem


def test_nothing_to_draw_is_an_error_that_says_why():
    w = lamina.ones(3, requires_grad=True)
    loss = (w * 2).sum().detach()
    with pytest.raises(NoGraph, match=r"`loss` has no graph to draw.*detach"):
        graph(loss)
    with pytest.raises(ArgumentTypeError, match="graph\\(\\) draws tensors, and int has none"):
        graph(3)


def test_a_leaf_alone_is_a_graph():
    w = lamina.ones(3, requires_grad=True)
    model = graph(w).model
    assert [node.kind for node in model.nodes] == ["leaf"]
    assert [step.action for step in model.steps] == ["accumulate"]


# --- values --------------------------------------------------------------------------------------


def test_values_are_those_of_the_gradients():
    a = lamina.tensor([3.0, 4.0], requires_grad=True)
    model = graph((a * a).sum(), values=True).model
    into_a = [edge for edge in model.edges if edge.source == 0]
    assert [edge.values.norm for edge in into_a] == [5.0, 5.0]  # a once for each factor
    assert [edge.values.largest for edge in into_a] == [4.0, 4.0]
    assert a.grad is None


def test_a_root_that_is_not_finite_is_still_weighed_with_one():
    x = lamina.tensor([0.0, 1.0], requires_grad=True)
    y = lamina.log(x).sum()
    (edge,) = [e for e in graph(y, values=True).model.edges if e.source == 1]
    assert (edge.values.largest, edge.values.nans) == (1.0, 0)


def test_values_count_what_is_not_finite():
    x = lamina.tensor([0.0, 1.0], requires_grad=True)
    y = lamina.sqrt(x) * lamina.tensor([0.0, 0.0])
    values = {model_word(e, m): e.values for m in [graph(y.sum(), values=True).model]
              for e in m.edges if e.values}  # fmt: skip
    assert (values["sqrt"].nans, values["sqrt"].zeros, values["sqrt"].count) == (1, 1, 2)
    assert (values["mul"].nans, values["mul"].zeros) == (0, 2)


def model_word(edge, model):
    return model.nodes[edge.target].word


def test_values_are_the_same_on_the_simulated_gpu():
    def norms(device):
        x = lamina.arange(4.0).to(device).requires_grad_()
        model = graph(lamina.tanh(x).sum(), values=True).model
        return [edge.values.norm for edge in model.edges]

    with lamina.cuda.simulate():
        expected = math.sqrt(((1 - np.tanh(np.arange(4.0)) ** 2) ** 2).sum())
        assert norms("cuda") == pytest.approx([expected, 2.0])
        assert norms("cuda") == pytest.approx(norms("cpu"))


def test_values_of_a_freed_graph_cannot_be_had():
    x = lamina.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(GraphFreed):
        graph(y, values=True)


# --- libraries -----------------------------------------------------------------------------------


def test_no_other_library_is_loaded():
    program = """
import sys, lamina
x = lamina.ones(2, requires_grad=True)
before = set(sys.modules)
lamina.explain.graph((x * x).sum()).html()
assert "torch" not in sys.modules
assert not {"IPython", "rich", "llvmlite"} & (set(sys.modules) - before)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_importing_lamina_does_not_load_it():
    program = "import sys, lamina; assert 'lamina.explain' not in sys.modules; lamina.Tensor.graph"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_why_does_not_load_it():
    program = (
        "import sys, lamina; lamina.why(lamina.ones(2)); "
        "assert 'lamina.explain.graphs' not in sys.modules; "
        "assert {'graph', 'why'} <= set(dir(lamina.explain)) | set(lamina.explain.__all__); "
        "assert callable(lamina.explain.graph)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
