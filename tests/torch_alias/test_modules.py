"""What the modules called torch hold, and what is said about what they do not."""

import importlib.util
import pickle
import sys

import pytest

import lamina
from lamina import errors
from lamina.torch_alias import pytorch, sources


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("import torch", "lamina.relu"),
        ("import torch.nn as nn; torch = nn.functional", "lamina.nn.functional.relu"),
        ("from torch.nn import functional as torch", "lamina.nn.functional.relu"),
        ("import torch.nn.functional", "lamina.relu"),
        ("import importlib; torch = importlib.import_module('torch.nn.functional')",
         "lamina.nn.functional.relu"),
    ],
)  # fmt: skip
def test_ways_to_import(alias, statement, expected):
    names = {}
    exec(statement, names)
    assert names["torch"].relu is eval(expected)


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        ("torch.nn", "Linear", lamina.nn.Linear),
        ("torch.nn.modules", "Linear", lamina.nn.Linear),
        ("torch.nn.modules.linear", "Linear", lamina.nn.Linear),
        ("torch.nn.modules.loss", "_Loss", lamina.nn.loss._Loss),
        ("torch.nn.parameter", "Parameter", lamina.nn.Parameter),
        ("torch.optim.adamw", "AdamW", lamina.optim.AdamW),
        ("torch.optim.optimizer", "Optimizer", lamina.optim.Optimizer),
        ("torch.optim.lr_scheduler", "StepLR", lamina.optim.lr_scheduler.StepLR),
        ("torch.autograd", "Function", lamina.autograd.Function),
        ("torch.autograd.function", "Function", lamina.autograd.Function),
        ("torch.functional", "einsum", lamina.einsum),
        ("torch.utils.checkpoint", "checkpoint", lamina.utils.checkpoint.checkpoint),
    ],
)
def test_where_names_are(alias, module, name, value):
    assert getattr(importlib.import_module(module), name) is value
    names = {}
    exec(f"from {module} import {name} as found", names)
    assert names["found"] is value


def test_parts_are_reached_without_importing_them(alias):
    import torch

    assert torch.nn.utils.clip_grad_norm_ is lamina.nn.utils.clip_grad_norm_
    assert torch.backends.mps.is_available() is False
    assert torch.distributed.is_available() is False


def test_a_star_import_brings_the_public_names(alias):
    names = {}
    exec("from torch import *", names)
    assert names["matmul"] is lamina.matmul
    assert "_homes" not in names


def test_what_only_lamina_has_is_there(alias):
    import torch

    assert torch.why is lamina.why


def test_files_of_lamina_are_no_modules_of_torch(alias):
    import torch

    assert not hasattr(torch, "core")
    assert not hasattr(torch.nn, "activation")
    assert not hasattr(torch.nn.functional, "ReLU")
    assert importlib.util.find_spec("torch.nn.activation") is None


def test_a_function_is_not_hidden_by_a_module_of_its_name(alias):
    import torch.nn.utils.clip_grad
    import torch.utils.checkpoint
    from torch.autograd import gradcheck

    assert callable(gradcheck)
    import torch.autograd.gradcheck as module

    assert torch.autograd.gradcheck is gradcheck
    assert module is gradcheck  # as in PyTorch: `import a.b as c` reads the attribute


def test_assigning_to_the_alias_leaves_lamina_alone(alias):
    import torch

    original = lamina.exp
    torch.exp = None
    assert torch.exp is None
    assert lamina.exp is original


def test_settings_are_laminas_own(alias, monkeypatch):
    import torch

    monkeypatch.setattr(lamina.backends.cudnn, "benchmark", False)
    torch.backends.cudnn.benchmark = True
    assert lamina.backends.cudnn.benchmark is True
    with torch.backends.cudnn.flags(enabled=False):
        assert torch.backends.cudnn.benchmark is False
    assert torch.backends.cudnn.benchmark is True


