"""Writes down which names PyTorch has: `.venv-oracle/bin/python -m tests.torch_alias.record_names`.

One line a module, or a class whose attributes programs reach: its path, then the public names in
it. Names tell an unknown name from one that Lamina does not have yet, and which methods are meant.
"""

import importlib
import pkgutil
import types
import warnings
from pathlib import Path

import torch

FILE = Path(__file__).parents[2] / "lamina" / "torch_alias" / "pytorch_names.txt"
# Tools of PyTorch's own: programs do not import them, and some fail to import or print.
LEFT_OUT = ("torch.ao", "torch.quantization", "torch.testing._internal", "torch.utils.benchmark")
LEFT_OUT += ("torch.fx", "torch.onnx", "torch.package", "torch.export", "torch.distributed")
LEFT_OUT += ("torch.contrib", "torch.nn.quantized", "torch.nn.qat", "torch.nn.intrinsic")
LEFT_OUT += ("torch.nn.quantizable", "torch.nativert", "torch.utils.data.datapipes")
LEFT_OUT += ("torch.utils.model_dump", "torch.utils.hipify", "torch.utils.serialization")
LEFT_OUT += ("torch.utils.viz", "torch.masked", "torch.xpu", "torch.mtia", "torch.utils.jit")
TOPS = ("torch.distributed", "torch.fx", "torch.onnx", "torch.export", "torch.package")
CLASSES = ("torch.Tensor", "torch.nn.Module", "torch.optim.Optimizer", "torch.Generator")


def modules(package):
    """The modules in a package, as deep as programs go."""
    yield package.__name__
    for found in pkgutil.iter_modules(getattr(package, "__path__", ()), package.__name__ + "."):
        last = found.name.rpartition(".")[2]
        if last.startswith("_") and found.name != "torch._C":
            continue
        yield found.name
        if found.ispkg and not found.name.startswith((*LEFT_OUT, "torch._C")):
            inner = loaded(found.name)
            yield from modules(inner) if inner else ()


def listed_modules():
    """Modules that programs do not import but libraries do: private ones, and those left out above.

    They are listed by their files, since importing some needs a GPU.
    """
    root = Path(torch.__file__).parent
    for file in root.rglob("*.py"):
        path = file.relative_to(root.parent).with_suffix("").parts
        path = path[:-1] if path[-1] == "__init__" else path
        first = next((at for at, part in enumerate(path) if part.startswith("_")), len(path))
        is_private = first < len(path) and first >= len(path) - 2
        is_left_out = first == len(path) and ".".join(path).startswith(LEFT_OUT)
        if (is_private or is_left_out) and "_internal" not in path:
            yield ".".join(path)


def loaded(name):
    """The module, or None if it needs a package that is not there."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def public(name):
    """The names in a module: those it declares, or those of PyTorch's own that it holds."""
    if name.startswith(LEFT_OUT) and name not in TOPS:
        return []
    module = loaded(name)
    listed = getattr(module, "__all__", ())
    names = {key for key in listed if not isinstance(getattr(module, key, None), types.ModuleType)}
    for key, value in vars(module).items() if module else ():
        home = getattr(value, "__module__", None) or "torch"
        own = home.split(".")[0] == "torch" and not isinstance(value, types.ModuleType)
        if own and not key.startswith("_") and not key.isupper():
            names.add(key)
    return sorted(names)


def recorded():
    """(path, names) of every module and class."""
    found = {name: [] for name in listed_modules()}
    found |= {name: public(name) for name in set(modules(torch))}
    yield from sorted(found.items())
    for path in CLASSES:
        owner = torch
        for part in path.split(".")[1:]:
            owner = getattr(owner, part)
        members = [key for key in dir(owner) if not key.startswith("_")]
        if path == "torch.nn.Module":
            members.append("training")
        yield path, sorted(members)


def main():
    warnings.simplefilter("ignore")
    text = "".join(" ".join([name, *names]) + "\n" for name, names in recorded())
    FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
