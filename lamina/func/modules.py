"""Modules as functions of their parameters: `functional_call` and `stack_module_state`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from lamina import errors
from lamina.core import blame
from lamina.core.op import traced
from lamina.core.tensor import Tensor
from lamina.nn.channel_normalization import _BatchNorm
from lamina.nn.module import Module

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]

Tensors = Mapping[str, Tensor]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Tensors | Sequence[Tensors],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in place of its parameters and buffers.

    Args:
        module: What to call; afterwards it has its own parameters again.
        parameter_and_buffer_dicts: From dotted names to tensors; or several such dicts. What they
            do not name stays the module's own.
        args: The arguments: a tuple, or a single one.
        kwargs: Arguments by keyword.
        tie_weights: Whether a tensor also takes the place of parameters under other names that are
            the same object.
        strict: Raise if a name is missing or unknown.

    Raises:
        InvalidArgument: (RuntimeError) For missing or unknown names, if `strict`.
        InvalidValue: (ValueError) For a name in two of the dicts.

    >>> import lamina
    >>> from lamina.func import functional_call
    >>> linear = lamina.nn.Linear(2, 1, bias=False)
    >>> functional_call(linear, {"weight": lamina.tensor([[1.0, 2.0]])}, lamina.ones(2))
    tensor([3.])
    """
    tensors = _one_dict(parameter_and_buffer_dicts)
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, tensors, tie_weights, strict):
        return module(*given, **(kwargs or {}))


def _one_dict(dicts: Any) -> Tensors:
    if isinstance(dicts, Mapping):
        return dicts
    if not isinstance(dicts, Sequence) or not all(isinstance(each, Mapping) for each in dicts):
        raise errors.InvalidValue(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}",
            [(blame.this_place(), "called here")],
        )
    found: dict[str, Tensor] = {}
    twice = [name for each in dicts for name in each if sum(name in other for other in dicts) > 1]
    if twice:
        raise errors.InvalidValue(
            f"{list(dict.fromkeys(twice))} appeared in multiple dictionaries; behavior of "
            "functional call is ambiguous",
            [(blame.this_place(), "called here")],
        )
    for each in dicts:
        found.update(each)
    return found


@contextmanager
def _replaced(module: Module, tensors: Tensors, tie_weights: bool, strict: bool) -> Iterator[None]:
    """The module has other tensors inside; its own come back, also after an error."""
    places = dict(_places_of(module))
    _check_names(module, tensors, places, strict)
    wanted = {name: tensor for name, tensor in tensors.items() if name in places}
    if tie_weights:
        wanted |= _tied(places, wanted)
    before = {name: places[name][0][places[name][1]] for name in wanted}
    try:
        for name, tensor in wanted.items():
            registry, key = places[name]
            registry[key] = tensor
        yield
    finally:
        for name, tensor in before.items():
            registry, key = places[name]
            registry[key] = tensor


def _places_of(module: Module) -> Iterator[tuple[str, tuple[dict[str, Any], str]]]:
    """Each dotted name, with the table in which its tensor stands and the key there."""
    for prefix, part in module.named_modules(remove_duplicate=False):
        for registry in (part._parameters, part._buffers):
            for key, tensor in registry.items():
                if tensor is not None:
                    yield f"{prefix}.{key}" if prefix else key, (registry, key)


def _tied(places: Any, wanted: Tensors) -> dict[str, Tensor]:
    """For names that are not given, the tensor given for another name of the same object."""
    given: dict[int, Tensor] = {}
    for name, tensor in wanted.items():
        own = id(places[name][0][places[name][1]])
        if given.setdefault(own, tensor) is not tensor:
            raise errors.InvalidValue(
                f"functional_call got multiple values for {name!r} and a name that is tied to it: "
                "both stand for one parameter",
                [(blame.this_place(), "called here")],
                ["give one of the names, the same tensor for both, or tie_weights=False"],
            )
    return {
        name: given[id(registry[key])]
        for name, (registry, key) in places.items()
        if name not in wanted and id(registry[key]) in given
    }


def _check_names(module: Module, tensors: Tensors, places: Any, strict: bool) -> None:
    for tensor in tensors.values():
        if not isinstance(tensor, Tensor):
            raise errors.ArgumentTypeError(
                f"{tensor} is not an instance of torch.Tensor",
                [(blame.this_place(), "called here")],
            )
    if not strict:
        return
    missing = sorted(places.keys() - tensors.keys())
    unknown = sorted(tensors.keys() - places.keys())
    if not missing and not unknown:
        return
    lines = []
    for word, names in (("Unexpected", unknown), ("Missing", missing)):
        if names:
            lines.append(f"\n\t{word} key(s): {', '.join(map(repr, names))}.")
    raise errors.StateDictMismatch(
        f"Error(s) in reparametrizing for {type(module).__name__}:{''.join(lines)}",
        [(blame.this_place(), "called here")],
        ["name all parameters and buffers, or leave strict=False: the others stay as they are"],
    )


def stack_module_state(models: Any) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and buffers of several modules of one class, stacked for `vmap`.

    Args:
        models: Modules with the same parameters, all in training or all in evaluation mode.

    Returns:
        Two dicts from dotted names to tensors whose first dimension counts the models.

    Raises:
        InvalidArgument: (RuntimeError) For no models, or for models that differ.

    >>> import lamina
    >>> from lamina.func import functional_call, stack_module_state, vmap
    >>> models = [lamina.nn.Linear(2, 3) for _ in range(4)]
    >>> parameters, buffers = stack_module_state(models)
    >>> def call(parameters, buffers, x):
    ...     return functional_call(models[0], (parameters, buffers), (x,))
    >>> vmap(call, in_dims=(0, 0, None))(parameters, buffers, lamina.ones(5, 2)).shape
    torch.Size([4, 5, 3])
    """
    models = list(models)
    trouble = None
    if not models:
        trouble = "Expected at least one model, got 0."
    elif any(model.training != models[0].training for model in models):
        trouble = "Expected all models to have the same training/eval mode."
    elif any(type(model) is not type(models[0]) for model in models):
        trouble = "Expected all models to be of the same class."
    if trouble is not None:
        raise errors.InvalidArgument(
            f"stack_module_state: {trouble}", [(blame.this_place(), "called here")]
        )
    parameters = {
        name: _stacked(name, [model.get_parameter(name) for model in models])
        for name, _ in models[0].named_parameters()
    }
    buffers = {
        name: _stacked(name, [model.get_buffer(name) for model in models])
        for name, _ in models[0].named_buffers()
    }
    return parameters, buffers


def _stacked(name: str, tensors: list[Tensor]) -> Tensor:
    """One leaf with the values of several; it wants a gradient if they do."""
    wants = tensors[0].requires_grad
    if any(tensor.requires_grad != wants for tensor in tensors):
        raise errors.InvalidArgument(
            f"Expected {name} from each model to have the same .requires_grad",
            [(blame.this_place(), "called here")],
        )
    made: Tensor = traced.stack(tensors).detach()
    return made.requires_grad_(wants)


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Have all batch normalization in a module go without running statistics; the same module.

    Running statistics are changed in place by every call, which a `vmap` can only do sample by
    sample. Without them, layers normalize by the batch that they see, in evaluation too.

    >>> import lamina
    >>> layer = lamina.func.replace_all_batch_norm_modules_(lamina.nn.BatchNorm1d(3))
    >>> layer.running_mean is None
    True
    """
    for part in root.modules():
        if isinstance(part, _BatchNorm):
            part.running_mean = None
            part.running_var = None
            part.num_batches_tracked = None
            part.track_running_stats = False
    return root
