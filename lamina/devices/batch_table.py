"""All rules of batches, and those of questions that every sample answers alike."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lamina.devices import batch_indexing, batch_products, batch_rules
from lamina.devices.batched import BATCH_RULES, Batch, BatchedArray
from lamina.devices.dispatched import ABOUT_MEMORY, replace

__all__ = ["batch_indexing", "batch_products", "batch_rules"]

_ABOUT_TYPES: Final[tuple[Any, ...]] = (
    np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.min_scalar_type, np.iscomplexobj,
    np.isrealobj, np.common_type,
)  # fmt: skip


def _about_types(batch: Batch, function: Any, *args: Any, **kwargs: Any) -> Any:
    """What shape and dtype tell: asked of an array like one sample."""

    def like(array: BatchedArray) -> Any:
        return np.broadcast_to(np.empty((), array.dtype), array.shape)

    return function(*replace(args, (BatchedArray,), like), **replace(kwargs, (BatchedArray,), like))


def _about_memory(batch: Batch, function: Any, *args: Any, **kwargs: Any) -> Any:
    def held(array: BatchedArray) -> Any:
        return array.values if array.batch is batch else array

    return function(*replace(args, (BatchedArray,), held), **kwargs)


BATCH_RULES.update(dict.fromkeys(_ABOUT_TYPES, _about_types))
BATCH_RULES.update(dict.fromkeys(ABOUT_MEMORY, _about_memory))
