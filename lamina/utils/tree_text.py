"""Structures of trees as text: JSON, in PyTorch's form, which either library reads."""

from __future__ import annotations

import json
from typing import Any, Final

from lamina import errors
from lamina.utils.tree_kinds import KINDS, NO_NAME, class_named
from lamina.utils.tree_spec import LEAF, PyTreeSpec

__all__ = ["treespec_dumps", "treespec_loads"]

_PROTOCOL: Final = 1


def treespec_dumps(treespec: PyTreeSpec, protocol: int | None = None) -> str:
    """A structure as text.

    Raises:
        ValueError: There is no such protocol.
        NotImplementedError: A container was registered without a name for text.

    >>> from lamina.utils import _pytree
    >>> text = treespec_dumps(_pytree.tree_structure([1, 2]))
    >>> treespec_loads(text) == _pytree.tree_structure([3, 4])
    True
    """
    if protocol not in (None, _PROTOCOL):
        raise _unknown(protocol)
    return json.dumps([_PROTOCOL, _as_json(treespec)])


def treespec_loads(serialized: str) -> PyTreeSpec:
    """The structure that `treespec_dumps` wrote.

    Raises:
        ValueError: The text is of another protocol.
    """
    protocol, found = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise _unknown(protocol)
    return _from_json(found)


def _unknown(protocol: Any) -> errors.InvalidValue:
    return errors.InvalidValue(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")


def _as_json(spec: PyTreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    kind = KINDS[spec.type]
    if kind.name == NO_NAME:
        raise errors.NotSupported(
            f"No registered serialization name for {spec.type} found.",
            help=["name it: `register_pytree_node(..., serialized_type_name='...')`"],
        )
    context = kind.dump(spec.context) if kind.dump else json.dumps(spec.context)
    return {
        "type": kind.name,
        "context": context,
        "children_spec": [_as_json(child) for child in spec.children()],
    }


def _from_json(found: dict[str, Any]) -> PyTreeSpec:
    if found["type"] is None:
        return LEAF
    node = class_named(found["type"])
    if node is None:
        raise errors.NotSupported(
            f"Deserializing {found['type']} in pytree is not registered.",
            help=["register it first: `register_pytree_node(..., serialized_type_name=...)`"],
        )
    load = KINDS[node].load or json.loads
    return PyTreeSpec(node, load(found["context"]), [_from_json(c) for c in found["children_spec"]])