def test_dir_lists_what_can_be_used(alias):
    import torch

    listed = dir(torch.nn)
    assert {"Linear", "functional", "Module"} <= set(listed)
    assert [name for name in listed if not hasattr(torch.nn, name)] == []


@pytest.mark.parametrize("module", ["torch", "torch.nn.functional", "torch.optim.lr_scheduler"])
def test_questions_about_missing_names_are_answered(alias, module):
    found = importlib.import_module(module)
    assert not hasattr(found, "no_such_name")
    assert getattr(found, "no_such_name", 3) == 3


def test_a_missing_name_says_where_and_what_is_near(alias):
    from torch.nn import functional as F

    with pytest.raises(AttributeError, match=r"module 'torch.nn.functional' has no attribute") as e:
        F.leeky_relu(1)
    assert isinstance(e.value, errors.MissingName)
    assert e.value.places[0].expression == "F.leeky_relu"
    assert "`torch.nn.functional.leaky_relu`" in e.value.help[0]


def test_a_name_in_the_wrong_module_is_shown_where_it_is(alias):
    import torch

    with pytest.raises(AttributeError, match=r"it is here: `torch.nn.Bilinear`"):
        torch.Bilinear  # noqa: B018


def test_a_missing_import_says_where_and_what_is_near(alias):
    with pytest.raises(ImportError, match=r"cannot import name 'Linaer' from 'torch.nn'") as error:
        from torch.nn import Linaer  # noqa: F401
    assert not isinstance(error.value, ModuleNotFoundError)
    assert error.value.name == "torch.nn"
    assert error.value.places[0].text.strip() == "from torch.nn import Linaer  # noqa: F401"
    assert "`torch.nn.Linear`" in error.value.help[0]


def test_a_missing_module_is_not_found(alias):
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'torch.optimm'") as error:
        import torch.optimm  # noqa: F401
    assert error.value.name == "torch.optimm"
    assert "`torch.optim`" in error.value.help[0]


def test_the_error_knows_what_pytorch_has(alias, monkeypatch):
    import torch

    monkeypatch.setattr(pytorch, "names", lambda module: frozenset({"later_op"}))
    with pytest.raises(AttributeError, match="PyTorch has this, Lamina does not"):
        torch.later_op  # noqa: B018
    with pytest.raises(AttributeError, match="neither Lamina nor PyTorch"):
        torch.never_op  # noqa: B018


def test_programs_fall_back_as_they_do(alias):
    try:
        from torch.nn import NoSuchLayer
    except ImportError:
        NoSuchLayer = None
    try:
        import torch._six as six
    except ImportError:
        six = None
    import torch

    try:
        found = torch.no_such_function
    except AttributeError:
        found = None
    assert (NoSuchLayer, six, found) == (None, None, None)


class TestLateNames:
    """Names of modules that Lamina has nothing of fail where they are used."""

    def test_they_can_be_imported_and_stand_in_classes(self, alias):
        from torch.distributed import init_process_group
        from torch.distributed.fsdp import FullyShardedDataParallel

        class Wrapped(FullyShardedDataParallel):
            pass

        assert not isinstance(1, FullyShardedDataParallel)
        assert "init_process_group" in repr(init_process_group)
        with pytest.raises(AttributeError, match=r"'torch.distributed.fsdp' has no attribute"):
            Wrapped()

    def test_calling_one_names_it_and_the_line(self, alias):
        from torch.distributed import init_process_group

        with pytest.raises(AttributeError, match="'init_process_group'") as error:
            init_process_group("nccl")
        assert error.value.places[0].expression == 'init_process_group("nccl")'

    def test_questions_are_answered_with_no(self, alias):
        import torch.onnx

        assert not hasattr(torch.distributed, "all_reduce")
        assert not hasattr(torch.onnx, "export")

    def test_names_that_pytorch_has_not_fail_at_once(self, alias):
        with pytest.raises(ImportError, match="cannot import name 'init_process_gruop'"):
            from torch.distributed import init_process_gruop  # noqa: F401

    def test_modules_that_lamina_has_are_not_late(self, alias):
        with pytest.raises(ImportError, match="cannot import name 'NoSuchOptimizer'"):
            from torch.optim.adam import NoSuchOptimizer  # noqa: F401


