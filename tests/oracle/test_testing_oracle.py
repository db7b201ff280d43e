"""`assert_close` says what PyTorch's says."""

import numpy as np
import pytest
import torch

import lamina

NAN, INF = float("nan"), float("inf")
CASES = {
    "floats": lambda m: (m.tensor([1.0, 2.0]), m.tensor([1.0, 2.1])),
    "close": lambda m: (m.tensor([1.0, 2.0]), m.tensor([1.0, 2.000001])),
    "shapes": lambda m: (m.tensor([1.0, 2.0]), m.tensor([1.0])),
    "dtypes": lambda m: (m.tensor([1.0]), m.tensor([1.0], dtype=m.float64)),
    "unchecked dtypes": lambda m: (
        m.tensor([1.0]), m.tensor([2.0], dtype=m.float64), {"check_dtype": False}),
    "halves": lambda m: (m.tensor([1.0]).half(), m.tensor([1.01]).half()),
    "bfloat16": lambda m: (
        m.tensor([1.0], dtype=m.bfloat16), m.tensor([1.5]), {"check_dtype": False}),
    "numbers": lambda m: (1.0, 1.1),
    "whole numbers": lambda m: (1, 2),
    "kinds of numbers": lambda m: (1, 1.0),
    "complex": lambda m: (1 + 1j, 1 + 2j),
    "complex tensors": lambda m: (
        m.zeros(2, dtype=m.complex64), m.ones(2, dtype=m.complex64)),
    "numpy": lambda m: (np.ones(2), np.ones(2) + 1),
    "numpy numbers": lambda m: (np.float32(1), np.float32(2)),
    "whole tensors": lambda m: (m.tensor([1, 2]), m.tensor([1, 3])),
    "uint8": lambda m: (m.tensor([200], dtype=m.uint8), m.tensor([100], dtype=m.uint8)),
    "booleans": lambda m: (m.tensor([True]), m.tensor([False])),
    "scalars": lambda m: (m.tensor(1.0), m.tensor(2.0)),
    "whole scalars": lambda m: (m.tensor(1), m.tensor(2)),
    "nan": lambda m: (m.tensor([1.0, NAN]), m.tensor([1.0, NAN])),
    "nan allowed": lambda m: (m.tensor([1.0, NAN]), m.tensor([1.0, NAN]), {"equal_nan": True}),
    "nan numbers": lambda m: (NAN, NAN),
    "infinity": lambda m: (m.tensor([1.0]), m.tensor([INF])),
    "tolerances": lambda m: (
        m.tensor([1.0, 2.0, 3.0]), m.tensor([1.0, 2.0, 4.0]), {"rtol": 1e-3, "atol": 0}),
    "two rows": lambda m: (
        m.tensor([[1.0, 2.0], [3.0, 4.0]]), m.tensor([[1.0, 2.0], [5.0, 7.0]])),
    "one tolerance": lambda m: (1.0, 1.0, {"rtol": 1}),
    "lists": lambda m: ([1.0, 2.0], [1.0, 2.5]),
    "lengths": lambda m: ([1, 2], [1]),
    "trees": lambda m: ([[1, [2, 3]]], [[1, [2, 4]]]),
    "dicts": lambda m: ({"a": [m.tensor([1.0])]}, {"a": [m.tensor([2.0])]}),
    "keys": lambda m: ({"a": 1}, {"b": 1}),
    "list and tuple": lambda m: ((1,), [1]),
    "none": lambda m: (None, None),
    "none and one": lambda m: (1, None),
    "bools": lambda m: (True, False),
    "own words": lambda m: (m.tensor([1.0]), m.tensor([2.0]), {"msg": "hello"}),
    "words made": lambda m: (1.0, 2.0, {"msg": lambda text: "X" + text}),
    "empty": lambda m: (m.zeros(0), m.zeros(0)),
    "strides": lambda m: (m.ones(2, 3), m.ones(3, 2).t(), {"check_stride": True}),
    "devices": lambda m: (m.ones(1), m.ones(1, device="meta")),
    "parameters": lambda m: (m.ones(1), m.nn.Parameter(m.ones(1))),
}  # fmt: skip
KINDS = {
    "text": lambda m: ("a", "a"),
    "number and text": lambda m: (1, "a"),
    "tensor and number": lambda m: (m.tensor([1.0]), 1.0),
    "tensor and list": lambda m: (m.tensor([1.0]), [1.0]),
    "parameters apart": lambda m: (
        m.ones(1), m.nn.Parameter(m.ones(1)), {"allow_subclasses": False}),
}  # fmt: skip


def outcome(module, case):
    """(class, text) of the error; None if there is none."""
    actual, expected, *rest = case(module)
    try:
        module.testing.assert_close(actual, expected, **(rest[0] if rest else {}))
    except (AssertionError, TypeError, ValueError) as error:
        kind = next(kind for kind in (AssertionError, TypeError, ValueError)
                    if isinstance(error, kind))  # fmt: skip
        return kind, getattr(error, "headline", str(error))
    return None


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_outcome_is_pytorchs(case):
    assert outcome(lamina, case) == outcome(torch, case)


@pytest.mark.parametrize("case", KINDS.values(), ids=KINDS)
def test_what_cannot_be_compared_is_refused(case):
    ours, theirs = outcome(lamina, case), outcome(torch, case)
    assert ours[0] is theirs[0]
    assert ours[1].startswith("No comparison pair was able to handle inputs of type")
