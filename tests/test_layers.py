"""Imports run one way: a file uses its own layer of the house and those below it, without cycles.

Run as a script, it also reports files, functions and lines that are over the size budgets.
"""

import ast
import graphlib
import importlib.util
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[1] / "lamina"
LAYERS = [
    {"errors", "dtypes", "version", "late_names", "late_loading"},
    {"devices", "codegen", "data"},
    {"core"},
    {"ops"},
    # What people call: all of it is written with the ops, and with each other.
    {"methods", "autograd", "nn", "optim", "utils", "io", "func", "linalg", "fft", "special"}
    | {"random", "cuda", "cpu", "amp", "backends", "testing", "distributions", "signal", "sparse"}
    | {"jit", "accelerator", "library"}
    | {"serialization", "storage", "shared_memory"}
    | {"hub", "multiprocessing", "profiler", "futures"},
    {"compiler", "explain", "doctor", "distributed"},
    {"lamina"},  # the front door, lamina/__init__.py
    {"cli", "demo", "bench", "explain_command", "graph_command", "torch_alias", "__main__"},
]
FILE_LINES, FUNCTION_LINES, COLUMNS = 400, 40, 100


def dotted(path):
    parts = path.relative_to(HOUSE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if path.name == "__init__.py" else parts)


FILES = {dotted(path): path for path in sorted(HOUSE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}


def layer(name):
    room = name.removeprefix("lamina.").split(".")[0]
    level = next((level for level, rooms in enumerate(LAYERS) if room in rooms), None)
    assert level is not None, f"lamina/{room} has no layer: give it one in {Path(__file__).name}"
    return level


def targets(node, name):
    """The modules of the house that an import statement in module `name` reads."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & TREES.keys()
    package = name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]
    source = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
    found = (f"{source}.{alias.name}" for alias in node.names)
    return {module if module in TREES else source for module in found} & TREES.keys()


def imports(name, node=None, inside=False):
    """(module, whether inside a function) for each import that runs; type-only ones do not."""
    for child in ast.iter_child_nodes(node or TREES[name]):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield from ((module, inside) for module in targets(child, name) - {name})
        elif not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from imports(name, child, inside or function)


@pytest.mark.parametrize("name", TREES)
def test_no_import_runs_up(name):
    own = layer(name)
    upward = {module for module, _ in imports(name) if layer(module) > own}
    assert not upward, f"{name} imports from a higher layer"


@pytest.mark.parametrize("name", TREES)
def test_no_import_of_the_house_inside_a_function(name):
    hidden = {module for module, inside in imports(name) if inside}
    # Only the command line may wait with an import, to start fast.
    assert not hidden or layer(name) == len(LAYERS) - 1, f"{name} imports inside a function"


def test_no_cycles():
    graph = {name: {module for module, _ in imports(name)} for name in TREES}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which shows the cycle


def over_budget():
    """What is larger than planned, as lines of text: a report, since a long file may be right."""
    for name, tree in TREES.items():
        lines = FILES[name].read_text(encoding="utf-8").splitlines()
        if len(lines) > FILE_LINES:
            yield f"{name}: {len(lines)} lines"
        wide = sum(len(line) > COLUMNS for line in lines)
        if wide:
            yield f"{name}: {wide} lines over {COLUMNS} columns"
        for node in ast.walk(tree):
            size = getattr(node, "end_lineno", 0) - getattr(node, "lineno", 0) + 1
            if isinstance(node, ast.FunctionDef) and size > FUNCTION_LINES:
                yield f"{name}:{node.lineno} {node.name}: {size} lines"


if __name__ == "__main__":
    print("\n".join(["over the size budgets (a report, no failure):", *over_budget()]))
