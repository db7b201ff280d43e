"""What is read while a program runs: each form of graph once."""

import lamina
from lamina.core import records
from lamina.explain.graphs import watching
from lamina.explain.graphs.watching import PassWatcher


def test_leaves_that_are_new_each_time_make_no_new_form():
    with PassWatcher() as watcher:
        for _ in range(5):
            w = lamina.ones(2, requires_grad=True)
            (w * w).sum().backward()
    [seen] = watcher.graphs
    assert (seen.first, seen.last, seen.count) == (1, 5, 5)


def test_another_shape_or_another_use_is_another_form():
    with PassWatcher() as watcher:
        for size in (2, 3, 2):
            w, v = (lamina.ones(size, requires_grad=True) for _ in range(2))
            for other in (v, w):
                (w * other).sum().backward()
    assert [seen.count for seen in watcher.graphs] == [1, 1, 2, 2]


def test_what_was_seen_is_bounded(monkeypatch):
    monkeypatch.setattr(watching, "REMEMBERED_FORMS", 3)
    with PassWatcher() as watcher:
        for size in range(1, 7):
            lamina.ones(size, requires_grad=True).sum().backward()
    assert [seen.last for seen in watcher.graphs] == [4, 5, 6]


def test_nobody_watches_afterwards():
    before = list(records.watchers)
    with PassWatcher():
        assert len(records.watchers) == len(before) + 1
    assert records.watchers == before


def test_a_reader_that_fails_does_not_stop_the_program(monkeypatch):
    def broken(*_, **__):
        raise ValueError("broken")

    monkeypatch.setattr(watching.own_reader, "read", broken)
    w = lamina.ones(2, requires_grad=True)
    with PassWatcher() as watcher:
        w.sum().backward()
    assert w.grad is not None
    assert str(watcher.problem) == "broken"
