"""Views: which memory they share, what they are called in the graph, and which gradients flow."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import lamina
from lamina import Tensor, errors


def grid() -> Tensor:
    return lamina.arange(24.0).reshape(2, 3, 4)


VIEWS: list[tuple[str, Callable[[Tensor], Tensor], str]] = [
    ("reshape", lambda x: x.reshape(6, 4), "ViewBackward0"),
    ("reshape of a transpose", lambda x: x.mT.mT.mT.reshape(2, 4, 3), "ReshapeAliasBackward0"),
    ("flatten", lambda x: x.flatten(1), "ViewBackward0"),
    ("transpose", lambda x: x.transpose(0, 2), "TransposeBackward0"),
    ("permute", lambda x: x.permute(2, 0, 1), "PermuteBackward0"),
    ("movedim", lambda x: x.movedim(0, -1), "PermuteBackward0"),
    ("squeeze", lambda x: x[:1].squeeze(), "SqueezeBackward0"),
    ("squeeze one", lambda x: x[:1].squeeze(0), "SqueezeBackward1"),
    ("unsqueeze", lambda x: x.unsqueeze(1), "UnsqueezeBackward0"),
    ("expand", lambda x: x[:, :1].expand(2, 3, 4), "ExpandBackward0"),
    ("index", lambda x: x[1], "SelectBackward0"),
    ("slice", lambda x: x[:, ::2], "SliceBackward0"),
    ("None", lambda x: x[:, None], "UnsqueezeBackward0"),
    ("Ellipsis", lambda x: x[...], "AliasBackward0"),
    ("narrow", lambda x: x.narrow(2, 1, 2), "SliceBackward0"),
    ("diagonal", lambda x: x.diagonal(0, 1, 2), "DiagonalBackward0"),
    ("unfold", lambda x: x.unfold(2, 2, 1), "UnfoldBackward0"),
    ("as_strided", lambda x: x.as_strided((2, 2), (3, 1), 1), "AsStridedBackward0"),
    ("split", lambda x: x.split(2, dim=2)[1], "SplitBackward0"),
    ("unbind", lambda x: x.unbind(1)[2], "UnbindBackward0"),
]


@pytest.mark.parametrize(("make", "node"), [v[1:] for v in VIEWS], ids=[v[0] for v in VIEWS])
def test_view_shares_memory_and_passes_gradients(
    make: Callable[[Tensor], Tensor], node: str
) -> None:
    """A view sees changes of its base; a weighted sum of it sends each weight to its element."""
    base = grid()
    view = make(base)
    base.add_(1)
    assert lamina.equal(view, make(grid() + 1))
    assert view._version == base._version == 1

    leaf = grid().requires_grad_()
    seen = make(leaf)
    assert type(seen.grad_fn).__name__ == node
    (seen * seen.detach()).sum().backward()
    # Each element of the view sends its value to where it came from.
    places = make(lamina.arange(24).reshape(2, 3, 4)).flatten().tolist()
    expected = [0.0] * 24
    for place in places:
        expected[place] += float(place)
    assert leaf.grad.flatten().tolist() == expected


def test_reshape_copies_only_if_it_must() -> None:
    x = grid()
    assert x.reshape(-1).data_ptr() == x.data_ptr()
    copied = x.mT.reshape(-1)
    assert copied.data_ptr() != x.data_ptr()
    assert copied._base is None


@pytest.mark.parametrize(
    ("call", "error", "phrase"),
    [
        (
            lambda x: x.reshape(5, 5),
            errors.ReshapeMismatch,
            r"shape '\[5, 5\]' is invalid for input of",
        ),
        (lambda x: x.reshape(-1, -1), errors.ReshapeMismatch, "only one dimension can be inferred"),
        (lambda x: x.mT.view(24), errors.ViewStrideMismatch, "view size is not compatible"),
        (lambda x: x.transpose(0, 3), errors.DimensionOutOfRange, r"range of \[-3, 2\], but got 3"),
        (lambda x: x.expand(2, 3, 5), errors.ShapeMismatch, "must match the existing size"),
        (lambda x: x.permute(0, 0, 1), errors.InvalidArgument, "duplicate dims"),
        (lambda x: x.t(), errors.InvalidArgument, "expects a tensor with <= 2 dimensions"),
    ],
)
def test_refused(call: Callable[[Tensor], Tensor], error: type[Exception], phrase: str) -> None:
    with pytest.raises(error, match=phrase):
        call(grid())


def test_write_to_a_view_reaches_the_base_and_its_gradient() -> None:
    weight = lamina.ones(2, 2, requires_grad=True)
    y = weight * 3
    y[0].mul_(2)
    assert type(y.grad_fn).__name__ == "CopySlices"
    y.sum().backward()
    assert weight.grad.tolist() == [[6.0, 6.0], [3.0, 3.0]]


def test_a_refreshed_overlapping_view_adds_its_gradients() -> None:
    """After a change of the base, the gradient of an expanded view still counts each copy."""
    weight = lamina.ones(2, requires_grad=True)
    y = weight * 1
    wide = y.expand(3, 2)
    y.mul_(2)
    wide.sum().backward()
    assert weight.grad.tolist() == [6.0, 6.0]


def test_detach_shares_the_version_and_clone_does_not() -> None:
    x = lamina.ones(2)
    apart, copied = x.detach(), x.clone()
    x.add_(1)
    assert (apart._version, copied._version) == (1, 0)
    assert not apart._is_view()


def test_squeeze_in_place_is_a_step_of_the_graph() -> None:
    x = lamina.ones(1, 2, requires_grad=True) * 2
    assert x.squeeze_(0) is x
    assert x.shape == (2,)
    assert type(x.grad_fn).__name__ == "SqueezeBackward4"


def test_clone_of_an_expanded_tensor_lies_row_by_row() -> None:
    assert lamina.ones(3).expand(2, 3).clone().stride() == (3, 1)
    assert lamina.ones(2, 3).t().clone().stride() == (1, 3)


def test_splitting_and_joining_undo_each_other() -> None:
    x = grid().requires_grad_()
    parts = x.split([1, 3], dim=2)
    joined = lamina.cat(parts, dim=2)
    assert lamina.equal(joined, x)
    parts[1].sum().backward()
    assert x.grad[..., 0].sum() == 0
    assert x.grad[..., 1:].sum() == 18


def test_joining_promotes_and_leaves_out_the_old_kind_of_empty() -> None:
    joined = lamina.cat([lamina.tensor([1]), lamina.tensor([0.5]), lamina.tensor([])])
    assert joined.tolist() == [1.0, 0.5]
    assert lamina.cat([lamina.ones(2, 2), lamina.tensor([])]).shape == (2, 2)
