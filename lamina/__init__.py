"""Lamina: PyTorch's tensors and autograd in Python. `import lamina as torch` runs what you have.

This file is the front door: names, and no logic but what keeps `import lamina` within 45 ms of
NumPy's own import. Namespaces, and chapters of operations that not every program needs, are loaded
when first used.
"""

# Names stand in paragraphs here, not one to a line: the file is read for what exists.
# fmt: off
# ruff: isort: skip_file

import importlib as _importlib
import sys as _sys
import warnings as _warnings
from math import e, inf, nan, pi
from typing import TYPE_CHECKING
from typing import Any as _Any

from lamina import autograd, errors
from lamina import methods as methods
from lamina.core.layouts import (
    Size, channels_last, channels_last_3d, contiguous_format, layout, memory_format,
    preserve_format, sparse_coo, strided,
)
from lamina.core.modes import (
    enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad,
    set_grad_enabled,
)
from lamina.core.namespaces import find_with as _find_operators_with
from lamina.core.tensor import Tensor
from lamina.devices import device
from lamina.devices.host_memory import keep_freed_memory as _keep_freed_memory
from lamina.dtypes import (
    bfloat16, bool_ as bool, can_cast, complex64, complex64 as cfloat, complex128,
    complex128 as cdouble, dtype, float16, float16 as half, float32, float32 as float, float64,
    float64 as double, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz,
    get_default_dtype, int8, int16, int16 as short, int32, int32 as int, int64, int64 as long,
    promote_types, set_default_dtype, uint8, uint16, uint32, uint64,
)
from lamina.errors.kinds import OutOfMemoryError
from lamina.ops.broadcasting import broadcast_shapes, broadcast_tensors, broadcast_to
from lamina.ops.comparison import (
    allclose, eq, equal, ge, greater, greater_equal, gt, isclose, isfinite, isinf, isnan, isneginf,
    isposinf, isreal, le, less, less_equal, lt, ne, not_equal, where,
)
from lamina.ops.complex_numbers import (
    angle, complex, conj, conj_physical, imag, polar, real, resolve_conj, resolve_neg,
    view_as_complex, view_as_real,
)
from lamina.ops.conversion import from_dlpack, is_complex, is_floating_point, is_tensor, numel
from lamina.ops.creation import (
    arange, empty, empty_like, empty_permuted, empty_strided, eye, full, full_like,
    get_default_device, linspace, logspace, ones, ones_like, range, scalar_tensor,
    set_default_device, zeros, zeros_like,
)
from lamina.ops.data import as_tensor, asarray, from_numpy, frombuffer, tensor
from lamina.ops.exponential import (
    exp, exp2, expm1, log, log10, log1p, log2, logaddexp, logaddexp2, logit, sigmoid, xlogy,
)
from lamina.ops.filling import fill
from lamina.ops.indexing import index_put
from lamina.ops.masks import (
    argwhere, masked_fill, masked_scatter, masked_select, nonzero, nonzero_static,
)
from lamina.ops.matmul import bmm, matmul, mm, mm as dsmm, mm as spmm
from lamina.ops.memory import clone, detach, detach_
from lamina.ops.permutation import (
    adjoint, moveaxis, movedim, permute, swapaxes, swapdims, t, transpose,
)
from lamina.ops.picking import gather, index_select, take, take_along_dim
from lamina.ops.pointwise import (
    add, div, divide, floor_divide, fmod, mul, multiply, remainder, rsub, sub, subtract,
    true_divide,
)
from lamina.ops.powers import (
    addcdiv, addcmul, float_power, hypot, ldexp, lerp, pow, reciprocal, rsqrt, sqrt, square,
)
from lamina.ops.reduction import (
    all, any, count_nonzero, logsumexp, mean, nanmean, nansum, prod, sum,
)
from lamina.ops.scattering import scatter, scatter_add, scatter_reduce
from lamina.ops.shape import flatten, ravel, reshape, squeeze, unflatten, unsqueeze
from lamina.ops.signs import (
    abs, absolute, copysign, heaviside, neg, negative, positive, sgn, sign, signbit,
)
from lamina.ops.strides import as_strided
from lamina.ops.vectors import dot, mv, vdot
from lamina.ops.windows import diagonal, narrow, select
from lamina.ops.writing import index_add, index_copy, index_fill, index_reduce, put
from lamina.late_names import HOMES as _HOMES, LEFT_OUT as _LEFT_OUT, NAMESPACES as _NAMESPACES
from lamina.version import __version__

newaxis = None

