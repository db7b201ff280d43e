"""L1xx: leaves, requires_grad, and those who insist on them."""

from __future__ import annotations

from typing import final

from .base import LaminaError, LaminaWarning


@final
class NotALeafFlag(LaminaError, RuntimeError):
    """`requires_grad` of a computed tensor cannot be set.

    PyTorch's phrase: you can only change requires_grad flags of leaf variables.

    Fails:
        y = x * 2; y.requires_grad = False
    Works:
        y = (x * 2).detach()
    """

    code = "L101"


@final
class RequiresGradDtype(LaminaError, RuntimeError):
    """Only floating point and complex tensors can require gradients.

    Fails:
        w = torch.tensor([1], requires_grad=True)
    Works:
        w = torch.tensor([1.0], requires_grad=True)
    """

    code = "L102"


@final
class NonLeafOptimized(LaminaError, ValueError):
    """An optimizer was given a computed tensor: can't optimize a non-leaf Tensor.

    Fails:
        w = torch.randn(3, requires_grad=True) * 0.01; torch.optim.SGD([w], lr=0.1)
    Works:
        w = (torch.randn(3) * 0.01).requires_grad_(); torch.optim.SGD([w], lr=0.1)
    """

    code = "L103"


@final
class EmptyParameterList(LaminaError, ValueError):
    """An optimizer got an empty parameter list.

    Often a generator that was used up before, or a module whose tensors are not Parameters.

    Fails:
        p = lin.parameters(); n = sum(q.numel() for q in p); torch.optim.SGD(p, lr=0.1)
    Works:
        p = list(lin.parameters()); n = sum(q.numel() for q in p); torch.optim.SGD(p, lr=0.1)
    """

    code = "L104"


@final
class RetainGradRefused(LaminaError, RuntimeError):
    """`retain_grad()` was asked of a tensor that has no gradient to come.

    PyTorch's phrase: can't retain_grad on Tensor that has requires_grad=False.

    Fails:
        y = torch.ones(2); y.retain_grad()
    Works:
        y = torch.ones(2, requires_grad=True) * 2; y.retain_grad()
    """

    code = "L105"


@final
class HookRefused(LaminaError, RuntimeError):
    """A hook was put on a tensor that doesn't require gradient.

    Fails:
        y = torch.ones(2); y.register_hook(print)
    Works:
        y = torch.ones(2, requires_grad=True); y.register_hook(print)
    """

    code = "L106"


@final
class DeepcopyOfNonLeaf(LaminaError, RuntimeError):
    """`copy.deepcopy` met a computed tensor that is part of a graph.

    Only tensors created explicitly by the user support the deepcopy protocol.

    Fails:
        y = x * 2; copy.deepcopy(y)
    Works:
        y = x * 2; copy.deepcopy(y.detach())
    """

    code = "L107"


@final
class NumpyOfRequiringTensor(LaminaError, RuntimeError):
    """`numpy()` was called on a tensor that requires grad.

    NumPy would not record what it does; use tensor.detach().numpy().

    Fails:
        a = (x * 2).numpy()
    Works:
        a = (x * 2).detach().numpy()
    """

    code = "L108"


@final
class NotAParameter(LaminaError, TypeError):
    """Something that is no Parameter was assigned where a module keeps one.

    PyTorch's phrase: cannot assign ... as parameter (torch.nn.Parameter or None expected).

    Fails:
        lin.weight = torch.zeros(1, 2)
    Works:
        lin.weight = torch.nn.Parameter(torch.zeros(1, 2))
    """

    code = "L109"


@final
class NonLeafGradWarning(LaminaWarning):
    """`.grad` was read of a tensor that is not a leaf Tensor, and is not kept.

    Warns:
        y = x * 5; y.sum().backward(); y.grad
    Works:
        y = x * 5; y.retain_grad(); y.sum().backward(); y.grad
    """

    code = "L110"


@final
class CopyConstructWarning(LaminaWarning):
    """`torch.tensor(t)` copied a tensor's values and left its graph behind.

    Warns:
        y = torch.tensor(x * 3)
    Works:
        y = (x * 3).detach().clone()
    """

    code = "L111"


@final
class ScalarConversionWarning(LaminaWarning):
    """A tensor that requires grad was turned into a Python number.

    Warns:
        f = float(w)
    Works:
        f = w.item()
    """

    code = "L112"


@final
class OptimizerArgumentError(LaminaError, ValueError):
    """An optimizer was given a setting or parameter groups that make no sense.

    Fails:
        torch.optim.SGD([w], lr=-1.0)
    Works:
        torch.optim.SGD([w], lr=0.1)
    """

    code = "L113"


@final
class StateDictMismatch(LaminaError, RuntimeError):
    """A state dict does not fit the module: Error(s) in loading state_dict.

    Fails:
        lin.load_state_dict({'weight': torch.zeros(2, 2)})
    Works:
        lin.load_state_dict({'weight': torch.zeros(2, 2), 'bias': torch.zeros(2)})
    """

    code = "L114"


@final
class MissingAttribute(LaminaError, AttributeError):
    """An object has no attribute of this name.

    Fails:
        lin.wieght
    Works:
        lin.weight
    """

    code = "L115"


@final
class ModuleNotInitialized(LaminaError, AttributeError):
    """A Module was given parts before its `__init__` ran.

    PyTorch's phrase: cannot assign module before Module.__init__() call.

    Fails:
        class Net(torch.nn.Module):
            def __init__(self):
                self.lin = torch.nn.Linear(2, 2)
    Works:
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = torch.nn.Linear(2, 2)
    """

    code = "L116"
