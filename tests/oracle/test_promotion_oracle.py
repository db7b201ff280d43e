"""Which dtype arithmetic gives: all pairs of dtypes and kinds of operand, compared with PyTorch."""

import builtins
import operator
import warnings

import pytest
import torch

import lamina

# Those that NumPy has and PyTorch computes with.
DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
EXTENDED = ["bfloat16", "uint16", "uint32", "uint64"]
NUMBERS = {"True": True, "2": 2, "1.5": 1.5, "1j": 1j}
OPERATIONS = {
    "add": operator.add,
    "mul": operator.mul,
    "div": operator.truediv,
    "sub": operator.sub,
    "pow": operator.pow,
    "lt": operator.lt,
    "eq": operator.eq,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
}
IN_PLACE = {
    "add_": operator.iadd,
    "mul_": operator.imul,
    "div_": operator.itruediv,
    "sub_": operator.isub,
    "pow_": operator.ipow,
    "lt_": lambda a, b: a.lt_(b),
    "eq_": lambda a, b: a.eq_(b),
    "floor_divide_": operator.ifloordiv,
    "remainder_": operator.imod,
}


def operands(module, names):
    """Each dtype with dimensions and without, and the numbers."""
    for name in names:
        kind = getattr(module, name)
        yield name, lambda kind=kind: module.tensor([1, 1]).to(kind)
        yield f"{name} 0-d", lambda kind=kind: module.tensor(1).to(kind)
    for name, number in NUMBERS.items():
        yield name, lambda number=number: number


def outcome(function, *arguments):
    """The dtype of a result, or the class of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(function(*arguments).dtype)
        except Exception as error:
            kind = next(c for c in type(error).__mro__ if c.__module__ == builtins.__name__)
            return "RuntimeError" if kind is NotImplementedError else kind.__name__


def answers(module, function, names):
    """What an operation answers to all pairs."""
    return {
        (first, second): outcome(function, make_first(), make_second())
        for first, make_first in operands(module, names)
        for second, make_second in operands(module, names)
        if first not in NUMBERS or second not in NUMBERS
    }


def differences(there, here):
    """The pairs on which the two differ, but for complex halves, which are no dtype here."""
    return {
        pair: (there[pair], here[pair])
        for pair in there
        if there[pair] != here[pair]
        and not ("16" in str(pair) and ("complex" in str(pair) or "j" in str(pair)))
    }


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_result_of_two_operands_has_pytorchs_dtype(name):
    function = OPERATIONS[name]
    assert not differences(answers(torch, function, DTYPES), answers(lamina, function, DTYPES))


@pytest.mark.parametrize("name", IN_PLACE)
def test_what_fits_in_place_is_what_fits_in_pytorch(name):
    function = IN_PLACE[name]
    assert not differences(answers(torch, function, DTYPES), answers(lamina, function, DTYPES))


@pytest.mark.parametrize("name", ["add", "mul", "div", "sub", "pow", "floor_divide", "remainder"])
def test_what_fits_out_is_what_fits_in_pytorch(name):
    def into(module, kind):
        function = getattr(module, name)
        target = getattr(module, kind)
        return lambda a, b: function(a, b, out=module.zeros(2).to(target))

    for kind in DTYPES:
        there, here = (answers(m, into(m, kind), DTYPES[2:]) for m in (torch, lamina))
        found = differences(there, here)
        assert not {pair: x for pair, x in found.items() if pair[0] not in NUMBERS}, kind


@pytest.mark.parametrize("name", ["add", "mul", "div", "eq"])
def test_the_rarer_dtypes_too(name):
    function = OPERATIONS[name]
    names = [*EXTENDED, "int64", "float32"]
    found = differences(answers(torch, function, names), answers(lamina, function, names))
    # PyTorch has no kernels for some.
    assert not {pair: x for pair, x in found.items() if x[0] != "RuntimeError"}


@pytest.mark.parametrize("function", ["promote_types", "can_cast"])
def test_two_dtypes_alone(function):
    names = [*DTYPES, "bfloat16"]
    for first in names:
        for second in names:
            there, here = (
                str(getattr(m, function)(getattr(m, first), getattr(m, second)))
                for m in (torch, lamina)
            )
            assert there in (here, "torch.complex32"), (first, second)


def test_result_type_of_all_pairs():
    there, here = (answers_of_result_type(m) for m in (torch, lamina))
    assert there == here


def answers_of_result_type(module):
    """The dtypes that `result_type` gives."""
    return {
        (first, second): str(module.result_type(make_first(), make_second()))
        for first, make_first in operands(module, DTYPES[:6] + DTYPES[7:])
        for second, make_second in operands(module, DTYPES[:6] + DTYPES[7:])
    }
