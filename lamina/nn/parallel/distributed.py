"""`DistributedDataParallel` of a single process: there is nobody to share gradients with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lamina.errors import InvalidArgument
from lamina.nn.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Runs a module in the one process that there is.

    The module stands in the attribute `module`, so that names in a state dict begin with
    `module.`, as in PyTorch. PyTorch asks for a process group first, and averages gradients over
    its processes.

    Args:
        module: the module; something in it must require grad.
        device_ids: accepted for compatibility, as is what follows.
        output_device: accepted.
        dim: accepted.
        broadcast_buffers: accepted.
        init_sync: accepted.
        process_group: accepted.
        bucket_cap_mb: accepted.
        find_unused_parameters: accepted.
        check_reduction: accepted.
        gradient_as_bucket_view: accepted.
        static_graph: accepted.
        settings: further settings of PyTorch's, accepted.

    Example:
        >>> import lamina.nn as nn
        >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
        >>> model.module
        Linear(in_features=2, out_features=1, bias=True)
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__()
        trained = [p for p in module.parameters() if p.requires_grad]
        if not trained:
            raise InvalidArgument(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        self.module = module
        self.device_ids = None if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.device = trained[0].device
        self.dim = dim
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        self.process_group = process_group
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return what the module returns."""
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Put gradients together without sharing them; as they are not shared, nothing changes."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextmanager
    def join(self, *args: Any, **kwargs: Any) -> Iterator[None]:
        """Wait for no other process."""
        yield
