"""What lazy layers share: they learn their sizes from the first input."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.errors import InvalidArgument
from lamina.nn.module import Module
from lamina.nn.parameter import Uninitialized, is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin(Module):
    """The base of layers with parameters of unknown shape; put it before `Module`.

    A subclass registers `UninitializedParameter`s, and gives them shapes and values in
    `initialize_parameters`, which runs before the first forward with its arguments.

    Attributes:
        cls_to_become: the class that the layer has from then on; None if it keeps its own.

    Example:
        >>> import lamina
        >>> layer = lamina.nn.LazyLinear(3)
        >>> layer.has_uninitialized_params()
        True
        >>> layer(lamina.ones(2, 4)).shape
        torch.Size([2, 3])
        >>> layer
        Linear(in_features=4, out_features=3, bias=True)
    """

    cls_to_become: ClassVar[type[Module] | None] = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls_to_become is not None or self.has_uninitialized_params():
            self._infer_parameters(args, kwargs)
        # The class may be another one now, and then super() finds no way from here.
        return Module.__call__(self, *args, **kwargs)

    def _infer_parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise InvalidArgument(
                f"module {self._get_name()} has not been fully initialized: "
                "initialize_parameters left some without a shape"
            )
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give parameters and buffers their shapes and first values; every subclass writes its own.

        Args:
            args: what the layer was called with.
            kwargs: the same by keyword.
        """
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        held = (*self._parameters.values(), *self._buffers.values())
        return any(is_lazy(tensor) for tensor in held)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._own_state():
            is_whole = keep_vars or is_lazy(tensor)
            destination[prefix + name] = tensor if is_whole else tensor.detach()

    def _load_one(self, name: str, tensor: Tensor, value: Any, *rest: Any) -> None:
        if not (is_lazy(tensor) and is_lazy(value)):  # nothing to copy yet
            super()._load_one(name, tensor, value, *rest)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name, tensor in self._own_state():
            value = state_dict.get(prefix + name)
            if isinstance(tensor, Uninitialized) and isinstance(value, Tensor):
                if is_lazy(value):
                    continue
                tensor.materialize(value.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)
