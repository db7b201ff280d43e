"""What a program calls its objects."""

from __future__ import annotations

import types
from itertools import islice
from typing import Any

NAMES_LOOKED_AT = 2000
MODULE_DEPTH = 6


def name_of(obj: object, frame: types.FrameType | None) -> str | None:
    """What the program in `frame` calls `obj`: "w", "self.w", "model.0.weight", or None.

    Looks at locals, then globals; at attributes of the objects bound there, the parameters and
    buffers of their modules, and the elements of lists, tuples and dicts. Never raises.
    """
    try:
        if frame is None:
            return None
        scopes: list[dict[str, Any]] = [frame.f_locals]
        if frame.f_globals is not frame.f_locals:
            scopes.append(frame.f_globals)
        for scope in scopes:
            found = _bound_name(obj, scope)
            if found is not None:
                return found
        for scope in scopes:
            for name, value in list(scope.items())[:NAMES_LOOKED_AT]:
                found = None if name.startswith("__") else _part_name(obj, name, value)
                if found is not None:
                    return found
    except Exception:
        pass
    return None


def _bound_name(obj: object, scope: dict[str, Any]) -> str | None:
    """The name bound to `obj`; names like `_` and IPython's `_3` only if there is no other."""
    names = [name for name, value in list(scope.items()) if value is obj]
    names = [name for name in names if name.isidentifier()]
    return next((name for name in names if not name.startswith("_")), names[0] if names else None)


def _part_name(obj: object, name: str, value: object) -> str | None:
    """The name of `obj` as a part of `value`, which is bound to `name`."""
    if isinstance(value, types.ModuleType | type | types.FunctionType):
        return None
    if isinstance(value, list | tuple):
        for index, element in enumerate(value[:NAMES_LOOKED_AT]):
            if element is obj:
                return f"{name}[{index}]"
        return None
    if isinstance(value, dict):
        for key, element in islice(list(value.items()), NAMES_LOOKED_AT):
            if element is obj and isinstance(key, str | int):
                return f"{name}[{key!r}]"
        return None
    return _attribute_name(obj, name, value, MODULE_DEPTH)


def _attribute_name(obj: object, name: str, value: object, depth: int) -> str | None:
    """The name of `obj` as an attribute of `value` or of the modules in it."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except Exception:
        return None
    if not isinstance(attributes, dict):
        return None
    for key, element in list(attributes.items())[:NAMES_LOOKED_AT]:
        if element is obj:
            return f"{name}.{key}"
    for kind in ("_parameters", "_buffers"):
        for key, element in list((attributes.get(kind) or {}).items()):
            if element is obj:
                return f"{name}.{key}"
    if depth:
        for key, module in list((attributes.get("_modules") or {}).items()):
            part = f"{name}.{key}" if str(key).isidentifier() else f"{name}[{key}]"
            found = _attribute_name(obj, part, module, depth - 1)
            if found is not None:
                return found
    return None
