"""Saving and loading the state of modules."""

import pytest

import lamina as torch
from lamina import nn


def net():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


def test_names_and_versions():
    state = net().state_dict()
    names = ["0.weight", "0.bias", "1.weight", "1.bias"]
    names += ["1.running_mean", "1.running_var", "1.num_batches_tracked"]
    assert list(state) == names
    assert state._metadata == {"": {"version": 1}, "0": {"version": 1}, "1": {"version": 2}}


def test_tensors_alias_the_parameters_and_are_detached():
    module = net()
    state = module.state_dict()
    assert not state["0.weight"].requires_grad
    with torch.no_grad():
        module[0].weight.fill_(7.0)
    assert state["0.weight"].tolist() == [[7.0, 7.0]] * 3
    assert module.state_dict(keep_vars=True)["0.weight"] is module[0].weight


def test_prefix_and_destination():
    destination = {}
    returned = nn.Linear(1, 1).state_dict(destination=destination, prefix="layer.")
    assert returned is destination
    assert list(destination) == ["layer.weight", "layer.bias"]
    assert list(nn.Linear(1, 1).state_dict(None, "old.")) == ["old.weight", "old.bias"]


def test_buffers_that_do_not_persist_are_left_out():
    module = nn.Module()
    module.register_buffer("kept", torch.ones(1))
    module.register_buffer("lost", torch.ones(1), persistent=False)
    assert list(module.state_dict()) == ["kept"]
    module.load_state_dict({"kept": torch.zeros(1)})


def test_loading_copies_values():
    source, target = net(), net()
    weight = target[0].weight
    assert repr(target.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
    assert target[0].weight is weight
    assert weight.tolist() == source[0].weight.tolist()
    with torch.no_grad():
        source[0].weight.zero_()
    assert weight.abs().sum().item() > 0


def test_loading_converts_dtype_and_keeps_the_parameters_own():
    target = nn.Linear(2, 1)
    target.load_state_dict(nn.Linear(2, 1).double().state_dict())
    assert target.weight.dtype == torch.float32


def test_assigning_keeps_the_given_tensors():
    target = nn.Linear(2, 1)
    target.weight.requires_grad_(False)
    state = nn.Linear(2, 1).double().state_dict()
    target.load_state_dict(state, assign=True)
    assert target.weight.dtype == torch.float64
    assert isinstance(target.weight, nn.Parameter)
    assert target.weight.data_ptr() == state["weight"].data_ptr()
    assert not target.weight.requires_grad
    assert target.bias.requires_grad


def test_missing_and_unexpected_names():
    state = net().state_dict()
    del state["0.bias"]
    state["2.weight"] = torch.ones(1)
    state["extra"] = torch.ones(1)
    with pytest.raises(RuntimeError) as caught:
        net().load_state_dict(state)
    message = str(caught.value)
    assert "Error(s) in loading state_dict for Sequential" in message
    assert 'Missing key(s) in state_dict: "0.bias".' in message
    assert 'Unexpected key(s) in state_dict: "2.weight", "extra".' in message


def test_not_strict():
    state = net().state_dict()
    del state["0.bias"]
    state["extra"] = torch.ones(1)
    keys = net().load_state_dict(state, strict=False)
    assert keys.missing_keys == ["0.bias"]
    assert keys.unexpected_keys == ["extra"]


@pytest.mark.parametrize("strict", [True, False])
def test_sizes_must_fit_always(strict):
    with pytest.raises(RuntimeError, match=r"size mismatch for 0.weight: .*\[2, 2\].*\[3, 2\]"):
        net().load_state_dict(net().state_dict() | {"0.weight": torch.ones(2, 2)}, strict=strict)


def test_a_prefix_too_many_is_recognised():
    state = {f"module.{name}": value for name, value in net().state_dict().items()}
    with pytest.raises(RuntimeError, match=r"removeprefix\('module.'\)"):
        net().load_state_dict(state)


def test_a_prefix_too_few_is_recognised():
    with pytest.raises(RuntimeError, match=r"names begin with `0\.`"):
        nn.Sequential(net()[0]).load_state_dict(nn.Linear(2, 3).state_dict())


def test_what_is_no_dict_is_refused():
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like"):
        net().load_state_dict([1])


def test_what_is_no_tensor_is_refused():
    with pytest.raises(RuntimeError, match='"weight": expected a Tensor'):
        nn.Linear(1, 1, bias=False).load_state_dict({"weight": 3.0})


def test_scalars_take_vectors_of_one():
    module = nn.Module()
    module.scale = nn.Parameter(torch.tensor(1.0))
    module.load_state_dict({"scale": torch.tensor([4.0])})
    assert module.scale.item() == 4.0


class Counting(nn.Module):
    """A module with state beside its tensors."""

    def __init__(self):
        super().__init__()
        self.seen = 3

    def get_extra_state(self):
        return {"seen": self.seen}

    def set_extra_state(self, state):
        self.seen = state["seen"]


def test_extra_state():
    module = Counting()
    state = module.state_dict()
    assert state == {"_extra_state": {"seen": 3}}
    module.seen = 9
    module.load_state_dict(state)
    assert module.seen == 3
    with pytest.raises(RuntimeError, match=r"Missing key.*_extra_state"):
        module.load_state_dict({})
    with pytest.raises(RuntimeError, match=r"Unexpected key.*_extra_state"):
        nn.Module().load_state_dict(state)


def test_hooks_around_saving():
    module = nn.Linear(1, 1)
    calls = []
    module.register_state_dict_pre_hook(lambda m, prefix, keep: calls.append((prefix, keep)))
    module.register_state_dict_post_hook(
        lambda m, state, prefix, metadata: state.update({prefix + "more": 1})
    )
    assert list(nn.Sequential(module).state_dict()) == ["0.weight", "0.bias", "0.more"]
    assert calls == [("0.", False)]


def test_a_post_hook_must_return_none():
    module = nn.Linear(1, 1)
    module.register_state_dict_post_hook(lambda *args: {})
    with pytest.raises(RuntimeError, match="must return None"):
        module.state_dict()


def test_hooks_around_loading():
    module = nn.Linear(1, 1)

    def rename(m, state, prefix, *rest):
        state[prefix + "weight"] = state.pop(prefix + "old")

    handle = module.register_load_state_dict_pre_hook(rename)
    module.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    module.load_state_dict({"old": torch.tensor([[5.0]])})
    assert module.weight.item() == 5.0
    handle.remove()
    module.load_state_dict({"weight": torch.tensor([[6.0]])})
    assert module.weight.item() == 6.0
