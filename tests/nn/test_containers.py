"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

import pytest

import lamina as torch
from lamina import nn


def kinds(modules):
    return [type(module).__name__ for module in modules]


@pytest.fixture
def three():
    return nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())


def test_sequential_runs_in_order():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Flatten(0))
    assert net(torch.ones(4, 2)).shape == (12,)


def test_sequential_of_named_modules():
    net = nn.Sequential({"first": nn.ReLU(), "second": nn.Tanh()})
    assert net.first is net[0]
    assert repr(net) == "Sequential(\n  (first): ReLU()\n  (second): Tanh()\n)"


def test_sequential_items(three):
    assert kinds([three[0], three[-1]]) == ["ReLU", "Sigmoid"]
    assert kinds(three[1:]) == ["Tanh", "Sigmoid"]
    assert isinstance(three[:2], nn.Sequential)
    with pytest.raises(IndexError, match="index 3 is out of range"):
        three[3]
    three[0] = nn.GELU()
    assert kinds(three) == ["GELU", "Tanh", "Sigmoid"]


def test_sequential_edits(three):
    del three[1]
    assert list(three._modules) == ["0", "1"]
    assert kinds(three) == ["ReLU", "Sigmoid"]
    three.append(nn.Mish()).insert(1, nn.SiLU()).extend([nn.ELU()])
    assert kinds(three) == ["ReLU", "SiLU", "Sigmoid", "Mish", "ELU"]
    assert type(three.pop(0)).__name__ == "ReLU"
    del three[1:3]
    assert kinds(three) == ["SiLU", "ELU"]


def test_sequential_sums_and_products(three):
    assert len(three + three) == 6
    assert len(three * 2) == len(2 * three) == 6
    three += nn.Sequential(nn.ELU())
    assert len(three) == 4
    three *= 2
    assert len(three) == 8
    with pytest.raises(ValueError, match="only objects of Sequential"):
        three.__add__([nn.ReLU()])
    with pytest.raises(TypeError, match="unsupported operand"):
        three * 1.5
    with pytest.raises(ValueError, match="Non-positive"):
        three * 0


def test_module_list():
    layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    layers.append(nn.ReLU())
    layers.insert(0, nn.Tanh())
    layers += [nn.ELU()]
    assert kinds(layers) == ["Tanh", "Linear", "Linear", "ReLU", "ELU"]
    assert isinstance(layers[1:3], nn.ModuleList)
    assert len(list(layers.parameters())) == 4
    assert len(layers.__add__([nn.ReLU()])) == 6
    assert type(layers.pop()).__name__ == "ELU"
    with pytest.raises(NotImplementedError):
        layers(torch.ones(1))


def test_module_list_wants_modules():
    with pytest.raises(TypeError, match="not a Module subclass"):
        nn.ModuleList([1])
    with pytest.raises(TypeError, match="called with an iterable"):
        nn.ModuleList().extend(3)


def test_module_list_repr_folds_equal_neighbours():
    layers = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh(), nn.ReLU()])
    assert repr(layers) == ("ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n  (3): ReLU()\n)")
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict():
    choices = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Linear(1, 1)})
    choices["c"] = nn.Tanh()
    choices.update([("d", nn.ELU())])
    assert list(choices) == list(choices.keys()) == ["a", "b", "c", "d"]
    assert "a" in choices
    assert "z" not in choices
    assert len(choices) == 4
    assert kinds(choices.values()) == ["ReLU", "Linear", "Tanh", "ELU"]
    assert choices.get("z") is None
    assert type(choices.pop("a")).__name__ == "ReLU"
    del choices["c"]
    assert [name for name, _ in choices.items()] == ["b", "d"]
    assert [name for name, _ in choices.named_parameters()] == ["b.weight", "b.bias"]
    choices.clear()
    assert len(choices) == 0


def test_module_dict_wants_pairs():
    with pytest.raises(TypeError, match="iterable of key/value pairs"):
        nn.ModuleDict().update(3)
    with pytest.raises(ValueError, match="has length 1; 2 is required"):
        nn.ModuleDict().update([("a",)])


def test_parameter_list():
    values = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(1)), "note"])
    assert isinstance(values[0], nn.Parameter)
    assert values[2] == "note"
    assert [name for name, _ in values.named_parameters()] == ["0", "1"]
    values[0] = torch.zeros(3)
    values.append(torch.ones(1)).extend([torch.ones(1)])
    values += [torch.ones(1)]
    assert len(values) == 6
    assert isinstance(values[1:3], nn.ParameterList)
    assert [v.numel() for v in values if not isinstance(v, str)] == [3, 1, 1, 1, 1]
    with pytest.raises(IndexError):
        values[6]
    with pytest.raises(RuntimeError, match="should not be called"):
        values()


def test_parameter_list_repr():
    assert repr(nn.ParameterList([torch.ones(2, 3), 1])) == (
        "ParameterList(\n"
        "    (0): Parameter containing: [torch.float32 of size 2x3]\n"
        "    (1): Object of type: int\n"
        ")"
    )


def test_parameter_dict():
    weights = nn.ParameterDict({"left": torch.ones(2), "right": torch.zeros(1)})
    assert isinstance(weights["left"], nn.Parameter)
    assert [name for name, _ in weights.named_parameters()] == ["left", "right"]
    assert "left" in weights
    assert list(reversed(weights)) == ["right", "left"]
    assert weights.setdefault("more", torch.ones(1)) is weights["more"]
    assert weights.popitem()[0] == "more"
    assert weights.get("none", 3) == 3
    assert len(weights | nn.ParameterDict({"new": torch.ones(1)})) == 3
    assert len(weights) == 2
    weights |= nn.ParameterDict({"new": torch.ones(1)})
    assert list(weights.keys()) == ["left", "right", "new"]
    assert weights.copy()["left"] is weights["left"]
    assert list(weights.fromkeys(["a", "b"], 0)) == ["a", "b"]
    assert weights.pop("new").numel() == 1
    assert [name for name, _ in weights.items()] == ["left", "right"]
    del weights["left"]
    with pytest.raises(KeyError, match="left"):
        weights["left"]
    weights.clear()
    assert len(weights) == 0
    with pytest.raises(TypeError, match="must be a string"):
        weights[0] = torch.ones(1)


def test_parameter_dict_repr():
    assert repr(nn.ParameterDict({"a": torch.ones(2)})) == (
        "ParameterDict(  (a): Parameter containing: [torch.FloatTensor of size 2])"
    )
