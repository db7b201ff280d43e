"""Every declared operation, tested from its own declaration.

Expected derivatives come from mathematics: central differences along random directions. A rule is
checked on raw arrays, on tensors (`create_graph`), and once more for the second derivative; each
operation also runs on the simulated CUDA device and on `meta`, and must agree with the CPU.
"""

from __future__ import annotations

import contextlib
import warnings
import zlib
from typing import Any

import all_chapters  # noqa: F401  the whole catalogue
import numpy as np
import pytest

import lamina
from lamina.core.capture import capture
from lamina.core.op import Op, catalogue, is_written, traced
from lamina.core.samples import Make, Sample
from lamina.core.tensor import Tensor

STEP = 1e-6
WITH_SAMPLES = sorted(name for name, op in catalogue.items() if op.samples is not None)
DIFFERENTIABLE = [name for name in WITH_SAMPLES if catalogue[name].is_differentiable]


def samples_of(op: Op) -> list[Sample]:
    return op.samples(Make(zlib.crc32(op.name.encode())))


def as_tensors(value: Any, device: str) -> Any:
    """A sample's arrays as tensors."""
    if isinstance(value, np.ndarray):
        return lamina.tensor(value, device=device)
    if isinstance(value, list) and value and all(isinstance(v, np.ndarray) for v in value):
        return [as_tensors(item, device) for item in value]
    return value


def call(op: Op, args: Any, kwargs: Any) -> list[Tensor]:
    result = getattr(traced, op.name)(*args, **kwargs)
    found = list(result) if isinstance(result, tuple | list) else [result]
    return [tensor for tensor in found if tensor is not None]


def inputs_of(op: Op, args: Any, kwargs: Any) -> list[Tensor]:
    """The tensors that a derivative may be asked for, in order."""
    bound = op.bind(args, kwargs)
    flat: list[Tensor] = []
    for position in op.tensor_positions:
        if is_written(op.rules.get(position)):
            value = bound[position]
            flat += value if isinstance(value, list) else [value]
    return [t for t in flat if isinstance(t, Tensor) and t.dtype.is_differentiable]


def prepared(op: Op, sample: Sample) -> tuple[Any, Any]:
    """Fresh tensors for a sample's call; those with a derivative require grad."""
    args, kwargs = placed(sample, "cpu")
    for tensor in inputs_of(op, args, kwargs):
        tensor.requires_grad_()
    return args, kwargs


def placed(sample: Sample, device: str) -> tuple[Any, Any]:
    """A sample's call with tensors on a device."""
    args = [as_tensors(a, device) for a in sample.args]
    return args, {key: as_tensors(v, device) for key, v in sample.kwargs.items()}


def weights_of(outputs: list[Tensor]) -> list[Tensor]:
    random = np.random.default_rng(3)
    return [lamina.tensor(random.normal(size=tuple(t.shape))) for t in outputs]


def weighted(outputs: list[Tensor], weights: list[Tensor]) -> Tensor:
    """One number that depends on all differentiable outputs."""
    total = lamina.tensor(0.0, dtype=lamina.float64)
    for output, weight in zip(outputs, weights, strict=True):
        if output.dtype.is_complex:
            output = lamina.view_as_real(output)
            weight = lamina.stack([weight, 2 * weight], -1)
        total = total + (output * weight).sum()
    return total


def real_and_differentiable(outputs: list[Tensor]) -> list[Tensor]:
    return [t for t in outputs if t.dtype.is_differentiable and t.requires_grad]


