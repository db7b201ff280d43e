"""What is loaded when it is first used: namespaces, and names with their homes."""

from __future__ import annotations

from typing import Final

__all__ = ["HOMES", "LEFT_OUT", "NAMESPACES", "OPERATIONS"]

_COMPLEX_HALF: Final = "complex numbers of two halves are left out: use torch.complex64"
LEFT_OUT: Final = {"chalf": _COMPLEX_HALF, "complex32": _COMPLEX_HALF}
"""Names of PyTorch's that Lamina does without, and what to use instead."""

NAMESPACES: Final = frozenset(
    {
        "accelerator",
        "amp",
        "backends",
        "compiler",
        "cpu",
        "cuda",
        "distributions",
        "doctor",
        "explain",
        "fft",
        "func",
        "futures",
        "hub",
        "io",
        "jit",
        "library",
        "linalg",
        "multiprocessing",
        "nn",
        "optim",
        "profiler",
        "random",
        "serialization",
        "signal",
        "sparse",
        "special",
        "storage",
        "testing",
        "utils",
    }
)
_CHAPTERS: Final = {
    "lamina.amp.autocast_mode": (
        "autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache "
        "get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype "
        "is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled "
        "set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled "
        "set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype"
    ),
    "lamina.amp.grad_scaler": "GradScaler",
    "lamina.autograd.anomaly_mode": (
        "is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled"
    ),
    "lamina.backends.settings": (
        "are_deterministic_algorithms_enabled get_deterministic_debug_mode "
        "get_float32_matmul_precision get_num_interop_threads "
        "is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled "
        "set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal "
        "set_num_interop_threads set_warn_always use_deterministic_algorithms"
    ),
    "lamina.compiler": "compile",
    "lamina.core.printing": "set_printoptions",
    "lamina.devices.thread_count": "get_num_threads set_num_threads",
    "lamina.explain": "summary why",
    "lamina.func": "vmap",
    "lamina.futures": "Future",
    "lamina.io": "load save",
    "lamina.library.tags": "Tag",
    "lamina.ops.activation": (
        "celu celu_ hardshrink prelu relu relu_ rrelu rrelu_ selu selu_ threshold threshold_"
    ),
    "lamina.ops.adaptive_pooling": "adaptive_avg_pool1d adaptive_max_pool1d",
    "lamina.ops.arranging": (
        "atleast_1d atleast_2d atleast_3d block_diag diag diag_embed diagflat flip fliplr flipud "
        "roll rot90 tril tril_indices triu triu_indices"
    ),
    "lamina.ops.assertions": "_assert _assert_async",
    "lamina.ops.batch_normalization": "batch_norm instance_norm",
    "lamina.ops.contraction": "einsum inner tensordot",
    "lamina.ops.convolution": (
        "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d "
        "convolution"
    ),
    "lamina.ops.covariance": "corrcoef cov",
    "lamina.ops.ctc": "ctc_loss",
    "lamina.ops.cumulative": "cummax cummin cumprod cumsum logcumsumexp",
    "lamina.ops.decompositions": "geqrf qr svd",
    "lamina.ops.deprecated": "eig lstsq matrix_rank solve symeig",
    "lamina.ops.differences": "cumulative_trapezoid diff gradient trapezoid trapz",
    "lamina.ops.divisors": "gcd lcm unravel_index",
    "lamina.ops.dropout": "alpha_dropout dropout feature_alpha_dropout",
    "lamina.ops.dtype_info": "finfo iinfo result_type",
    "lamina.ops.error_function": "erf erfc erfinv",
    "lamina.ops.extremes": "amax amin aminmax argmax argmin max min",
    "lamina.ops.factor_lu": "lu lu_solve lu_unpack",
    "lamina.ops.floating_point": "frexp nextafter",
    "lamina.ops.gamma_function": "digamma lgamma mvlgamma polygamma",
    "lamina.ops.histograms": "bincount histc histogram histogramdd",
    "lamina.ops.incomplete_gamma": "igamma igammac",
    "lamina.ops.joining": (
        "cat column_stack concat concatenate dstack hstack row_stack stack vstack"
    ),
    "lamina.ops.linalg": "matrix_exp orgqr ormqr vander",
    "lamina.ops.linear_loss": "bilinear",
    "lamina.ops.logic": (
        "bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor "
        "logical_and logical_not logical_or logical_xor"
    ),
    "lamina.ops.lowrank": "pca_lowrank svd_lowrank",
    "lamina.ops.matrix_sums": "addbmm addmm addmv addr baddbmm",
    "lamina.ops.modified_bessel": "i0",
    "lamina.ops.moments": "std std_mean var var_mean",
    "lamina.ops.normalization": "group_norm layer_norm rms_norm",
    "lamina.ops.norms": "dist norm renorm",
    "lamina.ops.order_statistics": "kthvalue median mode nanmedian nanquantile quantile",
    "lamina.ops.pair_loss": "cosine_similarity pairwise_distance pdist",
    "lamina.ops.patches": "channel_shuffle native_channel_shuffle pixel_shuffle pixel_unshuffle",
    "lamina.ops.pooling": "avg_pool1d max_pool1d max_pool2d max_pool3d",
    "lamina.ops.positional": (
        "affine_grid_generator binary_cross_entropy_with_logits constant_pad_nd "
        "cosine_embedding_loss embedding frobenius_norm grid_sampler grid_sampler_2d "
        "grid_sampler_3d hinge_embedding_loss kl_div margin_ranking_loss nuclear_norm "
        "poisson_nll_loss triplet_margin_loss"
    ),
    "lamina.ops.products": "cdist chain_matmul cross ger kron matrix_power outer trace",
    "lamina.ops.pseudoinverse": "pinverse",
    "lamina.ops.questions": (
        "get_device is_conj is_distributed is_inference is_neg is_nonzero is_same_size is_signed "
        "typename"
    ),
    "lamina.ops.random": (
        "Generator bernoulli binomial default_generator get_rng_state initial_seed manual_seed "
        "multinomial normal poisson rand rand_like randint randint_like randn randn_like randperm "
        "seed set_rng_state"
    ),
    "lamina.ops.repeating": "cartesian_prod combinations meshgrid repeat_interleave tile",
    "lamina.ops.rounding": (
        "ceil clamp clamp_max clamp_min clip fix floor fmax fmin frac maximum minimum nan_to_num "
        "round trunc"
    ),
    "lamina.ops.searching": "bucketize isin searchsorted unique unique_consecutive",
    "lamina.ops.softmax": "log_softmax softmax",
    "lamina.ops.solvers": "det inverse logdet slogdet",
    "lamina.ops.sorting": "argsort msort sort topk",
    "lamina.ops.sparse": "sparse_coo_tensor",
    "lamina.ops.spectrogram": "istft stft",
    "lamina.ops.splitting": (
        "chunk dsplit hsplit split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split "
        "unsafe_split_with_sizes vsplit"
    ),
    "lamina.ops.triangular": "cholesky cholesky_inverse cholesky_solve triangular_solve",
    "lamina.ops.trigonometry": (
        "acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 "
        "atanh cos cosh deg2rad rad2deg sin sinc sinh tan tanh"
    ),
    "lamina.ops.typed_tensors": (
        "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor "
        "IntTensor LongTensor ShortTensor set_default_tensor_type"
    ),
    "lamina.ops.view_changes": (
        "alias_copy as_strided_copy diagonal_copy expand_copy narrow_copy permute_copy "
        "split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy "
        "unsqueeze_copy view_copy"
    ),
    "lamina.ops.view_writes": "as_strided_scatter diagonal_scatter select_scatter slice_scatter",
    "lamina.ops.window_functions": (
        "bartlett_window blackman_window hamming_window hann_window kaiser_window"
    ),
    "lamina.storage": "TypedStorage UntypedStorage is_storage",
    "lamina.torch_alias": "as_torch",
    "lamina.utils.progress": "progress",
}
HOMES: Final = {name: home for home, names in _CHAPTERS.items() for name in names.split()}
"""The module of each name that the front door loads late."""

