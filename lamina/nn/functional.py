"""The functions behind the layers: activations, convolution, pooling, normalization, losses.

Each is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lamina.late_loading import late_names

if TYPE_CHECKING:
    from lamina.ops.activation import (
        celu,
        celu_,
        elu,
        elu_,
        hardtanh,
        hardtanh_,
        leaky_relu,
        leaky_relu_,
        prelu,
        relu,
        relu6,
        relu_,
        rrelu,
        rrelu_,
        selu,
        selu_,
        threshold,
        threshold_,
    )
    from lamina.ops.adaptive_pooling import (
        adaptive_avg_pool1d,
        adaptive_avg_pool2d,
        adaptive_avg_pool3d,
        adaptive_max_pool1d,
        adaptive_max_pool1d_with_indices,
        adaptive_max_pool2d,
        adaptive_max_pool2d_with_indices,
        adaptive_max_pool3d,
        adaptive_max_pool3d_with_indices,
    )
    from lamina.ops.affine import (
        linear,
    )
    from lamina.ops.attention import (
        scaled_dot_product_attention,
    )
    from lamina.ops.batch_normalization import (
        batch_norm,
        instance_norm,
    )
    from lamina.ops.class_loss import (
        cross_entropy,
        nll_loss,
    )
    from lamina.ops.convolution import (
        conv1d,
        conv2d,
        conv3d,
        conv_tbc,
        conv_transpose1d,
        conv_transpose2d,
        conv_transpose3d,
    )
    from lamina.ops.ctc import (
        ctc_loss,
    )
    from lamina.ops.dropout import (
        alpha_dropout,
        dropout,
        dropout1d,
        dropout2d,
        dropout3d,
        feature_alpha_dropout,
    )
    from lamina.ops.embedding_bag import (
        embedding_bag,
    )
    from lamina.ops.exponential import (
        sigmoid,
    )
    from lamina.ops.fractional_pooling import (
        fractional_max_pool2d,
        fractional_max_pool2d_with_indices,
        fractional_max_pool3d,
        fractional_max_pool3d_with_indices,
    )
    from lamina.ops.gumbel import (
        gumbel_softmax,
    )
    from lamina.ops.interpolation import (
        interpolate,
        upsample,
        upsample_bilinear,
        upsample_nearest,
    )
    from lamina.ops.linear_loss import (
        bilinear,
        linear_cross_entropy,
    )
    from lamina.ops.lookup import (
        embedding,
        one_hot,
    )
    from lamina.ops.loss import (
        huber_loss,
        l1_loss,
        mse_loss,
        smooth_l1_loss,
        soft_margin_loss,
    )
    from lamina.ops.margin_loss import (
        multi_margin_loss,
        multilabel_margin_loss,
        multilabel_soft_margin_loss,
    )
    from lamina.ops.multi_head_attention import (
        multi_head_attention_forward,
    )
    from lamina.ops.normalization import (
        group_norm,
        layer_norm,
        local_response_norm,
        normalize,
        rms_norm,
    )
    from lamina.ops.padding import (
        pad,
    )
    from lamina.ops.pair_loss import (
        cosine_embedding_loss,
        cosine_similarity,
        hinge_embedding_loss,
        margin_ranking_loss,
        pairwise_distance,
        pdist,
        triplet_margin_loss,
        triplet_margin_with_distance_loss,
    )
    from lamina.ops.patches import (
        channel_shuffle,
        fold,
        native_channel_shuffle,
        pixel_shuffle,
        pixel_unshuffle,
        unfold,
    )
    from lamina.ops.pooling import (
        avg_pool1d,
        avg_pool2d,
        avg_pool3d,
        max_pool1d,
        max_pool1d_with_indices,
        max_pool2d,
        max_pool2d_with_indices,
        max_pool3d,
        max_pool3d_with_indices,
    )
    from lamina.ops.probability_loss import (
        binary_cross_entropy,
        binary_cross_entropy_with_logits,
        gaussian_nll_loss,
        kl_div,
        poisson_nll_loss,
    )
    from lamina.ops.sampling import (
        affine_grid,
        grid_sample,
    )
    from lamina.ops.smooth_activation import (
        gelu,
        glu,
        hardshrink,
        hardsigmoid,
        hardswish,
        log_softmax,
        logsigmoid,
        mish,
        silu,
        softmax,
        softmin,
        softplus,
        softshrink,
        softsign,
        tanhshrink,
    )
    from lamina.ops.trigonometry import (
        tanh,
    )
    from lamina.ops.unpooling import (
        lp_pool1d,
        lp_pool2d,
        lp_pool3d,
        max_unpool1d,
        max_unpool2d,
        max_unpool3d,
    )

_HOMES = {
    "lamina.ops.activation": (
        "celu celu_ elu elu_ hardtanh hardtanh_ leaky_relu leaky_relu_ prelu relu relu6 relu_ "
        "rrelu rrelu_ selu selu_ threshold threshold_"
    ),
    "lamina.ops.adaptive_pooling": (
        "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d "
        "adaptive_max_pool1d_with_indices adaptive_max_pool2d adaptive_max_pool2d_with_indices "
        "adaptive_max_pool3d adaptive_max_pool3d_with_indices"
    ),
    "lamina.ops.affine": "linear",
    "lamina.ops.attention": "scaled_dot_product_attention",
    "lamina.ops.batch_normalization": "batch_norm instance_norm",
    "lamina.ops.class_loss": "cross_entropy nll_loss",
    "lamina.ops.convolution": (
        "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d"
    ),
    "lamina.ops.ctc": "ctc_loss",
    "lamina.ops.dropout": (
        "alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout"
    ),
    "lamina.ops.embedding_bag": "embedding_bag",
    "lamina.ops.exponential": "sigmoid",
    "lamina.ops.fractional_pooling": (
        "fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d "
        "fractional_max_pool3d_with_indices"
    ),
    "lamina.ops.gumbel": "gumbel_softmax",
    "lamina.ops.interpolation": "interpolate upsample upsample_bilinear upsample_nearest",
    "lamina.ops.linear_loss": "bilinear linear_cross_entropy",
    "lamina.ops.lookup": "embedding one_hot",
    "lamina.ops.loss": "huber_loss l1_loss mse_loss smooth_l1_loss soft_margin_loss",
    "lamina.ops.margin_loss": (
        "multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss"
    ),
    "lamina.ops.multi_head_attention": "multi_head_attention_forward",
    "lamina.ops.normalization": "group_norm layer_norm local_response_norm normalize rms_norm",
    "lamina.ops.padding": "pad",
    "lamina.ops.pair_loss": (
        "cosine_embedding_loss cosine_similarity hinge_embedding_loss margin_ranking_loss "
        "pairwise_distance pdist triplet_margin_loss triplet_margin_with_distance_loss"
    ),
    "lamina.ops.patches": (
        "channel_shuffle fold native_channel_shuffle pixel_shuffle pixel_unshuffle unfold"
    ),
    "lamina.ops.pooling": (
        "avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool1d_with_indices max_pool2d "
        "max_pool2d_with_indices max_pool3d max_pool3d_with_indices"
    ),
    "lamina.ops.probability_loss": (
        "binary_cross_entropy binary_cross_entropy_with_logits gaussian_nll_loss kl_div "
        "poisson_nll_loss"
    ),
    "lamina.ops.sampling": "affine_grid grid_sample",
    "lamina.ops.smooth_activation": (
        "gelu glu hardshrink hardsigmoid hardswish log_softmax logsigmoid mish silu softmax "
        "softmin softplus softshrink softsign tanhshrink"
    ),
    "lamina.ops.trigonometry": "tanh",
    "lamina.ops.unpooling": "lp_pool1d lp_pool2d lp_pool3d max_unpool1d max_unpool2d max_unpool3d",
}
__getattr__, __dir__ = late_names(__name__, _HOMES)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "linear_cross_entropy",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "native_channel_shuffle",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]
