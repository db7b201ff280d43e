"""Every operation, by its samples: its tangents, and all samples of a batch at once.

Tangents are compared with differences; a mapped call with one call for each sample.
"""

from __future__ import annotations

import zlib

import all_chapters  # noqa: F401  (declares everything)
import numpy as np
import pytest

import lamina
import lamina.func
from lamina.core.op import catalogue, is_written, traced
from lamina.core.samples import Make
from lamina.devices import batched

STEP = 1e-6
WITH_SAMPLES = sorted(name for name, op in catalogue.items() if op.samples is not None)
SMOOTH = [
    name
    for name in WITH_SAMPLES
    if catalogue[name].is_differentiable and all(map(is_written, catalogue[name].rules.values()))
]


def samples_of(op, seed=0):
    return op.samples(Make(zlib.crc32(op.name.encode()) + seed))


def as_tensors(value):
    if isinstance(value, np.ndarray):
        return lamina.tensor(value)
    if type(value) in (list, tuple):
        return type(value)(as_tensors(item) for item in value)
    return value


def arguments_of(op, sample):
    """The values of all parameters, tensors where the operation takes them."""
    values = op.bind(sample.args, sample.kwargs)
    for position in op.tensor_positions:
        values[position] = as_tensors(values[position])
    return values


def places_of(op, values, wants):
    """The places of tensors among the values: positions, or a position in a list."""
    for position in op.tensor_positions:
        value = values[position]
        if isinstance(value, list):
            yield from ((position, k) for k, item in enumerate(value) if wants(position, item))
        elif isinstance(value, lamina.Tensor) and wants(position, value):
            yield position, None


def with_tensors(values, places, tensors):
    given = [list(v) if isinstance(v, list) else v for v in values]
    for (position, k), tensor in zip(places, tensors, strict=True):
        if k is None:
            given[position] = tensor
        else:
            given[position][k] = tensor
    return given


def called(op, values):
    """The outputs of an operation, by its caller."""
    by_name = dict(zip(op.names[op.positional :], values[op.positional :], strict=True))
    result = getattr(traced, op.name)(*values[: op.positional], **by_name)
    return list(result) if isinstance(result, tuple | list) else [result]


@pytest.mark.parametrize("name", SMOOTH)
def test_tangents_are_directional_derivatives(name):
    op = catalogue[name]
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    for sample in samples_of(op):
        values = arguments_of(op, sample)
        places = list(
            places_of(op, values, lambda p, t: p in op.rules and t.dtype.is_differentiable)
        )
        primals = [values[p] if k is None else values[p][k] for p, k in places]
        if not primals:
            continue
        directions = [lamina.tensor(direction(generator, x)) for x in primals]

        def function(*tensors, values=values, places=places):
            outputs = called(op, with_tensors(values, places, tensors))
            return tuple(
                o
                for index, o in enumerate(outputs)
                if o.dtype.is_differentiable and index not in op.constants
            )

        _, tangents = lamina.func.jvp(function, tuple(primals), tuple(directions))
        moved = [
            function(*[x + sign * STEP * v for x, v in zip(primals, directions, strict=True)])
            for sign in (1, -1)
        ]
        for tangent, ahead, behind in zip(tangents, *moved, strict=True):
            expected = (ahead - behind).numpy() / (2 * STEP)
            np.testing.assert_allclose(tangent.numpy(), expected, rtol=2e-4, atol=2e-6)


def direction(generator, x):
    made = generator.standard_normal(tuple(x.shape))
    if x.dtype.is_complex:
        made = made + 1j * generator.standard_normal(tuple(x.shape))
    return made.astype(x.dtype.numpy)


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_a_batch_gives_what_its_samples_give(name):
    op = catalogue[name]
    for first, second in zip(samples_of(op), samples_of(op, seed=1), strict=True):
        one, two = arguments_of(op, first), arguments_of(op, second)
        places = list(places_of(op, one, lambda p, t: True))
        pairs = [
            [values[p] if k is None else values[p][k] for values in (one, two)] for p, k in places
        ]
        if not pairs or any(x.shape != y.shape or x.dtype != y.dtype for x, y in pairs):
            continue

        def function(*tensors, values=one, places=places):
            return called(op, with_tensors(values, places, tensors))

        stacked = [lamina.stack(pair) for pair in pairs]
        by_hand = [function(*[pair[k] for pair in pairs]) for k in (0, 1)]
        shapes = {tuple(tuple(o.shape) for o in outputs) for outputs in by_hand}
        if len(shapes) > 1:
            continue
        for mapped, *expected in zip(lamina.vmap(function)(*stacked), *by_hand, strict=True):
            close(mapped, lamina.stack(expected))


def close(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(
        found.resolve_conj().numpy(), expected.resolve_conj().numpy(), rtol=1e-9, atol=1e-11
    )


USUAL = {
    "abs", "add", "amax", "argmax", "bmm", "cat", "clone", "cos", "cumsum", "div", "embedding",
    "exp", "expm1", "flip", "gather", "index_select", "layer_norm", "leaky_relu", "linear",
    "log", "log_softmax", "logsumexp", "masked_fill", "matmul", "max", "mean", "mm", "mul",
    "neg", "permute", "pow", "relu", "reshape", "rsqrt", "select", "sigmoid", "sin", "slice",
    "softmax", "softplus", "sort", "split", "sqrt", "stack", "sub", "sum", "tanh", "transpose",
    "tril", "unsqueeze", "var", "view", "where",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(USUAL & set(WITH_SAMPLES)))
def test_usual_operations_need_no_samples(name, monkeypatch):
    """All samples at once, and by a rule of each NumPy function: nothing goes sample by sample."""

    def fail(*_):
        raise AssertionError("sample by sample")

    monkeypatch.setattr("lamina.func.mapping._one_by_one", fail)
    monkeypatch.setattr(batched, "_joined", fail)
    op = catalogue[name]
    for sample in samples_of(op):
        values = arguments_of(op, sample)
        places = list(places_of(op, values, lambda p, t: True))
        tensors = [values[p] if k is None else values[p][k] for p, k in places]
        if tensors:
            lamina.vmap(lambda *given, v=values, w=places: called(op, with_tensors(v, w, given)))(
                *[lamina.stack([x, x]) for x in tensors]
            )
