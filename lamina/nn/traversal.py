"""Walking a tree of modules: its parameters, buffers, children and dotted names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from lamina.core.positions import here
from lamina.core.records import readings
from lamina.core.tensor import Tensor
from lamina.errors import InvalidValue, MissingAttribute

if TYPE_CHECKING:
    from lamina.nn.module import Module

__all__ = ["Traversal"]


class Traversal:
    """The read-only half of `Module`: iteration and lookup by dotted name."""

    _parameters: dict[str, Tensor | None]
    _buffers: dict[str, Tensor | None]
    if TYPE_CHECKING:  # typing.get_type_hints(cls) finds no Module here
        _modules: dict[str, Module | None]

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield `(dotted name, module)` for this module and all below it, parents first.

        Args:
            memo: modules to leave out; those that are met are added to it.
            prefix: what to put before each name.
            remove_duplicate: whether a module reached twice is yielded once.

        Example:
            >>> import lamina.nn as nn
            >>> [name for name, _ in nn.Sequential(nn.ReLU(), nn.Tanh()).named_modules()]
            ['', '0', '1']
        """
        seen: set[Any] = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self  # type: ignore[misc]
        for name, child in self._modules.items():
            if child is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from child.named_modules(seen, below, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and all below it, parents first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield `(name, module)` for the modules held directly, each once."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        """Yield the modules held directly, each once."""
        for _, child in self.named_children():
            yield child

    def _named_members(
        self,
        members_of: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        modules: Any = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for module_name, module in modules:
            for name, member in members_of(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield (f"{module_name}.{name}" if module_name else name), member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield `(dotted name, parameter)`, in the order of registration, parents first.

        Args:
            prefix: what to put before each name.
            recurse: whether to include the parameters of the modules below.
            remove_duplicate: whether a shared parameter is yielded once.

        Example:
            >>> import lamina.nn as nn
            >>> [name for name, _ in nn.Linear(2, 3).named_parameters()]
            ['weight', 'bias']
        """
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield each parameter once: what an optimizer is given."""
        ends: list[Any] = [here()]
        generator = self._each_parameter(recurse, ends)
        readings[generator] = ends
        return generator

    def _each_parameter(self, recurse: bool, ends: list[Any]) -> Iterator[Tensor]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter
        ends.append(here())  # where the generator was used up

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield `(dotted name, buffer)`, with the arguments of `named_parameters`."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield each buffer once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """Return the module with a dotted name; `AttributeError` when there is none.

        Example:
            >>> import lamina.nn as nn
            >>> nn.Sequential(nn.Sequential(nn.Tanh())).get_submodule("0.0")
            Tanh()
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if name not in module._modules and name not in module.__dict__:
                raise MissingAttribute(
                    f"{type(module).__name__} has no attribute `{name}` (looking for {target!r})"
                )
            module = getattr(module, name)
            if not isinstance(module, Traversal):
                raise MissingAttribute(f"`{name}` is not an nn.Module (looking for {target!r})")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` in the place that a dotted name points to.

        Args:
            target: the dotted name.
            module: the new module.
            strict: whether the place must already hold a module.
        """
        if not target:
            raise InvalidValue("set_submodule needs a name: the target is empty")
        if not isinstance(module, Traversal):
            raise InvalidValue(f"`module` is not an nn.Module, it is {type(module).__name__!r}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        held = getattr(parent, name, None)
        if strict and held is None:
            raise MissingAttribute(f"{type(parent).__name__} has no attribute `{name}`")
        if held is not None and not isinstance(held, Traversal):
            raise MissingAttribute(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Tensor:
        """Return the parameter with a dotted name; `AttributeError` when there is none."""
        return self._member(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer with a dotted name; `AttributeError` when there is none."""
        return self._member(target, "_buffers", "a buffer")

    def _member(self, target: str, registry: str, role: str) -> Tensor:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        member = getattr(module, registry).get(name)
        if member is not None:
            return member
        # A plain attribute, or a property that stands for the tensor, may still have the name.
        if name in dir(module):
            raise MissingAttribute(f"`{name}` is not {role} (looking for {target!r})")
        raise MissingAttribute(
            f"{type(module).__name__} has no attribute `{name}` (looking for {target!r})"
        )
