"""Functions of Python on elements, subclasses, pinned memory, and what is gone."""

import pytest

import lamina


def test_elements_go_through_a_function():
    x = lamina.tensor([[1.0, 2.0], [3.0, 4.0]])
    before = x._version
    assert x.T.apply_(lambda v: v * 10).tolist() == [[10, 30], [20, 40]]
    assert x.tolist() == [[10, 20], [30, 40]]
    assert x._version == before + 1
    assert x.map_(lamina.ones(2), lambda a, b: a + b).tolist() == [[11, 21], [31, 41]]


def test_a_subclass_keeps_the_place_in_the_graph():
    class Special(lamina.Tensor):
        pass

    x = lamina.ones(2, requires_grad=True)
    made = (x * 3).as_subclass(Special)
    assert type(made) is Special
    made.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_pinned_memory_is_a_copy_where_there_is_a_gpu():
    x = lamina.ones(2)
    with lamina.cuda.simulate():
        pinned = x.pin_memory()
        assert pinned.is_pinned()
        assert not x.is_pinned()
        assert pinned.pin_memory() is pinned
        assert pinned.data_ptr() != x.data_ptr()
        with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
            x.cuda().pin_memory()
        assert lamina.accelerator.current_accelerator() == lamina.device("cuda")
        lamina.accelerator.set_device_index(0)
        lamina.accelerator.synchronize()
        assert lamina.accelerator.current_device_index() == 0
    with lamina.cuda.simulate(0), pytest.raises(RuntimeError, match="Cannot access accelerator"):
        x.pin_memory()


def test_what_is_gone_says_what_to_write():
    with pytest.raises(RuntimeError, match=r"torch\.linalg\.eigh"):
        lamina.symeig(lamina.eye(2))


def test_an_instance_of_a_subclass_by_its_older_maker():
    class Special(lamina.Tensor):
        pass

    data = lamina.ones(2)
    made = lamina.Tensor._make_subclass(Special, data, True)
    assert type(made) is Special
    assert (made.requires_grad, made.is_leaf, made.grad_fn) == (True, True, None)
    data.add_(1)
    assert made.tolist() == [2.0, 2.0]
    computed = lamina.Tensor._make_subclass(Special, made * 2)
    assert (computed.requires_grad, computed.grad_fn) == (False, None)
    with pytest.raises(TypeError, match="argument 'data'"):
        lamina.Tensor._make_subclass(Special, 3)
    with pytest.raises(TypeError, match="inherits from Tensor"):
        lamina.Tensor._make_subclass(int, data)
    with pytest.raises(RuntimeError, match="floating point"):
        lamina.Tensor._make_subclass(Special, lamina.tensor([1]), True)
