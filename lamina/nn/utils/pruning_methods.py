"""Ways to choose which elements of a tensor become zero; `prune` applies them to modules."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from typing import Any, ClassVar, final

from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError, DimensionOutOfRange, InvalidValue, LayerMismatch
from lamina.nn.module import Module
from lamina.ops.creation import ones_like, zeros_like
from lamina.ops.order_statistics import kthvalue
from lamina.ops.random import rand, rand_like
from lamina.ops.sorting import topk

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "hook_of",
]


class BasePruningMethod(ABC):
    """A way to choose what becomes zero; a subclass writes `compute_mask`.

    Attributes:
        PRUNING_TYPE: what it chooses from when something is pruned already: "unstructured" (the
            elements that are left), "structured" (the slices that are left) or "global" (all).
    """

    PRUNING_TYPE: ClassVar[str] = "unstructured"
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        # Past Module.__setattr__, which notes tensors that look as if they should be parameters.
        module.__dict__[self._tensor_name] = self.apply_mask(module)

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask for a tensor of importances: 0 for what becomes zero.

        Args:
            t: the importances.
            default_mask: a mask to change a copy of.
        """

    def apply_mask(self, module: Module) -> Tensor:
        """Return the pruned tensor of a module."""
        mask = getattr(module, f"{self._tensor_name}_mask")
        original = getattr(module, f"{self._tensor_name}_orig")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prune a tensor of a module by this method, on top of what was pruned before.

        Args:
            module: the module.
            name: the tensor's name.
            args: the method's arguments.
            importance_scores: what to choose by, instead of the tensor itself.
            kwargs: the method's arguments by keyword.
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        key = hook_of(module, name)
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise LayerMismatch(
                f"importance_scores should have the same shape as parameter {name} of {module}"
            )
        if key is None:
            mask = method.compute_mask(scores, ones_like(original))
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", original)
        else:
            before = module._forward_pre_hooks[key].function
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
            mask = method.compute_mask(scores, getattr(module, f"{name}_mask").detach().clone())
            del module._forward_pre_hooks[key]
        module.register_buffer(f"{name}_mask", mask)
        method(module, None)
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """Return a pruned copy of a tensor.

        Args:
            t: the tensor.
            default_mask: a mask from before.
            importance_scores: what to choose by, instead of the tensor itself.
        """
        scores = t if importance_scores is None else importance_scores
        mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor of a module a parameter of its own again."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        del module.__dict__[name]
        original: Any = module._parameters.pop(f"{name}_orig")
        del module._buffers[f"{name}_mask"]
        original.data = weight.data
        module.register_parameter(name, original)


def hook_of(module: Module, name: str) -> int | None:
    """Return under which key a module has the pruning of a tensor, or None."""
    for key, hook in module._forward_pre_hooks.items():
        method = hook.function
        if isinstance(method, BasePruningMethod) and method._tensor_name == name:
            return int(key)
    return None


@final
class PruningContainer(BasePruningMethod):
    """Several methods for one tensor: the last one chooses from what the others left.

    Args:
        args: the methods.
    """

    PRUNING_TYPE = "container"

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = args
        if args:
            self._tensor_name = args[0]._tensor_name

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Put a method behind the others."""
        if not isinstance(method, BasePruningMethod):
            raise ArgumentTypeError(f"{type(method)} is not a BasePruningMethod subclass")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with what the last method chooses."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.ndim  # type: ignore[attr-defined]
            others = [i for i in range(t.ndim) if i != dim]
            left = (*[slice(None)] * dim, mask.sum(others) != 0)
        elif method.PRUNING_TYPE == "global":
            left = ...
        else:
            raise InvalidValue(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask[left] = method.compute_mask(t[left], default_mask=mask[left]).to(mask.dtype)
        return mask


@final
class Identity(BasePruningMethod):
    """Prunes nothing, and sets up the mask."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask as it is."""
        return default_mask


class _ByAmount(BasePruningMethod):
    """What the methods with an amount share."""

    amount: float

    def __init__(self, amount: float) -> None:
        if not isinstance(amount, numbers.Real):
            raise ArgumentTypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        if amount < 0 or (amount > 1 and not isinstance(amount, int)):
            raise InvalidValue(
                f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
                "integer"
            )
        self.amount = amount

    def _count(self, size: int) -> int:
        """Return how many of `size` are to go: the amount itself, or as a share."""
        if not isinstance(self.amount, int):
            return round(self.amount * size)
        if self.amount > size:
            raise InvalidValue(
                f"amount={self.amount} should be smaller than the number of parameters to "
                f"prune={size}"
            )
        return self.amount


class _Unstructured(_ByAmount):
    def _scores(self, t: Tensor) -> tuple[Tensor, bool]:
        """Return numbers, and whether the largest or the smallest of them go."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with single elements chosen."""
        mask = default_mask.clone()
        count = self._count(t.numel())
        if count:
            scores, largest = self._scores(t)
            mask.view(-1)[topk(scores.reshape(-1), count, largest=largest).indices] = 0
        return mask


@final
class RandomUnstructured(_Unstructured):
    """Prunes random elements.

    Args:
        amount: how many, or which share of them.
    """

    def _scores(self, t: Tensor) -> tuple[Tensor, bool]:
        return rand_like(t), True


@final
class L1Unstructured(_Unstructured):
    """Prunes the elements of smallest absolute value.

    Args:
        amount: how many, or which share of them.
    """

    def _scores(self, t: Tensor) -> tuple[Tensor, bool]:
        return t.abs(), False


class _Structured(_ByAmount):
    PRUNING_TYPE = "structured"
    dim: int

    def _kept(self, t: Tensor, count: int) -> Tensor:
        """Return which slices along the dimension stay."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask with whole slices chosen."""
        if t.ndim <= 1:
            raise InvalidValue(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.ndim} dims"
            )
        if not -t.ndim <= self.dim < t.ndim:
            raise DimensionOutOfRange(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self._count(t.shape[self.dim])
        if not count:
            return default_mask
        mask = zeros_like(t)
        mask[(*[slice(None)] * (self.dim % t.ndim), self._kept(t, count))] = 1
        return mask * default_mask.to(mask.dtype)


@final
class RandomStructured(_Structured):
    """Prunes random slices.

    Args:
        amount: how many, or which share of them.
        dim: the dimension that counts them.
    """

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Tensor, count: int) -> Tensor:
        draws = rand(t.shape[self.dim])
        return draws > kthvalue(draws, count).values


@final
class LnStructured(_Structured):
    """Prunes the slices of smallest norm.

    Args:
        amount: how many, or which share of them.
        n: the p of the norm.
        dim: the dimension that counts them.
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def _kept(self, t: Tensor, count: int) -> Tensor:
        norms = t.norm(self.n, [i for i in range(t.ndim) if i != self.dim % t.ndim])
        return topk(norms, t.shape[self.dim] - count, largest=True).indices


@final
class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask.

    Args:
        mask: 0 for what becomes zero.
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the product of both masks."""
        return default_mask * self.mask.to(default_mask.dtype)
