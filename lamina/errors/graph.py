"""L3xx: backward and the graph."""

from __future__ import annotations

from typing import final

from .base import LaminaError, LaminaWarning


@final
class NoGraph(LaminaError, RuntimeError):
    """`backward()` has no graph to follow.

    PyTorch's phrase: element 0 of tensors does not require grad and does not have a grad_fn.

    Nothing that it was computed from requires grad, or the history was cut off on the way.

    Fails:
        x = torch.ones(2)
        (x * 3).sum().backward()
    Works:
        x = torch.ones(2, requires_grad=True)
        (x * 3).sum().backward()
    """

    code = "L301"


@final
class GraphFreed(LaminaError, RuntimeError):
    """Trying to backward through the graph a second time, after it was freed.

    Keep it with retain_graph=True, or cut a graph carried over from an earlier step.

    A backward pass drops the values that were kept for it, as it goes, to save memory.

    Fails:
        x = torch.ones(2, requires_grad=True)
        y = (x * x).sum()
        y.backward()
        y.backward()
    Works:
        x = torch.ones(2, requires_grad=True)
        y = (x * x).sum()
        y.backward(retain_graph=True)
        y.backward()
    """

    code = "L302"


@final
class NonScalarRoot(LaminaError, RuntimeError):
    """`backward()` from many values: grad can be implicitly created only for scalar outputs.

    From many values there are many gradients: say what they are summed to, or with which weights.

    Fails:
        x = torch.ones(2, requires_grad=True)
        (x * x).backward()
    Works:
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward()
    """

    code = "L303"


@final
class GradShapeMismatch(LaminaError, RuntimeError):
    """A gradient handed to `backward` has the wrong shape: Mismatch in shape.

    It weighs each element of what was differentiated, so it has that tensor's shape.

    Fails:
        x = torch.ones(2, requires_grad=True)
        (x * 2).backward(torch.ones(2, 1))
    Works:
        x = torch.ones(2, requires_grad=True)
        (x * 2).backward(torch.ones(2))
    """

    code = "L304"


@final
class UnusedInput(LaminaError, RuntimeError):
    """A tensor appears to not have been used in the graph of what was differentiated.

    Pass allow_unused=True if that is meant.

    No path leads from the output to it, so there is no gradient to give.

    Fails:
        a = torch.ones(1, requires_grad=True)
        b = torch.ones(1, requires_grad=True)
        y = a * 2
        torch.autograd.grad(y, [a, b])
    Works:
        a = torch.ones(1, requires_grad=True)
        b = torch.ones(1, requires_grad=True)
        y = a * b
        torch.autograd.grad(y, [a, b])
    """

    code = "L305"


@final
class NotDifferentiable(LaminaError, NotImplementedError):
    """The derivative of an operation is not implemented.

    This is not a derivative that is zero: the rule has not been written.

    Fails:
        s = torch.tensor([2.0], requires_grad=True)
        torch.special.zeta(s, 1.0).sum().backward()
    Works:
        s = torch.tensor([2.0], requires_grad=True)
        weight = torch.special.zeta(s.detach(), 1.0)
        (s * weight).sum().backward()
    """

    code = "L306"


@final
class GradAssignmentMismatch(LaminaError, RuntimeError):
    """`.grad` was assigned a tensor of another size, dtype or device than its owner's.

    An optimizer takes steps with it, element by element.

    Fails:
        p = torch.nn.Parameter(torch.zeros(4))
        p.grad = torch.ones(1, 4)
    Works:
        p = torch.nn.Parameter(torch.zeros(4))
        p.grad = torch.ones(4)
    """

    code = "L307"


@final
class GradNotATensor(LaminaError, TypeError):
    """`.grad` was assigned something that is neither a Tensor nor None.

    `None` means that there is no gradient; a zero gradient is a tensor of zeros.

    Fails:
        p = torch.nn.Parameter(torch.zeros(4))
        p.grad = 0
    Works:
        p = torch.nn.Parameter(torch.zeros(4))
        p.grad = None
    """

    code = "L308"


