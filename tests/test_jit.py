"""TorchScript's names: programs that use them run as Python."""

import warnings

import pytest

import lamina
from lamina import jit, nn


@pytest.fixture(autouse=True)
def quiet():
    jit._say_once.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def test_functions_and_modules_stay_what_they_are():
    @jit.script
    def double(x):
        return x * 2

    layer = nn.Linear(2, 1)
    assert double(lamina.ones(1)).item() == 2
    assert jit.script(layer) is layer
    assert jit.trace(layer, lamina.ones(1, 2)) is layer
    assert jit.freeze(layer.eval()) is layer


def test_it_is_said_once_for_each_name():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in (jit.script, jit.script, jit.trace):
            call(len)
    texts = [str(warning.message).split("`")[1] for warning in caught]
    assert texts == ["torch.jit.script", "torch.jit.trace"]
    assert caught[0].category is DeprecationWarning
    assert caught[0].filename == __file__


def test_a_module_written_for_it():
    class Scaled(jit.ScriptModule):
        __constants__ = ("factor",)

        def __init__(self):
            super().__init__()
            self.factor = 3
            self.bias = nn.Parameter(lamina.ones(1))

        @jit.script_method
        def forward(self, x):
            return self.halve(x) * self.factor + self.bias

        @jit.ignore
        def halve(self, x):
            return x / 2

        @jit.unused
        def never(self, x):
            return jit.annotate(list, x)

        @jit.ignore(drop=True)
        def dropped(self):
            return jit.is_scripting() or jit.is_tracing()

        @jit.export
        def other(self):
            return self.dropped()

    made = Scaled()
    assert made(lamina.ones(1)).item() == 2.5
    assert len(list(made.parameters())) == 1
    assert made.other() is False


def test_what_cannot_be_is_refused():
    with pytest.raises(RuntimeError, match="only implemented for modules in eval mode"):
        jit.freeze(nn.Linear(1, 1))
    for call in (lambda: jit.load("program.pt"), lambda: jit.save(nn.Linear(1, 1), "program.pt")):
        with pytest.raises(RuntimeError, match="no TorchScript programs"):
            call()
