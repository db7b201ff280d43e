"""NumPy's names of arguments, in every function and method that PyTorch and Lamina have.

The calls are the samples of the catalogue, and calls made of values that parameters of their names
can take. Whatever PyTorch does with the call under NumPy's names, Lamina does.
"""

from __future__ import annotations

import functools
import inspect
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import lamina
from lamina.core.op import catalogue
from lamina.core.samples import Make
from tests.oracle.both import as_tensors

NUMPYS = {"dim": ["axis"], "keepdim": ["keepdims"], "input": ["x", "a", "x1"], "other": ["x2"]}

SPACES = {
    "": (lamina, torch),
    "Tensor": (lamina.Tensor, torch.Tensor),
    "linalg": (lamina.linalg, torch.linalg),
    "fft": (lamina.fft, torch.fft),
    "special": (lamina.special, torch.special),
    "nn.functional": (lamina.nn.functional, torch.nn.functional),
}
# They take 0.2 to 1.5 us, and a look for other names would be felt: see docs/differences.md.
UNTOUCHED = {"Tensor.size", "Tensor.stride", "nn.functional.linear"}
NATIVE = ("builtin_function_or_method", "method_descriptor")


def public_names() -> list[str]:
    """The functions and methods that both have, those of PyTorch native."""
    found = []
    for space, (ours, theirs) in SPACES.items():
        for name in dir(theirs):
            native = type(getattr(theirs, name)).__name__ in NATIVE
            if native and not name.startswith("_") and hasattr(ours, name):
                found.append(f"{space}.{name}".lstrip("."))
    return sorted(set(found) - UNTOUCHED)


def pair(name: str) -> tuple[Any, Any]:
    """Lamina's function of a name, and PyTorch's."""
    space, _, last = name.rpartition(".")
    ours, theirs = SPACES[space]
    return getattr(ours, last), getattr(theirs, last)


make = Make(0)
MATRIX = make(3, 3, low=0.2, high=0.8)
INDEX = np.zeros((3, 3), np.int64)
VALUES: dict[str, Any] = {
    "A": MATRIX, "B": MATRIX, "input": MATRIX, "other": MATRIX, "tensors": [MATRIX, MATRIX],
    "self": MATRIX, "dim": 0, "keepdim": True, "index": INDEX, "indices": INDEX, "src": MATRIX,
    "source": MATRIX, "start": 0, "length": 1, "sizes": (3, 1), "chunks": 2, "sections": 2,
    "indices_or_sections": 2, "split_size": 2, "split_sizes": (1, 2), "repeats": 2, "q": 0.5,
    "k": 1, "n": 2, "p": 2, "maxnorm": 1.0, "dims": (0,), "dim0": 0, "dim1": 1, "axis0": 0,
    "axis1": 1, "shape": (9,), "size": (3, 3), "value": 0.5, "fill_value": 0.5,
    "mask": MATRIX > 0.5, "condition": MATRIX > 0.5, "min": 0.3, "max": 0.6, "exponent": 2,
    "end": MATRIX, "weight": 0.5,
    "mat2": MATRIX, "vec2": MATRIX[0], "x": MATRIX, "y": MATRIX, "x1": MATRIX, "x2": MATRIX,
    "destination": 1, "reduce": "sum", "lambd": 0.5, "threshold": 0.5,
}  # fmt: skip


# Functions whose signatures do not tell.
ALONG = {"input": MATRIX, "dim": 1}
CHOSEN = [ALONG | {"keepdim": True}, ALONG, {"input": MATRIX}]
PAIRS = [{"input": MATRIX, "other": MATRIX.T}]
ROWS = np.array([0, 2])
SCATTERED = ALONG | {"index": INDEX}
CALLS = {
    "max": CHOSEN + PAIRS,
    "min": CHOSEN + PAIRS,
    "median": CHOSEN,
    "nanmedian": CHOSEN,
    "scatter": [SCATTERED | {"src": MATRIX}, SCATTERED | {"value": 2.0}],
    "tensor_split": [{"input": MATRIX, "sections": 2, "dim": 1}],
    "repeat_interleave": [{"input": MATRIX, "repeats": 2, "dim": 1}],
    "index_reduce": [
        {"input": MATRIX, "dim": 0, "index": ROWS, "source": MATRIX[:2], "reduce": "mean"}
    ],
    "movedim": [{"input": MATRIX, "source": 0, "destination": 1}],
    "moveaxis": [{"input": MATRIX, "source": 0, "destination": 1}],
    "outer": [{"input": ROWS, "vec2": ROWS}],
    "ger": [{"input": ROWS, "vec2": ROWS}],
    "lcm_": [{"input": ROWS, "other": ROWS}],
    "gcd_": [{"input": ROWS, "other": ROWS}],
    "xlogy_": PAIRS,
    "ldexp_": PAIRS,
    "clamp_": [{"input": MATRIX, "min": 0.3}],
    "conv1d": [{"input": MATRIX, "weight": MATRIX.reshape(3, 3, 1)}],
    "prelu": [{"input": MATRIX, "weight": MATRIX[0]}],
}