@final
class NanGradient(LaminaError, RuntimeError):
    """Anomaly mode found that a derivative returned nan values.

    The slope of a root at 0 is infinite, and infinity times 0 is not a number.

    Fails:
        x = torch.ones(2, requires_grad=True)
        with torch.autograd.set_detect_anomaly(True):
            torch.sqrt(x * 0).sum().backward()
    Works:
        x = torch.ones(2, requires_grad=True)
        with torch.autograd.set_detect_anomaly(True):
            torch.sqrt(x * 0 + 1e-12).sum().backward()
    """

    code = "L309"


@final
class CreateGraphWarning(LaminaWarning):
    """`backward(create_graph=True)` makes a gradient that keeps the whole graph alive.

    The gradient leads to the graph, and the graph to the leaf that holds the gradient.

    Warns:
        x = torch.ones(1, requires_grad=True)
        y = (x**3).sum()
        y.backward(create_graph=True)
    Works:
        x = torch.ones(1, requires_grad=True)
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    """

    code = "L310"


@final
class CheckpointWarning(LaminaWarning):
    """A checkpointed function cannot give gradients as it was called.

    PyTorch's phrase: None of the inputs have requires_grad=True. Gradients will be None.

    A reentrant checkpoint records only if one of its own inputs requires grad.

    Warns:
        lin = torch.nn.Linear(2, 2)
        x = torch.ones(1, 2)
        torch.utils.checkpoint.checkpoint(lin, x, use_reentrant=True)
    Works:
        lin = torch.nn.Linear(2, 2)
        x = torch.ones(1, 2)
        torch.utils.checkpoint.checkpoint(lin, x, use_reentrant=False)
    """

    code = "L311"


@final
class CheckpointMismatch(LaminaError, RuntimeError):
    """A checkpointed function did something else when it was run again.

    What is not kept in the forward pass is computed again in the backward pass, and has to be the
    same.

    Fails:
        shapes = iter([(2, 1), (1, 2)])
        x = torch.ones(2, 2, requires_grad=True)
        y = torch.utils.checkpoint.checkpoint(
            lambda t: (t * torch.ones(next(shapes))).exp(), x, use_reentrant=False
        )
        y.sum().backward()
    Works:
        shapes = iter([(2, 1), (1, 2)])
        x = torch.ones(2, 2, requires_grad=True)
        ones = torch.ones(next(shapes))
        y = torch.utils.checkpoint.checkpoint(lambda t: (t * ones).exp(), x, use_reentrant=False)
        y.sum().backward()
    """

    code = "L312"


@final
class HookResultInvalid(LaminaError, RuntimeError):
    """A hook returned something that cannot take the gradient's place.

    It has to have the shape and dtype of the gradient, whose place it takes.

    Fails:
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda g: g.sum())
        (x * 2).sum().backward()
    Works:
        x = torch.ones(2, requires_grad=True)
        x.register_hook(lambda g: g * 2)
        (x * 2).sum().backward()
    """

    code = "L313"


@final
class GradcheckFailed(LaminaError, RuntimeError):
    """`gradcheck` found a derivative that the numbers contradict.

    Either the derivative is wrong, or the function is no function of its inputs alone.

    Fails:
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * x


        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        torch.autograd.gradcheck(Square.apply, x)
    Works:
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * 2 * x


        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        torch.autograd.gradcheck(Square.apply, x)
    """

    code = "L314"


@final
class NotAGraphTensor(LaminaError, TypeError):
    """`backward` or `grad` was given something that is not a Tensor.

    What is differentiated, and what by, are named by the tensors themselves.

    Fails:
        x = torch.ones(2, requires_grad=True)
        y = (x * 2).sum()
        torch.autograd.grad(y, "x")
    Works:
        x = torch.ones(2, requires_grad=True)
        y = (x * 2).sum()
        torch.autograd.grad(y, x)
    """

    code = "L315"
