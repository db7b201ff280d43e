"""Names of types that programs import from here."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

__all__ = [
    "Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "List",
    "Optional", "Tuple", "Union",
]  # fmt: skip

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list
