"""The progress line, on a terminal and in a log."""

import io

import lamina
from lamina.utils import progress as module
from lamina.utils.progress import Progress, progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_log_gets_one_line():
    log = io.StringIO()
    assert list(progress(range(3), title="epoch", file=log)) == [0, 1, 2]
    assert log.getvalue().startswith("epoch: 3 of 3  ")
    assert log.getvalue().count("\n") == 1


def test_a_terminal_gets_a_line_that_moves(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_DRAWS", 0)
    screen = Terminal()
    for _ in progress(range(2), title="epoch", file=screen):
        pass
    frames = screen.getvalue().split("\r")
    assert [frame.split("]")[1].split()[0] for frame in frames[1:]] == ["0/2", "1/2", "2/2", "2/2"]
    assert screen.getvalue().endswith("\n")


def test_tensors_are_shown_and_their_graph_is_let_go(monkeypatch):
    log = io.StringIO()
    with Progress(total=1, file=log) as line:
        loss = (lamina.ones(2, requires_grad=True) * 0.25).sum()
        line.advance(loss=loss)
        assert line._values["loss"].grad_fn is None
    assert "loss 0.5" in log.getvalue()


def test_unknown_length_and_failures_leave_a_line():
    log = io.StringIO()
    try:
        for number in progress(iter(range(5)), file=log):
            if number == 2:
                raise KeyError(number)
    except KeyError:
        pass
    assert log.getvalue().startswith("2 steps")
