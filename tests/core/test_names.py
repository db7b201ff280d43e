"""What a program calls its objects."""

import sys
import types

from lamina.core.names import name_of
from lamina.errors import Place


def test_without_a_frame_there_is_no_name():
    assert name_of(1, None) is None


def test_names_of_objects():
    w, other = object(), object()
    holder = types.SimpleNamespace(weight=object())
    layers = [object()]
    table = {"k": object()}
    frame = sys._getframe()
    assert name_of(w, frame) == "w"
    assert name_of(other, frame) == "other"
    assert name_of(holder.weight, frame) == "holder.weight"
    assert name_of(layers[0], frame) == "layers[0]"
    assert name_of(table["k"], frame) == "table['k']"
    assert name_of(object(), frame) is None
    assert name_of(Place, frame) == "Place"


def test_names_of_parameters():
    class Layer:
        def __init__(self, parameters, modules):
            self._parameters, self._buffers, self._modules = parameters, {}, modules

        def __getattr__(self, name):
            raise RuntimeError("asked for what it has not got")

    weight, deep = object(), object()
    model = Layer({"weight": weight}, {"0": Layer({}, {"lin": Layer({"bias": deep}, {})})})

    def frame_with_model_only(model):
        return sys._getframe()

    frame = frame_with_model_only(model)
    assert name_of(weight, frame) == "model.weight"
    assert name_of(deep, frame) == "model[0].lin.bias"


def test_a_plain_name_is_preferred():
    _ = _1 = value = object()
    assert name_of(value, sys._getframe()) == "value"
    del value
    assert name_of(_1, sys._getframe()) == "_"


def test_objects_with_strange_attributes_do_no_harm():
    class Strange:
        def __getattribute__(self, name):
            raise ValueError("no")

        def __eq__(self, other):
            raise ValueError("no")

        __hash__ = None

    strange = Strange()
    assert name_of(object(), sys._getframe()) is None
    assert name_of(strange, sys._getframe()) == "strange"
