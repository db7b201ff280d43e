"""Hooks on registration see what PyTorch's see."""

import contextlib

import lamina as torch
from lamina import nn
from lamina.nn.modules import module as hooks

# What PyTorch's hooks are told while `build` runs.
TOLD = [
    ("parameter", "weight"), ("module", "a"), ("parameter", "w"), ("buffer", "c"), ("buffer", "c"),
    ("module", "z"), ("module", "a"), ("buffer", "c"),
]  # fmt: skip


def build():
    module = nn.Module()
    module.a = nn.Linear(1, 1, bias=False)
    module.w = nn.Parameter(torch.ones(1))
    module.register_buffer("c", torch.ones(1))
    module.c = torch.zeros(1)
    module.w = None
    module.register_parameter("q", None)
    module.add_module("z", None)
    module.a = None
    module.c = None


def test_hooks_are_told_of_each_registration():
    told = []
    with contextlib.ExitStack() as stack:
        for kind in ("parameter", "buffer", "module"):
            register = getattr(hooks, f"register_module_{kind}_registration_hook")
            stack.enter_context(register(lambda m, n, v, kind=kind: told.append((kind, n))))
        build()
    assert told == TOLD
    build()
    assert told == TOLD


def test_what_a_hook_returns_takes_the_place():
    def zeros(module, name, param):
        return nn.Parameter(torch.zeros_like(param))

    with hooks.register_module_parameter_registration_hook(zeros):
        module = nn.Module()
        module.w = nn.Parameter(torch.ones(2))
    assert module.w.tolist() == [0, 0]
    assert list(module.parameters()) == [module.w]
