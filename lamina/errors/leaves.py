"""L1xx: leaves, requires_grad, and those who insist on them."""

from __future__ import annotations

from typing import final

from .base import LaminaError, LaminaWarning


@final
class NotALeafFlag(LaminaError, RuntimeError):
    """`requires_grad` of a computed tensor cannot be set.

    PyTorch's phrase: you can only change requires_grad flags of leaf variables.

    A computed tensor requires grad because its inputs do; only a leaf, which nobody computed, has
    a flag of its own.

    Fails:
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        y.requires_grad = False
    Works:
        x = torch.ones(2, requires_grad=True)
        y = (x * 2).detach()
    """

    code = "L101"


@final
class RequiresGradDtype(LaminaError, RuntimeError):
    """Only floating point and complex tensors can require gradients.

    A gradient says what a small change does, and integers have no small changes.

    Fails:
        w = torch.tensor([1], requires_grad=True)
    Works:
        w = torch.tensor([1.0], requires_grad=True)
    """

    code = "L102"


@final
class NonLeafOptimized(LaminaError, ValueError):
    """An optimizer was given a computed tensor: can't optimize a non-leaf Tensor.

    backward() fills `.grad` of leaves only, so the optimizer would find no gradient in it.

    Fails:
        w = torch.randn(3, requires_grad=True) * 0.01
        torch.optim.SGD([w], lr=0.1)
    Works:
        w = (torch.randn(3) * 0.01).requires_grad_()
        torch.optim.SGD([w], lr=0.1)
    """

    code = "L103"


@final
class EmptyParameterList(LaminaError, ValueError):
    """An optimizer got an empty parameter list.

    Often a generator that was used up before, or a module whose tensors are not Parameters.

    Fails:
        lin = torch.nn.Linear(2, 2)
        p = lin.parameters()
        n = sum(q.numel() for q in p)
        torch.optim.SGD(p, lr=0.1)
    Works:
        lin = torch.nn.Linear(2, 2)
        p = list(lin.parameters())
        n = sum(q.numel() for q in p)
        torch.optim.SGD(p, lr=0.1)
    """

    code = "L104"


@final
class RetainGradRefused(LaminaError, RuntimeError):
    """`retain_grad()` was asked of a tensor that has no gradient to come.

    PyTorch's phrase: can't retain_grad on Tensor that has requires_grad=False.

    `retain_grad()` keeps the gradient of a computed tensor, and only one that requires grad has
    one.

    Fails:
        y = torch.ones(2)
        y.retain_grad()
    Works:
        y = torch.ones(2, requires_grad=True) * 2
        y.retain_grad()
    """

    code = "L105"


@final
class HookRefused(LaminaError, RuntimeError):
    """A hook was put on a tensor that doesn't require gradient.

    A hook runs when the gradient passes by, and none will pass here.

    Fails:
        y = torch.ones(2)
        y.register_hook(print)
    Works:
        y = torch.ones(2, requires_grad=True)
        y.register_hook(print)
    """

    code = "L106"


@final
class DeepcopyOfNonLeaf(LaminaError, RuntimeError):
    """`copy.deepcopy` met a computed tensor that is part of a graph.

    Only tensors created explicitly by the user support the deepcopy protocol.

    Its history belongs to others too, and a copy of the tensor alone would stand outside it.

    Fails:
        import copy

        x = torch.ones(2, requires_grad=True)
        y = x * 2
        copy.deepcopy(y)
    Works:
        import copy

        x = torch.ones(2, requires_grad=True)
        y = x * 2
        copy.deepcopy(y.detach())
    """

    code = "L107"


@final
class NumpyOfRequiringTensor(LaminaError, RuntimeError):
    """`numpy()` was called on a tensor that requires grad.

    NumPy would not record what it does; use tensor.detach().numpy().

    Fails:
        x = torch.ones(2, requires_grad=True)
        a = (x * 2).numpy()
    Works:
        x = torch.ones(2, requires_grad=True)
        a = (x * 2).detach().numpy()
    """

    code = "L108"


