"""Mistakes: an expression, the exception that PyTorch raises for it, and a phrase of its message.

`t` is the module (Lamina or PyTorch), `x` a float tensor of shape (2, 3), `i` an int64 tensor of
shape (3,), `np` NumPy. A mistake in an in-place operation must leave `x` as it was.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake, and what PyTorch answers."""

    program: str
    error: type[Exception] | tuple[type[Exception], ...]
    phrase: str


MISTAKES = [
    # shapes
    Mistake("x + t.ones(4)", RuntimeError, "must match the size of tensor b (4)"),
    Mistake("x @ t.ones(2, 3)", RuntimeError, "cannot be multiplied (2x3 and 2x3)"),
    Mistake("x.view(4)", RuntimeError, "is invalid for input of size 6"),
    Mistake("x.t().view(6)", RuntimeError, "view size is not compatible"),
    Mistake("x.reshape(-1, -1)", RuntimeError, "only one dimension can be inferred"),
    Mistake("x.expand(4, 3)", RuntimeError, "must match the existing size (2)"),
    Mistake("t.cat([x, t.ones(3, 3, 3)])", RuntimeError, "number of dimensions"),
    Mistake("t.stack([x, t.ones(3, 3)])", RuntimeError, "expects each tensor to be equal size"),
    Mistake("x.sum(5)", IndexError, "Dimension out of range"),
    Mistake("x.transpose(0, 7)", IndexError, "Dimension out of range"),
    Mistake("x.permute(0, 0)", RuntimeError, "duplicate dims"),
    Mistake("t.zeros(-1)", RuntimeError, "must be non-negative"),
    Mistake("t.nn.MultiheadAttention(5, 2)", AssertionError, "must be divisible by num_heads"),
    Mistake(
        "t.nn.MultiheadAttention(6, 2)(x, x, x)",
        AssertionError,
        "was expecting embedding dimension",
    ),
    Mistake(
        "t.nn.MultiheadAttention(3, 1)(x, x, x, attn_mask=t.ones(3, 3))",
        RuntimeError,
        "The shape of the 2D attn_mask is torch.Size([3, 3]), but should be (2, 2)",
    ),
    # indices
    Mistake("x[5]", IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    Mistake("x[0, 0, 0]", IndexError, "too many indices"),
    Mistake("x[1.5]", IndexError, ""),
    Mistake("x[float('nan')]", IndexError, ""),
    Mistake("x[t.tensor([0.5])]", IndexError, "tensors used as indices must be"),
    Mistake("x[t.tensor([9])]", IndexError, "out of bounds"),
    Mistake("x[t.tensor([True, False, True])]", IndexError, "does not match the shape"),
    Mistake("x.gather(1, t.tensor([[7]]))", RuntimeError, "out of bounds"),
    Mistake("x.index_select(0, t.tensor([4]))", (RuntimeError, IndexError), ""),
    # operators
    Mistake(
        "t.library.infer_schema(lambda x: x, mutates_args=())",
        ValueError,
        "Parameter x must have a type annotation",
    ),
    Mistake("t.library.register_fake('nobody::f', abs)", RuntimeError, "does not exist"),
    Mistake(
        "t.library.Library('nobody', 'FRAGMENT').define('f(Foo x) -> Tensor')",
        RuntimeError,
        "unknown type specifier",
    ),
    Mistake("t.library.define('f', '(Tensor x) -> Tensor')", ValueError, '"namespace::name"'),
    # dtypes and kinds of argument
    Mistake("t.abs(3.0)", TypeError, "argument 'input' (position 1) must be Tensor, not float"),
    Mistake("x.clamp(min='a')", TypeError, ""),
    Mistake("x.softmax('a')", TypeError, ""),
    Mistake("x.sum(0.5)", TypeError, ""),
    Mistake("t.full((2,), 'a')", TypeError, "must be Number, not str"),
    Mistake("x.fill_('a')", TypeError, ""),
    Mistake("x.split('a')", TypeError, ""),
    Mistake("x.masked_fill(x > 0, 'a')", TypeError, ""),
    Mistake("t.logit(x, 'a')", TypeError, "argument 'eps' (position 2) must be float, not str"),
    Mistake("t.erf(x + 1j)", NotImplementedError, "not implemented for 'ComplexFloat'"),
    Mistake("t.einsum(3, x)", TypeError, "argument 'equation' (position 1) must be str, not int"),
    Mistake("t.tensordot(x, x, 'a')", RuntimeError, "tensordot expects dims to be int or tuple"),
    Mistake(
        "t.nn.functional.max_pool2d(x[None], 2.5)",
        TypeError,
        "argument 'kernel_size'",
    ),
    Mistake(
        "t.nn.functional.pad(x, (1.5, 1))",
        TypeError,
        "must be tuple of ints, but found element of type float at pos 0",
    ),
    Mistake(
        "t.nn.functional.leaky_relu(x, 'a')",
        TypeError,
        "argument 'negative_slope' (position 2) must be",
    ),
    Mistake("i.mean()", RuntimeError, "could not infer output dtype"),
    Mistake("t.tensor([True]) - t.tensor([True])", RuntimeError, "Subtraction"),
    Mistake("i ** -1", RuntimeError, "negative integer powers"),
    Mistake("t.gcd(x, i[:1])", NotImplementedError, "\"gcd_cpu\" not implemented for 'Float'"),
    Mistake("i.nextafter_(i)", NotImplementedError, "not implemented for 'Long'"),
    Mistake("t.frexp(i)", RuntimeError, "only supports floating-point dtypes"),
    Mistake("x.renorm_(0, 0, 1.0)", RuntimeError, "non-positive-norm not supported"),
    Mistake("x.renorm(2, 0, -1)", RuntimeError, "expected maxnorm to be >= 0 but got -1"),
    Mistake("x[0].renorm(2, 0, 1)", RuntimeError, "needs at least 2 dimensions, got 1"),
    Mistake("t.unravel_index(x, (2, 3))", TypeError, "expected 'indices' to be integer dtype"),
    Mistake("t.unravel_index(i, (2, 1.5))", TypeError, "sequence to only contain ints"),
    Mistake("t.unravel_index(i, (2, -3))", ValueError, "cannot have negative values"),
    Mistake("x @ t.ones(3, 2, dtype=t.float64)", RuntimeError, "same dtype"),
    Mistake("t.exp('x')", TypeError, "must be Tensor, not str"),
    Mistake("t.add(x, 'y')", TypeError, "str"),
    Mistake("x + 'y'", TypeError, ""),
    Mistake("t.cat(x, 'y')", TypeError, ""),
    Mistake("t.sum()", TypeError, ""),
    Mistake("t.exp(x, banana=1)", TypeError, "banana"),
    Mistake("t.tensor('abc')", (TypeError, ValueError), ""),
    Mistake(
        "t.tensor([[1, 2], [3]])", ValueError, "expected sequence of length 2 at dim 1 (got 1)"
    ),
    Mistake("t.tensor([1, 'a'])", (TypeError, ValueError), ""),
    Mistake("t.from_numpy([1, 2])", TypeError, "expected np.ndarray"),
    Mistake("t.from_numpy(np.array(['a']))", TypeError, "can't convert np.ndarray"),
    Mistake("t.tensor([2**70])", ValueError, "Overflow when unpacking long long"),
    Mistake("t.zeros(2, dtype='float32')", TypeError, ""),
    Mistake("t.ones(2, device='nowhere')", RuntimeError, "nowhere"),
    Mistake("t.arange(0, 5, -1)", RuntimeError, "step sign"),
    Mistake("t.arange(0, 5, 0)", RuntimeError, "step must be nonzero"),
    Mistake("t.linspace(0, 1, -1)", RuntimeError, "non-negative"),
    # numbers out of tensors
    Mistake("x.item()", RuntimeError, "cannot be converted to Scalar"),
    Mistake("bool(x)", RuntimeError, "is ambiguous"),
    Mistake("len(t.tensor(1))", TypeError, "len() of a 0-d tensor"),
    Mistake("list(t.tensor(1))", TypeError, "iteration over a 0-d tensor"),
    Mistake("int(t.ones(2))", (RuntimeError, TypeError, ValueError), ""),
    # changes in place
    Mistake("x.add_(t.ones(4, 2, 3))", RuntimeError, "doesn't match the broadcast shape"),
    Mistake("x.copy_(t.ones(7))", RuntimeError, "must match"),
    Mistake("i.add_(0.5)", RuntimeError, "can't be cast"),
    Mistake("x.__setitem__(9, 1.0)", IndexError, "out of bounds"),
    Mistake("x.__setitem__(0, t.ones(5))", RuntimeError, ""),
    Mistake("x.__setitem__(0, 'a')", TypeError, ""),
    Mistake("x.masked_fill_(t.ones(2, 3), 1.0)", RuntimeError, "bool"),
    Mistake("x.index_add_(0, t.tensor([5]), t.ones(1, 3))", (RuntimeError, IndexError), ""),
    Mistake("x.scatter_(1, t.tensor([[9]]), 1.0)", RuntimeError, "out of bounds"),
    # autograd
    Mistake("i.requires_grad_()", RuntimeError, "floating point"),
    Mistake("t.tensor([1], requires_grad=True)", RuntimeError, "can require gradients"),
    Mistake("x.sum().backward()", RuntimeError, "does not require grad"),
    Mistake("x.requires_grad_().mul(2).backward()", RuntimeError, "scalar outputs"),
    Mistake("t.autograd.grad(x.sum(), x)", RuntimeError, "does not require grad"),
    Mistake(
        "t.heaviside(x.requires_grad_(), x.detach()).sum().backward()",
        RuntimeError,
        "is not implemented",
    ),
    Mistake(
        "t.special.zeta(x.requires_grad_(), x.detach()).sum().backward()",
        NotImplementedError,
        "the derivative for 'zeta",
    ),
    Mistake("t.sparse.softmax(x, 1)", NotImplementedError, "Could not run 'aten::_sparse_softmax'"),
    # linear algebra
    Mistake("t.linalg.inv(t.zeros(2, 2))", RuntimeError, "singular"),
    Mistake("t.linalg.inv(x)", RuntimeError, "square"),
    Mistake("t.linalg.cholesky(-t.eye(2))", RuntimeError, "positive-definite"),
    Mistake("t.einsum('ij,jk', x, t.ones(2, 2))", RuntimeError, ""),
    # nn
    Mistake("t.nn.Linear(4, 2)(x)", RuntimeError, "cannot be multiplied (2x3 and 4x2)"),
    Mistake(
        "t.nn.Linear(3, 2)(x.double())",
        RuntimeError,
        "mat1 and mat2 must have the same dtype, but got Double and Float",
    ),
    Mistake(
        "t.nn.functional.linear(x, t.ones(2, 3).double(), t.ones(2))",
        RuntimeError,
        "self and mat2 must have the same dtype, but got Float and Double",
    ),
    Mistake(
        "t.nn.functional.linear(x, t.ones(2, 3), t.ones(2).double())",
        RuntimeError,
        "self and mat2 must have the same dtype, but got Double and Float",
    ),
    Mistake(
        "t.nn.functional.linear(x.double(), t.ones(2, 3))",
        RuntimeError,
        "expected m1 and m2 to have the same dtype, but got: double != float",
    ),
    Mistake("t.nn.functional.cross_entropy(x, t.tensor([0, 9]))", IndexError, "out of bounds"),
    Mistake("t.nn.functional.relu('x')", TypeError, ""),
]
