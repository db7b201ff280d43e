"""L8xx: custom functions."""

from __future__ import annotations

from typing import final

from .base import LaminaError


@final
class WrongNumberOfGradients(LaminaError, RuntimeError):
    """A custom `backward` returned an incorrect number of gradients.

    One for each argument of forward, None where there is none: expected 2, got 1.

    Fails:
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor

            @staticmethod
            def backward(ctx, g):
                return g * ctx.factor


        x = torch.ones(2, requires_grad=True)
        Scale.apply(x, 3.0).sum().backward()
    Works:
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor

            @staticmethod
            def backward(ctx, g):
                return g * ctx.factor, None


        x = torch.ones(2, requires_grad=True)
        Scale.apply(x, 3.0).sum().backward()
    """

    code = "L801"


@final
class InvalidGradient(LaminaError, RuntimeError):
    """A custom `backward` returned an invalid gradient: wrong shape, dtype or device.

    A gradient says what each element of the input does, so it has the input's shape.

    Fails:
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return (g * 2)[:1].expand(3)


        x = torch.ones(2, requires_grad=True)
        Twice.apply(x).sum().backward()
    Works:
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2


        x = torch.ones(2, requires_grad=True)
        Twice.apply(x).sum().backward()
    """

    code = "L802"


@final
class LegacyFunction(LaminaError, RuntimeError):
    """A custom Function was called as an instance: it needs a static forward method.

    It was written for a way of calling that PyTorch dropped: a Function is not instantiated.

    Fails:
        class Twice(torch.autograd.Function):
            def forward(self, x):
                return x * 2

            def backward(self, g):
                return g * 2


        Twice()(torch.ones(2, requires_grad=True))
    Works:
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2


        Twice.apply(torch.ones(2, requires_grad=True))
    """

    code = "L803"


@final
class BackwardNotWritten(LaminaError, NotImplementedError):
    """A custom Function has no `backward`, and one was needed.

    Its forward is not recorded, so that its derivative is known from `backward` alone.

    Fails:
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2


        x = torch.ones(2, requires_grad=True)
        Twice.apply(x).sum().backward()
    Works:
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2


        x = torch.ones(2, requires_grad=True)
        Twice.apply(x).sum().backward()
    """

    code = "L804"


@final
class OnceDifferentiable(LaminaError, RuntimeError):
    """A Function marked @once_differentiable was differentiated twice.

    The mark says that its backward is no recorded computation, and so has no derivative.

    Fails:
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * 3 * x**2


        x = torch.ones(1, requires_grad=True)
        y = Cube.apply(x)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        g.sum().backward()
    Works:
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * 3 * x**2


        x = torch.ones(1, requires_grad=True)
        y = Cube.apply(x)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        g.sum().backward()
    """

    code = "L805"


@final
class SaveForBackwardMisuse(LaminaError, TypeError):
    """`ctx.save_for_backward` was given something that is not a Tensor.

    PyTorch's phrase: save_for_backward can only save variables.

    It keeps tensors, with their versions; other things are attributes of `ctx`.

    Fails:
        class Power(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, n):
                ctx.save_for_backward(x, n)
                return x**n

            @staticmethod
            def backward(ctx, g):
                x, n = ctx.saved_tensors
                return g * n * x ** (n - 1), None


        Power.apply(torch.ones(1, requires_grad=True), 3)
    Works:
        class Power(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, n):
                ctx.save_for_backward(x)
                ctx.n = n
                return x**n

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return g * ctx.n * x ** (ctx.n - 1), None


        Power.apply(torch.ones(1, requires_grad=True), 3)
    """

    code = "L806"


@final
class ContextMisuse(LaminaError, RuntimeError):
    """`ctx` of a custom Function was used in a way that forward does not allow.

    `mark_dirty` says that forward changed an input in place, so that input has to be returned.

    Fails:
        class Half(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_non_differentiable(x)
                ctx.mark_dirty(x)
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2


        x = torch.ones(1, requires_grad=True)
        Half.apply(x * 1)
    Works:
        class Half(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.mul_(2)

            @staticmethod
            def backward(ctx, g):
                return g * 2


        x = torch.ones(1, requires_grad=True)
        Half.apply(x * 1)
    """

    code = "L807"
