"""What parameters are called: by the path from the model that holds them."""

from __future__ import annotations

from lamina.doctor.library import Library

MOST_LISTED = 3


def parameter_names(library: Library) -> dict[int, str]:
    """For the id of each parameter its path, such as `model.head.weight`.

    It begins with what the program calls the model, or with the model's class.
    """
    modules = library.modules()
    parts = {id(child) for module in modules for child in module._modules.values()}
    names: dict[int, str] = {}
    for module in modules:
        if id(module) in parts:
            continue
        root = library.name(module) or type(module).__name__
        for path, parameter in module.named_parameters():
            names.setdefault(id(parameter), f"{root}.{path}")
    return names


def listed(names: list[str]) -> str:
    """Some names in a sentence: the first few, and how many more."""
    shown = ", ".join(f"`{name}`" for name in names[:MOST_LISTED])
    more = len(names) - MOST_LISTED
    return f"{shown} and {more} more" if more > 0 else shown
