"""Pruning: weights of a module set to zero, by a mask that is applied before each forward."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError, InvalidValue
from lamina.nn.module import Module
from lamina.nn.utils.convert_parameters import parameters_to_vector
from lamina.nn.utils.pruning_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    hook_of,
)
from lamina.ops.creation import ones_like

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


def identity(module: Module, name: str) -> Module:
    """Set up a mask that prunes nothing: `name_orig` and `name_mask` in place of `name`."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune random elements; see `RandomUnstructured`."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Tensor | None = None
) -> Module:
    """Prune the elements of smallest absolute value.

    Args:
        module: the module.
        name: the tensor's name; it is kept as `name_orig`, beside the buffer `name_mask`.
        amount: how many, or which share of them.
        importance_scores: what to choose by, instead of the tensor itself.

    Example:
        >>> import lamina
        >>> layer = l1_unstructured(lamina.nn.Linear(2, 3), "weight", amount=0.5)
        >>> int((layer.weight == 0).sum())
        3
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune random slices; see `RandomStructured`."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: float,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the slices of smallest norm; see `LnStructured`."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune by a given mask; see `CustomFromMask`."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: Mapping[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several tensors as if they were one.

    Args:
        parameters: pairs of a module and a name.
        pruning_method: an unstructured method.
        importance_scores: what to choose by, for some of the pairs.
        kwargs: the method's arguments.
    """
    pairs = list(parameters)
    scores = importance_scores or {}
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise ArgumentTypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "joined"
    values = parameters_to_vector([scores.get(pair, getattr(*pair)) for pair in pairs])
    masks = parameters_to_vector(
        [
            getattr(module, f"{name}_mask", ones_like(getattr(module, name)))
            for module, name in pairs
        ]
    )
    chosen = PruningContainer(method).compute_mask(values, masks)
    start = 0
    for module, name in pairs:
        tensor = getattr(module, name)
        custom_from_mask(module, name, chosen[start : start + tensor.numel()].view_as(tensor))
        start += tensor.numel()


def _mask_of(module: Module, name: str) -> Tensor:
    mask = module._buffers.get(f"{name}_mask")
    return ones_like(getattr(module, name)) if mask is None else mask


def remove(module: Module, name: str) -> Module:
    """Make a pruned tensor a parameter of its own again, with its zeros."""
    key = hook_of(module, name)
    if key is None:
        raise InvalidValue(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    module._forward_pre_hooks.pop(key).function.remove(module)
    return module


def is_pruned(module: Module) -> bool:
    """Whether anything in a tree of modules is pruned."""
    return any(
        isinstance(hook.function, BasePruningMethod)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )
