"""What the front door loads when it is first used: namespaces, and names with their homes."""

from __future__ import annotations

from typing import Final

__all__ = ["HOMES", "LEFT_OUT", "NAMESPACES"]

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
    "lamina.backends.settings": (
        "are_deterministic_algorithms_enabled get_deterministic_debug_mode "
        "get_float32_matmul_precision get_num_interop_threads "
        "is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled "
        "set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal "
        "set_num_interop_threads set_warn_always use_deterministic_algorithms"
    ),
    "lamina.compiler": "compile",
    "lamina.devices.thread_count": "get_num_threads set_num_threads",
    "lamina.explain": "summary why",
    "lamina.func": "vmap",
    "lamina.io": "load save",
    "lamina.futures": "Future",
    "lamina.ops.assertions": "_assert _assert_async",
    "lamina.ops.positional": (
        "affine_grid_generator binary_cross_entropy_with_logits constant_pad_nd "
        "cosine_embedding_loss embedding frobenius_norm grid_sampler grid_sampler_2d "
        "grid_sampler_3d hinge_embedding_loss kl_div margin_ranking_loss nuclear_norm "
        "poisson_nll_loss triplet_margin_loss"
    ),
    "lamina.ops.adaptive_pooling": "adaptive_avg_pool1d adaptive_max_pool1d",
    "lamina.ops.batch_normalization": "batch_norm instance_norm",
    "lamina.ops.convolution": (
        "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d "
        "convolution"
    ),
    "lamina.ops.covariance": "corrcoef cov",
    "lamina.ops.ctc": "ctc_loss",
    "lamina.ops.deprecated": "eig lstsq matrix_rank solve symeig",
    "lamina.ops.dropout": "alpha_dropout dropout feature_alpha_dropout",
    "lamina.ops.incomplete_gamma": "igamma igammac",
    "lamina.ops.linear_loss": "bilinear",
    "lamina.ops.lowrank": "pca_lowrank svd_lowrank",
    "lamina.ops.modified_bessel": "i0",
    "lamina.ops.normalization": "group_norm layer_norm rms_norm",
    "lamina.ops.pair_loss": "cosine_similarity pairwise_distance pdist",
    "lamina.ops.patches": "channel_shuffle native_channel_shuffle pixel_shuffle pixel_unshuffle",
    "lamina.ops.pooling": "avg_pool1d max_pool1d max_pool2d max_pool3d",
    "lamina.ops.questions": (
        "get_device is_conj is_distributed is_inference is_neg is_nonzero is_same_size is_signed "
        "typename"
    ),
    "lamina.ops.sparse": "sparse_coo_tensor",
    "lamina.ops.spectrogram": "istft stft",
    "lamina.ops.window_functions": (
        "bartlett_window blackman_window hamming_window hann_window kaiser_window"
    ),
    "lamina.storage": "TypedStorage UntypedStorage is_storage",
    "lamina.torch_alias": "as_torch",
    "lamina.utils.progress": "progress",
}
HOMES: Final = {name: home for home, names in _CHAPTERS.items() for name in names.split()}
