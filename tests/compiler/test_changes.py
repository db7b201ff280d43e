"""Whatever changes between two calls, a compiled function gives what the function gives."""

import collections
import contextvars
import copy
import enum
import functools
import random
import textwrap
import types
import warnings
import weakref

import numpy as np
import pytest

import lamina
from lamina import nn
from lamina.compiler import compile as compiled
from tests.compiler.changes import LIBRARY, OPTIMIZERS, PYTHON

MODULES = (collections, contextvars, copy, enum, functools, random, types, weakref)


def _shown(value):
    if isinstance(value, lamina.Tensor):
        values = None if value.device.type == "meta" else value.detach().double().numpy()
        return value.dtype, value.requires_grad, values
    return [_shown(item) for item in value] if isinstance(value, tuple | list) else value


def _outcome(function):
    """What a call gives, and the gradient that goes back through it."""
    x = (lamina.arange(6.0).reshape(2, 3) / 3).requires_grad_(lamina.is_grad_enabled())
    found = function(x)
    results = found if isinstance(found, tuple) else (found,)
    wanted = [result.sum() for result in results if result.requires_grad]
    if wanted:
        sum(wanted).backward()
    return [_shown(found), None if x.grad is None else _shown(x.grad)]


def _outcomes(change, use):
    """The outcomes of calls before a change, after it, and after it was undone."""
    names = {"torch": lamina, "nn": nn, "F": nn.functional, "np": np, "h": []}
    names |= {module.__name__: module for module in MODULES}
    names["__name__"] = __name__

    def run(text):
        exec(textwrap.dedent(text).strip(), names)

    lamina.manual_seed(0)
    lamina.use_deterministic_algorithms(False)  # whatever ran before in this process
    run(change.setup)
    run(f"def function(x):\n    return {change.result}")
    function = use(names["function"])
    found = [_outcome(function) for _ in range(3)]
    try:
        run(change.change)
        found += [_outcome(function) for _ in range(2)]
    finally:
        run(change.undo)
    return [*found, _outcome(function)]


def _check_equal(ours, theirs):
    if isinstance(ours, list | tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            _check_equal(a, b)
    elif isinstance(ours, np.ndarray):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    else:
        assert ours == theirs


@pytest.mark.parametrize("change", [*LIBRARY, *OPTIMIZERS, *PYTHON], ids=lambda change: change.name)
def test_a_change_between_calls_is_seen(change):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lamina.errors.CaptureWarning)
        warnings.simplefilter("ignore", lamina.errors.NonLeafGradWarning)
        _check_equal(_outcomes(change, compiled), _outcomes(change, lambda function: function))
