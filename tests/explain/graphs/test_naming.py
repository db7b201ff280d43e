"""Names of tensors and modules, looked up for all of them at once."""

import sys

import lamina
from lamina import nn
from lamina.core.tensor import Tensor
from lamina.explain.graphs.naming import Program, scopes_of

at_module_level = lamina.ones(2)


class Trainer:
    def __init__(self):
        self.model = nn.Linear(2, 2)
        self.scale = lamina.ones(1)


def program():
    return Program(scopes_of(sys._getframe(1)), Tensor, nn.Module)


def test_variables_of_all_frames_are_read_the_innermost_first():
    inner = lamina.ones(1)

    def called(argument):
        return program().names, argument

    names, argument = called(inner)
    assert names[id(argument)] == "argument"
    assert names[id(at_module_level)] == "at_module_level"


def test_underscores_count_only_without_another_name():
    _ = lamina.ones(1)
    named = _
    _only = lamina.ones(1)
    names = program().names
    assert (names[id(named)], names[id(_only)]) == ("named", "_only")


def test_parts_of_lists_dicts_and_objects():
    layers = [nn.Linear(1, 1), nn.Linear(1, 1)]
    tensors = {"a": lamina.ones(1), 3: lamina.ones(1)}
    trainer = Trainer()
    found = program()
    assert found.names[id(layers[1].weight)] == "layers[1].weight"
    assert found.names[id(tensors["a"])] == "tensors['a']"
    assert found.names[id(tensors[3])] == "tensors[3]"
    assert found.names[id(trainer.model.bias)] == "trainer.model.bias"
    assert found.names[id(trainer.scale)] == "trainer.scale"


def test_a_module_is_named_by_the_outermost_that_holds_it():
    model = nn.Sequential(nn.Sequential(nn.Linear(1, 1)))
    inner = model[0]
    found = program()
    assert found.names[id(inner[0].weight)] == "model.0.0.weight"
    assert found.spots[id(inner[0])].modules == (model, inner, inner[0])


def test_a_module_without_a_variable_is_found_when_it_is_asked_for():
    def hidden():
        return nn.Linear(1, 1)

    keeper = iter([hidden()])
    parameter = None
    found = program()
    for module in keeper:
        parameter = module.weight
        assert id(parameter) not in found.names
        found.look_for([parameter], [])
        assert found.names[id(parameter)] == "Linear.weight"


def test_objects_that_refuse_to_be_looked_at_are_left_out():
    class Refusing(dict):
        def items(self):
            raise RuntimeError("no")

        @property
        def __class__(self):
            raise RuntimeError("no")

    refusing = Refusing()
    tensor = lamina.ones(1)
    assert program().names[id(tensor)] == "tensor"
    del refusing


def test_buffers_have_names_too():
    norm = nn.BatchNorm1d(2)
    assert program().names[id(norm.running_mean)] == "norm.running_mean"
