"""Only what gives the same results is timed, and libraries take turns."""

import io
import itertools

import pytest

from lamina.bench.report import Table, as_time
from lamina.bench.rounds import Outcome, difference, run_workload
from lamina.bench.workers import Kind, Process, WorkerFailed
from lamina.bench.workloads import Workload, numbers

WORKLOAD = Workload("some", "some workload", lambda torch: lambda: None, 1e-3)


class Library:
    """Stands for the process of a library."""

    def __init__(self, title, log, *, results=((1.0, 1.0),), seconds=1.0, fails_at=None, others=()):
        self.kind = Kind(title, title)
        self._log, self._results, self._seconds = log, results, seconds
        self._fails_at = fails_at
        self._others = iter(others)

    def ask(self, request, **more):
        self._log.append((self.kind.title, request))
        if request == self._fails_at:
            raise WorkerFailed("it broke")
        if request == "time":
            return {"seconds": self._seconds, "others": next(self._others, 0.0)}
        return {
            "build": {"results": [[list(r) for r in self._results]], "refusal": ""},
            "calibrate": {"calls": 3},
        }[request]


def test_libraries_take_turns_and_another_begins_each_round():
    log = []
    libraries = [Library(name, log) for name in "abc"]
    run_workload(WORKLOAD, libraries, 4)
    timed = "".join(title for title, request in log if request == "time")
    assert timed == "abcbcacababc"


def test_a_disturbed_batch_is_timed_again():
    """The quieter of two tries counts, and what stayed disturbed is marked."""
    quiet = Library("quiet", [], others=[0.9, 0.1, 0.2, 0.0])
    loud = Library("loud", [], others=[0.9, 0.8, 0.2, 0.7, 0.6])
    outcome = run_workload(WORKLOAD, [quiet, loud], 3)
    assert outcome.others == {"quiet": [0.1, 0.2, 0.0], "loud": [0.8, 0.2, 0.6]}
    assert outcome.is_disturbed("loud")
    assert not outcome.is_disturbed("quiet")


def test_ratios_are_those_of_rounds():
    outcome = Outcome(WORKLOAD, {"a": [1.0, 20.0, 3.0], "b": [2.0, 40.0, 12.0]})
    assert outcome.ratio("a", "b") == 0.5
    assert outcome.median("a") == 3.0
    assert outcome.ratio("a", "c") is None


def test_different_results_are_not_timed():
    log = []
    libraries = [
        Library("good", log), Library("bad", log, results=((1.0, 1.01),)), Library("base", log)
    ]  # fmt: skip
    outcome = run_workload(WORKLOAD, libraries, 2)
    assert outcome.seconds.keys() == {"good", "base"}
    assert "differ from those of base: 1.01 instead of 1" in outcome.failures["bad"]
    assert ("bad", "time") not in log


@pytest.mark.parametrize("request_that_fails", ["build", "calibrate", "time"])
def test_a_failing_library_leaves_the_others_their_times(request_that_fails):
    libraries = [Library("a", []), Library("b", [], fails_at=request_that_fails), Library("c", [])]
    outcome = run_workload(WORKLOAD, libraries, 3)
    assert outcome.failures == {"b": "it broke"}
    assert {title: len(times) for title, times in outcome.seconds.items()} == {"a": 3, "c": 3}


@pytest.mark.parametrize(
    ("found", "is_same"),
    [
        ([[[1.0, 2.0, 5.0]]], True),
        ([[[1.0001, 2.0, 5.0]]], True),
        ([[[1.01, 2.0, 5.0]]], False),
        ([[[1.0, 2.0, 5.1]]], False),
        ([[[1.0, float("nan"), 5.0]]], False),
        ([[[1.0, 5.0]]], False),
        ([[]], False),
    ],
)
def test_results_are_compared_with_the_largest(found, is_same):
    assert (difference(found, [[[1.0, 2.0, 5.0]]], 1e-3) == "") is is_same


def test_numbers_come_from_all_over_a_result():
    import lamina

    (found,) = numbers(lamina.arange(2000.0), most=4)
    assert found[:-1] == [0, 500, 1000, 1500]
    assert found[-1] == sum(k * k for k in range(2000))


def test_a_library_that_is_not_there_is_told():
    process = Process(Kind("none", "no_such_library"), 1)
    with pytest.raises(WorkerFailed, match="status 1"):
        process.ask("version")
    process.close()


def test_a_request_that_fails_keeps_the_process():
    process = Process(Kind("lamina", "lamina"), 1)
    with pytest.raises(WorkerFailed, match="KeyError"):
        process.ask("build", name="unheard_of")
    assert process.ask("version").keys() == {"version"}
    process.close()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.50 s"), (0.0123, "12.3 ms"), (123e-6, "123 us"), (5e-8, "0.05 us"), (None, "-")],
)
def test_times_have_units(seconds, text):
    assert as_time(seconds) == text


def shown(outcomes, is_terminal):
    out = io.StringIO()
    out.isatty = lambda: is_terminal
    Table(["a", "b"], True, out).show(outcomes, "footer")
    return out.getvalue()


def test_colour_is_for_terminals(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    outcome = Outcome(WORKLOAD, {"a": [1.0], "b": [2.0]}, {}, {"a": 12.34}, {"b": "why"})
    plain = shown([outcome], False)
    assert "\x1b" not in plain
    assert "~" not in plain
    assert plain.splitlines()[1].split() == ["some", "1.00", "s", "2.00", "s", "0.50", "12.3", "-"]
    assert "some, b: why" in plain
    assert "\x1b[32m" in shown([outcome], True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert shown([outcome], True) == plain


def test_disturbed_times_are_marked():
    outcome = Outcome(WORKLOAD, {"a": [1.0], "b": [2.0]}, {"a": [0.9], "b": [0.1]})
    lines = shown([outcome], False).splitlines()
    assert lines[1].split()[1:4] == ["~1.00", "s", "2.00"]
    assert lines[2].startswith("~ other programs")


def test_workloads_have_names_of_their_own():
    from lamina.bench.functions import FUNCTIONS
    from lamina.bench.training import STEPS

    names = [workload.name for workload in itertools.chain(STEPS, FUNCTIONS)]
    assert len(set(names)) == len(names)
