"""Each rule of tensors and gradients, with the answer that PyTorch gives (see `rules`)."""

import json
from pathlib import Path

import pytest
from core.rules import PROGRAMS, answer

import lamina

RECORDED = json.loads(Path(__file__).with_name("recorded_rules.json").read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_rule(name):
    assert answer(name, lamina) == RECORDED[name]


def test_every_answer_belongs_to_a_rule():
    assert set(RECORDED) == set(PROGRAMS)
