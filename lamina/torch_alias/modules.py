"""Modules called `torch...` that hold Lamina's names, and the finder which `import` asks."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, final

import lamina
from lamina.codegen.later import Later
from lamina.torch_alias import late, pytorch, sources
from lamina.torch_alias.asking import is_import, is_written_out
from lamina.torch_alias.missing_names import missing_module, missing_name

if TYPE_CHECKING:
    from importlib.metadata import Distribution, DistributionFinder

    from lamina.torch_alias import installed
else:
    installed = Later("lamina.torch_alias.installed")  # importlib.metadata takes 10 ms

__all__ = ["TorchFinder", "TorchModule"]


@final
class TorchModule(ModuleType):
    """A module of PyTorch's name, whose values are looked up in Lamina when first used.

    What was found is kept as an ordinary attribute, so the second use costs what it costs in any
    module. A value that a program assigns stays in here, and Lamina's own modules as they are;
    only settings, such as `torch.backends.cudnn.benchmark`, are Lamina's own.
    """

    def __getattr__(self, name: str) -> Any:
        value = sources.find(self.__name__, name)
        if value is not sources.ABSENT:
            if not sources.takes_settings(self.__name__):
                self.__dict__[name] = value
            return value
        full_name, asking = f"{self.__name__}.{name}", sys._getframe(1)
        is_there = sources.sources(full_name) or is_written_out(asking)
        if pytorch.is_module(full_name) and is_there and not _stands_for_a_function(full_name):
            return _inner(full_name)
        if full_name == "torch.torch":  # PyTorch's own files leave it there, and kornia uses it
            return self
        if name == "__all__":
            return sources.names(self.__name__)
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if (late.is_late(self.__name__) and is_written_out(asking)) or late.is_type(asking):
            placeholder = late.late_name(self.__name__, name)
            if placeholder is not None:
                return placeholder
        raise missing_name(self.__name__, name, asking)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, TorchModule):
            # The import system puts each imported module into its package. Where the package has a
            # function of the same name, as `torch.nn.utils.weight_norm`, PyTorch's keeps that.
            if sources.find(self.__name__, name) is not sources.ABSENT:
                return
        elif sources.takes_settings(self.__name__) and not name.startswith("__"):
            for source in sources.sources(self.__name__)[:1]:
                setattr(source, name, value)
            return
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *sources.names(self.__name__)})


def _inner(full_name: str) -> ModuleType:
    """A module inside another. When the alias has ended, one that `import` knows nothing of."""
    if any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        return importlib.import_module(full_name)
    return TorchModule(full_name)


def _stands_for_a_function(fullname: str) -> bool:
    """Whether a module's name is a function's too, as `torch.nn.utils.weight_norm`, and missing.

    `from torch.nn.utils import weight_norm` means the function, and must not get a module instead.
    """
    parent, _, name = fullname.rpartition(".")
    if name not in pytorch.names(parent) or sources.sources(fullname):
        return False
    return sources.find(parent, name) is sources.ABSENT


@final
class TorchFinder(MetaPathFinder, Loader):
    """Answers `import torch`, and imports of modules inside it; the first in `sys.meta_path`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module that PyTorch has; None for what is not PyTorch's."""
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        if pytorch.is_module(fullname) and not _stands_for_a_function(fullname):
            spec = ModuleSpec(fullname, self, origin=lamina.__file__, is_package=True)
            spec.has_location = True
            return spec
        asking = sys._getframe(1)
        if is_import(asking):
            raise missing_module(fullname, asking)
        return None

    def find_distributions(self, context: DistributionFinder.Context) -> Iterator[Distribution]:
        """What `importlib.metadata.version("torch")` and its like find first."""
        if installed.is_meant(context):
            yield installed.InstalledTorch()

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module, empty: it looks its names up."""
        return TorchModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Import what the module stands for, so that what is wrong there shows at the import."""
        sources.sources(module.__name__)
