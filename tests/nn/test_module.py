"""Module and Parameter: registration, attributes, traversal, conversion, printing, copying."""

import copy
import pickle
import typing

import pytest

import lamina as torch
from lamina import nn


class Net(nn.Module):
    """Two layers, one parameter and one buffer of its own."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("count", torch.zeros(1))
        self.second = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))

    def forward(self, x):
        return self.second(self.first(x)) * self.scale


def test_parameter_is_a_flagged_tensor():
    data = torch.ones(2)
    parameter = nn.Parameter(data)
    assert isinstance(parameter, nn.Parameter)
    assert isinstance(parameter, torch.Tensor)
    assert parameter.is_leaf
    assert parameter.requires_grad
    assert not isinstance(data, nn.Parameter)
    assert not data.requires_grad


def test_parameter_shares_memory():
    data = torch.ones(2)
    parameter = nn.Parameter(data)
    data[0] = 5.0
    assert parameter.tolist() == [5.0, 1.0]


@pytest.mark.parametrize(
    "derive", [lambda p: p * 1, lambda p: p.clone(), lambda p: p.detach(), lambda p: p.data]
)
def test_what_is_made_from_a_parameter_is_none(derive):
    assert not isinstance(derive(nn.Parameter(torch.ones(2))), nn.Parameter)


def test_parameter_prints_as_one():
    text = "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert repr(nn.Parameter(torch.ones(2))) == text


def test_parameter_without_data_is_empty():
    assert nn.Parameter().shape == (0,)


def test_parameter_of_integers_needs_no_grad():
    assert nn.Parameter(torch.tensor([1]), requires_grad=False).dtype == torch.int64
    with pytest.raises(RuntimeError, match="floating point"):
        nn.Parameter(torch.tensor([1]))


def test_parameter_of_a_list_is_refused():
    with pytest.raises(TypeError, match="made from a tensor, not from 'list'"):
        nn.Parameter([1.0])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_copies_of_a_parameter_are_parameters(copied):
    twin = copied(nn.Parameter(torch.ones(2), requires_grad=False))
    assert isinstance(twin, nn.Parameter)
    assert not twin.requires_grad
    assert twin.tolist() == [1.0, 1.0]


def test_attributes_are_sorted_by_kind():
    net = Net()
    assert list(net._parameters) == ["scale"]
    assert list(net._buffers) == ["count"]
    assert list(net._modules) == ["first", "second"]
    assert net.first is net._modules["first"]


def test_plain_tensors_are_not_registered():
    net = Net()
    net.extra = torch.ones(1, requires_grad=True)
    assert "extra" not in dict(net.named_parameters())
    assert "extra" in net.__dict__


def test_names_of_parameters_and_buffers():
    net = Net()
    names = ["scale", "first.weight", "first.bias", "second.1.weight", "second.1.bias"]
    assert [name for name, _ in net.named_parameters()] == names
    assert [name for name, _ in net.named_parameters(recurse=False)] == ["scale"]
    assert next(name for name, _ in net.named_parameters(prefix="net")) == "net.scale"
    assert [name for name, _ in net.named_buffers()] == ["count"]


def test_shared_parameters_are_given_once():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    assert len(list(net.parameters())) == 3
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4


def test_modules_and_children():
    net = Net()
    assert [name for name, _ in net.named_modules()] == [
        "",
        "first",
        "second",
        "second.0",
        "second.1",
    ]
    assert [name for name, _ in net.named_children()] == ["first", "second"]
    relu = nn.ReLU()
    twice = nn.Sequential(relu, relu)
    assert len(list(twice.modules())) == 2
    assert len(list(twice.children())) == 1


def test_lookup_by_dotted_name():
    net = Net()
    assert net.get_submodule("second.1") is net.second[1]
    assert net.get_parameter("second.1.bias") is net.second[1].bias
    assert net.get_buffer("count") is net.count
    assert net.get_submodule("") is net


@pytest.mark.parametrize(
    ("look", "message"),
    [
        (lambda net: net.get_submodule("third"), "Net has no attribute `third`"),
        (lambda net: net.get_submodule("scale.x"), "Net has no attribute `scale`|not an nn.Module"),
        (lambda net: net.get_parameter("first.count"), "Linear has no attribute `count`"),
        (lambda net: net.get_parameter("first.in_features"), "not an nn.Parameter"),
        (lambda net: net.get_buffer("scale"), "not a buffer"),
        (lambda net: net.nothing, "'Net' object has no attribute 'nothing'"),
    ],
)
def test_failed_lookup(look, message):
    with pytest.raises(AttributeError, match=message):
        look(Net())


def test_set_submodule():
    net = Net()
    net.set_submodule("second.0", nn.Tanh())
    assert repr(net.second[0]) == "Tanh()"
    with pytest.raises(AttributeError, match="no attribute `7`"):
        net.set_submodule("second.7", nn.Tanh(), strict=True)


def test_a_tensor_does_not_replace_a_parameter():
    layer = nn.Linear(1, 2)
    message = (
        r"cannot assign 'torch.FloatTensor' as parameter 'weight' \(torch.nn.Parameter or None"
    )
    with pytest.raises(TypeError, match=message) as caught:
        layer.weight = torch.zeros(2, 1)
    assert "copy_" in str(caught.value)
    assert "nn.Parameter(" in str(caught.value)
    assert isinstance(layer.weight, nn.Parameter)


def test_none_takes_the_place_of_anything():
    net = Net()
    net.scale = None
    net.count = None
    net.first = None
    assert net.scale is None
    assert net.count is None
    assert net.first is None
    assert [name for name, _ in net.named_children()] == ["second"]


def test_other_wrong_assignments():
    net = Net()
    with pytest.raises(TypeError, match="cannot assign 'int' as child module 'first'"):
        net.first = 3
    with pytest.raises(TypeError, match="cannot assign 'str' as buffer 'count'"):
        net.count = "many"
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        net.add_module("third", 3)
    with pytest.raises(TypeError, match=r"cannot assign 'torch.FloatTensor' object to parameter"):
        net.register_parameter("weight", torch.ones(1))
    computed = net.scale * 2
    computed._is_param = True
    with pytest.raises(ValueError, match="non-leaf"):
        net.register_parameter("weight", computed)


@pytest.mark.parametrize("register", ["register_parameter", "register_buffer", "add_module"])
def test_names_that_cannot_be_registered(register):
    net = Net()
    with pytest.raises(KeyError, match=r"can.+t contain"):
        getattr(net, register)("a.b", None)
    with pytest.raises(KeyError, match="empty"):
        getattr(net, register)("", None)
    with pytest.raises(TypeError, match="should be a string"):
        getattr(net, register)(3, None)
    for taken in ("forward", "training"):
        with pytest.raises(KeyError, match="already exists"):
            getattr(net, register)(taken, None)


def test_assigning_moves_a_name_between_registries():
    net = Net()
    net.count = nn.Parameter(torch.ones(1))
    assert "count" in net._parameters
    assert "count" not in net._buffers
    net.count = nn.ReLU()
    assert "count" in net._modules
    assert "count" not in net._parameters


def test_deleting():
    net = Net()
    del net.scale, net.count, net.first
    assert list(net.state_dict()) == ["second.1.weight", "second.1.bias"]
    with pytest.raises(AttributeError, match="scale"):
        del net.scale


@pytest.mark.parametrize(
    ("value", "role"),
    [
        (lambda: nn.Parameter(torch.ones(1)), "parameters"),
        (nn.ReLU, "module"),
        (lambda: nn.Buffer(torch.ones(1)), "buffer"),
    ],
)
def test_forgotten_super_init(value, role):
    class Forgetful(nn.Module):
        def __init__(self):
            self.part = value()

    message = rf"cannot assign {role} before Module.__init__\(\) call"
    with pytest.raises(AttributeError, match=message) as caught:
        Forgetful()
    assert "super().__init__()" in str(caught.value)


def test_plain_attributes_may_come_before_super_init():
    class Early(nn.Module):
        def __init__(self):
            self.size = 3
            super().__init__()

    assert Early().size == 3


def test_buffer_class():
    net = nn.Module()
    net.kept = nn.Buffer(torch.ones(1))
    net.lost = nn.Buffer(torch.ones(1), persistent=False)
    assert [name for name, _ in net.named_buffers()] == ["kept", "lost"]
    assert list(net.state_dict()) == ["kept"]
    net.lost = torch.zeros(1)
    assert list(net.state_dict()) == ["kept"]


def test_train_and_eval_reach_all_below():
    net = Net()
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    net.train()
    assert all(module.training for module in net.modules())
    with pytest.raises(ValueError, match="bool"):
        net.train("yes")


def test_freezing():
    net = Net()
    net.requires_grad_(False)
    assert not any(parameter.requires_grad for parameter in net.parameters())


def test_zero_grad():
    net = Net()
    net(torch.ones(4, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.scale.grad.tolist() == [0.0]
    net.zero_grad()
    assert net.scale.grad is None


def test_apply_visits_children_first():
    order = []
    Net().apply(lambda module: order.append(type(module).__name__))
    assert order == ["Linear", "ReLU", "Linear", "Sequential", "Net"]


def test_conversion_keeps_the_parameters():
    net = Net()
    net(torch.ones(4, 2)).sum().backward()
    weight, grad = net.first.weight, net.first.weight.grad
    assert net.double() is net
    assert net.first.weight is weight
    assert weight.grad is grad
    assert weight.dtype == grad.dtype == net.count.dtype == torch.float64
    assert isinstance(weight, nn.Parameter)
    net.to(torch.float32)
    assert weight.dtype == torch.float32


def test_an_optimizer_survives_conversion():
    layer = nn.Linear(1, 1, bias=False)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    layer.double()
    before = layer.weight.item()
    layer(torch.ones(1, 1, dtype=torch.float64)).sum().backward()
    optimizer.step()
    assert layer.weight.item() == before - 1.0


def test_integers_keep_their_dtype():
    net = nn.BatchNorm1d(2).half()
    assert net.weight.dtype == torch.float16
    assert net.num_batches_tracked.dtype == torch.int64
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        net.to(torch.int32)


def test_forms_of_to():
    net = nn.Linear(1, 1)
    assert net.to("cpu", torch.float64).weight.dtype == torch.float64
    assert net.to(torch.ones(1)).weight.dtype == torch.float32
    assert net.to(device="cpu", dtype=torch.float64).weight.dtype == torch.float64
    assert net.to(None).weight.dtype == torch.float64
    assert net.type(torch.float32).weight.dtype == torch.float32


def test_forward_must_be_written():
    with pytest.raises(NotImplementedError, match=r'missing the required "forward" function'):
        nn.Module()(1)


def test_keyword_arguments_reach_forward():
    class Adds(nn.Module):
        def forward(self, x, *, more=0):
            return x + more

    assert Adds()(torch.ones(1), more=2).tolist() == [3.0]


def test_repr_of_a_tree():
    assert repr(Net()) == (
        "Net(\n"
        "  (first): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (second): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Linear(in_features=3, out_features=1, bias=True)\n"
        "  )\n"
        ")"
    )


def test_repr_with_long_extra():
    class Wordy(nn.Module):
        def extra_repr(self):
            return "one\ntwo"

    assert repr(Wordy()) == "Wordy(\n  one\n  two\n)"
    assert repr(nn.Module()) == "Module()"


def test_dir_lists_what_is_registered():
    listed = dir(Net())
    assert {"first", "scale", "count", "forward"} <= set(listed)
    assert "0" not in dir(nn.Sequential(nn.ReLU()))


def test_deepcopy_is_independent():
    net = Net()
    twin = copy.deepcopy(net)
    assert twin.scale is not net.scale
    assert isinstance(twin.scale, nn.Parameter)
    with torch.no_grad():
        net.scale.fill_(7)
    assert twin.scale.tolist() == [1.0]


def test_deepcopy_keeps_sharing():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    twin = copy.deepcopy(net)
    assert twin[1].weight is twin[0].weight


def test_pickle():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval()
    twin = pickle.loads(pickle.dumps(net))
    x = torch.ones(4, 2)
    assert twin(x).tolist() == net(x).tolist()
    assert all(isinstance(p, nn.Parameter) for p in twin.parameters())
    assert not twin.training


def test_a_pickle_of_an_older_version_gains_what_it_lacks():
    net = nn.Linear(1, 1)
    state = dict(net.__dict__)
    del state["_load_state_dict_post_hooks"]
    twin = nn.Linear.__new__(nn.Linear)
    twin.__setstate__(state)
    assert twin(torch.ones(1, 1)).shape == (1, 1)


@pytest.mark.parametrize("name", ["Module", "Linear", "Sequential", "LSTM"])
def test_the_types_of_a_class_are_known(name):
    """Libraries that check settings of modules ask `typing.get_type_hints`, base classes too."""
    hints = typing.get_type_hints(getattr(nn, name))
    assert hints["training"] is bool


def test_a_parameter_behind_a_property_that_cannot_answer_yet():
    """A base class registers `k`, which a subclass makes a property of its own `c`."""

    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = nn.Parameter(torch.ones(1))

    class Derived(Base):
        @property
        def k(self):
            return -self.c

    assert list(Derived()._parameters) == ["k"]

    class Settled(Base):
        k = 3

    with pytest.raises(KeyError, match="attribute 'k' already exists"):
        Settled()
