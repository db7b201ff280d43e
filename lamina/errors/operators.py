"""L85x: operators that programs define."""

from __future__ import annotations

from typing import final

from .base import LaminaError


@final
class OperatorCallError(LaminaError, RuntimeError):
    """A custom operator was called with arguments that its declaration does not have.

    The declaration says how many arguments there are, what they are called, and of which type
    each is. Nothing is converted that could lose something: a tensor is not made from a number.

    Fails:
        @torch.library.custom_op("examples::scaled", mutates_args=())
        def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
            return x * factor


        scaled(torch.ones(2), "two")
    Works:
        @torch.library.custom_op("examples::scaled", mutates_args=())
        def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
            return x * factor


        scaled(torch.ones(2), 2.0)
    """

    code = "L851"


@final
class OperatorResultError(LaminaError, RuntimeError):
    """A custom operator returned something else than it declares, or memory of its inputs.

    Its results may not share memory with its inputs or with each other: whoever calls it may
    write into them.

    Fails:
        @torch.library.custom_op("examples::first", mutates_args=())
        def first(x: torch.Tensor) -> torch.Tensor:
            return x[:1]


        first(torch.ones(2))
    Works:
        @torch.library.custom_op("examples::first", mutates_args=())
        def first(x: torch.Tensor) -> torch.Tensor:
            return x[:1].clone()


        first(torch.ones(2))
    """

    code = "L852"


@final
class InvalidSchema(LaminaError, RuntimeError):
    """The declaration of an operator cannot be read.

    It is written as a call with types: `name(Tensor x, int n=1, *, float? scale=None) -> Tensor`.

    Fails:
        library = torch.library.Library("examples", "FRAGMENT")
        library.define("halved(Tensor x, count n) -> Tensor")
    Works:
        library = torch.library.Library("examples", "FRAGMENT")
        library.define("halved(Tensor x, int n) -> Tensor")
    """

    code = "L853"


@final
class SchemaNotInferred(LaminaError, ValueError):
    """The annotations of a function do not say what an operator needs to know.

    Each parameter needs one, and so does the result; without a result it is None.

    Fails:
        @torch.library.custom_op("examples::doubled", mutates_args=())
        def doubled(x):
            return x * 2
    Works:
        @torch.library.custom_op("examples::doubled", mutates_args=())
        def doubled(x: torch.Tensor) -> torch.Tensor:
            return x * 2
    """

    code = "L854"


@final
class NoAutogradFormula(LaminaError, RuntimeError):
    """A backward pass reached a custom operator that was given no derivative.

    What runs inside an operator is not recorded, so its derivative must be written.

    Fails:
        @torch.library.custom_op("examples::sine", mutates_args=())
        def sine(x: torch.Tensor) -> torch.Tensor:
            return x.sin()


        x = torch.ones(2, requires_grad=True)
        sine(x).sum().backward()
    Works:
        @torch.library.custom_op("examples::sine", mutates_args=())
        def sine(x: torch.Tensor) -> torch.Tensor:
            return x.sin()


        def keep(ctx, inputs, output):
            ctx.save_for_backward(*inputs)


        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x.cos()


        sine.register_autograd(backward, setup_context=keep)
        x = torch.ones(2, requires_grad=True)
        sine(x).sum().backward()
    """

    code = "L855"


@final
class OperatorNotDefined(LaminaError, RuntimeError):
    """An operator is defined twice, or something is registered for one that does not exist.

    A name stands for one operator, so that all who call it mean the same. `custom_op` replaces its
    own operator of the same name.

    Fails:
        torch.library.register_fake("examples::missing", torch.empty_like)
    Works:
        library = torch.library.Library("examples", "FRAGMENT")
        library.define("missing(Tensor x) -> Tensor")
        torch.library.register_fake("examples::missing", torch.empty_like)
    """

    code = "L856"


@final
class NoOperatorKernel(LaminaError, NotImplementedError):
    """A custom operator has no kernel for the device that its tensors are on.

    A declaration says how an operator is called, and not what it computes: that is registered for
    each type of device, or once for all.

    Fails:
        library = torch.library.Library("examples", "FRAGMENT")
        library.define("tripled(Tensor x) -> Tensor")
        torch.ops.examples.tripled(torch.ones(2))
    Works:
        library = torch.library.Library("examples", "FRAGMENT")
        library.define("thrice(Tensor x) -> Tensor")
        library.impl("thrice", lambda x: x * 3, "CPU")
        torch.ops.examples.thrice(torch.ones(2))
    """

    code = "L857"


@final
class NoFakeKernel(LaminaError, RuntimeError):
    """A custom operator met tensors without elements, and has no function that tells shapes.

    On the meta device there is nothing to compute with: a fake function gives tensors of the shape
    and dtype that the kernel would give.

    Fails:
        @torch.library.custom_op("examples::cube", mutates_args=())
        def cube(x: torch.Tensor) -> torch.Tensor:
            return x**3


        cube(torch.ones(2, device="meta"))
    Works:
        @torch.library.custom_op("examples::cube", mutates_args=())
        def cube(x: torch.Tensor) -> torch.Tensor:
            return x**3


        cube.register_fake(torch.empty_like)
        cube(torch.ones(2, device="meta"))
    """

    code = "L858"


@final
class LibraryNotLoaded(LaminaError, OSError):
    """A file with compiled operators was to be loaded.

    Such a file is made for PyTorch's own tensors. Operators for Lamina are written in Python.

    Fails:
        torch.library.ops.load_library("operators.so")
    Works:
        @torch.library.custom_op("examples::halved", mutates_args=())
        def halved(x: torch.Tensor) -> torch.Tensor:
            return x / 2


        halved(torch.ones(2))
    """

    code = "L859"


@final
class OperatorCheckFailed(LaminaError, RuntimeError):
    """A check of a custom operator failed.

    `torch.library.opcheck` finds what an operator does and does not declare.

    Fails:
        @torch.library.custom_op("examples::shifted", mutates_args=())
        def shifted(x: torch.Tensor) -> torch.Tensor:
            x.add_(1)
            return x * 2


        torch.library.opcheck(shifted, (torch.ones(2),), test_utils="test_schema")
    Works:
        @torch.library.custom_op("examples::shifted", mutates_args=())
        def shifted(x: torch.Tensor) -> torch.Tensor:
            return (x + 1) * 2


        torch.library.opcheck(shifted, (torch.ones(2),), test_utils="test_schema")
    """

    code = "L860"
