"""Programs print the same under `lamina run` as under PyTorch; what is recorded of it is true."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import lamina
from lamina.torch_alias import pytorch
from lamina.torch_alias.shims.torch_version import TorchVersion
from tests.torch_alias import record_names

HOUSE = str(Path(lamina.__file__).parents[1])
PROGRAMS = {
    "einops": """
        import torch
        from einops import einsum, rearrange, reduce, repeat, pack, unpack
        from einops.layers.torch import Rearrange, Reduce, EinMix
        x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
        print(rearrange(x, 'a (b c) d -> c (a d) b', c=3))
        print(reduce(x, 'a b c -> b', 'mean'), reduce(x, 'a b c -> a', 'max'))
        print(repeat(x[0], 'b c -> b c k', k=2).shape, einsum(x, x, 'a b c, a d c -> b d'))
        packed, shapes = pack([x, torch.ones(2, 5, 4)], 'a * c')
        print(packed.shape, [part.shape for part in unpack(packed, shapes, 'a * c')])
        layer = torch.nn.Sequential(Rearrange('a b c -> a (b c)'), torch.nn.Linear(12, 4),
                                    Reduce('a (b k) -> a b', 'sum', k=2))
        print(layer)
        torch.nn.init.ones_(layer[1].weight); torch.nn.init.zeros_(layer[1].bias)
        y = layer(x)
        y.sum().backward()
        print(y, x.grad)
        torch.manual_seed(0)
        mix = EinMix('a b c -> a b k', weight_shape='c k', bias_shape='k', c=4, k=2)
        print(mix(x).detach(), [name for name, _ in mix.named_parameters()])
        try:
            rearrange(x, 'a b -> b a')
        except Exception as error:
            print(type(error).__name__, str(error).splitlines()[0])
        """,
    "numpy": """
        import numpy as np, torch
        x = torch.arange(6.).reshape(2, 3)
        print(np.asarray(x), np.array(x, dtype=np.int64), np.sum(x.numpy()), np.concatenate([x, x]))
        a = np.zeros(3)
        t = torch.from_numpy(a); t += 1
        print(a, type(t.numpy()), torch.as_tensor(a).data_ptr() == t.data_ptr())
        """,
    "safetensors": """
        import torch
        from safetensors import safe_open
        from safetensors.torch import load, load_file, load_model, save, save_file, save_model
        tensors = {'a': torch.arange(6.).reshape(2, 3), 'b': torch.ones(2, dtype=torch.int64),
                   'c': torch.tensor([1.5, 2.5], dtype=torch.bfloat16)}
        save_file(tensors, 'x.safetensors', metadata={'format': 'pt'})
        back = load_file('x.safetensors')
        print({name: (value, value.dtype) for name, value in sorted(back.items())})
        with safe_open('x.safetensors', framework='pt') as f:
            print(sorted(f.keys()), f.metadata(), f.get_tensor('a'), f.get_slice('a')[:, 1:])
        print(sorted(load(save(tensors))))
        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
        net[1].weight = net[0].weight
        save_model(net, 'm.safetensors')
        other = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
        other[1].weight = other[0].weight
        print(load_model(other, 'm.safetensors'), torch.equal(net[0].weight, other[0].weight))
        """,
    "tqdm": """
        import sys, torch
        from tqdm import tqdm
        print(len(tqdm(torch.ones(3, 2), file=open('/dev/null', 'w'))))
        print([row.sum().item() for row in tqdm(torch.ones(3, 2), disable=True)])
        """,
    "types": """
        import torch
        x = torch.ones(2, dtype=torch.float64)
        print(type(x), type(x).__module__, x.type(), torch.typename(x), x.dtype, x.device, x.shape)
        print(torch.nn.Parameter, isinstance(torch.nn.Parameter(x), torch.Tensor))
        print(torch.__version__ > '1.9', torch.version.cuda, torch.version.hip)
        print(torch.backends.cudnn.enabled, torch.backends.mps.is_available())
        print(torch.backends.cuda.matmul.allow_tf32, torch.get_float32_matmul_precision())
        print(torch.compiler.is_compiling(), hasattr(torch, 'nope'), torch.is_grad_enabled())
        """,
    "hooks of modules": """
        import torch, torch.nn as nn
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        seen = []
        for name, layer in net.named_modules():
            layer.register_forward_hook(lambda m, i, o, name=name: seen.append((name, type(m))))
        net(torch.ones(1, 3)).sum().backward()
        print([(name, kind.__name__) for name, kind in seen])
        print({name: p.grad.norm().item() > 0 for name, p in net.named_parameters()})
        """,
}  # fmt: skip


def outputs(program, folder):
    """What the program prints under PyTorch, and under Lamina."""
    lines = program.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    file = folder / "program.py"
    file.write_text("\n".join(line[indent:] for line in lines), encoding="utf-8")
    for start in ([], ["-m", "lamina", "run"]):
        done = subprocess.run(
            [sys.executable, *start, str(file)],
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": HOUSE},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        yield done.stdout


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_prints_the_same(program, tmp_path):
    theirs, ours = outputs(program, tmp_path)
    assert ours == theirs
    assert ours


@pytest.mark.parametrize(
    "other",
    ["2.13", "2.13.0", "2.13.0+lamina", (2, 13), (2, 13, 0), "2.13.0+cpu", "2.14.0a0", "2.13.0a0",
     "2.13.0.dev20", "2.13.0rc1", "2.13.0.post1", "1.9", (2, 13, 1), "x", "2.13.1", [2, 13]],
    ids=str,
)  # fmt: skip
def test_versions_compare_as_pytorchs(other):
    ours, theirs = (
        kind("2.13.0+lamina") for kind in (TorchVersion, torch.torch_version.TorchVersion)
    )
    for name in ("__eq__", "__lt__", "__le__", "__gt__", "__ge__"):
        assert getattr(ours, name)(other) == getattr(theirs, name)(other), name


@pytest.mark.filterwarnings("ignore")  # PyTorch warns of names of its own
def test_the_recorded_names_are_pytorchs():
    assert {path: pytorch.names(path) for path in pytorch.modules()} == {
        path: frozenset(names)
        for path, names in record_names.recorded()
        if path not in record_names.CLASSES
    }


SETTINGS = ("cudnn.enabled", "cudnn.benchmark", "cudnn.deterministic", "cudnn.allow_tf32",
            "cudnn.is_available()", "cudnn.version()",
            "cuda.matmul.allow_tf32", "cuda.matmul.allow_fp16_reduced_precision_reduction",
            "cuda.is_built()", "cuda.flash_sdp_enabled()", "cuda.math_sdp_enabled()",
            "mps.is_available()", "mps.is_built()", "mkldnn.enabled")  # fmt: skip


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_are_what_they_are_in_pytorch(setting):
    values = [eval(f"module.backends.{setting}", {"module": module}) for module in (lamina, torch)]
    assert values[0] == values[1]
