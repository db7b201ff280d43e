"""L91x: names and modules of PyTorch's that Lamina does not have."""

from __future__ import annotations

from typing import final

from .base import LaminaError


@final
class MissingName(LaminaError, AttributeError):
    """A name was used that the module does not have.

    Fails:
        torch.relu7(x)
    Works:
        torch.relu(x)
    """

    code = "L911"


@final
class MissingImport(LaminaError, ImportError):
    """A name was imported that the module does not have.

    Fails:
        from torch.nn import Linaer
    Works:
        from torch.nn import Linear
    """

    code = "L912"


@final
class MissingModule(LaminaError, ModuleNotFoundError):
    """A module was imported that does not exist.

    Fails:
        import torch.optimizers
    Works:
        import torch.optim
    """

    code = "L913"


@final
class TorchIsLoaded(LaminaError, RuntimeError):
    """`torch` cannot mean Lamina, since the real PyTorch was imported already.

    Fails:
        import torch
        with lamina.as_torch():
            import model
    Works:
        with lamina.as_torch():
            import torch
            import model
    """

    code = "L914"
