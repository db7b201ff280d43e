"""Writes down the declarations of PyTorch's operators that Lamina's functions serve as they are:
`.venv-oracle/bin/python -m tests.library.record_aten`.

A function serves a declaration if its arguments have the same names in the same order. Whether it
also means the same by them is what tests/oracle/test_library_oracle.py asks.
"""

import inspect
from pathlib import Path

import torch

import tests.all_chapters  # noqa: F401
from lamina.core.op import catalogue
from lamina.library.aten import function_of
from lamina.library.schema_parser import parse_schema

FILE = Path(__file__).parents[2] / "lamina" / "library" / "aten_declarations.txt"
# Of the same names, with another meaning of an argument, a default or a result.
LEFT_OUT = {"backward", "retain_grad", "eq.Tensor_list", "einsum", "as_tensor", "set_data", "data"}
LEFT_OUT |= {"adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "set_", "chalf"}
LEFT_OUT |= {"binary_cross_entropy_with_logits", "cosine_embedding_loss", "hinge_embedding_loss"}
LEFT_OUT |= {"kl_div", "margin_ranking_loss", "triplet_margin_loss", "poisson_nll_loss"}
LEFT_OUT |= {"ctc_loss", "histogram", "sparse_dim", "dense_dim", "unique_consecutive"}
# Functions that take these in more than one way, so that their parameters have other names.
ALSO = {"arange", "arange.start", "arange.start_step", "empty.memory_format", "zeros", "ones"}
ALSO |= {"max.dim", "max.other", "min.dim", "min.other", "rand", "randn", "to.dtype", "full"}


def declarations():
    """PyTorch's declarations of operators on tensors that can be read."""
    for schema in sorted(map(str, torch._C._jit_get_all_schemas())):
        name, _, rest = schema.removeprefix("aten::").partition("(")
        if not schema.startswith("aten::") or name.startswith("_") or "__torch__" in rest:
            continue
        if name in LEFT_OUT or name.partition(".")[0] in LEFT_OUT or "Dimname" in rest:
            continue
        try:
            found = parse_schema(f"{name}({rest}")
        except RuntimeError:  # types of TorchScript's
            continue
        known = (*found.arguments, *found.returns)
        is_out = any(each.is_out for each in found.arguments)
        if not is_out and any(each.has_tensors for each in known):
            yield f"{name}({rest}", found


def parameters(name):
    """The parameters of Lamina's function of that name, of the kernel where it passes them on."""
    function = function_of(name)
    if function is None:
        return None
    found = inspect.signature(function).parameters
    if "args" in found or "others" in found:
        op = catalogue.get(name) or catalogue.get(name.removesuffix("_"))
        return None if op is None else inspect.signature(op.kernel).parameters
    return found


def agrees(name, schema):
    """Whether the arguments of a declaration are parameters in the same order."""
    found = parameters(name)
    if found is None:
        return False
    spread = [each.name for each in found.values() if each.kind is each.VAR_POSITIONAL]
    by_place = [
        "self" if each.name == "input" else each.name
        for each in found.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    wanted = ["self" if each.name == "input" else each.name for each in schema.positional]
    if spread:  # such as view(*shape), which takes a list too
        is_list = len(wanted) == len(by_place) + 1 and schema.positional[-1].type.is_list
        if not is_list or wanted[:-1] != by_place or by_place[:1] != ["self"]:
            return False
    by_name = {each.name for each in found.values() if each.kind is each.KEYWORD_ONLY}
    while not spread and wanted and wanted[-1] in by_name:
        wanted.pop()
    if not spread and by_place[: len(wanted)] != wanted:
        return False
    return all(each.name in found for each in schema.keyword_only)


def main():
    """Write the file."""
    lines = []
    for text, schema in declarations():
        if text.partition("(")[0] in ALSO or agrees(schema.name, schema):
            lines.append(text)
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
