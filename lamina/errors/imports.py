"""L91x: names and modules of PyTorch's that Lamina does not have."""

from __future__ import annotations

from typing import final

from .base import LaminaError


@final
class MissingName(LaminaError, AttributeError):
    """A name was used that the module does not have.

    It is misspelled, or a part of PyTorch that Lamina does not have.

    Fails:
        with torch.as_torch():
            import torch

            torch.relu7(torch.ones(2))
    Works:
        with torch.as_torch():
            import torch

            torch.relu(torch.ones(2))
    """

    code = "L911"


@final
class MissingImport(LaminaError, ImportError):
    """A name was imported that the module does not have.

    It is misspelled, or a part of PyTorch that Lamina does not have.

    Fails:
        with torch.as_torch():
            from torch.nn import Linaer
    Works:
        with torch.as_torch():
            from torch.nn import Linear
    """

    code = "L912"


@final
class MissingModule(LaminaError, ModuleNotFoundError):
    """A module was imported that does not exist.

    It is misspelled, or a part of PyTorch that Lamina does not have.

    Fails:
        with torch.as_torch():
            import torch.optimizers
    Works:
        with torch.as_torch():
            import torch.optim
    """

    code = "L913"


@final
class TorchIsLoaded(LaminaError, RuntimeError):
    """`torch` cannot mean Lamina, since the real PyTorch was imported already.

    A program that has both would mix tensors of one with functions of the other.

    Fails:
        import torch
        import lamina

        with lamina.as_torch():
            import torch
    Works:
        import lamina

        with lamina.as_torch():
            import torch
    Needs:
        the real PyTorch, installed beside Lamina
    """

    code = "L914"
