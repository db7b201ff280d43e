"""The layout of the static picture: nothing overlaps, and all edges lead down."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.explain.graphs.layered import BETWEEN_BOXES, placed


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 14))
    sizes = draw(st.lists(
        st.tuples(st.floats(20, 200), st.floats(20, 60)), min_size=count, max_size=count
    ))  # fmt: skip
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    edges = draw(st.sets(pairs.filter(lambda pair: pair[0] < pair[1]), max_size=25))
    return sizes, sorted(edges)


@settings(deadline=None, max_examples=80)
@given(graphs())
def test_boxes_do_not_overlap_and_edges_lead_down(case):
    sizes, edges = case
    found = placed(sizes, edges)
    boxes = [
        (x - w / 2, x + w / 2, y - h / 2, y + h / 2)
        for (x, y), (w, h) in zip(found.centres, sizes, strict=True)
    ]
    for k, one in enumerate(boxes):
        assert one[0] >= -1e-6
        assert one[1] <= found.width + 1e-6
        for other in boxes[:k]:
            beside = max(one[0] - other[1], other[0] - one[1]) >= BETWEEN_BOXES - 1e-6
            above = max(one[2] - other[3], other[2] - one[3]) > 0
            assert beside or above
    for (source, target), line in zip(edges, found.lines, strict=True):
        assert boxes[source][3] < boxes[target][2]
        heights = [y for _, y in line]
        assert heights == sorted(heights)


def test_one_line_of_boxes_is_straight():
    found = placed([(40, 20), (80, 20), (60, 20)], [(0, 1), (1, 2)])
    assert len({round(x, 6) for x, _ in found.centres}) == 1
