"""L3xx: backward and the graph; L8xx: custom functions."""

from __future__ import annotations

from typing import final

from .base import LaminaError, LaminaWarning


@final
class NoGraph(LaminaError, RuntimeError):
    """`backward()` has no graph to follow.

    PyTorch's phrase: element 0 of tensors does not require grad and does not have a grad_fn.

    Fails:
        x = torch.ones(2); (x * 3).sum().backward()
    Works:
        x = torch.ones(2, requires_grad=True); (x * 3).sum().backward()
    """

    code = "L301"


@final
class GraphFreed(LaminaError, RuntimeError):
    """Trying to backward through the graph a second time, after it was freed.

    Keep it with retain_graph=True, or cut a graph carried over from an earlier step.

    Fails:
        y = (x * x).sum(); y.backward(); y.backward()
    Works:
        y = (x * x).sum(); y.backward(retain_graph=True); y.backward()
    """

    code = "L302"


@final
class NonScalarRoot(LaminaError, RuntimeError):
    """`backward()` from many values: grad can be implicitly created only for scalar outputs.

    Fails:
        (x * x).backward()
    Works:
        (x * x).sum().backward()
    """

    code = "L303"


@final
class GradShapeMismatch(LaminaError, RuntimeError):
    """A gradient handed to `backward` has the wrong shape: Mismatch in shape.

    Fails:
        (x * 2).backward(torch.ones(2, 1))
    Works:
        (x * 2).backward(torch.ones(2))
    """

    code = "L304"


@final
class UnusedInput(LaminaError, RuntimeError):
    """A tensor appears to not have been used in the graph of what was differentiated.

    Pass allow_unused=True if that is meant.

    Fails:
        y = a * 2; torch.autograd.grad(y, [a, b])
    Works:
        y = a * b; torch.autograd.grad(y, [a, b])
    """

    code = "L305"


@final
class NotDifferentiable(LaminaError, NotImplementedError):
    """The derivative of an operation is not implemented.

    This is not a derivative that is zero: the rule has not been written.

    Fails:
        torch.some_operation(x).sum().backward()
    Works:
        torch.some_operation(x.detach())
    """

    code = "L306"


@final
class GradAssignmentMismatch(LaminaError, RuntimeError):
    """`.grad` was assigned a tensor of another size, dtype or device than its owner's.

    Fails:
        p = torch.nn.Parameter(torch.zeros(4)); p.grad = torch.ones(1, 4)
    Works:
        p = torch.nn.Parameter(torch.zeros(4)); p.grad = torch.ones(4)
    """

    code = "L307"


@final
class GradNotATensor(LaminaError, TypeError):
    """`.grad` was assigned something that is neither a Tensor nor None.

    Fails:
        p.grad = 0
    Works:
        p.grad = None
    """

    code = "L308"


@final
class NanGradient(LaminaError, RuntimeError):
    """Anomaly mode found that a derivative returned nan values.

    Fails:
        torch.sqrt(x * 0).sum().backward()
    Works:
        torch.sqrt(x * 0 + 1e-12).sum().backward()
    """

    code = "L309"


@final
class CreateGraphWarning(LaminaWarning):
    """`backward(create_graph=True)` makes a gradient that keeps the whole graph alive.

    Warns:
        y.backward(create_graph=True)
    Works:
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    """

    code = "L310"


@final
class CheckpointWarning(LaminaWarning):
    """A checkpointed function cannot give gradients as it was called.

    PyTorch's phrase: None of the inputs have requires_grad=True. Gradients will be None.

    Warns:
        checkpoint(lin, x, use_reentrant=True)
    Works:
        checkpoint(lin, x, use_reentrant=False)
    """

    code = "L311"


@final
class CheckpointMismatch(LaminaError, RuntimeError):
    """A checkpointed function did something else when it was run again.

    Fails:
        checkpoint(lambda t: t * next(numbers), x, use_reentrant=False)
    Works:
        n = next(numbers); checkpoint(lambda t: t * n, x, use_reentrant=False)
    """

    code = "L312"


@final
class HookResultInvalid(LaminaError, RuntimeError):
    """A hook returned something that cannot take the gradient's place.

    Fails:
        x.register_hook(lambda g: g.sum())
    Works:
        x.register_hook(lambda g: g * 2)
    """

    code = "L313"


@final
class GradcheckFailed(LaminaError, RuntimeError):
    """`gradcheck` found a derivative that the numbers contradict.

    Fails:
        torch.autograd.gradcheck(wrong, x)
    Works:
        torch.autograd.gradcheck(right, x)
    """

    code = "L314"


@final
class NotAGraphTensor(LaminaError, TypeError):
    """`backward` or `grad` was given something that is not a Tensor.

    Fails:
        torch.autograd.grad(y, 'x')
    Works:
        torch.autograd.grad(y, x)
    """

    code = "L315"


@final
class WrongNumberOfGradients(LaminaError, RuntimeError):
    """A custom `backward` returned an incorrect number of gradients.

    One for each argument of forward, None where there is none: expected 2, got 1.

    Fails:
        def backward(ctx, g): return g * 2
    Works:
        def backward(ctx, g): return g * 2, None
    """

    code = "L801"


@final
class InvalidGradient(LaminaError, RuntimeError):
    """A custom `backward` returned an invalid gradient: wrong shape, dtype or device.

    Fails:
        def backward(ctx, g): return g.sum()
    Works:
        def backward(ctx, g): return g * 2
    """

    code = "L802"


@final
class LegacyFunction(LaminaError, RuntimeError):
    """A custom Function was called as an instance: it needs a static forward method.

    Fails:
        y = Twice()(x)
    Works:
        y = Twice.apply(x)
    """

    code = "L803"


@final
class BackwardNotWritten(LaminaError, NotImplementedError):
    """A custom Function has no `backward`, and one was needed.

    Fails:
        class Twice(Function):
            forward = staticmethod(lambda ctx, x: x * 2)
    Works:
        class Twice(Function):
            forward = staticmethod(lambda ctx, x: x * 2)
            backward = staticmethod(lambda ctx, g: g * 2)
    """

    code = "L804"


@final
class OnceDifferentiable(LaminaError, RuntimeError):
    """A Function marked @once_differentiable was differentiated twice.

    Fails:
        @once_differentiable
        def backward(ctx, g): return g * 2
    Works:
        def backward(ctx, g): return g * 2
    """

    code = "L805"


@final
class SaveForBackwardMisuse(LaminaError, TypeError):
    """`ctx.save_for_backward` was given something that is not a Tensor.

    PyTorch's phrase: save_for_backward can only save variables.

    Fails:
        ctx.save_for_backward(x, 3)
    Works:
        ctx.save_for_backward(x); ctx.n = 3
    """

    code = "L806"


@final
class ContextMisuse(LaminaError, RuntimeError):
    """`ctx` of a custom Function was used in a way that forward does not allow.

    Fails:
        ctx.mark_dirty(x); x = x * 2
    Works:
        ctx.mark_dirty(x); x.mul_(2)
    """

    code = "L807"


@final
class FunctionResultInvalid(LaminaError, TypeError):
    """A custom `forward` returned something that is neither a Tensor nor a tuple.

    Fails:
        def forward(ctx, x): return {'y': x * 2}
    Works:
        def forward(ctx, x): return x * 2
    """

    code = "L808"
