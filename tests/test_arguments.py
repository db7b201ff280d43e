"""What is no tensor is named as such, by every public function."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import lamina
from lamina.nn import functional

FOR_FILES = {"load", "save"}
"""They take paths, and `save` would write one of the name given; `tests/io` has their errors."""
CALLS: list[tuple[Any, ...]] = [("x",), (None,), ("x", 1), ([object()],), ([object()], 0)]
SECOND: list[Any] = ["x", None, object()]


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in (lamina, functional, lamina.linalg, lamina.fft):
        for name in module.__all__:
            found = getattr(module, name)
            # What sets an option would set it for the tests that follow.
            is_left_out = inspect.isclass(found) or name.startswith("set_") or name in FOR_FILES
            if callable(found) and not is_left_out:
                yield f"{module.__name__}.{name}", found


FUNCTIONS = dict(public_functions())


def failure(function: Callable[..., Any], *arguments: Any) -> Exception | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*arguments)
        except Exception as error:
            return error
    return None


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_fails_on_an_attribute_of_what_is_no_tensor(name: str) -> None:
    x = lamina.ones(2, 3)
    for arguments in [*CALLS, *((x, other) for other in SECOND)]:
        error = failure(FUNCTIONS[name], *arguments)

        assert not isinstance(error, AttributeError), f"{arguments}: {error}"
        assert "_array" not in str(error)


@pytest.mark.parametrize("name", ["mse_loss", "cross_entropy", "softmax", "flatten", "where"])
def test_the_argument_is_named(name: str) -> None:
    function = getattr(functional, name, None) or getattr(lamina, name)

    error = failure(function, "x", "y", "z")

    assert isinstance(error, TypeError)
    assert "must be Tensor, not str" in str(error) or "must be tuple of Tensors" in str(error)
