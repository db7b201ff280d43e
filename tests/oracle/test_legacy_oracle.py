"""What older programs write, in both libraries: the same values, and errors of the same class."""

from __future__ import annotations

import numpy as np
import pytest

import lamina

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

EQUAL = """
torch.FloatTensor
type(torch.FloatTensor).__name__
torch.FloatTensor.dtype, torch.FloatTensor.is_cuda, torch.FloatTensor.layout
torch.FloatTensor.__name__, torch.FloatTensor.__module__, torch.FloatTensor.is_sparse
torch.FloatTensor(), torch.FloatTensor([1, 2]), torch.FloatTensor((2, 3))
torch.LongTensor([1.7, -2.2]), torch.LongTensor([[1, 2], [3, 4]])
torch.FloatTensor(2, 3).shape, torch.FloatTensor(torch.Size([2, 3])).shape
torch.FloatTensor(x), torch.FloatTensor(np.ones(2)), torch.LongTensor(np.array([1.5, 2]))
torch.LongTensor(np.int64(3)).shape, torch.FloatTensor([1, 2], device="cpu")
torch.BoolTensor([1, 0, 3]), torch.HalfTensor([1, 2]), torch.BFloat16Tensor([1, 2])
torch.IntTensor([1]), torch.ShortTensor([1]), torch.CharTensor([1]), torch.DoubleTensor([1])
torch.ByteTensor([1, 0])
torch.cuda.FloatTensor, torch.cuda.LongTensor.dtype, torch.cuda.FloatTensor.is_cuda
isinstance(x, torch.FloatTensor), isinstance(x, torch.DoubleTensor)
isinstance(x, torch.cuda.FloatTensor), isinstance(1, torch.FloatTensor)
isinstance(torch.nn.Parameter(x), torch.FloatTensor), issubclass(torch.FloatTensor, torch.Tensor)
isinstance(x.long(), (torch.LongTensor, torch.cuda.LongTensor))
x.type(), x.long().type(), x.type() == torch.FloatTensor
x.type(torch.DoubleTensor), x.type("torch.LongTensor"), x.type(torch.float64)
x.long().type(torch.Tensor)
x.new(), x.new([1, 2]), x.long().new([1, 2]), x.new(x), x.new(np.ones(2))
x.new(2, 3).shape, x.new(torch.Size([3, 1])).shape, x.new(x.size()).shape
x.new(size=(2, 3)).shape, x.new(3, device="cpu").shape, x.new(2).dtype
torch.Tensor(3, 4).shape, torch.Tensor([1, 2]), torch.Tensor((2, 3)), torch.Tensor(range(3))
torch.Tensor(x.long()), torch.Tensor(np.ones(3)), torch.Tensor(), torch.Tensor(x) is x
torch.Tensor(size=(2, 3)).shape, torch.Tensor(np.int64(2)).shape, torch.Tensor(device="cpu")
torch.Tensor(torch.tensor(3)), torch.Tensor(x).data_ptr() == x.data_ptr()
torch.Tensor(torch.ones(2, requires_grad=True)).requires_grad
x.is_cuda, torch.is_tensor(x), torch.is_floating_point(x)
torch.zeros(2).type_as(x.long())
torch.autograd.Variable(x, requires_grad=True)
torch.autograd.Variable(x).data_ptr() == x.data_ptr()
isinstance(x, torch.autograd.Variable)
x.clone().resize_as_(torch.ones(3)).shape
x.masked_select(x > 0), x.data.new(1).fill_(3.0)
x.clone().apply_(lambda v: v * 2), x.long().apply_(lambda v: v + 1)
m.T.apply_(lambda v: v + 1), m.map_(m * 10, lambda a, b: a + b)
m.map_(torch.ones(2), lambda a, b: a * b), m.map2_(m, m * 2, lambda a, b, c: a + b * c)
x.as_subclass(torch.nn.Parameter), isinstance(x.as_subclass(torch.nn.Parameter), torch.nn.Parameter)
(x.clone().requires_grad_() * 2).as_subclass(torch.Tensor).requires_grad
x.is_xpu, x.is_mps, x.is_mkldnn, x.is_quantized, x.is_vulkan, x.is_ipu, x.is_mtia, x.is_nested
x.is_pinned(), torch.get_device(x), torch.newaxis
torch.is_nonzero(torch.tensor([1.0])), torch.is_nonzero(torch.tensor(0)), x[0].is_nonzero()
torch.is_same_size(x, x), x.is_same_size(m), torch.is_distributed(x), torch.is_signed(x)
torch.is_signed(torch.zeros(1, dtype=torch.uint8)), torch.is_conj(x), torch.is_neg(x)
torch.is_inference(x), torch.typename(x), torch.typename(x.long()), torch.typename(3)
torch.typename("a"), torch.typename(None), torch.typename(torch.FloatTensor)
torch.exp_(x.clone()), torch.clamp_(m.clone(), 2, 3), torch.zero_(m.clone()), torch.neg_(x.clone())
torch.fill_(x.clone(), 3), torch.resize_as_(m.clone(), torch.ones(4)).shape
torch.accelerator.is_available(), torch.accelerator.current_accelerator()
torch.accelerator.device_count()
torch.set_anomaly_enabled(False)
"""
RAISING = """
torch.FloatTensor(3.5)
torch.FloatTensor("a")
torch.FloatTensor(None)
torch.FloatTensor([[1, 2], [3]])
torch.FloatTensor(-1)
torch.FloatTensor(2, 3, device="meta")
torch.FloatTensor(x.long())
torch.ByteTensor([1, 0, 300])
torch.cuda.FloatTensor([1])
torch.Tensor(2.5)
torch.Tensor("a")
torch.Tensor(True)
torch.Tensor(2, "a")
x.new(x.long())
x.type("torch.FooTensor")
x.type(int)
torch.set_default_tensor_type(torch.LongTensor)
torch.set_default_tensor_type("torch.cuda.FloatTensor")
torch.set_default_tensor_type(torch.cuda.FloatTensor)
torch.set_default_tensor_type(torch.float32)
torch.set_default_dtype(torch.DoubleTensor)
torch.set_default_dtype(torch.int32)
x.requires_grad_().apply_(lambda v: v)
x.map_(x.long(), lambda a, b: a + b)
x.as_subclass(int)
x.pin_memory()
torch.is_nonzero(x)
torch.solve(m, m)
torch.lstsq(m, m)
torch.symeig(m)
torch.eig(m)
torch.matrix_rank(m)
m.solve(m)
m.symeig()
torch.accelerator.current_device_index()
torch.accelerator.synchronize()
torch.accelerator.set_device_index(0)
"""