if TYPE_CHECKING:
    from lamina import (
        accelerator, amp, backends, cpu, cuda, distributions, fft, func, hub, io, jit, linalg,
        multiprocessing, nn, optim, profiler, random, serialization, signal, sparse, special,
        storage, testing, utils,
    )
    from lamina.amp.autocast_mode import (
        autocast, autocast_decrement_nesting, autocast_increment_nesting, clear_autocast_cache,
        get_autocast_cpu_dtype, get_autocast_dtype, get_autocast_gpu_dtype,
        is_autocast_cache_enabled, is_autocast_cpu_enabled, is_autocast_enabled,
        set_autocast_cache_enabled, set_autocast_cpu_dtype, set_autocast_cpu_enabled,
        set_autocast_dtype, set_autocast_enabled, set_autocast_gpu_dtype,
    )
    from lamina.amp.grad_scaler import GradScaler
    from lamina.autograd.anomaly_mode import (
        is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled,
    )
    from lamina.backends.settings import (
        are_deterministic_algorithms_enabled, get_deterministic_debug_mode,
        get_float32_matmul_precision, get_num_interop_threads,
        is_deterministic_algorithms_warn_only_enabled, is_warn_always_enabled,
        set_deterministic_debug_mode, set_float32_matmul_precision, set_flush_denormal,
        set_num_interop_threads, set_warn_always, use_deterministic_algorithms,
    )
    from lamina.compiler import compile
    from lamina.core.printing import set_printoptions
    from lamina.devices.thread_count import get_num_threads, set_num_threads
    from lamina.explain import summary, why
    from lamina.func import vmap
    from lamina.io import load, save
    from lamina.library.tags import Tag
    from lamina.ops.activation import (
        celu, celu_, hardshrink, prelu, relu, relu_, rrelu, rrelu_, selu, selu_, threshold,
        threshold_,
    )
    from lamina.ops.adaptive_pooling import adaptive_avg_pool1d, adaptive_max_pool1d
    from lamina.ops.arranging import (
        atleast_1d, atleast_2d, atleast_3d, block_diag, diag, diag_embed, diagflat, flip, fliplr,
        flipud, roll, rot90, tril, tril_indices, triu, triu_indices,
    )
    from lamina.ops.batch_normalization import batch_norm, instance_norm
    from lamina.ops.contraction import einsum, inner, tensordot
    from lamina.ops.convolution import (
        conv1d, conv2d, conv3d, conv_tbc, conv_transpose1d, conv_transpose2d, conv_transpose3d,
        convolution,
    )
    from lamina.ops.covariance import corrcoef, cov
    from lamina.ops.ctc import ctc_loss
    from lamina.ops.cumulative import cummax, cummin, cumprod, cumsum, logcumsumexp
    from lamina.ops.decompositions import geqrf, qr, svd
    from lamina.ops.deprecated import eig, lstsq, matrix_rank, solve, symeig
    from lamina.ops.differences import cumulative_trapezoid, diff, gradient, trapezoid, trapz
    from lamina.ops.divisors import gcd, lcm, unravel_index
    from lamina.ops.dropout import alpha_dropout, dropout, feature_alpha_dropout
    from lamina.ops.dtype_info import finfo, iinfo, result_type
    from lamina.ops.error_function import erf, erfc, erfinv
    from lamina.ops.extremes import amax, amin, aminmax, argmax, argmin, max, min
    from lamina.ops.factor_lu import lu, lu_solve, lu_unpack
    from lamina.ops.floating_point import frexp, nextafter
    from lamina.ops.gamma_function import digamma, lgamma, mvlgamma, polygamma
    from lamina.ops.histograms import bincount, histc, histogram, histogramdd
    from lamina.ops.incomplete_gamma import igamma, igammac
    from lamina.ops.joining import (
        cat, column_stack, concat, concatenate, dstack, hstack, row_stack, stack, vstack,
    )
    from lamina.ops.linalg import matrix_exp, orgqr, ormqr, vander
    from lamina.ops.linear_loss import bilinear
    from lamina.ops.logic import (
        bitwise_and, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor,
        logical_and, logical_not, logical_or, logical_xor,
    )
    from lamina.ops.lowrank import pca_lowrank, svd_lowrank
    from lamina.ops.matrix_sums import addbmm, addmm, addmv, addr, baddbmm
    from lamina.ops.modified_bessel import i0
    from lamina.ops.moments import std, std_mean, var, var_mean
    from lamina.ops.normalization import group_norm, layer_norm, rms_norm
    from lamina.ops.norms import dist, norm, renorm
    from lamina.ops.order_statistics import kthvalue, median, mode, nanmedian, nanquantile, quantile
    from lamina.ops.pair_loss import cosine_similarity, pairwise_distance, pdist
    from lamina.ops.patches import (
        channel_shuffle, native_channel_shuffle, pixel_shuffle, pixel_unshuffle,
    )
    from lamina.ops.pooling import avg_pool1d, max_pool1d, max_pool2d, max_pool3d
    from lamina.ops.products import (
        cdist, chain_matmul, cross, ger, kron, matrix_power, outer, trace,
    )
    from lamina.ops.pseudoinverse import pinverse
    from lamina.ops.questions import (
        get_device, is_conj, is_distributed, is_inference, is_neg, is_nonzero, is_same_size,
        is_signed, typename,
    )
    from lamina.ops.random import (
        Generator, bernoulli, binomial, default_generator, get_rng_state, initial_seed, manual_seed,
        multinomial, normal, poisson, rand, rand_like, randint, randint_like, randn, randn_like,
        randperm, seed, set_rng_state,
    )
    from lamina.ops.repeating import cartesian_prod, combinations, meshgrid, repeat_interleave, tile
    from lamina.ops.rounding import (
        ceil, clamp, clamp_max, clamp_min, clip, fix, floor, fmax, fmin, frac, maximum, minimum,
        nan_to_num, round, trunc,
    )
    from lamina.ops.searching import bucketize, isin, searchsorted, unique, unique_consecutive
    from lamina.ops.softmax import log_softmax, softmax
    from lamina.ops.solvers import det, inverse, logdet, slogdet
    from lamina.ops.sorting import argsort, msort, sort, topk
    from lamina.ops.sparse import sparse_coo_tensor
    from lamina.ops.spectrogram import istft, stft
    from lamina.ops.splitting import (
        chunk, dsplit, hsplit, split, split_with_sizes, tensor_split, unbind, unsafe_chunk,
        unsafe_split, unsafe_split_with_sizes, vsplit,
    )
    from lamina.ops.triangular import cholesky, cholesky_inverse, cholesky_solve, triangular_solve
    from lamina.ops.trigonometry import (
        acos, acosh, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, asin, asinh, atan,
        atan2, atanh, cos, cosh, deg2rad, rad2deg, sin, sinc, sinh, tan, tanh,
    )
    from lamina.ops.typed_tensors import (
        BFloat16Tensor, BoolTensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, HalfTensor,
        IntTensor, LongTensor, ShortTensor, set_default_tensor_type,
    )
    from lamina.ops.view_changes import (
        alias_copy, as_strided_copy, diagonal_copy, expand_copy, narrow_copy, permute_copy,
        split_with_sizes_copy, squeeze_copy, t_copy, transpose_copy, unbind_copy, unfold_copy,
        unsqueeze_copy, view_copy,
    )
    from lamina.ops.view_writes import (
        as_strided_scatter, diagonal_scatter, select_scatter, slice_scatter,
    )
    from lamina.ops.window_functions import (
        bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window,
    )
    from lamina.storage import TypedStorage, UntypedStorage, is_storage
    from lamina.torch_alias import as_torch
    from lamina.utils.progress import progress

