"""Every setting of every layer: it prints as in PyTorch, or is refused by the same exception."""

import inspect
import warnings

import pytest
import torch
from nn.layer_table import CASES, Inputs
from nn.programs import raised

import lamina

# One constructor for each class.
CONSTRUCTORS = {constructor.partition("(")[0]: constructor for constructor, _ in reversed(CASES)}
WORDS = ("sum", "none", "mean", "max", "circular", "reflect", "bilinear", "gelu", "tanh", "bogus")


def values(parameter):
    """What to try for a parameter, by the kind of its default."""
    default = parameter.default
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, int):
        return [default + 1, 0, -1]
    if isinstance(default, float):
        return [0.25, 2.0, 0.0, -0.5]
    if isinstance(default, str):
        return WORDS
    if default is None and parameter.name not in ("device", "dtype", "weight", "device_ids"):
        return [2, 0.5, (2, 2)]
    return []


def outcome(library, constructor, name, value):
    """What a layer prints with one setting, or the exception that making it raises."""
    made = []
    comma = "" if constructor.endswith("()") else ", "
    scope = Inputs(library).scope() | {"value": value}
    text = f"nn.{constructor[:-1]}{comma}{name}=value)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = raised(lambda: made.append(eval(text, scope)))
    return repr(made[0]) if made else error


@pytest.mark.parametrize("kind", CONSTRUCTORS)
def test_settings(kind):
    constructor = CONSTRUCTORS[kind]
    for parameter in inspect.signature(getattr(torch.nn, kind).__init__).parameters.values():
        if f"{parameter.name}=" in constructor:
            continue
        for value in values(parameter):
            ours, theirs = (
                outcome(library, constructor, parameter.name, value) for library in (lamina, torch)
            )
            assert ours == theirs, (parameter.name, value)
