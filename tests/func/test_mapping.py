"""`vmap`: dimensions, nests, random numbers, derivatives, and the way sample by sample."""

from __future__ import annotations

import pytest
from autograd.recording import Cases, raises

import lamina
import lamina.func

case = Cases(__file__)


def matrix(torch, *shape):
    return torch.arange(shape[0] * shape[1], dtype=torch.float32).reshape(*shape) / 3 - 1


@case
def dimensions_in_and_out(torch):
    x, vmap = matrix(torch, 4, 3), torch.func.vmap
    return (
        vmap(lambda a: a * 2)(x),
        vmap(lambda a: a.sum(), in_dims=1)(x),
        vmap(lambda a: a, in_dims=-1, out_dims=1)(x),
        vmap(lambda a: (a, a), out_dims=(0, -1))(x),
        vmap(lambda a, b: a + b, in_dims=(0, None))(x, x[0]),
        vmap(lambda n: n["k"] * n["l"][0], in_dims=({"k": 0, "l": None},))({"k": x, "l": [x[0]]}),
        vmap(lambda a: {"twice": a * 2})(x)["twice"],
        vmap(lambda a: x[0])(x),
        vmap(lambda a: x[0], out_dims=None)(x),
        vmap(lambda a, k=1: a * k)(x, k=2.0),
        vmap(lambda a: a * 2)(torch.zeros(0, 3)).shape,
    )


@case
def mappings_inside_one_another(torch):
    x, y, vmap = matrix(torch, 4, 3), matrix(torch, 5, 3), torch.vmap
    dot = vmap(vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))
    same = vmap(vmap(lambda a: a.sin(), in_dims=1, out_dims=1))(torch.ones(2, 3, 4)).shape
    return dot(x, y), same


@case
def indices_among_the_samples(torch):
    x, vmap = matrix(torch, 4, 3), torch.vmap
    index = torch.tensor([0, 2, 1, 1])
    table = matrix(torch, 5, 2)
    return (
        vmap(lambda a, i: a.gather(0, i.unsqueeze(0)))(x, index),
        vmap(lambda i: table[i])(index),
        vmap(lambda a, i: a.index_select(0, i.reshape(1)))(x, index),
        vmap(lambda i: torch.nn.functional.embedding(i, table))(index),
        vmap(lambda a: a[torch.tensor([2, 0])])(x),
        vmap(lambda a: torch.where(a > 0, a, -a))(x),
        vmap(lambda a: a.sort(descending=True)[0])(x),
        vmap(lambda a: a.cumsum(0).flip(0))(x),
        vmap(lambda a: torch.stack([a, a * 2], 1).reshape(-1))(x),
        vmap(lambda a: torch.einsum("i,ij->j", a, matrix(torch, 3, 2)))(x),
        vmap(lambda a: torch.linalg.norm(a))(x),
    )


@case
def changes_in_place(torch):
    x, vmap = matrix(torch, 4, 3), torch.vmap

    def change(a):
        b = a.clone()
        b[0] = b[1]
        b.mul_(2)
        b[1:] += 1
        return b

    given = x.clone()
    vmap(lambda a: a.add_(1))(given)
    return vmap(change)(x), given


@case
def random_numbers(torch):
    x, vmap = torch.ones(4, 3), torch.vmap

    def drawn(randomness, f):
        torch.manual_seed(7)
        found = vmap(f, randomness=randomness)(x)
        return found, torch.rand(2)

    return (
        drawn("different", lambda a: a + torch.rand(3)),
        drawn("same", lambda a: a + torch.rand(3)),
        drawn("different", lambda a: torch.randn(20)),
        drawn("different", lambda a: torch.randperm(4)),
        drawn("different", lambda a: torch.nn.functional.dropout(a)),
        drawn("same", lambda a: torch.nn.functional.dropout(a)),
        drawn("different", lambda a: torch.rand(2) + torch.randint(5, (2,))),
        raises(lambda: vmap(lambda a: a + torch.rand(3))(x), "randomness error mode"),
    )


@case
def chunks(torch):
    x, vmap = matrix(torch, 5, 3), torch.vmap
    return (
        vmap(lambda a: (a * 2, a.sum()), chunk_size=2)(x),
        vmap(lambda a: a * 2, in_dims=1, out_dims=1, chunk_size=2)(x),
    )


@case
def derivatives_through_it(torch):
    x, w = matrix(torch, 4, 3), torch.tensor([0.5, -1.0, 2.0])
    grad, vmap = torch.func.grad, torch.func.vmap

    def of_sample(w, a):
        return (w * a).sin().sum()

    leaf = w.clone().requires_grad_()
    vmap(lambda a: of_sample(leaf, a))(x).sum().backward()
    sums = grad(lambda w: vmap(of_sample, (None, 0))(w, x).sum())
    return (
        vmap(grad(of_sample), (None, 0))(w, x),
        sums(w),
        leaf.grad,
        vmap(vmap(grad(torch.sin)))(x),
        grad(lambda w: vmap(grad(of_sample), (None, 0))(w, x).pow(2).sum())(w),
        vmap(grad(lambda a: grad(of_sample, 1)(w, a).sum()))(x),
    )


