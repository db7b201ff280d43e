"""L9xx: optional packages, the compiler, files, many processes."""

from __future__ import annotations

import pickle
from typing import final

from .base import LaminaError, LaminaWarning


@final
class MissingExtra(LaminaError, ImportError):
    """An optional package is needed: `pip install lamina[full]`.

    Some dtypes and file formats come from packages that Lamina does not install by itself.

    Fails:
        x = torch.ones(2, dtype=torch.bfloat16)
    Works:
        x = torch.ones(2, dtype=torch.float32)
    Needs:
        an installation without the package ml_dtypes
    """

    code = "L901"


@final
class NotSupported(LaminaError, NotImplementedError):
    """PyTorch can do this, Lamina cannot.

    The message says what there is instead, if anything.

    Fails:
        torch.nn.functional.pad(torch.ones(2), (1, 1), mode="reflect")
    Works:
        torch.nn.functional.pad(torch.ones(1, 2), (1, 1), mode="reflect")
    """

    code = "L902"


@final
class CaptureError(LaminaError, RuntimeError):
    """A compiled function did something that cannot be captured.

    The path that Python takes depends on a value, and the program is recorded before there are
    values.

    Fails:
        step = torch.compile(lambda x: x if x.sum().item() > 0 else -x, fullgraph=True)
        step(torch.ones(2))
    Works:
        step = torch.compile(lambda x: torch.where(x.sum() > 0, x, -x), fullgraph=True)
        step(torch.ones(2))
    """

    code = "L903"


@final
class CaptureWarning(LaminaWarning):
    """Part of a compiled function runs eagerly, since it cannot be captured.

    A number that is read out leaves the program that is recorded.

    Warns:
        step = torch.compile(lambda x: x * x.sum().item())
        step(torch.ones(2))
    Works:
        step = torch.compile(lambda x: x * x.sum())
        step(torch.ones(2))
    """

    code = "L904"


@final
class FileFormatError(LaminaError, RuntimeError, pickle.UnpicklingError):
    """A file does not hold what it should.

    PyTorch raises RuntimeError for a broken archive and UnpicklingError for a broken pickle in it.

    It is another kind of file, or was cut off on its way.

    Fails:
        import io

        torch.load(io.BytesIO(b"a picture"))
    Works:
        import io

        buffer = io.BytesIO()
        torch.save(torch.ones(2), buffer)
        buffer.seek(0)
        torch.load(buffer)
    """

    code = "L905"


@final
class InternalError(LaminaError, RuntimeError):
    """Something failed inside Lamina in a way that no argument should cause.

    Either Lamina has a fault, or it should have refused these inputs in plain words. The traceback
    of what failed stands above the error, for a report. The program here has a fault of its own,
    in an operation that it adds to Lamina's.

    Fails:
        from lamina.core.call import operation

        twice = operation("twice", lambda input: input.no_such_attribute * 2)
        twice(torch.ones(2))
    Works:
        from lamina.core.call import operation

        twice = operation("twice", lambda input: input * 2)
        twice(torch.ones(2))
    """

    code = "L906"


@final
class ProfilerMisuse(LaminaError, AssertionError):
    """A profiler is asked for what it has not timed, or told of steps that cannot be.

    Its events are there when it has been stopped.

    Fails:
        made = torch.profiler.profile()
        made.key_averages()
    Works:
        with torch.profiler.profile() as made:
            torch.ones(2) * 2
        made.key_averages()
    """

    code = "L910"


@final
class UnsafeFile(LaminaError, pickle.UnpicklingError):
    """A file names a class or function that loading does not use unless it is told to.

    A pickle can call anything when it is read, so only what is known to be harmless is called.

    Fails:
        import fractions
        import io

        buffer = io.BytesIO()
        torch.save(fractions.Fraction(1, 2), buffer)
        buffer.seek(0)
        torch.load(buffer)
    Works:
        import fractions
        import io

        buffer = io.BytesIO()
        torch.save(fractions.Fraction(1, 2), buffer)
        buffer.seek(0)
        with torch.serialization.safe_globals([fractions.Fraction]):
            torch.load(buffer)
    """

    code = "L907"


@final
class EmptyFile(LaminaError, EOFError):
    """A file from which something was to be loaded has no bytes.

    Often it was never written, or the buffer is read from its end: `seek(0)` goes back.

    Fails:
        import io

        torch.load(io.BytesIO())
    Works:
        import io

        buffer = io.BytesIO()
        torch.save(torch.ones(2), buffer)
        buffer.seek(0)
        torch.load(buffer)
    """

    code = "L908"


@final
class SaveFailed(LaminaError, RuntimeError):
    """A file could not be written; what was there before is still there.

    The file is written beside its place first, and moved there when it is whole.

    Fails:
        torch.save(torch.ones(2), "/no/such/folder/x.pt")
    Works:
        import os
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            torch.save(torch.ones(2), os.path.join(folder, "x.pt"))
    """

    code = "L909"
