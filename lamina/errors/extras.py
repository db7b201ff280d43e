"""L9xx: optional packages, the compiler, files, many processes."""

from __future__ import annotations

import pickle
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
class FileFormatError(LaminaError, RuntimeError, pickle.UnpicklingError):
    """A file does not hold what it should.

    PyTorch raises RuntimeError for a broken archive and UnpicklingError for a broken pickle in it.

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


@final
class UnsafeFile(LaminaError, pickle.UnpicklingError):
    """A file names a class or function that loading does not use unless it is told to.

    Fails:
        torch.load('whole_model.pt')
    Works:
        with torch.serialization.safe_globals([Net]): torch.load('whole_model.pt')
    """

    code = "L907"


@final
class EmptyFile(LaminaError, EOFError):
    """A file from which something was to be loaded has no bytes.

    Fails:
        torch.load(io.BytesIO())
    Works:
        buffer = io.BytesIO(); torch.save(x, buffer); buffer.seek(0); torch.load(buffer)
    """

    code = "L908"


@final
class SaveFailed(LaminaError, RuntimeError):
    """A file could not be written; what was there before is still there.

    Fails:
        torch.save(x, '/no/such/folder/x.pt')
    Works:
        torch.save(x, 'x.pt')
    """

    code = "L909"
