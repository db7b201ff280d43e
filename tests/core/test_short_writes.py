"""Changes in place while nothing is recorded: the short ways do what the long one does."""

import warnings

import numpy as np
import pytest

import lamina
from lamina.core import inplace

WRITES = {
    "add_": lambda x, y: x.add_(y),
    "add_ scaled": lambda x, y: x.add_(y, alpha=0.5),
    "copy_": lambda x, y: x.copy_(y),
    "clamp_": lambda x, y: x.clamp_(-0.5, 0.5),
    "lerp_": lambda x, y: x.lerp_(y, 0.25),
    "addcmul_": lambda x, y: x.addcmul_(y, y, value=2),
    "masked_fill_": lambda x, y: x.masked_fill_(y > 0, 7.0),
    "sigmoid_": lambda x, y: x.sigmoid_(),
}
OPERANDS = {
    "like it": lambda x: lamina.linspace(-1, 2, 12).reshape(3, 4).clone(),
    "a row": lambda x: lamina.linspace(-1, 2, 8).reshape(2, 4)[1],
    "transposed": lambda x: lamina.linspace(-1, 2, 12).reshape(4, 3).t(),
    "itself": lambda x: x,
    "other dtype": lambda x: lamina.arange(12, dtype=lamina.float64).reshape(3, 4),
}


def values():
    return lamina.linspace(-2, 1, 12).reshape(3, 4).clone()


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("write", WRITES)
def test_short_and_long_ways_agree(write, operand, monkeypatch):
    found = []
    for is_short in (True, False):
        x = values()
        y = OPERANDS[operand](x)
        with monkeypatch.context() as patch:
            if not is_short:
                patch.setattr(inplace, "changed_plainly", lambda *args: False)
            try:
                assert WRITES[write](x, y) is x
                found.append((x.tolist(), x._version))
            except lamina.errors.LaminaError as error:
                found.append((type(error), str(error)))
    assert found[0] == found[1]


def test_a_change_through_data_is_counted_and_noted():
    x = lamina.ones(3, requires_grad=True)
    y = x * x
    x.data.mul_(2.0).add_(lamina.ones(3)).clamp_(0.0, 2.5)
    assert x.tolist() == [2.5, 2.5, 2.5]
    assert x._version == 0  # what is done through .data is not counted, as in PyTorch
    y.sum().backward()
    assert lamina.why(x).cause.name == "DONE_THROUGH_DATA"


def test_a_part_of_the_target_is_refused_as_an_operand():
    x = lamina.arange(6.0).reshape(2, 3).clone()
    with pytest.raises(RuntimeError, match="single memory location"):
        x.add_(x[1])
    x.add_(x[1].clone())
    assert x.tolist() == [[3, 5, 7], [6, 8, 10]]


def test_leaves_are_refused():
    x = lamina.ones(3, requires_grad=True)
    for write in WRITES.values():
        with pytest.raises(RuntimeError, match="leaf"):
            write(x, lamina.ones(3))
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize("action", ["error", "always"])
def test_values_that_are_not_finite_are_written_without_a_word(action):
    x = lamina.tensor([0.0, 1.0, -1.0])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter(action)
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"lamina\.")
        if action == "error":
            warnings.simplefilter("error")
        x.log_()
    np.testing.assert_array_equal(x.numpy(), [-np.inf, 0.0, np.nan])
    assert said == []


@pytest.mark.parametrize("kind", ["another dtype", "another shape"])
def test_a_result_that_does_not_fit_is_computed_once(kind, monkeypatch):
    op, calls = lamina.eq.op, []
    kernel = op.kernel

    def counted(*args, **kwargs):
        calls.append(args)
        return kernel(*args, **kwargs)

    monkeypatch.setattr(op, "kernel", counted)
    x, y = lamina.ones(3), lamina.ones(3) if kind == "another dtype" else lamina.ones(2, 3)
    if kind == "another dtype":
        assert inplace.apply_inplace(op, x, [x, y]).tolist() == [1, 1, 1]
        assert (x.dtype, x._version) == (lamina.float32, 1)
    else:
        with pytest.raises(lamina.errors.WriteShapeMismatch):
            inplace.apply_inplace(op, x, [x, y])
        assert x._version == 0
    assert len(calls) == 1
