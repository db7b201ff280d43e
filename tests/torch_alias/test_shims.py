"""Modules that exist for programs which ask: what they answer on one CPU."""

import multiprocessing

import pytest

import lamina
from lamina.torch_alias.shims.torch_version import TorchVersion


def test_the_version_compares_as_one(alias):
    import torch

    assert torch.__version__ == "2.13.0+lamina"
    assert torch.__version__ > "2.2"
    assert torch.__version__ >= (2, 13)
    assert torch.__version__.split(".")[:2] == ["2", "13"]
    assert torch.version.__version__ is torch.__version__
    assert torch.version.cuda is None


@pytest.mark.parametrize(
    ("other", "order"),
    [("2.13", 1), ("2.13.0", 1), ("2.13.0+lamina", 0), ((2, 13), 1), ("2.13.0+cpu", 1),
     ("2.14.0a0", -1), ("2.13.0rc1", 1), ("2.13.0.post1", -1), ("1.9", 1), ((2, 13, 1), -1),
     ([2, 13], 1), ("x", -1)],
)  # fmt: skip
def test_the_order_of_versions(other, order):
    version = TorchVersion("2.13.0+lamina")
    found = (version < other, version <= other, version == other, version >= other, version > other)
    assert found == (order < 0, order <= 0, order == 0, order >= 0, order > 0)
    assert (version != other) is (order != 0)


def test_multiprocessing_is_pythons(alias):
    import torch.multiprocessing as mp

    assert mp.Queue == multiprocessing.Queue
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"


def test_hub_refuses_with_a_repair(alias):
    import torch

    with pytest.raises(NotImplementedError, match=r"then this call reads it"):
        torch.hub.load_state_dict_from_url("https://host/weights.pt")
    with pytest.raises(NotImplementedError, match=r"pass its folder"):
        torch.hub.load("owner/name", "resnet")


def test_the_folder_of_hub(alias, monkeypatch):
    import torch

    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert torch.hub.get_dir() == "/somewhere/hub"


def test_the_compiler_can_be_asked(alias):
    import torch
    import torch._dynamo

    assert torch.compiler.is_compiling() is False
    assert torch.compiler.disable(len) is len
    assert torch.compiler.disable()(len) is len
    torch._dynamo.config.suppress_errors = True
    assert torch._dynamo.config.suppress_errors is True


def test_typename(alias):
    import torch

    assert torch.typename(torch.ones(1)) == "torch.FloatTensor"
    assert torch.typename(3) == "int"


def test_a_number_becomes_a_tuple(alias):
    from torch.nn.modules.utils import _pair, _single

    assert (_pair(3), _pair([1, 2]), _single(4)) == ((3, 3), (1, 2), (4,))


def test_configuration_is_text(alias):
    import torch

    assert "NumPy" in torch.__config__.show()
    assert str(lamina.get_num_threads()) in torch.__config__.parallel_info()


def test_switches_of_the_compiler_are_kept(alias):
    import torch
    import torch._dynamo
    import torch._inductor.config

    torch._inductor.config.coordinate_descent_tuning = True
    torch._inductor.config.triton.unique_kernel_names = False
    assert torch._inductor.config.coordinate_descent_tuning is True
    torch._inductor.config.coordinate_descent_tuning = False
    torch._dynamo.config.suppress_errors = True
    compiled = torch.compile(torch.nn.Linear(1, 1))
    assert isinstance(compiled, torch._dynamo.OptimizedModule)
    assert torch._C._jit_set_profiling_mode(False) is False
    assert torch.onnx.is_in_onnx_export() is False


def test_what_is_left_out_says_what_to_use(alias):
    import torch

    with pytest.raises(AttributeError, match=r"use torch\.complex64"):
        torch.complex32  # noqa: B018
    assert not hasattr(lamina, "complex32")
    with pytest.raises(NotImplementedError, match=r"x\.cfloat"):
        torch.ones(1).chalf()


def test_sizes_that_are_known_are_numbers(alias):
    import torch

    assert (torch.sym_int(3.7), torch.sym_float(2), torch.sym_not(True)) == (3, 2.0, False)
    assert (torch.sym_max(2, 3), torch.sym_min(2, 3.0), torch.sym_sum([1, 2])) == (3, 2.0, 3)
    assert (torch.sym_ite(True, 1, 2), torch.sym_sqrt(4)) == (1, 2.0)
    assert isinstance(torch.sym_min(2, 3.0), float)


def test_the_module_of_a_device(alias):
    import torch

    assert torch.get_device_module("cpu") is torch.get_device_module()
    with torch.cuda.simulate(1):
        assert torch.get_device_module().device_count() == 1
    with pytest.raises(RuntimeError, match="Invalid device"):
        torch.get_device_module("meta")


def test_a_mode_for_mapped_functions_that_index(alias):
    import torch
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    x = torch.arange(6).reshape(2, 3)

    def one(row, column):
        return x[row, column]

    with TransformGetItemToIndex():
        found = torch.vmap(one)(torch.tensor([0, 1, 1]), torch.tensor([2, 0, 1]))
    assert found.tolist() == [2, 3, 4]


def test_a_block_without_autocasts_implementations(alias):
    """torchvision runs its operators so, which cast by themselves."""
    import torch

    keys = torch._C.DispatchKey
    both = torch._C.DispatchKeySet(keys.AutocastCPU) | torch._C.DispatchKeySet(keys.AutocastCUDA)
    x = torch.ones(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with torch._C._ExcludeDispatchKeyGuard(both):
            assert (x @ x).dtype is torch.float32
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(keys.AutocastCUDA)):
            assert (x @ x).dtype is torch.bfloat16
        assert (x @ x).dtype is torch.bfloat16


def test_kinds_of_devices_that_are_not_there(alias):
    import torch
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    for kind in (torch.xpu, torch.mps, torch.mtia):
        assert (kind.is_available(), kind.device_count()) == (False, 0)
    assert is_traceable_wrapper_subclass(torch.ones(1)) is False


def test_what_libraries_take_from_elsewhere(alias):
    import torch
    from torch._C import DisableTorchFunctionSubclass
    from torch.hub import HASH_REGEX, urlparse
    from torch.onnx.symbolic_helper import parse_args

    with DisableTorchFunctionSubclass():
        assert torch.ones(1).item() == 1
    assert HASH_REGEX.search("resnet18-f37072fd.pth").group(1) == "f37072fd"
    assert urlparse("https://a/b").path == "/b"
    assert parse_args("v")(len) is len
    assert torch.jit._script_if_tracing(len) is torch.jit._overload_method(len) is len
    torch.onnx.register_custom_op_symbolic("a::b", len, 11)


def test_rules_for_operators_of_a_library_that_cannot_be_loaded(alias):
    """torchvision asks for its compiled operators, goes on without, and registers rules."""
    import torch

    with pytest.raises(OSError, match="Could not load"):
        torch.ops.load_library("/packages/nowhere/_C.so")

    @torch.library.register_fake("nowhere::nms")
    def rule(boxes):
        return boxes

    assert rule(1) == 1
    with pytest.raises(AttributeError, match="nms"):
        torch.ops.nowhere.nms(torch.ones(1))
    with pytest.raises(RuntimeError, match="does not exist"):
        torch.library.register_fake("elsewhere::nms")(len)
