"""L9xx: optional packages, the compiler, files, many processes."""

from __future__ import annotations

from typing import final

from .base import LaminaError, LaminaWarning


@final
class MissingExtra(LaminaError, ImportError):
    """An optional package is needed: `pip install lamina[full]`.

    Fails:
        x = torch.ones(2, dtype=torch.bfloat16)
    Works:
        x = torch.ones(2, dtype=torch.float32)
    """

    code = "L901"


@final
class NotSupported(LaminaError, NotImplementedError):
    """PyTorch can do this, Lamina cannot.

    Fails:
        torch.ones(2).to_mkldnn()
    Works:
        torch.ones(2)
    """

    code = "L902"


@final
class CaptureError(LaminaError, RuntimeError):
    """A compiled function did something that cannot be captured.

    Fails:
        step = torch.compile(lambda x: x if x.sum().item() > 0 else -x)
    Works:
        step = torch.compile(lambda x: torch.where(x.sum() > 0, x, -x))
    """

    code = "L903"


@final
class CaptureWarning(LaminaWarning):
    """Part of a compiled function runs eagerly, since it cannot be captured.

    Warns:
        step = torch.compile(lambda x: x * x.sum().item())
    Works:
        step = torch.compile(lambda x: x * x.sum())
    """

    code = "L904"


@final
class FileFormatError(LaminaError, RuntimeError):
    """A file does not hold what it should.

    Fails:
        torch.load('picture.png')
    Works:
        torch.load('weights.pt')
    """

    code = "L905"


@final
class DistributedError(LaminaError, RuntimeError):
    """Processes that work together were used in a way that cannot work.

    Fails:
        torch.distributed.all_reduce(x)
    Works:
        torch.distributed.init_process_group('mpi'); torch.distributed.all_reduce(x)
    """

    code = "L906"