_OPERATIONS: Final = {
    "lamina.ops.activation": "relu",
    "lamina.ops.affine": "linear",
    "lamina.ops.arranging": "flip roll",
    "lamina.ops.batching": "enter_batch leave_batch lift_to_batch",
    "lamina.ops.convolution": "channel_sums",
    "lamina.ops.cumulative": "cumprod cumsum",
    "lamina.ops.decompositions": "linalg_svdvals",
    "lamina.ops.extremes": "amax amin",
    "lamina.ops.joining": "cat stack",
    "lamina.ops.logic": "logical_and logical_or logical_xor",
    "lamina.ops.norms": "vector_norm",
    "lamina.ops.order_statistics": "filled_like",
    "lamina.ops.planes": "plane_gather plane_scatter",
    "lamina.ops.rounding": "clamp floor maximum minimum",
    "lamina.ops.smooth_activation": "logsigmoid",
    "lamina.ops.softmax": "log_softmax softmax",
    "lamina.ops.solvers": "linalg_inv linalg_solve",
    "lamina.ops.sorting": "copied",
    "lamina.ops.splitting": "split_with_sizes unbind",
    "lamina.ops.triangles": "diagonal_matrix diagonal_part triangle without_diagonal",
    "lamina.ops.triangular": "linalg_solve_triangular",
    "lamina.ops.trigonometry": "cos sin tanh",
}
OPERATIONS: Final = {name: home for home, names in _OPERATIONS.items() for name in names.split()}
"""Operations that rules of other chapters use, with their chapters, which may not be loaded yet."""
