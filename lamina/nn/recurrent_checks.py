"""What recurrent layers ask of their settings and of the states that they are given."""

from __future__ import annotations

from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.errors import ArgumentTypeError, InvalidValue, ShapeMismatch

__all__ = ["check_sizes", "with_batch"]


def with_batch(part: Tensor) -> Tensor:
    """Give the state of a single sequence a batch dimension."""
    if part.ndim != 2:
        raise ShapeMismatch(
            f"For unbatched 2-D input, hx should also be 2-D but got {part.ndim}-D tensor"
        )
    return part.unsqueeze(1)


def check_sizes(
    mode: str, hidden_size: int, num_layers: int, dropout: float, proj_size: int
) -> None:
    """Raise for settings of a recurrent layer that cannot be, and warn of a useless one."""
    if not isinstance(hidden_size, int):
        raise ArgumentTypeError(
            f"hidden_size should be of type int, got: {type(hidden_size).__name__}"
        )
    if proj_size and mode != "LSTM":
        raise InvalidValue("proj_size argument is only supported for LSTM, not RNN or GRU")
    if hidden_size <= 0:
        raise InvalidValue("hidden_size must be greater than zero")
    if num_layers <= 0:
        raise InvalidValue("num_layers must be greater than zero")
    if not 0 <= dropout <= 1:
        raise InvalidValue(f"dropout is a probability between 0 and 1, not {dropout}")
    if proj_size < 0 or proj_size >= hidden_size:
        raise InvalidValue("proj_size must be 0 (for no projection) or less than hidden_size")
    if dropout > 0 and num_layers == 1:
        warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}"
        )
