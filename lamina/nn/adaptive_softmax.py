"""A softmax over many classes that spends little on rare ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, final

from lamina.core.tensor import Tensor
from lamina.errors import InvalidArgument, InvalidValue
from lamina.nn import functional as F
from lamina.nn.containers import ModuleList, Sequential
from lamina.nn.linear import Linear
from lamina.nn.module import Module
from lamina.ops.joining import cat

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


@final
class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes that are sorted by how frequent they are, and their loss.

    The most frequent classes, up to the first cutoff, and one entry for each further cluster make
    up the head. A cluster of rarer classes has a projection of its own, the smaller the rarer. From
    Grave et al., "Efficient softmax approximation for GPUs" (2016).

    Args:
        in_features: the length of the input.
        n_classes: the number of classes.
        cutoffs: where clusters begin, increasing, below `n_classes`.
        div_value: by what the size of a projection is divided from cluster to cluster.
        head_bias: whether the head adds a learned vector.
        device: where the parameters live.
        dtype: their dtype.

    Shape:
        Input `(N, in_features)` or `(in_features,)`, target `(N,)` or `()`; output `(N,)` or `()`.

    Attributes:
        head: a `Linear` to `cutoffs[0]` classes and one entry a cluster.
        tail: for each cluster two `Linear` layers without bias.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.AdaptiveLogSoftmaxWithLoss(16, 100, [10, 50])
        >>> result = layer(lamina.ones(2, 16), lamina.tensor([3, 70]))
        >>> result.output.shape, result.loss.shape
        (torch.Size([2]), torch.Size([]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        _check_cutoffs(cutoffs, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            size = int(in_features // div_value ** (i + 1))
            count = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, size, False, device, dtype),
                    Linear(size, count, False, device, dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draw the first values again."""
        self.head.reset_parameters()
        for projection, scores in self.tail:
            projection.reset_parameters()
            scores.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """Return the log-probability of each target, and the mean of their negatives."""
        is_batched = target_.dim() > 0
        _check_shapes(input_, target_)
        input = input_ if is_batched else input_.unsqueeze(0)
        target = target_ if is_batched else target_.unsqueeze(0)
        if target.numel() and not 0 <= target.min().item() <= target.max().item() < self.n_classes:
            raise InvalidArgument(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        entries = target.clone()
        output = input.new_zeros(target.shape[0])
        for i in range(self.n_clusters):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            entries = entries.index_fill(0, rows, self.shortlist_size + i)
            within = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
            wanted = (target.index_select(0, rows) - low).unsqueeze(1)
            output = output.index_copy(0, rows, within.gather(1, wanted).squeeze(1))
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, entries.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if is_batched else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities `(N, n_classes)` of all classes for `(N, in_features)`."""
        return self._all_log_probs(input, self.head(input))

    def _all_log_probs(self, input: Tensor, head: Tensor) -> Tensor:
        first = F.log_softmax(head, dim=1)
        parts = [first[:, : self.shortlist_size]]
        for i in range(self.n_clusters):
            entry = self.shortlist_size + i
            within = F.log_softmax(self.tail[i](input), dim=1)
            parts.append(within + first[:, entry : entry + 1])
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class `(N,)` of each row of `(N, in_features)`."""
        head = self.head(input)
        best = head.argmax(1)
        # Only where a cluster leads can a class outside the head be the most probable.
        rows = (best >= self.shortlist_size).nonzero().squeeze(1)
        if rows.numel():
            chosen = self._all_log_probs(input.index_select(0, rows), head.index_select(0, rows))
            best = best.index_copy(0, rows, chosen.argmax(1))
        return best


def _check_cutoffs(cutoffs: list[int], n_classes: int) -> None:
    if not cutoffs:
        raise InvalidValue("cutoffs should be a sequence of length larger than 0")
    increasing = all(a < b for a, b in itertools.pairwise(cutoffs))
    in_range = min(cutoffs) > 0 and max(cutoffs) < n_classes
    if not increasing or not in_range or any(int(c) != c for c in cutoffs):
        raise InvalidValue(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
            "order, where each value is between 1 and n_classes-1"
        )


def _check_shapes(input: Tensor, target: Tensor) -> None:
    if target.dim() > 1:
        raise InvalidArgument("0D or 1D target tensor expected, multi-target not supported")
    if target.dim() == 0 and input.dim() != 1:
        raise InvalidArgument("0D target tensor expects 1D input tensor")
    if target.dim() == 1 and input.dim() != 2:
        raise InvalidArgument(
            "1D target tensor expects 2D input tensors, but found inputs "
            f"with size {tuple(input.shape)}"
        )
    if target.dim() == 1 and input.shape[0] != target.shape[0]:
        raise InvalidArgument("Input and target should have the same size in the batch dimension.")
