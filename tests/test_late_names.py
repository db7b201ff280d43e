"""What is loaded late: `import lamina` leaves it out, and every way to it finds it."""

import ast
import collections
import os
import subprocess
import sys

import pytest

import lamina
from lamina.late_names import HOMES, NAMESPACES, OPERATIONS
from lamina.methods import late
from tests.test_layers import TREES

HOMES_OF_METHODS = {home: names.split() for home, names in late.CHAPTERS.items()}
METHODS = [entry.partition("=")[0] for names in HOMES_OF_METHODS.values() for entry in names]


def run(program):
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_import_loads_nothing_that_is_late():
    loaded = run("import sys, lamina; print(*sys.modules)")
    homes = {*HOMES.values(), *HOMES_OF_METHODS, *OPERATIONS.values()}
    assert "lamina" in loaded
    assert not homes & set(loaded)
    assert not {f"lamina.{name}" for name in NAMESPACES} & set(loaded)


def test_a_name_is_late_once():
    assert not set(HOMES) & NAMESPACES
    assert [name for name, count in collections.Counter(METHODS).items() if count > 1] == []


@pytest.mark.parametrize("name", METHODS)
def test_a_late_method_takes_its_place(name):
    method = getattr(lamina.Tensor, name)
    assert callable(method)
    assert method.__doc__
    assert lamina.Tensor.__dict__[name] is method


def test_a_late_name_becomes_the_front_doors_own():
    found = lamina.kaiser_window
    assert vars(lamina)["kaiser_window"] is found


MODULES = """
lamina.errors lamina.autograd lamina.nn lamina.nn.functional lamina.nn.utils lamina.optim
lamina.utils lamina.explain lamina.core.blame
"""


@pytest.mark.parametrize("module", ["lamina", *MODULES.split()])
def test_a_module_shows_and_finds_its_late_names(module):
    program = f"""
import lamina, {module}
print(*set({module}.__all__) - set(dir({module})))
print(*[name for name in dir({module}) if not hasattr({module}, name)])
"""
    assert run(program) == []


def test_files_are_reached_by_attribute():
    program = """
import lamina as torch
print(torch.nn.parameter.Parameter is torch.nn.Parameter)
print(torch.optim.optimizer.Optimizer is torch.optim.Optimizer)
print(torch.optim.adam.Adam is torch.optim.Adam)
print(torch.autograd.function.Function is torch.autograd.Function)
"""
    assert run(program) == ["True"] * 4


def test_a_small_program_loads_what_it_uses():
    program = """
import sys
import lamina as torch
from lamina import nn
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
nn.functional.mse_loss(model(torch.randn(5, 3)), torch.zeros(5, 2)).backward()
optimizer.step()
print(*sys.modules)
"""
    loaded = set(run(program))
    assert "lamina.nn.linear" in loaded
    unused = ("nn.convolution", "optim.adam", "ops.convolution", "ops.solvers", "codegen.cache")
    assert not loaded & {f"lamina.{name}" for name in unused}


def test_operators_of_a_late_chapter():
    program = """
import lamina as torch
x, mask = torch.tensor([5, 3]), torch.tensor([True, False])
print(*(~x).tolist(), *(6 & x).tolist(), *(1 << x).tolist(), *(mask | ~mask).tolist())
x ^= 1
print(*[row.item() for row in x])
"""
    assert run(program) == ["-6", "-4", "4", "2", "32", "8", "True", "True", "4", "2"]


def test_a_subclass_reaches_a_late_method_by_super():
    program = """
import lamina as torch
class Wave(torch.Tensor):
    def sin(self):
        return super().sin() + 1
print(torch.zeros(1).as_subclass(Wave).sin().item())
"""
    assert run(program) == ["1.0"]


# --- operations that rules name -----------------------------------------------------------------


def operations_named_in(name):
    """The operations that a module's rules and functions reach by name."""
    return sorted(
        {
            node.attr
            for node in ast.walk(TREES[name])
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("F", "raw", "traced")
        }
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each chapter is loaded in a fork")
def test_each_chapter_alone_finds_the_operations_that_its_rules_name():
    rooms = ("lamina.ops.", "lamina.core.", "lamina.autograd.", "lamina.func.")
    wanted = {name: operations_named_in(name) for name in TREES if name.startswith(rooms)}
    assert sum(map(len, wanted.values())) > 300
    program = f"""
import importlib, os, sys
import lamina
from lamina.core.op import raw, traced
for module, names in {wanted!r}.items():
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    importlib.import_module(module)
    missing = [n for n in names if not (hasattr(raw, n) and hasattr(traced, n))]
    if missing:
        print(module, missing, flush=True)
    os._exit(0)
"""
    assert run(program) == []