@case
def mistakes(torch):
    x, vmap = matrix(torch, 4, 3), torch.vmap
    return (
        raises(lambda: vmap(lambda: x)(), "got no inputs"),
        raises(lambda: vmap(lambda a: a)(3), "We cannot vmap over non-Tensor arguments"),
        raises(lambda: vmap(lambda a: a)(torch.tensor(1.0)), "of dimensionality 0"),
        raises(lambda: vmap(lambda a: a, in_dims=None)(x), "expected `in_dims` to be int"),
        raises(lambda: vmap(lambda a: a, in_dims=[0])(x), "expected `in_dims` to be int"),
        raises(lambda: vmap(lambda a: a, in_dims=3)(x), "expected in_dim to satisfy -2 <= in_dim"),
        raises(lambda: vmap(lambda a: a, in_dims=(0, 0))(x), "in_dims is not compatible"),
        raises(lambda: vmap(lambda a: a, in_dims=(0.5,))(x), "in_dim must be either an integer"),
        raises(lambda: vmap(lambda a, b: a)(x, x[:3]), "to have the same size", "[4, 3]"),
        raises(lambda: vmap(lambda a: 3)(x), "must only return Tensors"),
        raises(lambda: vmap(lambda a: None)(x), "must only return Tensors"),
        raises(lambda: vmap(lambda a: a, out_dims=2)(x), "Dimension out of range"),
        raises(lambda: vmap(lambda a: (a, a), out_dims=(0, 1, 2))(x), "out_dims is not compatible"),
        raises(lambda: vmap(lambda a: a, out_dims=None)(x), "can not return a BatchedTensor"),
        raises(lambda: vmap(lambda a: a, out_dims="0")(x), "`out_dims` must be an int, None"),
        raises(lambda: vmap(lambda a: a, randomness="x"), "Only allowed values for randomness"),
        raises(lambda: vmap(lambda a: a, chunk_size=0), "chunk_size should be None or greater"),
    )


@pytest.mark.parametrize("name", case.functions)
def test_case(name):
    assert case.answer(name, lamina) == case.recorded(name)


# --- what PyTorch refuses: sample by sample ------------------------------------------------------

X = lamina.tensor([[1.0, -2.0, 0.5], [-1.0, 0.25, 3.0], [2.0, 2.0, -4.0]])


def by_hand(f):
    return lamina.stack([f(x) for x in X])


def steps(x):
    count = 0
    while x.sum() < 20 and count < 10:
        x, count = x.abs() * 2, count + 1
    return x


def into_zeros(x):
    out = lamina.zeros(3)
    out[1] = x[0]
    out += x
    return out


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x * x.sum().item(),
        lambda x: x[x > 0].sum(),
        lambda x: lamina.tensor(sorted(x.tolist())),
        lambda x: lamina.tensor(x.numpy() * 2),
        steps,
        into_zeros,
    ],
)
def test_what_only_a_sample_can_answer_is_asked_of_each(f):
    assert lamina.equal(lamina.vmap(f)(X), by_hand(f))


def test_gradients_go_through_the_way_sample_by_sample():
    w = lamina.tensor(2.0, requires_grad=True)

    def f(x):
        return w * x.sum() if x.sum() > 0 else w**2 * x[0]

    lamina.vmap(f)(X).sum().backward()
    # Sums are -0.5, 2.25 and 0: the first and the third take the second branch.
    assert w.grad.item() == pytest.approx(2.25 + 2 * 2.0 * (1.0 + 2.0))
    gradients = lamina.vmap(lamina.func.grad(lambda x: x.sum() if x.sum() > 0 else -x.sum()))(X)
    assert gradients.tolist() == [[-1.0] * 3, [1.0] * 3, [-1.0] * 3]


def test_what_a_first_run_wrote_is_put_back():
    x, count = X.clone(), lamina.zeros(())

    def f(row):
        row.mul_(2)
        count.add_(1)
        return row if row[0] > 0 else -row

    lamina.vmap(f)(x)
    assert lamina.equal(x, X * 2)
    assert count.item() == 3


def test_random_numbers_are_not_drawn_twice_by_the_way_sample_by_sample():
    def drawn(f):
        lamina.manual_seed(3)
        return lamina.vmap(f, randomness="same")(X)

    plain = drawn(lambda x: lamina.rand(3))
    asked = drawn(lambda x: lamina.rand(3) if x.sum() > -99 else x)
    assert lamina.equal(plain, asked)


def test_a_gradient_by_what_was_captured_is_that_of_each_sample():
    w = lamina.tensor([1.0, 2.0, 3.0], requires_grad=True)
    found = lamina.vmap(lambda x: lamina.autograd.grad((w * x).sum(), w)[0])(X)
    assert lamina.equal(found, X)


def test_loops_are_told_once_for_each_place_if_asked():
    def choose(x):
        return x if x.sum() > 0 else -x

    lamina.vmap(choose)(X)  # nothing is said: a warning would be an error here
    lamina.func.warn_of_loops()
    try:
        with pytest.warns(UserWarning, match=r"once for each of 3 samples: bool\(\)") as caught:
            [lamina.vmap(choose)(X) for _ in range(2)]
        assert len(caught) == 1
        assert "x.sum() > 0" in str(caught[0].message)
    finally:
        lamina.func.warn_of_loops(False)


def test_a_tensor_that_left_the_mapped_function_says_so():
    kept = []
    lamina.vmap(lambda x: kept.append(x) or x)(X)
    with pytest.raises(RuntimeError, match="from inside a vmap that has ended"):
        kept[0].tolist()


def test_compiled_maps_give_the_same():
    def each(x):
        return (x * 2).sin().sum()

    compiled = lamina.compile(lamina.vmap(lamina.func.grad(each)))
    assert lamina.allclose(compiled(X), 2 * (X * 2).cos())


def test_results_of_several_shapes_are_an_error_with_both():
    with pytest.raises(RuntimeError, match="they can't lie in one tensor") as caught:
        lamina.vmap(lambda x: x[x > 1])(X)
    assert "[0]" in str(caught.value)
    assert "mapped here" in str(caught.value)


def test_a_tensor_inside_shows_all_samples():
    seen = []
    lamina.vmap(lambda x: (seen.append(repr(x)), x)[1])(X[:2, :1])
    assert seen == [
        "BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[ 1.],\n            [-1.]])\n)"
    ]
