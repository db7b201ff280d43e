"""What a profiler times, and when: steps, blocks and names are PyTorch's, times add up."""

import json
import math

import pytest

import lamina as torch
from lamina.core.modes import door, state
from lamina.profiler import ProfilerAction, profile, record_function, schedule
from lamina.profiler.table import duration


def step():
    x = torch.ones(3, requires_grad=True)
    with record_function("loss"):
        loss = (x * x).sum()
    loss.backward()


def names(made):
    return [event.name for event in made.events()]


def test_operations_rules_and_blocks_are_timed_in_their_order():
    with profile() as made:
        step()
    assert names(made) == ["loss", "aten::mul", "aten::sum", "SumBackward0", "MulBackward0"]
    loss, mul, *_ = made.events()
    assert mul.cpu_parent is loss
    assert [child.name for child in loss.cpu_children] == ["aten::mul", "aten::sum"]
    assert (loss.is_user_annotation, mul.is_user_annotation) == (True, False)


def test_times_add_up():
    with profile() as made:
        for _ in range(3):
            step()
    tops = [event for event in made.events() if event.cpu_parent is None]
    whole = sum(event.cpu_time_total for event in tops)
    sums = {event.key: event for event in made.key_averages()}
    assert math.isclose(made.key_averages().self_cpu_time_total, whole)
    assert sums["loss"].count == 3
    inside = sum(sums[key].cpu_time_total for key in ("aten::mul", "aten::sum"))
    assert math.isclose(sums["loss"].self_cpu_time_total, sums["loss"].cpu_time_total - inside)
    assert all(event.cpu_time_total > 0 for event in sums.values())


def test_a_block_in_a_block_of_its_name_counts_once():
    with profile() as made, record_function("a"), record_function("a"):
        pass
    (both,) = made.key_averages()
    assert both.count == 2
    assert both.cpu_time_total == made.events()[0].cpu_time_total


def test_changes_in_place_and_recorded_passes_are_timed():
    with profile() as made:
        x = torch.ones(2, requires_grad=True)
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        torch.ones(2).add_(1)
    found = names(made)
    assert found.index("SumBackward0") < found.index("PowBackward0")
    assert "aten::add" in found
    assert g.requires_grad


def test_shapes_are_kept_on_request():
    with profile(record_shapes=True) as made:
        torch.ones(2, 3) @ torch.ones(3, 4)
        torch.ones(2, 3) @ torch.ones(3, 5)
    assert made.events()[0].input_shapes == [[2, 3], [3, 4]]
    assert len(made.key_averages(group_by_input_shape=True)) == 2
    assert len(made.key_averages()) == 1
    assert "[[2, 3], [3, 5]]" in made.key_averages(group_by_input_shape=True).table()


def test_nothing_is_left_when_it_ends_by_an_error():
    watched = door.is_watched
    with pytest.raises(ZeroDivisionError), profile() as made, record_function("fails"):
        1 / 0  # noqa: B018
    assert (door.is_watched, state.clock) == (watched, None)
    assert names(made) == ["fails"]


def test_an_operation_that_fails_is_timed_too():
    with profile() as made, pytest.raises(RuntimeError):
        torch.ones(2) + torch.ones(3)
    assert names(made) == ["aten::add"]


def test_outside_a_profiler_a_block_does_nothing():
    @record_function("double")
    def double(x):
        return x * 2

    assert double(torch.ones(1)).item() == 2
    with profile() as made:
        double(torch.ones(1))
    assert names(made) == ["double", "aten::mul"]


# PyTorch's answers for wait=1, warmup=1, active=2, repeat=2, skip_first=1.
PLAN = "NONE NONE WARMUP RECORD RECORD_AND_SAVE NONE WARMUP RECORD RECORD_AND_SAVE NONE NONE NONE"


def test_the_plan_of_steps_is_pytorchs():
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    assert [plan(number) for number in range(12)] == [ProfilerAction[w] for w in PLAN.split()]


def test_each_cycle_is_handed_over_when_it_ends():
    told = []
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    with profile(
        schedule=plan, on_trace_ready=lambda made: told.append((made.step_num, names(made)))
    ) as made:
        for _ in range(12):
            torch.ones(2).exp()
            made.step()
    steps = [["ProfilerStep#3", "aten::exp", "ProfilerStep#4", "aten::exp"],
             ["ProfilerStep#7", "aten::exp", "ProfilerStep#8", "aten::exp"]]  # fmt: skip
    assert told == [(5, steps[0]), (9, steps[1])]


def test_events_of_all_cycles_are_kept_on_request():
    with profile(schedule=schedule(wait=0, warmup=0, active=1), acc_events=True) as made:
        for _ in range(3):
            torch.ones(2).exp()
            made.step()
    assert names(made).count("aten::exp") == 3


def test_the_table_has_a_line_for_each_name():
    with profile() as made:
        step()
    sums = made.key_averages()
    lines = sums.table(sort_by="cpu_time_total", row_limit=2, header="one step").splitlines()
    assert lines[1] == "one step"
    assert lines[3].split("  ")[-1].strip() == "# of Calls"
    assert len(lines) == 5 + 2 + 2
    assert lines[-1] == f"Self CPU time total: {duration(sums.self_cpu_time_total)}"
    first, second = (line.split()[0] for line in lines[5:7])
    times = {event.key: event.cpu_time_total for event in sums}
    assert times[first] >= times[second]


def test_a_trace_is_written(tmp_path):
    written = torch.profiler.tensorboard_trace_handler(str(tmp_path / "log"), "me")
    with profile(on_trace_ready=written):
        step()
    (file,) = (tmp_path / "log").glob("me.*.pt.trace.json")
    events = json.loads(file.read_text())["traceEvents"]
    assert [event["name"] for event in events][:2] == ["loss", "aten::mul"]
    loss, mul = events[:2]
    assert loss["ts"] <= mul["ts"] <= mul["ts"] + mul["dur"] <= loss["ts"] + loss["dur"]


def test_the_older_name_does_the_same():
    with torch.autograd.profiler.profile(use_cuda=False) as made:
        step()
    assert made.function_events[0].name == "loss"
    assert str(made) == made.table()
    with torch.autograd.profiler.profile(enabled=False) as none:
        step()
    with pytest.raises(AssertionError, match="must be initialized"):
        none.key_averages()


def test_what_cannot_be_is_refused():
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
        schedule(wait=-1, warmup=0, active=1)
    with pytest.raises(AssertionError, match="Profiler must be initialized before stopping trace"):
        profile().stop()
    with profile() as made:
        step()
    with pytest.raises(AttributeError, match="nonsense"):
        made.key_averages().table(sort_by="nonsense")
