"""Which shape rule serves which function. (Ufuncs need none; see `shape_rules.ufunc_call`.)"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lamina.devices import function_rules as rules
from lamina.devices import product_rules
from lamina.devices.array_functions import RULES
from lamina.devices.dispatched import as_strided, get_item, set_item, view_as
from lamina.devices.layouts import indexed
from lamina.devices.shape_rules import Rule

__all__ = ["RULES"]

_VIEWS: Final[tuple[Any, ...]] = (
    np.transpose, np.permute_dims, np.swapaxes, np.moveaxis, np.rollaxis, np.matrix_transpose,
    np.linalg.matrix_transpose, np.expand_dims, np.squeeze, np.broadcast_to, np.broadcast_arrays,
    np.atleast_1d, np.atleast_2d, np.atleast_3d, np.flip, np.fliplr, np.flipud, np.rot90,
    np.diagonal, np.linalg.diagonal, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit,
    np.unstack, np.lib.stride_tricks.sliding_window_view, view_as, as_strided,
)  # fmt: skip

_REDUCTIONS: Final[tuple[Any, ...]] = (
    np.sum, np.prod, np.mean, np.var, np.std, np.max, np.min, np.any, np.all, np.argmax, np.argmin,
    np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd, np.nanmax, np.nanmin, np.nanargmax,
    np.nanargmin, np.median, np.nanmedian, np.ptp,
)  # fmt: skip

_SAME_SHAPE: Final[tuple[Any, ...]] = (
    np.round, np.around, np.fix, np.sinc, np.i0, np.angle, np.nan_to_num, np.real_if_close,
    np.roll, np.isneginf, np.isposinf, np.digitize, np.isin,
)  # fmt: skip

_SAME_MATRIX_SHAPE: Final[tuple[Any, ...]] = (np.tril, np.triu)

_BROADCAST: Final[tuple[Any, ...]] = (np.clip, np.isclose)

_CUMULATIVE: Final[tuple[Any, ...]] = (np.cumsum, np.cumprod, np.nancumsum, np.nancumprod)

_WRITES: Final[tuple[Any, ...]] = (
    np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal,
)  # fmt: skip

_UNKNOWN: Final[tuple[Any, ...]] = (
    np.nonzero, np.flatnonzero, np.argwhere, np.extract, np.compress, np.unique, np.unique_all,
    np.unique_counts, np.unique_inverse, np.unique_values, np.bincount, np.histogram,
    np.allclose, np.array_equal, np.array_equiv, np.trim_zeros, np.intersect1d, np.union1d,
    np.setdiff1d, np.setxor1d, np.array_repr, np.array_str, np.array2string,
)  # fmt: skip

_ABOUT_TYPES: Final[tuple[Any, ...]] = (
    np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.min_scalar_type, np.iscomplexobj,
    np.isrealobj, np.common_type,
)  # fmt: skip

_OF_NUMPY: Final[dict[Any, Rule]] = {
    **{function: rules.view_rule(function) for function in _VIEWS},
    **{function: rules.reduction_rule(function) for function in _REDUCTIONS},
    **{function: rules.same_rule(function) for function in _SAME_SHAPE},
    **{function: rules.same_matrix_rule(function) for function in _SAME_MATRIX_SHAPE},
    **{function: rules.broadcast_rule(function) for function in _BROADCAST},
    **{function: rules.cumulative_rule(function) for function in _CUMULATIVE},
    **dict.fromkeys(_WRITES, rules.write_rule),
    **{function: rules.unknown_rule(function) for function in _UNKNOWN},
    **{function: rules.as_is_rule(function) for function in _ABOUT_TYPES},
    np.reshape: rules.reshape_rule,
    np.ravel: rules.ravel_rule,
    np.real: rules.real_rule,
    np.imag: rules.imag_rule,
    np.diag: rules.diag_rule,
    np.copy: rules.copy_rule,
    np.astype: rules.astype_rule,
    np.empty_like: rules.empty_like_rule,
    np.zeros_like: rules.empty_like_rule,
    np.ones_like: rules.empty_like_rule,
    np.full_like: rules.full_like_rule,
    np.empty: rules.new_rule,
    np.zeros: rules.new_rule,
    np.ones: rules.new_rule,
    np.full: rules.full_rule,
    np.where: rules.where_rule,
    np.sort: rules.sort_rule,
    np.argsort: rules.argsort_rule,
    np.partition: lambda a, kth, axis=-1, **options: rules.sort_rule(a, axis),
    np.argpartition: lambda a, kth, axis=-1, **options: rules.argsort_rule(a, axis),
    np.searchsorted: lambda a, v, **options: rules.new_rule(np.shape(v), np.intp),
    np.interp: lambda x, xp, fp, **options: rules.new_rule(np.shape(x), float),
    np.count_nonzero: rules.count_nonzero_rule,
    np.linalg.norm: rules.norm_rule,
    np.diff: rules.diff_rule,
    np.concatenate: rules.concatenate_rule,
    np.concat: rules.concatenate_rule,
    np.stack: rules.stack_rule,
    np.take: rules.take_rule,
    np.take_along_axis: rules.take_along_axis_rule,
    np.repeat: rules.repeat_rule,
    np.tile: rules.tile_rule,
    np.pad: rules.pad_rule,
    np.dot: product_rules.dot_rule,
    np.tensordot: product_rules.tensordot_rule,
    np.einsum: product_rules.einsum_rule,
    np.copyto: rules.copyto_rule,
    np.shares_memory: rules.shares_memory_rule,
    np.may_share_memory: rules.shares_memory_rule,
    get_item: indexed,
    set_item: rules.set_item_rule,
}
RULES.update(_OF_NUMPY)
