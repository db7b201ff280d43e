"""The table of mistakes is true of PyTorch itself."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from mistakes.table import MISTAKES, Mistake

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.program)
def test_pytorch_answers_this(mistake: Mistake) -> None:
    names = {
        "t": torch,
        "x": torch.arange(6.0).reshape(2, 3).clone(),
        "i": torch.arange(3),
        "np": np,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(mistake.error) as caught:
            eval(mistake.program, names)
    assert mistake.phrase in str(caught.value)
