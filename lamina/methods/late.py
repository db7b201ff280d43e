"""Methods whose chapters few programs need: each chapter is loaded when a method first asks for it.

A method is the function of its own name in the chapter, or `name=function`. One that ends with an
underscore, for which the chapter has no function, is the in-place form of the operation.
"""

from __future__ import annotations

import importlib
from typing import Any, Final, final

from lamina.core.inplace import inplace
from lamina.core.tensor import Tensor

CHAPTERS: Final = {
    "lamina.methods.special": (
        "__rlshift__=reflected_left_shift __rrshift__=reflected_right_shift polygamma polygamma_"
    ),
    "lamina.ops.activation": "hardshrink prelu relu=_relu_op relu_",
    "lamina.ops.arranging": (
        "diag diag_embed diagflat flip=flip_method fliplr flipud roll rot90 tril tril_ triu triu_"
    ),
    "lamina.ops.by_python": ("apply_ as_subclass is_pinned map2_ map_ pin_memory record_stream"),
    "lamina.ops.contraction": "inner",
    "lamina.ops.covariance": "corrcoef cov",
    "lamina.ops.cumulative": "cummax cummin cumprod cumprod_ cumsum cumsum_ logcumsumexp",
    "lamina.ops.decompositions": "geqrf qr svd",
    "lamina.ops.deprecated": "eig lstsq resize resize_as solve symeig",
    "lamina.ops.differences": "diff",
    "lamina.ops.divisors": "gcd gcd_ lcm lcm_",
    "lamina.ops.error_function": "erf erf_ erfc erfc_ erfinv erfinv_",
    "lamina.ops.extremes": "amax amin aminmax argmax argmin max min",
    "lamina.ops.factor_lu": "lu lu_solve",
    "lamina.ops.floating_point": "frexp nextafter nextafter_",
    "lamina.ops.gamma_function": "digamma digamma_ lgamma lgamma_ mvlgamma mvlgamma_",
    "lamina.ops.histograms": "bincount histc histogram",
    "lamina.ops.incomplete_gamma": "igamma igamma_ igammac igammac_",
    "lamina.ops.linalg": "matrix_exp orgqr ormqr",
    "lamina.ops.logic": (
        "__and__=bitwise_and __iand__=bitwise_and_ __ilshift__=bitwise_left_shift_ "
        "__invert__=bitwise_not __ior__=bitwise_or_ __irshift__=bitwise_right_shift_ "
        "__ixor__=bitwise_xor_ __lshift__=bitwise_left_shift __or__=bitwise_or "
        "__rand__=bitwise_and __ror__=bitwise_or __rshift__=bitwise_right_shift "
        "__rxor__=bitwise_xor __xor__=bitwise_xor bitwise_and bitwise_and_ bitwise_left_shift "
        "bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift "
        "bitwise_right_shift_ bitwise_xor bitwise_xor_ logical_and logical_and_ logical_not "
        "logical_not_ logical_or logical_or_ logical_xor logical_xor_"
    ),
    "lamina.ops.matrix_sums": (
        "addbmm addbmm_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_"
    ),
    "lamina.ops.modified_bessel": "i0 i0_",
    "lamina.ops.moments": "std var",
    "lamina.ops.norms": "dist norm renorm renorm_",
    "lamina.ops.order_statistics": "kthvalue median mode nanmedian nanquantile quantile",
    "lamina.ops.products": "cross ger kron matrix_power outer trace",
    "lamina.ops.pseudoinverse": "pinverse",
    "lamina.ops.questions": "is_distributed is_nonzero is_same_size",
    "lamina.ops.random": "bernoulli multinomial",
    "lamina.ops.random_filling": (
        "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_"
    ),
    "lamina.ops.repeating": "repeat repeat_interleave tile=tile_method",
    "lamina.ops.rounding": (
        "ceil ceil_ clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_=clamp_ fix "
        "fix_ floor floor_ fmax fmin frac frac_ maximum minimum nan_to_num nan_to_num_ round "
        "round_ trunc trunc_"
    ),
    "lamina.ops.searching": "isin unique unique_consecutive",
    "lamina.ops.softmax": "log_softmax softmax",
    "lamina.ops.solvers": "det inverse logdet slogdet",
    "lamina.ops.sorting": "argsort msort sort topk",
    "lamina.ops.sparse": (
        "_indices=all_indices _nnz=count_kept _values=all_values coalesce dense_dim indices "
        "is_coalesced sparse_dim sparse_mask to_dense to_sparse values"
    ),
    "lamina.ops.spectrogram": "istft stft",
    "lamina.ops.splitting": (
        "__iter__=iterate chunk dsplit hsplit split=split_method split_with_sizes "
        "tensor_split=tensor_split_method unbind unsafe_chunk unsafe_split "
        "unsafe_split_with_sizes vsplit"
    ),
    "lamina.ops.typed_tensors": "new",
    "lamina.ops.triangular": "cholesky cholesky_inverse cholesky_solve triangular_solve",
    "lamina.ops.trigonometry": (
        "acos acos_ acosh acosh_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ "
        "arctan arctan2 arctan2_ arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan2 "
        "atan2_ atan_ atanh atanh_ cos cos_ cosh cosh_ deg2rad deg2rad_ rad2deg rad2deg_ sin sin_ "
        "sinc sinc_ sinh sinh_ tan tan_ tanh tanh_"
    ),
    "lamina.ops.view_changes": (
        "as_strided_ narrow_copy squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_"
    ),
    "lamina.ops.view_writes": "as_strided_scatter diagonal_scatter select_scatter slice_scatter",
    "lamina.shared_memory": "is_shared share_memory_",
    "lamina.storage": "_typed_storage=typed_storage set_ storage untyped_storage",
}


@final
class LateMethod:
    """Stands for a method until it is asked for; then the method itself takes its place."""

    __slots__ = ("_function", "_home", "_name")

    def __init__(self, name: str, home: str, function: str) -> None:
        self._name, self._home, self._function = name, home, function

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        method: Any = self.load()
        return method.__get__(instance, owner)

    def load(self) -> Any:
        """The method, which stands in this one's place from now on."""
        chapter = importlib.import_module(self._home)
        method = getattr(chapter, self._function, None)
        if method is None:
            method = inplace(getattr(chapter, self._function.removesuffix("_")))
        setattr(Tensor, self._name, method)
        return method


def _declare() -> None:
    for home, names in CHAPTERS.items():
        for entry in names.split():
            name, _, function = entry.partition("=")
            setattr(Tensor, name, LateMethod(name, home, function or name))


_declare()
