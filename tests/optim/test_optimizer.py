"""What all optimizers share: groups, checks, state, hooks, closures."""

import copy
import pickle

import pytest

import lamina as torch
from lamina import nn
from lamina.optim import SGD, Adam, AdamW, Optimizer, optimizer


def leaf(value=1.0):
    return torch.tensor([value], requires_grad=True)


def test_groups_take_defaults():
    a, b = leaf(), leaf()
    made = SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    assert [group["lr"] for group in made.param_groups] == [0.1, 0.5]
    assert made.param_groups[1]["params"] == [b]
    made.add_param_group({"params": [leaf()], "momentum": 0.9})
    assert made.param_groups[2]["momentum"] == 0.9


def test_named_parameters():
    layer = nn.Linear(1, 1)
    made = SGD(layer.named_parameters(), lr=0.1)
    assert made.param_groups[0]["param_names"] == ["weight", "bias"]
    assert made.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="with/without names"):
        made.add_param_group({"params": [leaf()]})
    with pytest.raises(ValueError, match="names are missing"):
        SGD([("w", leaf()), leaf()], lr=0.1)


def test_a_computed_tensor_is_refused():
    w = leaf() * 0.01
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        SGD([w], lr=0.1)


def test_a_computed_tensor_that_retains_its_gradient_is_taken():
    w = leaf() * 2
    w.retain_grad()
    SGD([w], lr=0.1)


def test_a_leaf_that_needs_no_gradient_is_taken():
    w = torch.ones(1)
    SGD([w], lr=0.1).step()
    assert w.item() == 1.0


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (lambda: leaf(), TypeError, "iterable of Tensors or dicts, but got torch.FloatTensor"),
        (list, ValueError, "optimizer got an empty parameter list"),
        (lambda: [1.0], TypeError, "can only optimize Tensors, but one of the params is float"),
        (lambda: [{"params": {leaf()}}], TypeError, "ordered collections"),
    ],
)
def test_bad_parameters(params, error, message):
    with pytest.raises(error, match=message):
        SGD(params(), lr=0.1)


def test_a_parameter_belongs_to_one_group():
    w = leaf()
    with pytest.raises(ValueError, match="more than one parameter group"):
        SGD([{"params": [w]}, {"params": [w]}], lr=0.1)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        SGD([w, w], lr=0.1)


def test_add_param_group_wants_a_dict():
    with pytest.raises(TypeError, match="must be a dict"):
        SGD([leaf()], lr=0.1).add_param_group([leaf()])


def test_required_settings():
    class Needy(Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": optimizer.required})

    with pytest.raises(ValueError, match="required optimization parameter lr"):
        Needy([leaf()])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: SGD(p, lr=-1.0), "Invalid learning rate: -1.0"),
        (lambda p: SGD(p, lr=1.0, momentum=-1), "Invalid momentum"),
        (lambda p: SGD(p, lr=1.0, nesterov=True), "Nesterov momentum requires"),
        (lambda p: Adam(p, lr=-1.0), "Invalid learning rate"),
        (lambda p: Adam(p, betas=(1.0, 0.9)), "Invalid beta parameter at index 0"),
        (lambda p: Adam(p, betas=(0.9, 1.0)), "Invalid beta parameter at index 1"),
        (lambda p: AdamW(p, eps=-1.0), "Invalid epsilon"),
        (lambda p: AdamW(p, weight_decay=-1.0), "Invalid weight_decay"),
    ],
)
def test_bad_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make([leaf()])


def test_zero_grad():
    w = leaf()
    made = SGD([w], lr=0.1)
    w.sum().backward()
    made.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0.0]
    made.zero_grad()
    assert w.grad is None


def test_parameters_without_gradient_stay():
    w, idle = leaf(), leaf()
    made = Adam([w, idle], lr=0.1)
    w.sum().backward()
    made.step()
    assert idle.item() == 1.0
    assert list(made.state_dict()["state"]) == [0]


def test_step_changes_in_place_and_keeps_the_leaf():
    w = leaf()
    made = SGD([w], lr=0.5)
    w.sum().backward()
    alias = w.detach()
    made.step()
    assert alias.item() == 0.5
    assert w.is_leaf


def test_closure_runs_with_gradients_and_gives_the_loss():
    w = leaf(2.0)
    made = SGD([w], lr=0.25)

    def closure():
        made.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert made.step(closure).item() == 4.0
    assert w.item() == 1.0


def trained(made, w, steps):
    for _ in range(steps):
        made.zero_grad()
        (w * w).sum().backward()
        made.step()


@pytest.mark.parametrize("kind", [lambda p: SGD(p, lr=0.1, momentum=0.9), lambda p: Adam(p)])
def test_a_loaded_state_goes_on_as_the_saved_one(kind):
    w = leaf(3.0)
    made = kind([w])
    trained(made, w, 3)
    twin_w = w.detach().clone().requires_grad_()
    twin = kind([twin_w])
    twin.load_state_dict(copy.deepcopy(made.state_dict()))
    trained(made, w, 3)
    trained(twin, twin_w, 3)
    assert twin_w.item() == w.item()


