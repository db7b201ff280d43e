"""L2xx: in-place writes, views and versions."""

from __future__ import annotations

from typing import final

from .base import LaminaError


@final
class SavedValueModified(LaminaError, RuntimeError):
    """A value kept for backward was modified by an inplace operation.

    Each saved value remembers its version (is at version 1; expected version 0).

    Fails:
        h = torch.tanh(x); h += 1; h.sum().backward()
    Works:
        h = torch.tanh(x); h = h + 1; h.sum().backward()
    """

    code = "L201"


@final
class LeafModified(LaminaError, RuntimeError):
    """A leaf Variable that requires grad was used in an in-place operation.

    Fails:
        w = torch.ones(2, requires_grad=True); w += 1
    Works:
        w = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            w += 1
    """

    code = "L202"


@final
class ViewOfLeafModified(LaminaError, RuntimeError):
    """A view of a leaf Variable that requires grad was written to.

    Fails:
        w = torch.ones(3, requires_grad=True); w[0] = 5.0
    Works:
        w = torch.ones(3, requires_grad=True)
        with torch.no_grad():
            w[0] = 5.0
    """

    code = "L203"


@final
class MultiViewModified(LaminaError, RuntimeError):
    """One of several views made by one call was written to.

    PyTorch's phrase: the output of a function that returns multiple views.

    Fails:
        for row in y: row.mul_(3)
    Works:
        rows = [row * 3 for row in y]
    """

    code = "L204"


@final
class NoGradViewModified(LaminaError, RuntimeError):
    """A view that was created in no_grad mode was written to with recording on.

    Fails:
        with torch.no_grad():
            v = y.view(4)
        v.mul_(3)
    Works:
        v = y.view(4)
        v.mul_(3)
    """

    code = "L205"


@final
class FunctionViewModified(LaminaError, RuntimeError):
    """A view that a custom Function returned was written to.

    Fails:
        v = MyView.apply(y); v.mul_(3)
    Works:
        v = MyView.apply(y).clone(); v.mul_(3)
    """

    code = "L206"


@final
class OverlappingWrite(LaminaError, RuntimeError):
    """A tensor was written to whose elements share memory.

    PyTorch's phrase: more than one element of the written-to tensor refers to a single memory
    location.

    Fails:
        wide = a.expand(2, 3); wide.sub_(1)
    Works:
        wide = a.expand(2, 3).clone(); wide.sub_(1)
    """

    code = "L207"


@final
class OutWithGrad(LaminaError, RuntimeError):
    """`out=...` was used where a gradient is wanted.

    Functions with out=... arguments don't support automatic differentiation.

    Fails:
        torch.add(x, 1, out=buf)
    Works:
        buf = torch.add(x, 1)
    """

    code = "L208"


@final
class DetachOfView(LaminaError, RuntimeError):
    """`detach_()` was called on a view: can't detach views in-place.

    Fails:
        v = y[:2]; v.detach_()
    Works:
        v = y[:2].detach()
    """

    code = "L209"


@final
class InferenceTensorError(LaminaError, RuntimeError):
    """An inference tensor was used where autograd needs to keep track of it.

    Inference tensors cannot be saved for backward, changed in place outside, or require grad.

    Fails:
        with torch.inference_mode():
            f = torch.ones(1)
        y = w * f
    Works:
        with torch.inference_mode():
            f = torch.ones(1)
        y = w * f.clone()
    """

    code = "L210"


@final
class DataMismatch(LaminaError, RuntimeError):
    """`x.data = y` was asked for a y of another kind.

    Fails:
        x.data = torch.ones(2, dtype=torch.int64)
    Works:
        x.data = torch.ones(2)
    """

    code = "L211"


@final
class ResizeRefused(LaminaError, RuntimeError):
    """A tensor that may not change its size was to be resized.

    PyTorch's phrase: cannot resize variables that require grad.

    Fails:
        w.resize_(4)
    Works:
        v = w.detach().clone().resize_(4)
    """

    code = "L212"


@final
class CastRefused(LaminaError, RuntimeError):
    """An in-place result does not fit the dtype of the tensor it is written to.

    PyTorch's phrase: result type Float can't be cast to the desired output type Long.

    Fails:
        n = torch.ones(2, dtype=torch.int64); n += 0.5
    Works:
        n = torch.ones(2, dtype=torch.int64); n = n + 0.5
    """

    code = "L213"
