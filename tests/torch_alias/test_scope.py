"""Where `import torch` means Lamina, and where it does not any more."""

import importlib
import sys
from types import ModuleType

import pytest

import lamina
from lamina import errors


def test_afterwards_all_is_as_before(free):
    kinds = (lamina.Tensor, lamina.nn.Parameter)
    before = dict(sys.modules), list(sys.meta_path), [kind.__module__ for kind in kinds]
    with lamina.as_torch():
        importlib.import_module("torch.nn.functional")
        assert "torch.nn.functional" in sys.modules
    assert [name for name in sys.modules if name.partition(".")[0] == "torch"] == []
    assert all(sys.modules[name] is module for name, module in before[0].items())
    assert sys.meta_path == before[1]
    assert [kind.__module__ for kind in kinds] == before[2]


def test_it_ends_with_an_error_too(free):
    finders = list(sys.meta_path)
    with pytest.raises(ModuleNotFoundError), lamina.as_torch():
        import torch.nn.nothing  # noqa: F401
    assert "torch" not in sys.modules
    assert sys.meta_path == finders


def test_what_was_imported_inside_goes_on_working(free):
    with lamina.as_torch():
        from torch import nn
    assert nn.functional.relu(lamina.tensor([-1.0])).item() == 0
    assert nn.Linear(2, 1)(lamina.ones(2)).shape == (1,)


def test_blocks_may_be_nested(free):
    with lamina.as_torch():
        with lamina.as_torch():
            pass
        import torch

        assert torch.exp is lamina.exp
    assert "torch" not in sys.modules


def test_modules_that_hold_the_alias_are_forgotten(free, program, monkeypatch):
    monkeypatch.syspath_prepend(program(
        a_model="from torch import nn\nclass Net(nn.Module): pass\n",
        b_user="import a_model",
        c_other="import math\nvalue = math.pi",
        a_package__in____init__="from a_package.inner import relu",
        a_package__in__inner="from torch.nn.functional import relu",
    ))  # fmt: skip
    with lamina.as_torch():
        import a_model
        import a_package
        import c_other
    names = ("a_model", "a_package", "a_package.inner", "c_other")
    assert [name in sys.modules for name in names] == [False, False, False, True]
    assert a_model.Net() is not None
    assert a_package.relu is lamina.relu
    monkeypatch.delitem(sys.modules, c_other.__name__)


def test_the_real_torch_is_not_pushed_aside(free, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    with pytest.raises(errors.TorchIsLoaded, match="imported already"), lamina.as_torch():
        pass
    assert not any(type(finder).__name__ == "TorchFinder" for finder in sys.meta_path)


def test_without_it_torch_is_what_is_installed(free):
    with lamina.as_torch():
        pass
    finders = [type(finder).__name__ for finder in sys.meta_path]
    assert "TorchFinder" not in finders
