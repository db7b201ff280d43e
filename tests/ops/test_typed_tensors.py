"""Tensors by type: `FloatTensor(2, 3)`, `x.new(2, 3)`, `Tensor([1, 2])`."""

import pytest

import lamina


@pytest.fixture(autouse=True)
def defaults():
    yield
    lamina.set_default_dtype(lamina.float32)
    lamina.set_default_device(None)


def test_values_and_shapes():
    assert lamina.LongTensor([1.5, 2]).tolist() == [1, 2]
    assert lamina.FloatTensor(2, 3).shape == (2, 3)
    assert lamina.Tensor([1, 2]).dtype is lamina.float32
    assert lamina.ones(1).double().new([1]).dtype is lamina.float64


def test_instances_are_told_by_dtype_and_device():
    x = lamina.ones(1)
    assert isinstance(x, lamina.FloatTensor)
    assert not isinstance(x, lamina.DoubleTensor | lamina.cuda.FloatTensor)
    with lamina.cuda.simulate():
        on_gpu = lamina.cuda.FloatTensor([1.0])
        assert on_gpu.is_cuda
        assert isinstance(on_gpu, lamina.cuda.FloatTensor)
        assert not isinstance(on_gpu, lamina.FloatTensor)
        assert on_gpu.new([2]).is_cuda
        assert on_gpu.type(lamina.FloatTensor).device.type == "cpu"
        assert x.type("torch.cuda.DoubleTensor").is_cuda


def test_another_tensor_gives_its_memory():
    x = lamina.zeros(2, requires_grad=True)
    alias = lamina.FloatTensor(x)
    with lamina.no_grad():
        x[0] = 5
    assert alias.tolist() == [5, 0]
    assert alias.requires_grad
    assert alias._version == x._version == 1


def test_subclasses_are_constructed():
    class Special(lamina.Tensor):
        pass

    assert type(Special([1, 2])) is Special


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
def test_the_default_type_chooses_dtype_and_device():
    lamina.set_default_tensor_type(lamina.DoubleTensor)
    assert lamina.Tensor([1]).dtype is lamina.float64
    with lamina.cuda.simulate():
        lamina.set_default_tensor_type("torch.cuda.FloatTensor")
        made = lamina.ones(1), lamina.Tensor(2)
        assert [(t.is_cuda, t.dtype) for t in made] == [(True, lamina.float32)] * 2
        lamina.set_default_tensor_type("torch.FloatTensor")
        assert not lamina.ones(1).is_cuda


def test_without_a_gpu_its_types_say_so():
    with lamina.cuda.simulate(0), pytest.raises(TypeError, match=r"cuda\.LongTensor not available"):
        lamina.cuda.LongTensor([1])
