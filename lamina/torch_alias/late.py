"""Names that Lamina does not have: an error when they are used, not when they are mentioned.

Programs import `init_process_group` or `export` at their top and call it only with some option;
and they write `-> torch.cuda.CUDAGraph` where they would make one.
"""

from __future__ import annotations

import sys
import types
from typing import Any, final

from lamina.core.provenance import is_in_annotation
from lamina.torch_alias import pytorch, sources
from lamina.torch_alias.missing_names import missing_name

__all__ = ["is_late", "is_type", "late_name"]


@final
class _Late(type):
    """The kind of a class that nothing is an instance of: calling it, or reading from it, fails.

    Being a class, it may stand in annotations, in `isinstance`, and as a base class.
    """

    stands_for: tuple[str, str]  # the module and the name; subclasses inherit it

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise missing_name(*cls.stands_for, sys._getframe(1))

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        raise missing_name(*cls.stands_for, sys._getframe(1))

    def __repr__(cls) -> str:
        return f"<{'.'.join(cls.stands_for)}, which Lamina does not have>"


def is_late(module: str) -> bool:
    """Whether Lamina has nothing of PyTorch's module, or a shim alone.

    A module deep inside whose names stand further up, as `torch.optim.adamax`, is not late.
    """
    if not all(source.__name__.startswith(sources.SHIMS) for source in sources.sources(module)):
        return False
    above = module.rpartition(".")[0]
    if above == "torch":
        return True
    found = (sources.find(above, name) for name in pytorch.names(module))
    return all(value is sources.ABSENT for value in found)


def is_type(asking: types.FrameType) -> bool:
    """Whether a program names a type in an annotation, which uses nothing of it."""
    return is_in_annotation(asking.f_code, asking.f_lasti)


def late_name(module: str, name: str) -> type | None:
    """What stands for a name that is missing; None if PyTorch's module has no such name."""
    known = pytorch.names(module)
    is_private = name.startswith("_") and not name.startswith("__")  # which is not recorded
    if not is_private and known and name not in known:
        return None
    return _Late(name, (), {"__module__": module, "stands_for": (module, name)})
