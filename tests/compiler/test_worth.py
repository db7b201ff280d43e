"""Functions that are quicker as they are written run as they are written."""

import pytest

import lamina
from lamina.compiler import compile
from lamina.compiler.function import CALLS_IN_A_ROW, CALLS_UNASKED

SMALL, LARGE = (4, 4), (512, 512)


def chain(count):
    def function(x, w):
        for _ in range(count):
            x = x * w
        return x

    return function


def changed(x, w):
    x.mul_(w)
    return x


@pytest.mark.parametrize(
    ("function", "shape", "wants_gradients", "is_worth_it"),
    [
        (chain(0), SMALL, False, False),
        (chain(1), SMALL, False, False),
        (chain(3), SMALL, False, False),
        (chain(6), SMALL, False, True),
        (chain(1), SMALL, True, False),
        (chain(2), SMALL, True, True),
        (chain(1), LARGE, False, True),
        (lambda x, w: x @ w, LARGE, False, False),
        (lambda x, w: x @ w, LARGE, True, False),
        (lambda x, w: x @ w + 1, LARGE, False, True),
        (lambda x, w: lamina.where(w > 0.5, x, w), LARGE, False, True),
        (lambda x, w: x.cumsum(0), LARGE, False, False),
        (lambda x, w: x.cumsum(0), LARGE, True, False),
        (lambda x, w: x.cumsum(0) + w, LARGE, True, True),
        (changed, SMALL, False, True),
    ],
)
def test_what_is_worth_a_program(function, shape, wants_gradients, is_worth_it):
    run = compile(function, fullgraph=True)
    x, w = lamina.rand(*shape), lamina.rand(*shape)
    if wants_gradients:
        x.requires_grad_()
    expected = function(x.clone(), w)
    found = run(x, w)
    assert lamina.allclose(found, expected)
    assert [program.is_worth_it for program in run.programs] == [is_worth_it]
    assert ("the function itself runs" in str(run.explain())) is not is_worth_it
    if wants_gradients:
        is_compiled = type(found.grad_fn).__name__ == "CompiledBackward0"
        assert is_compiled is is_worth_it


def test_calls_that_are_not_asked_are_right_and_end():
    power = [1]

    def function(x):
        for _ in range(power[0]):
            x = x * 2
        return x

    run = compile(function, fullgraph=True)
    one = lamina.ones(3)
    for _ in range(2 * CALLS_IN_A_ROW):
        assert run(one).tolist() == [2] * 3
    power[0] = 6
    for _ in range(CALLS_UNASKED + 1):
        assert run(one).tolist() == [64] * 3
    assert [program.is_worth_it for program in run.programs] == [True, False]
    assert "power[0] was 1, is 6" in run.splits[0]


def test_two_situations_in_turn_are_both_asked_for():
    run = compile(lambda x: (x * 2) if x.dim() == 1 else chain(6)(x, x), fullgraph=True)
    for _ in range(CALLS_IN_A_ROW):
        run(lamina.ones(3))
        run(lamina.ones(3, 3))
    assert [program.runs for program in run.programs] == [CALLS_IN_A_ROW] * 2


def test_what_cannot_be_captured_is_an_error_however_small():
    run = compile(lambda x: x * x.sum().item(), fullgraph=True)
    with pytest.raises(lamina.errors.CaptureError):
        run(lamina.ones(2))
