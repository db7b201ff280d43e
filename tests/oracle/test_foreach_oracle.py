"""Operations on lists of tensors beside PyTorch's: every name that both have."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.ops.foreach import FOREACH

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

OTHERS = {
    "number": lambda m, tensors: 0.7,
    "numbers": lambda m, tensors: [0.5, 0.25],
    "tensors": lambda m, tensors: [t * 0.5 + 0.1 for t in tensors],
}
pick = OTHERS["tensors"]
ONE = {"add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_max", "clamp_min"}
ONLY_TENSORS = {"copy_", "mm"}
TWO = {"addcmul", "addcdiv"}


def given(module):
    rng = np.random.default_rng(0)
    return [module.tensor(rng.uniform(0.2, 0.8, (3, 3))) for _ in range(2)]


def outcome(module, name, arguments):
    tensors = given(module)
    made = getattr(module, name)(tensors, *arguments(module, tensors))
    return [t.detach().numpy() for t in made], isinstance(made, list)


def cases():
    for name in FOREACH:
        stem = name.removeprefix("_foreach_").rstrip("_")
        if stem in ONE:
            for kind, other in OTHERS.items():
                yield name, kind, lambda m, t, other=other: [other(m, t)]
        elif stem == "lerp":
            yield name, "weight", lambda m, t: [pick(m, t), 0.3]
            yield name, "weights", lambda m, t: [pick(m, t), pick(m, t)]
        elif stem in TWO:
            yield name, "value", lambda m, t: [t, pick(m, t), 0.5]
            yield name, "values", lambda m, t: [t, pick(m, t), [0.5, 2.0]]
        elif name.removeprefix("_foreach_") in ONLY_TENSORS:
            yield name, "tensors", lambda m, t: [pick(m, t)]
        else:
            yield name, "", lambda m, t: []


CASES = list(cases())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [(name, arguments) for name, _, arguments in CASES],
    ids=[f"{name} {kind}" for name, kind, _ in CASES],
)
def test_equal(name, arguments):
    ours, theirs = outcome(lamina, name, arguments), outcome(torch, name, arguments)
    assert ours[1] == theirs[1]
    for one, other in zip(ours[0], theirs[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_every_name():
    wanted = {name for name in dir(torch) if name.startswith("_foreach_")}
    assert wanted - FOREACH.keys() == {"_foreach_powsum"}