def along(op: Op, sample: Sample, function: Any) -> tuple[float, float]:
    """The derivative of `function(args, kwargs)` along a random line: by rule, by difference."""
    random = np.random.default_rng(7)
    args, kwargs = prepared(op, sample)
    inputs = inputs_of(op, args, kwargs)
    directions = [random.normal(size=tuple(t.shape)) for t in inputs]
    grads = lamina.autograd.grad(
        function(args, kwargs), inputs, allow_unused=True, materialize_grads=True
    )
    by_rule = sum(
        float((g.detach().numpy().real * d).sum()) for g, d in zip(grads, directions, strict=True)
    )
    values = []
    for sign in (1, -1):
        args, kwargs = prepared(op, sample)
        with lamina.no_grad():
            for tensor, direction in zip(inputs_of(op, args, kwargs), directions, strict=True):
                tensor += sign * STEP * lamina.tensor(direction)
        values.append(function(args, kwargs).item())
    return by_rule, (values[0] - values[1]) / (2 * STEP)


@pytest.mark.parametrize("name", sorted(catalogue))
def test_every_operation_says_what_it_does(name: str) -> None:
    assert len(catalogue[name].doc) > 10


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_first_derivative_agrees_with_differences(name: str) -> None:
    op = catalogue[name]
    for sample in samples_of(op):
        args, kwargs = prepared(op, sample)
        if not inputs_of(op, args, kwargs):
            continue
        outputs = real_and_differentiable(call(op, args, kwargs))
        if not outputs:
            continue
        weights = weights_of(outputs)

        def value(args: Any, kwargs: Any, weights: Any = weights) -> Tensor:
            return weighted(real_and_differentiable(call(op, args, kwargs)), weights)

        by_rule, by_difference = along(op, sample, value)
        assert by_rule == pytest.approx(by_difference, rel=2e-5, abs=2e-6), sample.kwargs


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_second_derivative_agrees_with_differences(name: str) -> None:
    op = catalogue[name]
    for sample in samples_of(op)[:3]:
        args, kwargs = prepared(op, sample)
        inputs = inputs_of(op, args, kwargs)
        outputs = real_and_differentiable(call(op, args, kwargs)) if inputs else []
        if not outputs:
            continue
        weights, random = weights_of(outputs), np.random.default_rng(11)
        inner = [lamina.tensor(random.normal(size=tuple(t.shape))) for t in inputs]

        def slope(args: Any, kwargs: Any, weights: Any = weights, inner: Any = inner) -> Tensor:
            total = weighted(real_and_differentiable(call(op, args, kwargs)), weights)
            grads = lamina.autograd.grad(
                total, inputs_of(op, args, kwargs), create_graph=True, materialize_grads=True
            )
            real = [lamina.real(g) if g.dtype.is_complex else g for g in grads]
            return sum(((g * i).sum() for g, i in zip(real, inner, strict=True)), total * 0)

        by_rule, by_difference = along(op, sample, slope)
        assert by_rule == pytest.approx(by_difference, rel=5e-5, abs=5e-6), sample.kwargs


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_rules_agree_on_arrays_and_on_tensors(name: str) -> None:
    op = catalogue[name]
    for sample in samples_of(op):
        found = []
        for create_graph in (False, True):
            args, kwargs = prepared(op, sample)
            inputs = inputs_of(op, args, kwargs)
            outputs = real_and_differentiable(call(op, args, kwargs)) if inputs else []
            if not outputs:
                break
            found.append(
                lamina.autograd.grad(
                    weighted(outputs, weights_of(outputs)),
                    inputs,
                    create_graph=create_graph,
                    allow_unused=True,
                    materialize_grads=True,
                )
            )
        for raw_grad, traced_grad in zip(*found, strict=True) if found else ():
            assert raw_grad.dtype is traced_grad.dtype
            np.testing.assert_allclose(
                raw_grad.detach().numpy(), traced_grad.detach().numpy(), rtol=1e-9, atol=1e-12
            )


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_a_device_gives_what_the_cpu_gives(name: str) -> None:
    op = catalogue[name]
    with lamina.cuda.simulate(count=1):
        for sample in samples_of(op):
            host, there = placed(sample, "cpu"), placed(sample, "cuda")
            for expected, actual in zip(call(op, *host), call(op, *there), strict=True):
                assert actual.device.type == "cuda"
                assert actual.dtype is expected.dtype
                np.testing.assert_array_equal(actual.cpu().numpy(), expected.numpy())


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_meta_knows_shape_and_dtype(name: str) -> None:
    op = catalogue[name]
    for sample in samples_of(op):
        host = call(op, *placed(sample, "cpu"))
        try:
            meta = call(op, *placed(sample, "meta"))
        except lamina.errors.NoData:
            continue  # the result's shape depends on values, and the error says so
        for expected, actual in zip(host, meta, strict=True):
            assert (tuple(actual.shape), actual.dtype) == (tuple(expected.shape), expected.dtype)


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_a_captured_call_replays_with_equal_results(name: str) -> None:
    op = catalogue[name]
    for sample in samples_of(op):
        lamina.manual_seed(0)
        expected = result_and_gradients(op, sample)
        try:
            with capture() as recorder:
                captured = result_and_gradients(op, sample)
        except (lamina.errors.CaptureError, lamina.errors.NoData):
            continue  # what depends on values can't be captured, and the error says so
        lamina.manual_seed(0)
        wanted = [recorder.input(tensor._array) for tensor in captured]
        with np.errstate(all="ignore"):
            replayed = recorder.replay(recorder.inputs, wanted)
        for tensor, array in zip(expected, replayed, strict=True):
            np.testing.assert_array_equal(array, tensor.detach().numpy())


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_a_captured_call_replays_on_other_values(name: str) -> None:
    """Nothing that depends on inputs became a constant, also not in the rules."""
    op = catalogue[name]
    for sample in samples_of(op):
        args, kwargs = prepared(op, sample)
        tensors = inputs_of(op, args, kwargs)
        arrays = [tensor._array for tensor in tensors]
        try:
            with capture() as recorder:
                captured = outputs_and_gradients(op, args, kwargs)
        except (lamina.errors.CaptureError, lamina.errors.NoData):
            continue
        others = {id(array): array * 0.9 for array in arrays}
        given = [others.get(id(array), array) for array in recorder.inputs]
        wanted = [recorder.input(tensor._array) for tensor in captured]
        lamina.manual_seed(0)
        with np.errstate(all="ignore"):
            replayed = recorder.replay(given, wanted)
        lamina.manual_seed(0)
        args, kwargs = prepared(op, sample)
        for tensor in inputs_of(op, args, kwargs):
            with lamina.no_grad():
                tensor.copy_(tensor * 0.9)
        expected = outputs_and_gradients(op, args, kwargs)
        for tensor, array in zip(expected, replayed, strict=True):
            np.testing.assert_array_equal(array, tensor.detach().numpy())


