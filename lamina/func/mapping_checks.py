"""Checks on what is mapped by `vmap`: its options, the dimensions of samples, its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lamina import errors
from lamina.core import blame
from lamina.core.blame.words import dims as shape_text
from lamina.core.definitions import definition
from lamina.core.tensor import Tensor
from lamina.utils._pytree import PyTreeSpec, _broadcast_to_and_flatten, tree_flatten

Function = Callable[..., Any]


def name_of(func: Function) -> str:
    """A function's name, as errors have it."""
    return getattr(func, "__name__", None) or repr(func)


def _notes(func: Function) -> list[Any]:
    return [(blame.this_place(), "mapped here"), (definition(func), "the function")]


def check_options(randomness: str, chunk_size: Any) -> None:
    """Raise for options that `vmap` does not know."""
    if randomness not in ("error", "different", "same"):
        raise errors.InvalidArgument(
            "Only allowed values for randomness are 'error', 'different', or 'same'. "
            f"Got {randomness}",
            [(blame.this_place(), "asked for here")],
            ["'different' draws numbers for each sample, 'same' once for all"],
        )
    if chunk_size is not None and not chunk_size > 0:
        raise errors.InvalidValue(
            f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})",
            [(blame.this_place(), "asked for here")],
        )


# --- the samples ---------------------------------------------------------------------------------


def checked_in_dims(
    func: Function, in_dims: Any, args: tuple[Any, ...], leaves: list[Any], spec: PyTreeSpec
) -> list[int | None]:
    """For each leaf of the arguments which dimension holds the samples, from 0; None for none."""
    if not args:
        raise errors.InvalidValue(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or "
            "the function takes none, and then there is nothing to map over",
            _notes(func),
        )
    if not isinstance(in_dims, int | tuple):
        raise errors.InvalidValue(
            f"{_call(func, in_dims)}: expected `in_dims` to be int or a (potentially nested) tuple "
            f"matching the structure of inputs, got: {type(in_dims)}.",
            _notes(func),
            ["give one number for all arguments, or a tuple with one entry for each"],
        )
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise errors.InvalidValue(
            f"{_call(func, in_dims)}: in_dims is not compatible with the structure of "
            f"`inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but inputs has "
            f"structure {spec}.",
            _notes(func),
            [f"the function was called with {len(args)} positional arguments: give one number, or "
             "a tuple of as many"],
        )  # fmt: skip
    return [_checked_dim(func, in_dims, leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)]


def _call(func: Function, in_dims: Any) -> str:
    return f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>)"


def _checked_dim(func: Function, in_dims: Any, leaf: Any, dim: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise errors.InvalidValue(
            f"{_call(func, in_dims)}: Got in_dim={dim} for an input but in_dim must be "
            "either an integer dimension or None.",
            _notes(func),
        )
    if not isinstance(leaf, Tensor):
        raise errors.InvalidValue(
            f"{_call(func, in_dims)}: Got in_dim={dim} for an input but the input is of "
            f"type {type(leaf)}. We cannot vmap over non-Tensor arguments, please use None as the "
            "respective in_dim",
            _notes(func),
            ["None in in_dims says that an argument is the same for all samples"],
        )
    if not -leaf.ndim <= dim < leaf.ndim:
        raise errors.InvalidValue(
            f"{_call(func, in_dims)}: Got in_dim={dim} for some input, but that input "
            f"is a Tensor of dimensionality {leaf.ndim} so expected in_dim to satisfy "
            f"-{leaf.ndim} <= in_dim < {leaf.ndim}.",
            [*_notes(func), *blame.made_note(leaf, "this input was made here")],
        )
    return dim % leaf.ndim


def batch_size(func: Function, leaves: list[Any], dims: list[int | None]) -> int:
    """The number of samples, on which all arguments must agree."""
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise errors.InvalidValue(
            "vmap: at least one input must be mapped over: all of `in_dims` is None",
            _notes(func),
            ["call the function without vmap where all samples are the same"],
        )
    if any(size != sizes[0] for size in sizes):
        raise errors.InvalidValue(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension",
            [*_notes(func), *_made_notes(leaves, dims)],
        )
    return int(sizes[0])


def _made_notes(leaves: list[Any], dims: list[int | None]) -> list[Any]:
    notes: list[Any] = []
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is not None:
            notes += blame.made_note(leaf, f"{leaf.shape[dim]} samples along dimension {dim}")
    return notes[:4]


# --- the results ---------------------------------------------------------------------------------


def checked_out_dims(
    func: Function, out_dims: Any, outputs: list[Any], spec: PyTreeSpec
) -> list[int | None]:
    """For each leaf of the results which dimension shall hold the samples; None for none."""
    if not all(dim is None or isinstance(dim, int) for dim in tree_flatten(out_dims)[0]):
        raise errors.InvalidValue(
            f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an "
            "int, None or a python collection of ints representing where in the outputs the "
            "vmapped dimension should appear.",
            _notes(func),
        )
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None and isinstance(out_dims, tuple) and len(out_dims) == 1 and spec.is_leaf():
        dims = [out_dims[0]]
    if dims is None:
        raise errors.InvalidValue(
            f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not "
            f"compatible with the structure of `outputs`. out_dims has structure "
            f"{tree_flatten(out_dims)[1]} but outputs has structure {spec}.",
            _notes(func),
        )
    for output, dim in zip(outputs, dims, strict=True):
        if dim is not None and not isinstance(output, Tensor):
            name = name_of(func)
            raise errors.InvalidValue(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. "
                "Did you mean to set out_dims= to None for output?",
                _notes(func),
            )
    return dims


def out_dim(dim: int, ndim: int) -> int:
    """A dimension of a result with the samples in it, counted from 0."""
    if not -ndim - 1 <= dim <= ndim:
        raise blame.dim_out_of_range(dim, ndim + 1)
    return dim % (ndim + 1)


def batched_without_dim(func: Function) -> errors.LaminaError:
    """A result that differs between samples where `out_dims` says that it does not."""
    name = name_of(func)
    return errors.InvalidValue(
        f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None: the "
        "result is another for each sample",
        _notes(func),
        ["give the dimension of the result that shall hold the samples, such as out_dims=0"],
    )


def changing_structure(func: Function, first: Any, other: Any) -> errors.LaminaError:
    """The function returned nests of another structure for other samples."""
    return errors.InvalidValue(
        f"vmap: `{name_of(func)}` returned {first} for the first sample and {other} for another",
        _notes(func),
    )


def ragged(func: Function, shapes: Sequence[Any]) -> errors.LaminaError:
    """Results of several shapes can't lie in one tensor."""
    other = next(shape for shape in shapes if shape != shapes[0])
    return errors.InvalidArgument(
        f"vmap: `{name_of(func)}` returned a tensor of shape {shape_text(shapes[0])} for the first "
        f"sample and one of shape {shape_text(other)} for another: they can't lie in one tensor. "
        "(PyTorch: vmap does not support batching operators that can output dynamic shape)",
        _notes(func),
        ["make the shape independent of the values: torch.where(mask, x, 0) instead of x[mask]"],
    )
