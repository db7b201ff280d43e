"""Every layer of the table against PyTorch's recorded answers (see `layer_table`)."""

import json
from pathlib import Path

import pytest
from nn.layer_table import CASES, recorded

import lamina

PATH = Path(__file__).with_name("recorded_layer_table.json")
RECORDED = json.loads(PATH.read_text(encoding="utf-8"))


def test_every_answer_belongs_to_a_line():
    assert set(RECORDED) == {" | ".join(case) for case in CASES}


@pytest.mark.parametrize(("constructor", "inputs"), CASES, ids=[case[0] for case in CASES])
def test_a_layer(constructor, inputs):
    """Text, names, first weights, results and gradients in both modes are PyTorch's."""
    found = recorded(lamina, constructor, inputs)
    expected = RECORDED[f"{constructor} | {inputs}"]
    for name in ("repr", "names"):
        assert found.pop(name) == expected.pop(name)
    assert found.keys() == expected.keys()
    for name, arrays in expected.items():
        assert [prints[:2] for prints in found[name]] == [prints[:2] for prints in arrays]
        for ours, theirs in zip(found[name], arrays, strict=True):
            size = max(theirs[-1], 1.0)
            assert ours[2:] == pytest.approx(theirs[2:], rel=1e-4, abs=1e-4 * size), name