def result_and_gradients(op: Op, sample: Sample) -> list[Tensor]:
    """A sample's outputs, and the gradients of its inputs."""
    return outputs_and_gradients(op, *prepared(op, sample))


def outputs_and_gradients(op: Op, args: Any, kwargs: Any) -> list[Tensor]:
    outputs = call(op, args, kwargs)
    inputs = inputs_of(op, args, kwargs)
    roots = real_and_differentiable(outputs) if inputs else []
    if not roots:
        return outputs
    weights = [lamina.ones_like(root) for root in roots]
    grads = lamina.autograd.grad(roots, inputs, weights, allow_unused=True, materialize_grads=True)
    return [*outputs, *grads]


AWKWARD = (np.inf, -np.inf, np.nan, 0.0, 1e308, 1e-320)


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_values_that_are_not_finite_make_no_warnings(name: str) -> None:
    """NumPy would warn of them; its own functions in Python do so in their own name."""
    op = catalogue[name]
    for sample in samples_of(op):
        args, kwargs = placed(sample, "cpu")
        tensors = [t for t in op.bind(args, kwargs) if isinstance(t, Tensor)]
        for tensor in tensors:
            if tensor.dtype.is_floating_point and tensor.numel():
                tensor._array.flat[:] = np.resize(AWKWARD, tensor.numel())
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"lamina\.")
            with contextlib.suppress(lamina.errors.LaminaError):
                call(op, args, kwargs)
        assert [str(w.message) for w in said if w.category is RuntimeWarning] == []
