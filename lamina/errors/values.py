"""L4xx: shapes; L7xx: indices and values."""

from __future__ import annotations

from typing import final

from .base import LaminaError, LaminaWarning


@final
class ShapeMismatch(LaminaError, RuntimeError):
    """Shapes do not fit together.

    PyTorch's phrase: The size of tensor a (3) must match the size of tensor b (4) at non-
    singleton dimension 0.

    Dimensions are compared from the last to the first; sizes have to be equal, or one of them 1.

    Fails:
        torch.ones(3) + torch.ones(4)
    Works:
        torch.ones(3) + torch.ones(4)[:3]
    """

    code = "L401"


@final
class ReshapeMismatch(LaminaError, RuntimeError):
    """A shape is invalid for input of that size.

    The sizes of all dimensions multiplied have to give the number of elements.

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

    A view only says in which steps to walk through memory, and no steps give this order.

    Fails:
        torch.ones(2, 3).t().view(6)
    Works:
        torch.ones(2, 3).t().reshape(6)
    """

    code = "L403"


@final
class MatmulShapeMismatch(LaminaError, RuntimeError):
    """Two shapes cannot be multiplied as matrices.

    The columns of the first have to be as many as the rows of the second.

    Fails:
        torch.ones(2, 3) @ torch.ones(2, 3)
    Works:
        torch.ones(2, 3) @ torch.ones(2, 3).t()
    """

    code = "L404"


@final
class WriteShapeMismatch(LaminaError, RuntimeError):
    """A result doesn't match the shape of the tensor that it is written to.

    A tensor keeps its size when it is changed in place.

    Fails:
        a = torch.ones(3)
        a += torch.ones(2, 3)
    Works:
        a = torch.ones(3)
        a = a + torch.ones(2, 3)
    """

    code = "L405"


@final
class ConcatenationMismatch(LaminaError, RuntimeError):
    """Tensors put together must match except in one dimension.

    Along that one they are put one after the other; along the others they lie side by side.

    Fails:
        torch.cat([torch.ones(2, 3), torch.ones(2, 4)])
    Works:
        torch.cat([torch.ones(2, 3), torch.ones(2, 4)], dim=1)
    """

    code = "L406"


@final
class NegativeSize(LaminaError, RuntimeError):
    """A tensor cannot have a negative dimension.

    Most often a size that was computed came out too small.

    Fails:
        torch.ones(-1)
    Works:
        torch.ones(1)
    """

    code = "L407"


@final
class RaggedData(LaminaError, ValueError):
    """Nested lists differ in length: expected sequence of length 2 at dim 1 (got 1).

    The rows of a tensor are equally long.

    Fails:
        torch.tensor([[1, 2], [3]])
    Works:
        torch.tensor([[1, 2], [3, 0]])
    """

    code = "L408"


@final
class BatchMismatch(LaminaError, ValueError):
    """Sizes of a batch do not agree, or it is too small.

    Each row of scores belongs to one target.

    Fails:
        torch.nn.functional.cross_entropy(torch.ones(3, 2), torch.tensor([0, 1]))
    Works:
        torch.nn.functional.cross_entropy(torch.ones(3, 2), torch.tensor([0, 1, 1]))
    """

    code = "L409"


@final
class LayerMismatch(LaminaError, RuntimeError, AssertionError):
    """A layer, its settings and what it is given do not fit together.

    PyTorch raises AssertionError in some of these cases and RuntimeError in others.

    Each head of an attention, say, gets an equal share of the embedding.

    Fails:
        torch.nn.MultiheadAttention(5, 2)
    Works:
        torch.nn.MultiheadAttention(6, 2)
    """

    code = "L410"


@final
class IndexOutOfRange(LaminaError, IndexError):
    """An index is out of bounds for its dimension.

    Counting starts at 0, so the last element of 3 has the index 2.

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

    Counting starts at 0, so a tensor with one dimension has the dimension 0, which is also -1.

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

    The message names the argument, and the values that it can have.

    Fails:
        torch.nn.Dropout(p=2.0)
    Works:
        torch.nn.Dropout(p=0.2)
    """

    code = "L704"


@final
class LinAlgError(LaminaError, RuntimeError):
    """A matrix does not have what was asked for: it is singular, or not positive-definite.

    A matrix that flattens space in some direction has no inverse, for one.

    Fails:
        torch.linalg.inv(torch.zeros(2, 2))
    Works:
        torch.linalg.pinv(torch.zeros(2, 2))
    """

    code = "L705"


@final
class NotAScalar(LaminaError, RuntimeError):
    """A Tensor with many elements cannot be converted to Scalar.

    Reduce it to one number first, or use `tolist()`.

    Fails:
        torch.ones(2).item()
    Works:
        torch.ones(2).sum().item()
    """

    code = "L706"


@final
class AmbiguousTruth(LaminaError, RuntimeError):
    """Boolean value of Tensor with more than one value is ambiguous.

    Some elements may be true and others not: say whether all or any of them count.

    Fails:
        x = torch.ones(2)
        if x > 0:
            print("positive")
    Works:
        x = torch.ones(2)
        if (x > 0).all():
            print("positive")
    """

    code = "L707"


@final
class ZeroDimensional(LaminaError, TypeError):
    """A 0-d tensor has neither length nor elements to iterate over.

    It is one number.

    Fails:
        for v in torch.tensor(1.0):
            print(v)
    Works:
        v = torch.tensor(1.0).item()
        print(v)
    """

    code = "L708"


@final
class EmptyReduction(LaminaError, RuntimeError):
    """A reduction without a value for nothing was given nothing.

    The largest of no numbers is no number; their sum is 0.

    Fails:
        torch.ones(0).max()
    Works:
        torch.ones(0).sum()
    """

    code = "L709"


@final
class InvalidArgument(LaminaError, RuntimeError):
    """An argument's value is refused by the operation.

    The message names the argument, and the values that it can have.

    Fails:
        torch.multinomial(torch.tensor([-1.0, 2.0]), 1)
    Works:
        torch.multinomial(torch.tensor([1.0, 2.0]), 1)
    """

    code = "L710"


@final
class UnknownStrategy(LaminaError, AssertionError):
    """A Jacobian is computed in forward or in reverse mode, and no other.

    The rows come from reverse mode, the columns from forward mode.

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
        torch.func.warn_of_loops()
        torch.vmap(lambda x: x if x > 0 else -x)(torch.ones(2))
    Works:
        torch.func.warn_of_loops()
        torch.vmap(lambda x: torch.where(x > 0, x, -x))(torch.ones(2))
    """

    code = "L713"


@final
class DoubtfulValue(LaminaWarning):
    """A result can be computed, but is hardly what was meant.

    Here a variance is computed from one observation, which divides by zero.

    Warns:
        torch.cov(torch.ones(2, 1))
    Works:
        torch.cov(torch.ones(2, 3))
    """

    code = "L711"
