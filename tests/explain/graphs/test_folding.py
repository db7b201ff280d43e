"""Groups: boxes that can be folded without making cycles, and long stretches divided."""

import graphlib

import pytest
from explain.graphs.programs import PROGRAMS
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina
from lamina.explain import graph
from lamina.explain.graphs.folding import MOST_IN_A_BOX
from lamina.explain.graphs.view import READABLE, opened, view_of

MODELS = {}


def model_of(program):
    if program not in MODELS:
        lamina.manual_seed(0)
        MODELS[program] = graph(program()[0]).model
    return MODELS[program]


def loop(turns):
    """A recurrence of four operations a turn."""
    weight = lamina.ones(2, requires_grad=True)
    state = lamina.ones(2, requires_grad=True)
    for _ in range(turns):
        state = lamina.tanh(state * weight)
        state = state + 0.5
        state = state / 2
    return state.sum()


def straight(count):
    """Operations without a loop: each on a line of its own."""
    lines = ["x = lamina.ones(2, requires_grad=True)"]
    lines += [f"x = x * {k}" for k in range(count)]
    names = {"lamina": lamina}
    exec(compile("\n".join(lines), "<straight>", "exec"), names)
    return names["x"]


def long_loop():
    return loop(400), None


def long_program():
    return straight(300), None


ALL = [*PROGRAMS, long_loop, long_program]


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(ALL), st.data())
def test_no_choice_of_open_groups_makes_a_cycle(program, data):
    model = model_of(program)
    numbers = [group.id for group in model.groups]
    chosen = data.draw(st.sets(st.sampled_from(numbers)) if numbers else st.just(set()))
    view = view_of(model, chosen)
    sources = {}
    for source, target, _ in view.links:
        sources.setdefault(target, []).append(source)
    graphlib.TopologicalSorter(sources).prepare()
    assert sorted(node for box in view.boxes for node in box.nodes) == list(range(len(model.nodes)))


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.__name__)
def test_groups_come_after_their_parents(program):
    groups = model_of(program).groups
    assert all(group.parent is None or group.parent < group.id for group in groups)


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.__name__)
def test_no_box_holds_more_than_one_can_look_at(program):
    model = model_of(program)
    held = {}
    for group in model.groups:
        held[group.parent] = held.get(group.parent, 0) + 1
    for node in model.nodes:
        if node.kind == "operation":
            held[node.group] = held.get(node.group, 0) + 1
    assert max(held.values()) <= MOST_IN_A_BOX + 1


def test_turns_of_a_loop_are_boxes():
    model = graph(loop(400)).model
    turns = [group for group in model.groups if group.label.startswith("repeat ")]
    assert len(turns) == 400
    sizes = {group.id: 0 for group in turns}
    for node in model.nodes:
        if node.kind == "operation":
            sizes[node.group] += 1
    assert list(sizes.values()) == [4] * 399 + [5]  # and the sum at the end


def test_a_stretch_without_a_loop_is_cut_evenly():
    model = graph(straight(300)).model
    assert {group.label.split()[0] for group in model.groups} == {"part"}
    assert "<straight>:2-" in model.groups[0].detail


@pytest.mark.parametrize("count", [1250])
def test_five_thousand_operations_begin_as_a_few_boxes(count):
    model = graph(loop(count)).model
    assert model.count("operation") == 5001
    assert 5 < len(view_of(model, opened(model)).boxes) <= READABLE


def test_a_small_graph_is_all_open():
    model = model_of(PROGRAMS[3])
    assert opened(model) == {group.id for group in model.groups}


def test_groups_of_one_level_are_opened_together():
    net = lamina.nn.Sequential(
        *[lamina.nn.Sequential(*[lamina.nn.Linear(2, 2) for _ in range(4)]) for _ in range(4)]
    )
    model = graph(net(lamina.ones(1, 2)).sum()).model
    depth = {group.id: group.path.count(".") for group in model.groups}
    assert {depth[group] for group in opened(model)} == {0, 1}
    assert len(opened(model)) == 5
