"""A mistake gets the error class that PyTorch raises, its phrase, a place; it leaves no trace."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from mistakes.table import MISTAKES, Mistake

import lamina


def run(mistake: Mistake) -> tuple[BaseException | None, lamina.Tensor, lamina.Tensor]:
    x = lamina.arange(6.0).reshape(2, 3).clone()
    i = lamina.arange(3)
    names = {"t": lamina, "x": x, "i": i, "np": np}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(mistake.program, names)
        except Exception as error:
            return error, x, i
    return None, x, i


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.program)
def test_a_mistake_is_answered_as_pytorch_answers_it(mistake: Mistake) -> None:
    error, _, _ = run(mistake)

    assert isinstance(error, mistake.error), f"{type(error).__mro__}: {error}"
    assert mistake.phrase in str(error)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.program)
def test_a_mistake_changes_nothing(mistake: Mistake) -> None:
    _, x, i = run(mistake)

    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert i.tolist() == [0, 1, 2]
    assert (x._version, i._version) == (0, 0)
