"""L2xx: in-place writes, views and versions."""

from __future__ import annotations

from typing import final

from .base import LaminaError


@final
class SavedValueModified(LaminaError, RuntimeError):
    """A value kept for backward was modified by an inplace operation.

    Each saved value remembers its version (is at version 1; expected version 0).

    A derivative is computed from values of the forward pass, which are kept and not copied. Had
    they changed before backward() used them, the gradient would be wrong.

    Fails:
        x = torch.ones(2, requires_grad=True)
        h = torch.tanh(x)
        h += 1
        h.sum().backward()
    Works:
        x = torch.ones(2, requires_grad=True)
        h = torch.tanh(x)
        h = h + 1
        h.sum().backward()
    """

    code = "L201"


@final
class LeafModified(LaminaError, RuntimeError):
    """A leaf Variable that requires grad was used in an in-place operation.

    The leaf would become a result of the change, and no longer collect the gradient.

    Fails:
        w = torch.ones(2, requires_grad=True)
        w += 1
    Works:
        w = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            w += 1
    """

    code = "L202"


@final
class ViewOfLeafModified(LaminaError, RuntimeError):
    """A view of a leaf Variable that requires grad was written to.

    A view shows the leaf's own memory, so that writing to it changes the leaf.

    Fails:
        w = torch.ones(3, requires_grad=True)
        w[0] = 5.0
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

    The graph has one place for all views of such a call, and cannot tell which of them was
    changed.

    Fails:
        x = torch.ones(2, 3, requires_grad=True)
        y = x * 2
        for row in y:
            row.mul_(3)
    Works:
        x = torch.ones(2, 3, requires_grad=True)
        y = x * 2
        rows = [row * 3 for row in y]
    """

    code = "L204"


@final
class NoGradViewModified(LaminaError, RuntimeError):
    """A view that was created in no_grad mode was written to with recording on.

    How the view depends on its base was not recorded, so the change could not be either.

    Fails:
        x = torch.ones(2, 2, requires_grad=True)
        y = x * 2
        with torch.no_grad():
            v = y.view(4)
        v.mul_(3)
    Works:
        x = torch.ones(2, 2, requires_grad=True)
        y = x * 2
        v = y.view(4)
        v.mul_(3)
    """

    code = "L205"


@final
class FunctionViewModified(LaminaError, RuntimeError):
    """A view that a custom Function returned was written to.

    The change would put a history of its own in the place of the Function's backward.

    Fails:
        class MyView(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view(-1)

            @staticmethod
            def backward(ctx, g):
                return g.view(2, 2)


        x = torch.ones(2, 2, requires_grad=True)
        v = MyView.apply(x * 1)
        v.mul_(3)
    Works:
        class MyView(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view(-1)

            @staticmethod
            def backward(ctx, g):
                return g.view(2, 2)


        x = torch.ones(2, 2, requires_grad=True)
        v = MyView.apply(x * 1).clone()
        v.mul_(3)
    """

    code = "L206"


@final
class OverlappingWrite(LaminaError, RuntimeError):
    """A tensor was written to whose elements share memory.

    PyTorch's phrase: more than one element of the written-to tensor refers to a single memory
    location.

    What such a place held afterwards would depend on the order in which elements are written.

    Fails:
        a = torch.ones(3)
        wide = a.expand(2, 3)
        wide.sub_(1)
    Works:
        a = torch.ones(3)
        wide = a.expand(2, 3).clone()
        wide.sub_(1)
    """

    code = "L207"


@final
class OutWithGrad(LaminaError, RuntimeError):
    """`out=...` was used where a gradient is wanted.

    Functions with out=... arguments don't support automatic differentiation.

    The target is written over, and with it whatever history it had.

    Fails:
        x = torch.ones(2, requires_grad=True)
        buf = torch.empty(2)
        torch.add(x, 1, out=buf)
    Works:
        x = torch.ones(2, requires_grad=True)
        buf = torch.add(x, 1)
    """

    code = "L208"


@final
class DetachOfView(LaminaError, RuntimeError):
    """`detach_()` was called on a view: can't detach views in-place.

    The view's history is a part of its base's, which stays.

    Fails:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        v = y[:2]
        v.detach_()
    Works:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        v = y[:2].detach()
    """

    code = "L209"


@final
class InferenceTensorError(LaminaError, RuntimeError):
    """An inference tensor was used where autograd needs to keep track of it.

    Inference tensors cannot be saved for backward, changed in place outside, or require grad.

    Such tensors have no version, by which a change could be noticed later.

    Fails:
        w = torch.ones(1, requires_grad=True)
        with torch.inference_mode():
            f = torch.ones(1)
        y = w * f
    Works:
        w = torch.ones(1, requires_grad=True)
        with torch.inference_mode():
            f = torch.ones(1)
        y = w * f.clone()
    """

    code = "L210"


@final
class DataMismatch(LaminaError, RuntimeError):
    """`x.data = y` was asked for a y of another kind.

    A tensor that requires grad has to stay one of floating-point or complex numbers.

    Fails:
        x = torch.ones(2, requires_grad=True)
        x.data = torch.ones(2, dtype=torch.int64)
    Works:
        x = torch.ones(2, requires_grad=True)
        x.data = torch.ones(2)
    """

    code = "L211"


@final
class ResizeRefused(LaminaError, RuntimeError):
    """A tensor that may not change its size was to be resized.

    PyTorch's phrase: cannot resize variables that require grad.

    Its gradient, and what was computed from it, have its size.

    Fails:
        w = torch.ones(2, requires_grad=True)
        w.resize_(4)
    Works:
        w = torch.ones(2, requires_grad=True)
        v = w.detach().clone().resize_(4)
    """

    code = "L212"


@final
class CastRefused(LaminaError, RuntimeError):
    """An in-place result does not fit the dtype of the tensor it is written to.

    PyTorch's phrase: result type Float can't be cast to the desired output type Long.

    The result has a fraction, and an integer tensor has no room for it.

    Fails:
        n = torch.ones(2, dtype=torch.int64)
        n += 0.5
    Works:
        n = torch.ones(2, dtype=torch.int64)
        n = n + 0.5
    """

    code = "L213"