def __getattr__(name: str) -> _Any:
    if name in _NAMESPACES:
        return _importlib.import_module(f"lamina.{name}")
    found = _late(name)
    globals()[name] = found  # so that the next time costs nothing
    return found


def _late(name: str) -> _Any:
    if name in _HOMES:
        return getattr(_importlib.import_module(_HOMES[name]), name)
    if name.startswith("_foreach_"):
        functions = _importlib.import_module("lamina.ops.foreach").FOREACH
        if name in functions:
            return functions[name]
    if name.endswith("_") and not name.startswith("_"):
        functions = _importlib.import_module("lamina.ops.inplace_functions").INPLACE
        if name in functions:
            return functions[name]
    missing = f"module 'lamina' has no attribute {name!r}"
    if name in _LEFT_OUT:
        raise errors.MissingName(missing, help=[_LEFT_OUT[name]])
    raise AttributeError(missing)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _namespace_of_operators(name: str) -> _Any:
    """What `lamina.ops` has beside its own chapters: operators that were defined, and `aten`."""
    if name != "aten" and "lamina.library" not in _sys.modules:
        return None
    return _importlib.import_module("lamina.library.operators").namespace_of(name)


_find_operators_with(_namespace_of_operators)


def _graph_of(self: Tensor, *, values: _Any = False) -> _Any:
    """What this tensor was computed from, and what a backward pass from it does.

    Printed, the answer is a table; `save("graph.html")` writes a page to look at. See
    `lamina.explain.graph`, which also takes modules and several tensors.

    Args:
        values: Whether to compute the gradients as well, to tell their norms, NaN and zeros.

    >>> x = ones(2, requires_grad=True)
    >>> (x * x).sum().graph().model.kept_bytes
    0
    """
    return _importlib.import_module("lamina.explain").graph(self, values=values)


