"""The catalogue of operations, one statement each; files are named by chapter.

As `torch.ops` does, it also finds the operators that programs define: `lamina.ops.mylib.f` is what
was defined as `mylib::f`.
"""

from importlib.util import find_spec
from typing import Any

from lamina.core.namespaces import namespace_of


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else namespace_of(name)
    if found is None or find_spec(f"{__name__}.{name}") is not None:  # a chapter comes first
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