def lines(text):
    return text.strip().splitlines()


def evaluated(module, text):
    names = {"torch": module, "np": np, "x": module.ones(2)}
    return eval(text, names | {"m": module.tensor([[1.0, 2.0], [3.0, 4.0]])})


@pytest.mark.parametrize("text", lines(EQUAL))
def test_equal(text):
    assert repr(evaluated(lamina, text)) == repr(evaluated(torch, text))


# Where PyTorch's words are of its own inside, only the class is compared.
OWN_WORDS = (
    "Trying to create tensor",
    "expected TensorOptions",
    "new(): argument 'size'",
    "invalid type object",
    "invalid dtype",
)


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
@pytest.mark.parametrize("text", lines(RAISING))
def test_raising(text):
    raised = []
    for module in (lamina, torch):
        with pytest.raises(Exception, match=r".") as caught:
            evaluated(module, text)
        raised.append(caught.value)
    assert isinstance(raised[0], type(raised[1]))
    if not str(raised[1]).startswith(OWN_WORDS):
        assert str(raised[1]).split(". ")[0].split("\n")[0] in str(raised[0])


@pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
def test_default_type():
    found = []
    for module in (lamina, torch):
        made = []
        try:
            for wanted in ("torch.DoubleTensor", module.HalfTensor, module.FloatTensor):
                module.set_default_tensor_type(wanted)
                made += [module.ones(1), module.Tensor([1]), module.FloatTensor([1])]
        finally:
            module.set_default_dtype(module.float32)
        found.append(repr(made))
    assert found[0] == found[1]


@pytest.mark.parametrize("text", ["m.resize(4)", "m.resize_as(torch.ones(4))", "m.resize(4, 1)"])
def test_resizing_out_of_place_warns(text):
    found = []
    for module in (lamina, torch):
        with pytest.warns(UserWarning, match="non-inplace resize"):
            found.append(repr(evaluated(module, text)))
    assert found[0] == found[1]


def test_volatile_warns():
    for module in (lamina, torch):
        with pytest.warns(UserWarning, match="volatile was removed and now has no effect"):
            module.autograd.Variable(module.ones(1), volatile=True)
