"""A mode that libraries enter before they map a function which indexes by tensors.

Under Lamina's `vmap`, `x[i]` with a tensor of one element takes that element, mode or not.
"""

from lamina.torch_alias.shims.torch_function import NothingChanged as TransformGetItemToIndex

__all__ = ["TransformGetItemToIndex"]
