"""Names of modules that Lamina has nothing of: an error when they are used, not when imported.

Programs import `init_process_group` or `export` at their top and call it only with some option.
"""

from __future__ import annotations

import sys
from typing import Any, final

from lamina.torch_alias import pytorch, sources
from lamina.torch_alias.missing_names import missing_name

__all__ = ["is_late", "late_name"]


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


def late_name(module: str, name: str) -> type | None:
    """What stands for a name in a late module; None if PyTorch's module has no such name."""
    known = pytorch.names(module)
    if name.startswith("_") or (known and name not in known):
        return None
    return _Late(name, (), {"__module__": module, "stands_for": (module, name)})
