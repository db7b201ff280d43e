"""Layers that normalize channels over the batch or each sample, and keep running averages."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina import dtypes
from lamina.core.tensor import Tensor
from lamina.errors import InvalidValue
from lamina.nn import functional as F
from lamina.nn.module import Module
from lamina.nn.normalization import Affine
from lamina.ops.creation import ones, zeros
from lamina.ops.data import tensor

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Affine):
    """A norm with one mean and variance a channel, averaged over batches for evaluation."""

    # Version 2 has num_batches_tracked.
    _version = 2
    # The numbers of dimensions that the input may have.
    _allowed_dims: ClassVar[tuple[int, ...]] = ()

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._make_scale(num_features, affine, affine and bias, device, dtype)
        mean = variance = count = None
        if track_running_stats:
            mean = zeros(num_features, device=device, dtype=dtype)
            variance = ones(num_features, device=device, dtype=dtype)
            count = tensor(0, dtype=dtypes.int64, device=device)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", variance)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the averages."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Forget the averages, set the scale to one and the shift to zero."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self._allowed_dims:
            wanted = " or ".join(f"{n}D" for n in self._allowed_dims)
            raise InvalidValue(
                f"expected {wanted} input (got {input.ndim}D input)",
                help=["the dimensions are batch, channels, then places"],
            )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        if (local_metadata.get("version") or 1) < 2 and self.num_batches_tracked is not None:
            state_dict.setdefault(prefix + "num_batches_tracked", self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    """The forward that the three batch norms share."""

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` normalized over all dimensions but the channels."""
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        updates = self.training and self.track_running_stats
        if updates and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / self.num_batches_tracked.item()
        has_averages = self.running_mean is not None or self.running_var is not None
        uses_averages = updates or not self.training
        return F.batch_norm(
            input,
            self.running_mean if uses_averages else None,
            self.running_var if uses_averages else None,
            self.weight,
            self.bias,
            self.training or not has_averages,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Normalizes each channel over the batch: `(x - mean) / sqrt(var + eps) * weight + bias`.

    While training, mean and variance are the batch's, and running averages of them are kept; in
    evaluation mode the averages are used. From Ioffe and Szegedy, "Batch normalization" (2015).

    Args:
        num_features: the number of channels.
        eps: added to the variance.
        momentum: the weight of a new batch in the averages; None for a plain mean of all batches.
        affine: whether there is a learned scale and shift.
        track_running_stats: whether averages are kept.
        device: where the tensors live.
        dtype: their dtype.
        bias: whether there is a shift.

    Shape:
        `(N, C)` or `(N, C, L)`, and the same for the output.

    Attributes:
        weight: the scale, one a channel, first one.
        bias: the shift, one a channel, first zero.
        running_mean: the average of the means.
        running_var: the average of the (unbiased) variances.
        num_batches_tracked: how many batches went into them.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.BatchNorm1d(2)
        >>> layer(lamina.tensor([[0.0, 1.0], [2.0, 1.0]])).detach()
        tensor([[-1.0000,  0.0000],
                [ 1.0000,  0.0000]])
    """

    _allowed_dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` for images: `(N, C, H, W)`."""

    _allowed_dims = (4,)


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` for volumes: `(N, C, D, H, W)`."""

    _allowed_dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch norm over the batches of all processes; in one process, of that one.

    Args:
        num_features: the number of channels.
        eps: added to the variance.
        momentum: the weight of a new batch in the averages; None for a plain mean of all batches.
        affine: whether there is a learned scale and shift.
        track_running_stats: whether averages are kept.
        process_group: accepted for compatibility.
        device: where the tensors live.
        dtype: their dtype.
        bias: whether there is a shift.

    Shape:
        `(N, C, *)`, and the same for the output.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise InvalidValue(f"expected at least 2D input (got {input.ndim}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace every batch norm in a tree of modules by a `SyncBatchNorm` with its tensors.

        Args:
            module: the tree; it is changed, and returned unless it is a batch norm itself.
            process_group: accepted for compatibility.

        Example:
            >>> import lamina.nn as nn
            >>> nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(2)))
            Sequential(
              (0): SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, bias=True, ...)
            )
        """
        if not isinstance(module, _BatchNorm):
            for name, child in module.named_children():
                module.add_module(name, cls.convert_sync_batchnorm(child, process_group))
            return module
        made = cls(
            module.num_features,
            module.eps,
            module.momentum,
            module.affine,
            module.track_running_stats,
            process_group,
            bias=module.bias is not None,
        )
        made._parameters.update(module._parameters)
        made._buffers.update(module._buffers)
        made.training = module.training
        return made


class _InstanceNorm(_NormBase):
    """What the three instance norms share: other defaults, and a forward without the batch."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """Return `input` with each channel of each sample normalized."""
        self._check_input_dim(input)
        is_single = input.ndim == min(self._allowed_dims)
        result = F.instance_norm(
            input.unsqueeze(0) if is_single else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if is_single else result


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each channel of each sample of `(N, C, L)` or `(C, L)` by itself.

    The arguments are those of `BatchNorm1d`, with `affine` and `track_running_stats` off. From
    Ulyanov et al., "Instance normalization" (2016).
    """

    _allowed_dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm1d` for images: `(N, C, H, W)` or `(C, H, W)`."""

    _allowed_dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """`InstanceNorm1d` for volumes: `(N, C, D, H, W)` or `(C, D, H, W)`."""

    _allowed_dims = (4, 5)