@final
class NotAParameter(LaminaError, TypeError):
    """Something that is no Parameter was assigned where a module keeps one.

    PyTorch's phrase: cannot assign ... as parameter (torch.nn.Parameter or None expected).

    A plain tensor there would no longer be found by parameters(), and so never be trained.

    Fails:
        lin = torch.nn.Linear(2, 1)
        lin.weight = torch.zeros(1, 2)
    Works:
        lin = torch.nn.Linear(2, 1)
        lin.weight = torch.nn.Parameter(torch.zeros(1, 2))
    """

    code = "L109"


@final
class NonLeafGradWarning(LaminaWarning):
    """`.grad` was read of a tensor that is not a leaf Tensor, and is not kept.

    The gradient of a computed tensor is passed on to its inputs and then dropped, to save memory.

    Warns:
        x = torch.ones(2, requires_grad=True)
        y = x * 5
        y.sum().backward()
        print(y.grad)
    Works:
        x = torch.ones(2, requires_grad=True)
        y = x * 5
        y.retain_grad()
        y.sum().backward()
        print(y.grad)
    """

    code = "L110"


@final
class CopyConstructWarning(LaminaWarning):
    """`torch.tensor(t)` copied a tensor's values and left its graph behind.

    The copy is a new leaf: no gradient gets back to what the values came from.

    Warns:
        x = torch.ones(2, requires_grad=True)
        y = torch.tensor(x * 3)
    Works:
        x = torch.ones(2, requires_grad=True)
        y = (x * 3).detach().clone()
    """

    code = "L111"


@final
class ScalarConversionWarning(LaminaWarning):
    """A tensor that requires grad was turned into a Python number.

    A number has no history: what is computed from it has no gradient.

    Warns:
        w = torch.ones(1, requires_grad=True)
        f = float(w)
    Works:
        w = torch.ones(1, requires_grad=True)
        f = w.item()
    """

    code = "L112"


@final
class OptimizerArgumentError(LaminaError, ValueError):
    """An optimizer was given a setting or parameter groups that make no sense.

    A learning rate below zero, say, would climb where it should descend.

    Fails:
        w = torch.ones(2, requires_grad=True)
        torch.optim.SGD([w], lr=-1.0)
    Works:
        w = torch.ones(2, requires_grad=True)
        torch.optim.SGD([w], lr=0.1)
    """

    code = "L113"


@final
class StateDictMismatch(LaminaError, RuntimeError):
    """A state dict does not fit the module: Error(s) in loading state_dict.

    Names or shapes differ: the file is of another model, or the model was changed since.

    Fails:
        lin = torch.nn.Linear(2, 2)
        lin.load_state_dict({"weight": torch.zeros(2, 2)})
    Works:
        lin = torch.nn.Linear(2, 2)
        lin.load_state_dict({"weight": torch.zeros(2, 2), "bias": torch.zeros(2)})
    """

    code = "L114"


@final
class MissingAttribute(LaminaError, AttributeError):
    """An object has no attribute of this name.

    It is misspelled, or belongs to another class.

    Fails:
        lin = torch.nn.Linear(2, 2)
        print(lin.wieght)
    Works:
        lin = torch.nn.Linear(2, 2)
        print(lin.weight)
    """

    code = "L115"


@final
class ModuleNotInitialized(LaminaError, AttributeError):
    """A Module was given parts before its `__init__` ran.

    PyTorch's phrase: cannot assign module before Module.__init__() call.

    `__init__` makes the tables into which parameters and modules are entered.

    Fails:
        class Net(torch.nn.Module):
            def __init__(self):
                self.lin = torch.nn.Linear(2, 2)


        Net()
    Works:
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = torch.nn.Linear(2, 2)


        Net()
    """

    code = "L116"