def test_layout_of_the_state():
    w = leaf()
    made = Adam([w])
    trained(made, w, 2)
    entry = made.state_dict()["state"][0]
    assert list(entry) == ["step", "exp_avg", "exp_avg_sq"]
    assert entry["step"].dtype == torch.float32
    assert entry["step"].shape == ()
    assert entry["step"].item() == 2.0
    assert entry["exp_avg"] is made.state[w]["exp_avg"]


def test_a_loaded_state_takes_the_parameters_dtype():
    w = leaf()
    made = Adam([w])
    trained(made, w, 1)
    twin = Adam([torch.ones(1, dtype=torch.float64, requires_grad=True)])
    twin.load_state_dict(made.state_dict())
    entry = twin.state_dict()["state"][0]
    assert entry["exp_avg"].dtype == torch.float64
    assert entry["step"].dtype == torch.float32


def test_a_state_that_does_not_fit():
    saved = SGD([leaf(), leaf()], lr=0.1).state_dict()
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        SGD([leaf()], lr=0.1).load_state_dict(saved)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        SGD([{"params": leaf()}, {"params": leaf()}], lr=0.1).load_state_dict(saved)


def test_step_hooks():
    w = leaf()
    made = SGD([w], lr=0.1)
    order = []
    handle = made.register_step_pre_hook(lambda o, args, kwargs: order.append("before"))
    made.register_step_post_hook(lambda o, args, kwargs: order.append("after"))
    with optimizer.register_optimizer_step_pre_hook(lambda *args: order.append("everywhere")):
        made.step()
    handle.remove()
    made.step()
    assert order == ["everywhere", "before", "after", "after"]


def test_what_stands_for_an_optimizer_leaves_hooks_to_it():
    """accelerate's optimizer calls no `Optimizer.__init__`, and steps another one."""

    class Stands(optimizer.Optimizer):
        def __init__(self, inner):
            self.inner = inner

        def step(self, closure=None):
            return self.inner.step(closure)

    made, order = SGD([leaf()], lr=0.1), []
    made.register_step_pre_hook(lambda *args: order.append("before"))
    with optimizer.register_optimizer_step_pre_hook(lambda *args: order.append("everywhere")):
        Stands(made).step()
    assert order == ["everywhere", "before"]


def test_a_hook_may_change_the_arguments():
    """It sees them as PyTorch's do: the optimizer is the first."""
    made = SGD([leaf()], lr=0.1)

    def give(optimizer, args, kwargs):
        assert args == (made,)
        return (optimizer, lambda: 5.0), kwargs

    made.register_step_pre_hook(give)
    assert made.step() == 5.0


def test_step_hooks_run_once_for_a_subclass_that_calls_super():
    class Louder(SGD):
        def step(self, closure=None):
            return super().step(closure)

    made = Louder([leaf()], lr=0.1)
    calls = []
    made.register_step_post_hook(lambda *args: calls.append(1))
    made.step()
    assert calls == [1]


def test_an_optimizer_written_for_pytorch():
    """A subclass with a `step` of its own, as people write them."""

    class Plain(Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad, alpha=-group["lr"])

    w = leaf()
    made = Plain([w], lr=0.5)
    w.sum().backward()
    made.step()
    assert w.item() == 0.5


def test_state_dict_hooks():
    made = SGD([leaf()], lr=0.1)
    made.register_state_dict_post_hook(lambda o, state: state | {"note": 1})
    assert made.state_dict()["note"] == 1
    made.register_load_state_dict_pre_hook(lambda o, state: state | {"seen": True})
    made.load_state_dict(made.state_dict())


def test_repr():
    text = repr(SGD([leaf()], lr=0.1))
    assert text.startswith("SGD (\nParameter Group 0\n    dampening: 0\n")
    assert text.endswith("weight_decay: 0\n)")


def test_pickle():
    w = leaf()
    made = Adam([w])
    trained(made, w, 1)
    twin = pickle.loads(pickle.dumps(made))
    assert len(twin.state) == 1
    twin.step()


def test_learning_rate_may_be_a_tensor():
    w = leaf()
    for made in (SGD([w], lr=torch.tensor(0.5)), Adam([w], lr=torch.tensor(0.5))):
        with torch.no_grad():
            w.fill_(1.0)
        made.zero_grad()
        w.sum().backward()
        made.step()
        assert w.item() == pytest.approx(0.5)


def test_adamw_is_an_adam():
    assert isinstance(AdamW([leaf()]), Adam)
    assert AdamW([leaf()]).defaults["decoupled_weight_decay"] is True
