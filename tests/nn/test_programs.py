"""Programs about modules against PyTorch's recorded answers (see `programs`)."""

import copy
import json
from pathlib import Path

import nn.module_programs  # noqa: F401  adds to the table
import pytest
from nn.programs import PROGRAMS, answer, close

import lamina
import lamina.nn.utils.prune

PATH = Path(__file__).with_name("recorded_programs.json")
RECORDED = json.loads(PATH.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    found = answer(name, lamina)
    assert close(found, RECORDED[name]), (found, RECORDED[name])


def test_a_copy_stays_parametrized_when_the_other_does_not():
    parametrize = lamina.nn.utils.parametrize
    layer = lamina.nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", lamina.nn.Tanh())
    twin = copy.deepcopy(layer)
    parametrize.remove_parametrizations(layer, "weight")
    assert lamina.equal(twin.weight, twin.parametrizations.weight.original.tanh())


def test_a_refused_parametrization_changes_nothing():
    class Cut(lamina.nn.Module):
        def forward(self, x):
            return x

        def right_inverse(self, x):
            return x[:1] * 2

    layer = lamina.nn.Linear(2, 2)
    weight, before = layer.weight, layer.weight.detach().clone()
    with pytest.raises(ValueError, match="may not change the shape of the tensor"):
        lamina.nn.utils.parametrize.register_parametrization(layer, "weight", Cut())
    assert layer.weight is weight
    assert lamina.equal(layer.weight, before)


def test_every_answer_belongs_to_a_program():
    assert set(RECORDED) == set(PROGRAMS)