def calls(name: str) -> Iterator[dict[str, Any]]:
    """Arguments by name: the samples of the operation, and what its parameters' names tell."""
    space, _, last = name.rpartition(".")
    ours = pair(name)[0]
    prefix = f"{space}_" if space in ("linalg", "fft", "special") else ""
    base = last[:-1] if space == "Tensor" and last.endswith("_") else last
    for key in (prefix + base, base):
        op = catalogue.get(key)
        if op is not None and op.samples is not None:
            for sample in op.samples(Make(zlib.crc32(key.encode()))):
                yield dict(zip(op.names, sample.args, strict=False)) | sample.kwargs
    yield from CALLS.get(base, ())
    required: dict[str, Any] = {}
    further: dict[str, Any] = {}
    for parameter in inspect.signature(ours).parameters.values():
        known = parameter.name in VALUES
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            if not known:
                return
            required[parameter.name] = VALUES[parameter.name]
        elif parameter.name in NUMPYS and known:
            further[parameter.name] = VALUES[parameter.name]
    yield required | further
    for key in further:
        yield required | {key: further[key]}
    yield required


def outcome(module: Any, function: Any, arguments: dict[str, Any], is_method: bool) -> Any:
    """What a call gives, as arrays; or the class of its error."""
    found = {key: as_tensors(module, value) for key, value in arguments.items()}
    first = [found.pop(next(iter(found)))] if is_method else []
    module.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = function(*first, **found)
        except Exception as error:
            return type(error)
    # What stands in memory that nobody wrote to is chance.
    return tuple(made.shape) if "empty" in function.__name__ else made


def same(ours: Any, theirs: Any) -> bool:
    """Whether two results agree; or two errors in their kind."""
    if isinstance(theirs, type):
        return isinstance(ours, type) and issubclass(ours, theirs)
    if isinstance(ours, type):
        return False
    if isinstance(theirs, tuple | list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, torch.Tensor):
        if theirs.layout is not torch.strided:
            ours, theirs = ours.to_dense(), theirs.to_dense()
        wide = ours.to(lamina.complex128), theirs.to(torch.complex128)
        return np.allclose(*(t.detach().resolve_conj().numpy() for t in wide), equal_nan=True)
    return bool(np.all(ours == theirs))


def renamings(arguments: dict[str, Any], is_method: bool) -> Iterator[dict[str, Any]]:
    """The arguments with one, or all, of NumPy's names."""
    keys = [key for key in list(arguments)[is_method:] if key in NUMPYS]
    for key in keys:
        for alias in NUMPYS[key]:
            yield {(alias if k == key else k): v for k, v in arguments.items()}
    if len(keys) > 1:
        yield {(NUMPYS[k][0] if k in keys else k): v for k, v in arguments.items()}


@functools.cache
def usable(name: str) -> list[dict[str, Any]]:
    """Calls of a function that PyTorch takes under its own names, and Lamina too.

    No two give the same parameters.
    """
    ours, theirs = pair(name)
    is_method = name.startswith("Tensor.")
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for arguments in calls(name):
        if tuple(arguments) in found or not any(key in NUMPYS for key in arguments):
            continue
        expected = outcome(torch, theirs, arguments, is_method)
        if not isinstance(expected, type) and same(
            outcome(lamina, ours, arguments, is_method), expected
        ):
            found[tuple(arguments)] = arguments
    return list(found.values())


@pytest.mark.parametrize("name", public_names())
def test_names_are_taken_where_pytorch_takes_them(name):
    ours, theirs = pair(name)
    is_method = name.startswith("Tensor.")
    for arguments in usable(name):
        for renamed in renamings(arguments, is_method):
            expected = outcome(torch, theirs, renamed, is_method)
            made = outcome(lamina, ours, renamed, is_method)
            assert same(made, expected), (renamed.keys(), made, expected)


@pytest.mark.parametrize("name", public_names())
def test_a_name_given_twice_is_refused(name):
    ours, theirs = pair(name)
    is_method = name.startswith("Tensor.")
    defaults = inspect.signature(ours).parameters
    for arguments in usable(name):
        for key in list(arguments)[is_method:]:
            if key not in NUMPYS or NUMPYS[key][0] in arguments:
                continue
            # With its own default, an argument counts as not given.
            if key in defaults and arguments[key] is defaults[key].default:
                continue
            twice = arguments | {NUMPYS[key][0]: arguments[key]}
            if outcome(torch, theirs, twice, is_method) is TypeError:
                made = outcome(lamina, ours, twice, is_method)
                assert isinstance(made, type), twice.keys()
                assert issubclass(made, TypeError), twice.keys()


@pytest.mark.parametrize("call", ["torch.split(x, 1, axis=0)", "torch.norm(x, axis=0)"])
def test_functions_written_in_python_refuse_them(call):
    for module in (torch, lamina):
        with pytest.raises(TypeError, match="axis"):
            eval(call, {"torch": module, "x": module.ones(2, 2)})


def test_most_functions_are_called():
    assert sum(bool(usable(name)) for name in public_names()) > 750
