"""`functionalize`, and what a tensor inside a `vmap` holds."""

from __future__ import annotations

import pytest
from autograd.recording import Cases, raises

import lamina
import lamina.func

case = Cases(__file__)


@case
def functions_are_functions(torch):
    x = torch.zeros(2)
    found = torch.func.functionalize(lambda t: t.add_(1))(x)
    views = torch.func.functionalize(lambda t: t[0], remove="mutations_and_views")(x)
    wrong = raises(
        lambda: torch.func.functionalize(lambda t: t, remove="all")(x), "invalid argument for"
    )
    return found, x, views, wrong


@case
def what_a_mapped_tensor_holds(torch):
    seen = []

    def look(x):
        inside = torch.func.debug_unwrap(x)
        seen.append([list(inside.shape), list(torch.func.debug_unwrap(x, recurse=False).shape)])
        return x

    torch.vmap(torch.vmap(look))(torch.zeros(2, 3, 4))
    plain = torch.ones(2)
    return seen, torch.func.debug_unwrap(plain) is plain


@pytest.mark.parametrize("name", case.functions)
def test_case(name):
    assert case.answer(name, lamina) == case.recorded(name)
