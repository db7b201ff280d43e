"""Kernels that fail: the argument that does not fit is named, and a fault of ours is called one."""

import inspect

import numpy as np
import pytest

import lamina
import tests.all_chapters  # noqa: F401, which fills the catalogue
from lamina import errors
from lamina.core.call import operation, run
from lamina.core.op import catalogue, raw, traced
from lamina.core.samples import Make
from lamina.core.tensor import wrap

TYPES = {"int": "a", "float": "a", "str": 3.5, "int | None": "a", "float | None": "a"}


@pytest.fixture
def faulty():
    """Declares an operation around a kernel with a fault, which leaves the catalogue again."""
    names = []

    def declare(kernel):
        names.append("faulty")
        return operation("faulty", kernel)

    yield declare
    for name in names:
        catalogue.pop(name, None)
        vars(raw).pop(name, None)
        vars(traced).pop(name, None)


def _missing_attribute(input, count: int = 2):
    return input.no_such_attribute


def _missing_name(input, count: int = 2):
    return no_such_name  # noqa: F821


def _missing_key(input, count: int = 2):
    return {}["key"]


def _wrong_operand(input, count: int = 2):
    return input.shape + count


def _too_many(input, count: int = 2):
    first, second = (1, 2, 3)
    return first, second


def _behind_the_end(input, count: int = 2):
    return input.shape[7]


FAULTS = [
    (_missing_attribute, AttributeError),
    (_missing_name, NameError),
    (_missing_key, KeyError),
    (_wrong_operand, TypeError),
    (_too_many, ValueError),
    (_behind_the_end, IndexError),
]


@pytest.mark.parametrize(("kernel", "kind"), FAULTS, ids=lambda case: case.__name__)
@pytest.mark.parametrize("way", ["short", "general"])
def test_a_fault_in_a_kernel_is_reported_as_ours_with_its_traceback(faulty, kernel, kind, way):
    op = faulty(kernel)
    x = lamina.ones(2, 3) if way == "short" else lamina.ones(2, 3, device="meta")
    with pytest.raises(errors.InternalError, match=r"faulty\(\) failed inside Lamina") as caught:
        op(x)
    cause = caught.value.__cause__
    assert type(cause) is kind
    assert "float32 [2, 3]" in str(caught.value)
    frames = []
    trace = cause.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert frames[-1] == kernel.__name__


@pytest.mark.parametrize("kernel", [_wrong_operand, _missing_attribute])
def test_the_same_failure_with_an_argument_of_the_wrong_type_names_the_argument(faulty, kernel):
    op = faulty(kernel)
    with pytest.raises(TypeError, match=r"argument 'count' \(position 2\) must be int, not str"):
        op(lamina.ones(2), "two")


def test_numpys_refusal_of_a_dtype_names_the_dtype(faulty):
    op = faulty(lambda input: np.bitwise_and(input, input))
    with pytest.raises(NotImplementedError, match="not implemented for 'Float'"):
        op(lamina.ones(2))


def test_numpys_refusal_of_a_shape_is_the_callers_and_shows_the_shapes(faulty):
    op = faulty(lambda input: input.reshape(5))
    with pytest.raises(errors.InvalidArgument, match=r"cannot reshape array of size 6") as caught:
        op(lamina.ones(2, 3))
    assert "float32 [2, 3]" in str(caught.value)


def _typed_parameters():
    found = []
    for name, op in sorted(catalogue.items()):
        if op.samples is None:
            continue
        for parameter in inspect.signature(op.kernel).parameters.values():
            wrong = TYPES.get(str(parameter.annotation))
            if wrong is not None and op.names.index(parameter.name) not in op.tensor_positions:
                found.append((name, parameter.name, wrong))
    return found


def _as_tensors(value):
    if isinstance(value, np.ndarray):
        return wrap(value, None)
    if isinstance(value, list | tuple) and any(isinstance(item, np.ndarray) for item in value):
        return [_as_tensors(item) for item in value]
    return value


@pytest.mark.parametrize(("name", "parameter", "wrong"), _typed_parameters())
def test_a_value_of_the_wrong_type_is_never_called_a_fault_of_ours(name, parameter, wrong):
    op = catalogue[name]
    sample = op.samples(Make(0))[0]
    args = map(_as_tensors, sample.args)
    kwargs = {key: _as_tensors(value) for key, value in sample.kwargs.items()}
    values = op.bind(tuple(args), kwargs)
    values[op.names.index(parameter)] = wrong
    try:
        run(op, values)
    except errors.InternalError as error:
        raise AssertionError(f"{parameter}={wrong!r} is called a fault of ours") from error
    except (errors.LaminaError, TypeError):
        pass