Tensor.graph = _graph_of  # type: ignore[attr-defined]

_keep_freed_memory()

# Infinities and NaNs are results like any other, in PyTorch as here. NumPy would warn of them, from
# our files; a context that silences it would cost 0.6 us an operation.
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"lamina\.")

# Each letter begins a line, so that changes seldom meet in one. A list, since editors and type
# checkers read it.
__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "Generator", "GradScaler",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "OutOfMemoryError",
    "ShortTensor", "Size",
    "Tag", "Tensor", "TypedStorage",
    "UntypedStorage",
    "__version__",
    "abs", "absolute", "accelerator", "acos", "acosh", "adaptive_avg_pool1d", "adaptive_max_pool1d",
    "add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "adjoint", "alias_copy", "all",
    "allclose", "alpha_dropout", "amax", "amin", "aminmax", "amp", "angle", "any", "arange",
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "are_deterministic_algorithms_enabled", "argmax", "argmin", "argsort", "argwhere", "as_strided",
    "as_strided_copy", "as_strided_scatter", "as_tensor", "as_torch", "asarray", "asin", "asinh",
    "atan", "atan2", "atanh", "atleast_1d", "atleast_2d", "atleast_3d", "autocast",
    "autocast_decrement_nesting", "autocast_increment_nesting", "autograd", "avg_pool1d",
    "backends", "baddbmm", "bartlett_window", "batch_norm", "bernoulli", "bfloat16", "bilinear",
    "bincount", "binomial", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "blackman_window", "block_diag", "bmm", "bool",
    "broadcast_shapes", "broadcast_tensors", "broadcast_to", "bucketize",
    "can_cast", "cartesian_prod", "cat", "cdist", "cdouble", "ceil", "celu", "celu_", "cfloat",
    "chain_matmul", "channel_shuffle", "channels_last", "channels_last_3d", "cholesky",
    "cholesky_inverse", "cholesky_solve", "chunk", "clamp", "clamp_max", "clamp_min",
    "clear_autocast_cache", "clip", "clone", "column_stack", "combinations", "compile", "complex",
    "complex128", "complex64", "concat", "concatenate", "conj", "conj_physical",
    "contiguous_format", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "convolution", "copysign", "corrcoef", "cos", "cosh",
    "cosine_similarity", "count_nonzero", "cov", "cpu", "cross", "ctc_loss", "cuda", "cummax",
    "cummin", "cumprod", "cumsum", "cumulative_trapezoid",
    "default_generator", "deg2rad", "det", "detach", "detach_", "device", "diag", "diag_embed",
    "diagflat", "diagonal", "diagonal_copy", "diagonal_scatter", "diff", "digamma", "dist",
    "distributions", "div", "divide", "dot", "double", "dropout", "dsmm", "dsplit",
    "dstack", "dtype",
    "e", "eig", "einsum", "empty", "empty_like", "empty_permuted", "empty_strided", "enable_grad",
    "eq", "equal", "erf", "erfc", "erfinv", "errors", "exp", "exp2", "expand_copy", "explain",
    "expm1", "eye",
    "feature_alpha_dropout", "fft", "fill", "finfo", "fix", "flatten", "flip", "fliplr", "flipud",
    "float", "float16", "float32", "float64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "frac",
    "frexp", "from_dlpack", "from_numpy", "frombuffer", "full", "full_like", "func",
    "gather", "gcd", "ge", "geqrf", "ger", "get_autocast_cpu_dtype", "get_autocast_dtype",
    "get_autocast_gpu_dtype", "get_default_device", "get_default_dtype",
    "get_deterministic_debug_mode", "get_device", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_num_threads", "get_rng_state", "gradient", "greater",
    "greater_equal", "group_norm", "gt",
    "half", "hamming_window", "hann_window", "hardshrink", "heaviside", "histc", "histogram",
    "histogramdd", "hsplit", "hstack", "hub", "hypot",
    "i0", "igamma", "igammac", "iinfo", "imag", "index_add", "index_copy", "index_fill",
    "index_put", "index_reduce", "index_select", "inf", "inference_mode", "initial_seed", "inner",
    "instance_norm", "int", "int16", "int32", "int64", "int8", "inverse", "io",
    "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled", "is_autocast_enabled", "is_complex", "is_conj",
    "is_deterministic_algorithms_warn_only_enabled", "is_distributed", "is_floating_point",
    "is_grad_enabled", "is_inference", "is_inference_mode_enabled", "is_neg", "is_nonzero",
    "is_same_size", "is_signed", "is_storage", "is_tensor", "is_warn_always_enabled", "isclose",
    "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal", "istft",
    "jit",
    "kaiser_window", "kron", "kthvalue",
    "layer_norm", "layout", "lcm", "ldexp", "le", "lerp", "less", "less_equal", "lgamma", "linalg",
    "linspace", "load", "log", "log10", "log1p", "log2", "log_softmax", "logaddexp", "logaddexp2",
    "logcumsumexp", "logdet", "logical_and", "logical_not", "logical_or", "logical_xor", "logit",
    "logspace", "logsumexp", "long", "lstsq", "lt", "lu", "lu_solve", "lu_unpack",
    "manual_seed", "masked_fill", "masked_scatter", "masked_select", "matmul", "matrix_exp",
    "matrix_power", "matrix_rank", "max", "max_pool1d", "max_pool2d", "max_pool3d", "maximum",
    "mean", "median", "memory_format", "meshgrid", "min", "minimum", "mm", "mode", "moveaxis",
    "movedim", "msort", "mul", "multinomial", "multiply", "multiprocessing", "mv", "mvlgamma",
    "nan", "nan_to_num", "nanmean", "nanmedian", "nanquantile", "nansum", "narrow", "narrow_copy",
    "native_channel_shuffle", "ne", "neg", "negative", "newaxis", "nextafter", "nn", "no_grad",
    "nonzero", "nonzero_static", "norm", "normal", "not_equal", "numel",
    "ones", "ones_like", "optim", "orgqr", "ormqr", "outer",
    "pairwise_distance", "pca_lowrank", "pdist", "permute", "permute_copy", "pi", "pinverse",
    "pixel_shuffle", "pixel_unshuffle", "poisson", "polar", "polygamma", "positive", "pow", "prelu",
    "preserve_format", "prod", "profiler", "progress", "promote_types", "put",
    "qr", "quantile",
    "rad2deg", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random",
    "randperm", "range", "ravel", "real", "reciprocal", "relu", "relu_", "remainder", "renorm",
    "repeat_interleave", "reshape", "resolve_conj", "resolve_neg", "result_type", "rms_norm",
    "roll", "rot90", "round", "row_stack", "rrelu", "rrelu_", "rsqrt", "rsub",
    "save", "scalar_tensor", "scatter", "scatter_add", "scatter_reduce", "searchsorted", "seed",
    "select", "select_scatter", "selu", "selu_", "serialization", "set_anomaly_enabled",
    "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled",
    "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype", "set_default_device",
    "set_default_dtype", "set_default_tensor_type", "set_deterministic_debug_mode",
    "set_float32_matmul_precision", "set_flush_denormal", "set_grad_enabled",
    "set_num_interop_threads", "set_num_threads", "set_printoptions", "set_rng_state",
    "set_warn_always", "sgn", "short", "sigmoid", "sign", "signal", "signbit", "sin", "sinc",
    "sinh", "slice_scatter", "slogdet", "softmax", "solve", "sort", "sparse", "sparse_coo",
    "sparse_coo_tensor", "special", "split", "split_with_sizes", "split_with_sizes_copy", "spmm",
    "sqrt", "square", "squeeze", "squeeze_copy", "stack", "std", "std_mean", "stft", "storage",
    "strided", "sub", "subtract", "sum", "summary", "svd", "svd_lowrank", "swapaxes", "swapdims",
    "symeig",
    "t", "t_copy", "take", "take_along_dim", "tan", "tanh", "tensor", "tensor_split", "tensordot",
    "testing", "threshold", "threshold_", "tile", "topk", "trace", "transpose", "transpose_copy",
    "trapezoid", "trapz", "triangular_solve", "tril", "tril_indices", "triu", "triu_indices",
    "true_divide", "trunc", "typename",
    "uint16", "uint32", "uint64", "uint8", "unbind", "unbind_copy", "unflatten", "unfold_copy",
    "unique", "unique_consecutive", "unravel_index", "unsafe_chunk", "unsafe_split",
    "unsafe_split_with_sizes", "unsqueeze", "unsqueeze_copy", "use_deterministic_algorithms",
    "utils",
    "vander", "var", "var_mean", "vdot", "view_as_complex", "view_as_real", "view_copy", "vmap",
    "vsplit", "vstack",
    "where", "why",
    "xlogy",
    "zeros", "zeros_like",
]
