"""Every declared operation gives the same compiled as eagerly, and so do its gradients."""

import gc
import zlib

import all_chapters  # noqa: F401  the whole catalogue
import numpy as np
import pytest

import lamina
from lamina.compiler import compile
from lamina.core.op import catalogue, traced
from lamina.core.samples import Make
from lamina.core.tensor import Tensor


@pytest.fixture(autouse=True, scope="module")
def _few_objects():
    """A capture looks at all objects for tensors; earlier tests' would cost it 0.1 s each."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


NAMES = sorted(name for name, op in catalogue.items() if op.samples is not None)


def placed(value, requires):
    """A sample's arrays as tensors; floats require grad."""
    if isinstance(value, np.ndarray):
        tensor = lamina.tensor(value)
        if requires and tensor.dtype.is_differentiable:
            tensor.requires_grad_()
        return tensor
    if isinstance(value, list | tuple) and any(isinstance(v, np.ndarray) for v in value):
        return type(value)(placed(item, requires) for item in value)
    return value


def tensors_in(values):
    found = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += tensors_in(value)
    return found


def outcome(function, sample, requires):
    """Results and gradients of a call, or the error that it raises."""
    args = [placed(a, requires) for a in sample.args]
    kwargs = {key: placed(v, requires) for key, v in sample.kwargs.items()}
    lamina.manual_seed(1)
    found = function(*args, **kwargs)
    results = tensors_in([found])
    wanted = [r for r in results if r.requires_grad]
    if wanted:
        lamina.autograd.backward(wanted, [lamina.ones_like(r) for r in wanted])
    inputs = tensors_in([*args, *kwargs.values()])
    grads = [t.grad for t in inputs]
    return results, grads


@pytest.mark.filterwarnings("ignore::lamina.errors.CaptureWarning")
@pytest.mark.parametrize("requires", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_compiled_is_eager(name, requires):
    op = catalogue[name]
    function = getattr(traced, name)
    for sample in op.samples(Make(zlib.crc32(name.encode()))):
        try:
            expected = outcome(function, sample, requires)
        except Exception as error:
            with pytest.raises(type(error)):
                outcome(compile(function), sample, requires)
            continue
        run = compile(function)
        for _ in range(2):
            actual = outcome(run, sample, requires)
            same(actual, expected)


def same(actual, expected):
    for found, wanted in zip(actual, expected, strict=True):
        assert len(found) == len(wanted)
        for a, e in zip(found, wanted, strict=True):
            if e is None:
                assert a is None
                continue
            assert a.dtype == e.dtype
            assert a.shape == e.shape
            assert a.requires_grad == e.requires_grad
            x, y = a.detach().resolve_conj().numpy(), e.detach().resolve_conj().numpy()
            wide = x.dtype.itemsize >= 8
            np.testing.assert_allclose(
                x.astype(x.dtype if x.dtype.kind in "fciub" else np.float32),
                y.astype(y.dtype if y.dtype.kind in "fciub" else np.float32),
                rtol=1e-9 if wide else 1e-4, atol=1e-9 if wide else 1e-5,
            )  # fmt: skip