def test_types_say_torch(alias):
    import torch

    assert str(type(torch.ones(1))) == "<class 'torch.Tensor'>"
    assert type(torch.nn.Parameter(torch.ones(1))).__module__.split(".")[0] == "torch"


def test_pickles_do_not_depend_on_the_alias(alias):
    import torch

    values = (torch.ones(2), torch.nn.Parameter(torch.ones(2)), torch.float32, torch.Size([2]))
    assert b"torch" not in pickle.dumps(values)


def test_a_missing_function_is_not_taken_for_the_module_of_its_name(alias, monkeypatch):
    names = pytorch.names
    monkeypatch.setattr(
        pytorch, "names", lambda path: names(path) | ({"export"} if path == "torch" else set())
    )
    with pytest.raises(ImportError, match="cannot import name 'export'"):
        from torch import export  # noqa: F401


def test_every_module_of_pytorchs_can_be_imported(alias):
    left_out = []
    for name in pytorch.modules():
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            left_out.append(name)
    # Only those that stand for a function of the same name, which Lamina does not have.
    for name in left_out:
        package, _, last = name.rpartition(".")
        assert last in pytorch.names(package)


class TestMentionedTypes:
    """What Lamina lacks may stand in an annotation, which uses nothing of it."""

    def test_of_an_argument_a_result_and_a_variable(self, alias):
        import torch

        class Graphs:
            kept: dict[int, torch.cuda.CUDAGraph]

            def get(self, key: int, pool: torch.cuda.MemPool = None) -> torch.cuda.CUDAGraph | None:
                return None

        assert Graphs().get(1) is None
        with pytest.raises(AttributeError, match="'CUDAGraph'"):
            torch.cuda.CUDAGraph()

    def test_a_name_that_pytorch_lacks_too_is_an_error_there(self, alias):
        import torch

        with pytest.raises(AttributeError, match="no attribute 'Tensro'"):

            def f(x: torch.Tensro):
                return x


def test_modules_that_pytorch_imports_itself_are_attributes(alias):
    import torch

    assert torch.export.__name__ == "torch.export"
    assert not hasattr(torch, "export_of_nothing")
    assert torch.torch is torch


def test_private_modules_can_be_imported(alias):
    import torch
    from torch._subclasses.fake_tensor import is_fake

    with pytest.raises(AttributeError, match="'is_fake'"):
        is_fake(torch.ones(1))


def test_the_installed_version_is_known(alias):
    import importlib.metadata

    import torch

    assert importlib.metadata.version("torch") == str(torch.__version__)
    assert importlib.metadata.distribution("torch").metadata["Name"] == "torch"
    assert "torch" in {found.name for found in importlib.metadata.distributions()}


def test_a_missing_name_is_told_where_an_extra_is_not_installed(alias, monkeypatch):
    """The search for similar names asks about modules, and loads none of them."""
    import torch

    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    for name in [name for name in sys.modules if name.startswith("lamina.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    sources._places.cache_clear()
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        torch.utils.no_such_name  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        torch.no_such_name  # noqa: B018


def test_graphs_and_reasons_under_the_alias(alias):
    """The name `torch` is Lamina's then, and its tensors are not read as PyTorch's."""
    import torch

    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    assert [node.word for node in y.graph().model.nodes] == ["leaf", "mul", "sum"]
    assert "was computed from" in str(torch.why(y))
    layer = torch.nn.Linear(2, 1)
    assert lamina.explain.graph(layer, torch.ones(1, 2)).model.nodes
