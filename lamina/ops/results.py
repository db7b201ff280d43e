"""Named results: tuples whose parts have names, as `torch.return_types` has them.

>>> import lamina
>>> values, indices = lamina.tensor([3, 1, 2]).sort()
>>> lamina.tensor([3, 1, 2]).max(0)
torch.return_types.max(
values=tensor(3),
indices=tensor(0))
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, Final


class NamedResult(tuple[Any, ...]):
    """What all named results have in common: how they print, and that they pickle by name."""

    __slots__ = ()

    _fields: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = ",\n".join(f"{n}={v!r}" for n, v in zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{parts})"

    def __reduce__(self) -> Any:
        return _rebuild, (type(self).__name__, tuple(self))


def _rebuild(name: str, parts: tuple[Any, ...]) -> Any:
    return return_types[name](*parts)


return_types: Final[dict[str, type]] = {}
"""Every named result by name."""


def named_result(name: str, fields: str) -> Any:
    """A class of results with these fields."""
    plain: Any = namedtuple(name, fields)  # type: ignore[misc]
    made = type(
        name,
        (NamedResult, plain),
        {
            "__slots__": (),
            "__module__": "lamina.return_types",
            "__doc__": f"The result of `{name}`: {', '.join(plain._fields)}.",
            "_fields": plain._fields,
        },
    )
    return_types[name] = made
    return made


max: Final = named_result("max", "values indices")
min: Final = named_result("min", "values indices")
aminmax: Final = named_result("aminmax", "min max")
median: Final = named_result("median", "values indices")
nanmedian: Final = named_result("nanmedian", "values indices")
mode: Final = named_result("mode", "values indices")
kthvalue: Final = named_result("kthvalue", "values indices")
cummax: Final = named_result("cummax", "values indices")
cummin: Final = named_result("cummin", "values indices")
sort: Final = named_result("sort", "values indices")
topk: Final = named_result("topk", "values indices")
histogram: Final = named_result("histogram", "hist bin_edges")
histogramdd: Final = named_result("histogramdd", "hist bin_edges")
