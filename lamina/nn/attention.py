"""Which kernel computes attention, in PyTorch's words. Here there is one for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import final

from lamina.errors import LayerMismatch

__all__ = ["SDPBackend", "sdpa_kernel"]


@final
class SDPBackend(Enum):
    """The kernels that PyTorch chooses from."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(
    backends: Sequence[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[None]:
    """Accept the kernels that `scaled_dot_product_attention` may use, and change nothing.

    Args:
        backends: one or several.
        set_priority: accepted for compatibility.

    Example:
        >>> import lamina
        >>> from lamina.nn.attention import SDPBackend, sdpa_kernel
        >>> q = lamina.ones(1, 2, 4)
        >>> with sdpa_kernel(SDPBackend.MATH):
        ...     lamina.nn.functional.scaled_dot_product_attention(q, q, q).shape
        torch.Size([1, 2, 4])
    """
    listed = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(listed, Sequence) or not all(isinstance(b, SDPBackend) for b in listed):
        raise LayerMismatch(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    yield
