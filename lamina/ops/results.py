"""Named results: tuples whose parts have names, as `torch.return_types` has them.

>>> import lamina
>>> values, indices = lamina.tensor([3, 1, 2]).sort()
>>> lamina.tensor([3, 1, 2]).max(0)
torch.return_types.max(
values=tensor(3),
indices=tensor(0))
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Final


class NamedResult(tuple[Any, ...]):
    """What all named results have in common: how they print, and that they pickle by name."""

    __slots__ = ()

    _fields: tuple[str, ...] = ()

    def __new__(cls, *parts: Any) -> NamedResult:
        """A result of these parts, one for each field."""
        if len(parts) != len(cls._fields):
            raise TypeError(f"{cls.__name__} has the fields {cls._fields}, not {len(parts)} parts")
        return tuple.__new__(cls, parts)

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
    # Not collections.namedtuple, which compiles code for each class: 0.1 ms, and there are fifty.
    names = tuple(fields.split())
    made = type(
        name,
        (NamedResult,),
        {
            "__slots__": (),
            "__module__": "lamina.return_types",
            "__doc__": f"The result of `{name}`: {', '.join(names)}.",
            "_fields": names,
            **{field: property(itemgetter(k)) for k, field in enumerate(names)},
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
frexp: Final = named_result("frexp", "mantissa exponent")
histogramdd: Final = named_result("histogramdd", "hist bin_edges")
