"""L4xx: shapes; L7xx: indices and values."""

from __future__ import annotations

from typing import final

from .base import LaminaError, LaminaWarning


@final
class ShapeMismatch(LaminaError, RuntimeError):
    """Shapes do not fit together.

    PyTorch's phrase: The size of tensor a (3) must match the size of tensor b (4) at non-
    singleton dimension 0.

    Fails:
        torch.ones(3) + torch.ones(4)
    Works:
        torch.ones(3) + torch.ones(4)[:3]
    """

    code = "L401"


@final
class ReshapeMismatch(LaminaError, RuntimeError):
    """A shape is invalid for input of that size.

    Fails:
        torch.ones(4).reshape(3, 2)
    Works:
        torch.ones(6).reshape(3, 2)
    """

    code = "L402"


@final
class ViewStrideMismatch(LaminaError, RuntimeError):
    """`view()` cannot show these elements without moving them.

    PyTorch's phrase: view size is not compatible with input tensor's size and stride.

    Fails:
        torch.ones(2, 3).t().view(6)
    Works:
        torch.ones(2, 3).t().reshape(6)
    """

    code = "L403"


@final
class MatmulShapeMismatch(LaminaError, RuntimeError):
    """Two shapes cannot be multiplied as matrices.

    Fails:
        torch.ones(2, 3) @ torch.ones(2, 3)
    Works:
        torch.ones(2, 3) @ torch.ones(2, 3).t()
    """

    code = "L404"


@final
class WriteShapeMismatch(LaminaError, RuntimeError):
    """A result doesn't match the shape of the tensor that it is written to.

    Fails:
        a = torch.ones(3); a += torch.ones(2, 3)
    Works:
        a = torch.ones(3); a = a + torch.ones(2, 3)
    """

    code = "L405"


@final
class ConcatenationMismatch(LaminaError, RuntimeError):
    """Tensors put together must match except in one dimension.

    Fails:
        torch.cat([torch.ones(2, 3), torch.ones(2, 4)])
    Works:
        torch.cat([torch.ones(2, 3), torch.ones(2, 4)], dim=1)
    """

    code = "L406"


@final
class NegativeSize(LaminaError, RuntimeError):
    """A tensor cannot have a negative dimension.

    Fails:
        torch.ones(-1)
    Works:
        torch.ones(1)
    """

    code = "L407"


@final
class RaggedData(LaminaError, ValueError):
    """Nested lists differ in length: expected sequence of length 2 at dim 1 (got 1).

    Fails:
        torch.tensor([[1, 2], [3]])
    Works:
        torch.tensor([[1, 2], [3, 0]])
    """

    code = "L408"


@final
class BatchMismatch(LaminaError, ValueError):
    """Sizes of a batch do not agree, or it is too small.

    Fails:
        F.cross_entropy(torch.ones(3, 2), torch.tensor([0, 1]))
    Works:
        F.cross_entropy(torch.ones(3, 2), torch.tensor([0, 1, 1]))
    """

    code = "L409"


@final
class LayerMismatch(LaminaError, RuntimeError, AssertionError):
    """A layer, its settings and what it is given do not fit together.

    PyTorch raises AssertionError in some of these cases and RuntimeError in others.

    Fails:
        torch.nn.MultiheadAttention(5, 2)
    Works:
        torch.nn.MultiheadAttention(6, 2)
    """

    code = "L410"


@final
class IndexOutOfRange(LaminaError, IndexError):
    """An index is out of bounds for its dimension.

    Fails:
        torch.ones(3)[3]
    Works:
        torch.ones(3)[2]
    """

    code = "L701"


@final
class DimensionOutOfRange(LaminaError, IndexError):
    """A dimension is out of range.

    PyTorch's phrase: Dimension out of range (expected to be in range of [-1, 0], but got 1).

    Fails:
        torch.ones(3).sum(dim=1)
    Works:
        torch.ones(3).sum(dim=0)
    """

    code = "L702"


@final
class InvalidIndex(LaminaError, IndexError):
    """This cannot be used as an index.

    Too many indices, or tensors used as indices that are not integers or booleans.

    Fails:
        torch.ones(3)[torch.tensor([0.5])]
    Works:
        torch.ones(3)[torch.tensor([0])]
    """

    code = "L703"


@final
class InvalidValue(LaminaError, ValueError):
    """An argument has a value that makes no sense here.

    Fails:
        torch.nn.Dropout(p=2.0)
    Works:
        torch.nn.Dropout(p=0.2)
    """

    code = "L704"


@final
class LinAlgError(LaminaError, RuntimeError):
    """A matrix does not have what was asked for: it is singular, or not positive-definite.

    Fails:
        torch.linalg.inv(torch.zeros(2, 2))
    Works:
        torch.linalg.pinv(torch.zeros(2, 2))
    """

    code = "L705"


@final
class NotAScalar(LaminaError, RuntimeError):
    """A Tensor with many elements cannot be converted to Scalar.

    Fails:
        torch.ones(2).item()
    Works:
        torch.ones(2).sum().item()
    """

    code = "L706"


@final
class AmbiguousTruth(LaminaError, RuntimeError):
    """Boolean value of Tensor with more than one value is ambiguous.

    Fails:
        if x > 0: pass
    Works:
        if (x > 0).all(): pass
    """

    code = "L707"


@final
class ZeroDimensional(LaminaError, TypeError):
    """A 0-d tensor has neither length nor elements to iterate over.

    Fails:
        for v in torch.tensor(1.0): pass
    Works:
        v = torch.tensor(1.0).item()
    """

    code = "L708"


@final
class EmptyReduction(LaminaError, RuntimeError):
    """A reduction without a value for nothing was given nothing.

    Fails:
        torch.ones(0).max()
    Works:
        torch.ones(0).sum()
    """

    code = "L709"


@final
class InvalidArgument(LaminaError, RuntimeError):
    """An argument's value is refused by the operation.

    Fails:
        torch.multinomial(torch.tensor([-1.0, 2.0]), 1)
    Works:
        torch.multinomial(torch.tensor([1.0, 2.0]), 1)
    """

    code = "L710"


@final
class UnknownStrategy(LaminaError, AssertionError):
    """A Jacobian is computed in forward or in reverse mode, and no other.

    Fails:
        torch.autograd.functional.jacobian(torch.sin, torch.ones(2), strategy="sideways")
    Works:
        torch.autograd.functional.jacobian(torch.sin, torch.ones(2), strategy="reverse-mode")
    """

    code = "L712"


@final
class LoopedMapWarning(LaminaWarning):
    """A mapped function asks for what differs between samples, so it runs once for each.

    Given only if `torch.func.warn_of_loops()` asked for it.

    Warns:
        torch.func.warn_of_loops(); torch.vmap(lambda x: x if x > 0 else -x)(torch.ones(2))
    Works:
        torch.func.warn_of_loops(); torch.vmap(lambda x: torch.where(x > 0, x, -x))(torch.ones(2))
    """

    code = "L713"


@final
class DoubtfulValue(LaminaWarning):
    """A result can be computed, but is hardly what was meant.

    Warns:
        torch.cov(torch.ones(2, 1))
    Works:
        torch.cov(torch.ones(2, 3))
    """

    code = "L711"
