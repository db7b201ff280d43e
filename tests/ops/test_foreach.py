"""Operations on lists of tensors."""

import pytest

import lamina


def test_each_tensor_in_turn():
    tensors = [lamina.tensor([1.0, 4.0]), lamina.tensor(9.0)]
    assert [t.tolist() for t in lamina._foreach_sqrt(tensors)] == [[1, 2], 3]
    assert [t.tolist() for t in lamina._foreach_mul(tensors, [2, 3])] == [[2, 8], 27]
    assert lamina._foreach_add_(tensors, tensors, alpha=2) is tensors
    assert [t.tolist() for t in tensors] == [[3, 12], 27]


def test_they_are_at_the_front_door():
    assert callable(lamina._foreach_lerp_)
    assert lamina.exp_(lamina.zeros(1)).item() == 1
    assert not hasattr(lamina, "_foreach_unknown")


def test_gradients_go_through():
    tensors = [lamina.ones(2, requires_grad=True), lamina.ones(1, requires_grad=True)]
    sum(t.sum() for t in lamina._foreach_mul(tensors, 3)).backward()
    assert [t.grad.tolist() for t in tensors] == [[3, 3], [3]]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: lamina._foreach_add([], 1), RuntimeError),
        (lambda: lamina._foreach_add([lamina.ones(1)], [1.0, 2.0]), RuntimeError),
        (lambda: lamina._foreach_add(lamina.ones(1), 1), TypeError),
        (lambda: lamina._foreach_add([1, 2], 1), TypeError),
        (lambda: lamina._foreach_unknown([]), AttributeError),
    ],
)
def test_mistakes(call, error):
    with pytest.raises(error):
        call()
