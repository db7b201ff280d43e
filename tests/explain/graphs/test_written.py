"""What is written: text, picture, page and data."""

import functools
import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest
from explain.graphs.programs import PROGRAMS
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina
from lamina.errors import InvalidArgument, Place
from lamina.explain import graph
from lamina.explain.graphs.model import Facts, GraphModel, Node
from lamina.explain.graphs.page import page_of
from lamina.explain.graphs.svg import svg_of
from lamina.explain.graphs.text import text_of

SVG = "{http://www.w3.org/2000/svg}"


def small():
    w = lamina.ones(3, requires_grad=True)
    y = w * 2
    return graph((y * y).sum())


class Reader(HTMLParser):
    """Collects scripts, and attributes that could lead somewhere."""

    def __init__(self):
        super().__init__()
        self.inside = None
        self.texts = {}
        self.links = []

    def handle_starttag(self, tag, attributes):
        self.inside = dict(attributes).get("id", tag) if tag in ("script", "title") else None
        self.links += [value for name, value in attributes if name in ("src", "href", "action")]

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.texts[self.inside] = self.texts.get(self.inside, "") + data


def read_page(page):
    reader = Reader()
    reader.feed(page)
    return reader


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_all_forms_can_be_written(program):
    lamina.manual_seed(0)
    root, _alive = program()
    drawn = graph(root)
    words = {node.word for node in drawn.model.nodes if node.kind == "operation"}
    picture = ElementTree.fromstring(drawn.svg())
    assert {child.tag for child in picture} >= {f"{SVG}title", f"{SVG}desc"}
    written = json.loads(read_page(drawn.html()).texts["model"])
    assert {node["word"] for node in written["nodes"] if node["kind"] == "operation"} == words
    again = json.loads(drawn.json())
    assert [node["id"] for node in again["nodes"]] == list(range(len(drawn.model.nodes)))


def test_the_page_leads_nowhere():
    page = small().html()
    assert set(read_page(page).links) <= {"#graph", "data:,"}
    without_names = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(fetch|XMLHttpRequest|import)\s*\(|@import|url\((?!#)", without_names)
    assert "default-src 'none'" in page


def test_the_licence_is_in_the_page():
    assert "Copyright (c) 2012-2014 Chris Pettitt" in small().html()


HOSTILE = """</script><script>alert(1)</script><!-- &lt; "' \u2028 $title ${x} ]]>"""


def hostile_model():
    place = Place("a<b>.py", 1, HOSTILE, 0, 5, HOSTILE, HOSTILE)
    node = Node(0, "operation", HOSTILE, HOSTILE, HOSTILE, (Facts((1,), HOSTILE),), place=place,
                notes=(HOSTILE,), problem=HOSTILE, stamp=1)  # fmt: skip
    return GraphModel(HOSTILE, "lamina", (node,), (), (), (0,), (), 0, (HOSTILE,))


def test_source_that_looks_like_markup_is_text():
    page = page_of(hostile_model())
    assert page.count("<script") == 3
    assert page.count("</script>") == 3
    reader = read_page(page)
    assert json.loads(reader.texts["model"])["nodes"][0]["word"] == HOSTILE
    assert reader.texts["title"] == f"Graph of {HOSTILE}"
    picture = ElementTree.fromstring(svg_of(hostile_model()))
    assert picture.find(f"{SVG}title").text == f"Graph of {HOSTILE}".replace("\u2028", "\\u2028")
    assert not list(picture.iter(f"{SVG}script"))


def test_control_characters_do_not_break_the_picture():
    place = Place("a.py", 1, "x = '\x00\x1b'", 0, 3, "'\x00\x1b'", "f")
    node = Node(0, "operation", "mul", "M", "\x07", (Facts(),), place=place)
    model = GraphModel("\x00", "lamina", (node,), (), (), (0,), (), 0)
    ElementTree.fromstring(svg_of(model))
    assert "\x1b" not in text_of(model)


@functools.cache
def drawn_once(program):
    lamina.manual_seed(0)
    return graph(program()[0])


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(PROGRAMS), st.integers(40, 200), st.booleans())
def test_text_keeps_to_its_width(program, width, unicode):
    text = drawn_once(program).text(width, unicode=unicode)
    assert max(map(len, text.splitlines())) <= width
    assert unicode or text.isascii()


def test_the_text_of_a_small_graph():
    expected = """\
Graph of a tensor: 3 operations, 1 leaf; 12 bytes kept for backward

    what    result       from  keeps     source
#0  leaf w  [3] float32                  FILE  lamina.ones(3, requires_grad=True)
#1  mul y   [3] float32  #0              FILE  w * 2
#2  mul     [3] float32  #1    12 bytes  FILE  y * y
#3  * sum   [] float32   #2              FILE  (y * y).sum()

* the pass begins here

Backward, 4 steps (the newest operation first):
   1. sum: the pass begins here, with a scalar, and sends [3] to mul. Its own gradient is
      dropped.
   2. mul gets [3] from sum, and sends [3] to mul (`y`), 2 times. Its own gradient is dropped.
   3. mul (`y`) gets 2 gradients from mul, added up: [3], and sends [3] to `w`. Its own gradient
      is dropped.
   4. `w` gets [3] from mul (`y`): kept in .grad, which was None."""
    assert re.sub(r"test_written.py:\d+", "FILE", small().text(97)) == expected


def test_colour_only_where_it_is_asked_for():
    assert "\x1b[" not in str(small())
    assert "\x1b[" in small().text(colour=True)


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["html", "svg", "txt", "json", "SVG"])
def test_the_ending_chooses_the_form(tmp_path, ending):
    path = small().save(tmp_path / f"drawn.{ending}")
    start = {"html": "<!doctype html>", "svg": "<svg", "txt": "Graph of", "json": "{"}
    assert path.read_text(encoding="utf-8").startswith(start[ending.lower()])
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_another_ending_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InvalidArgument, match=r"end the name in \.html, \.svg, \.txt, \.json"):
        small().save(tmp_path / "drawn.png")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "drawn.txt"
    path.write_text("old")

    def broken(*_):
        raise OSError("no space left")

    monkeypatch.setattr("lamina.explain.graphs.drawn.os.replace", broken)
    with pytest.raises(OSError, match="no space"):
        small().save(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["drawn.txt"]


def test_a_notebook_shows_the_page_in_a_frame():
    shown = small()._repr_html_()
    reader = HTMLParser()
    found = []
    reader.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes)))
    reader.feed(shown)
    [(tag, attributes)] = found
    assert (tag, attributes["sandbox"]) == ("iframe", "allow-scripts")
    assert attributes["srcdoc"] == small().html()


def test_infinite_values_are_json():
    x = lamina.tensor([0.0], requires_grad=True)
    drawn = graph(lamina.sqrt(x).sum(), values=True)
    written = json.loads(drawn.json(), parse_constant=lambda name: pytest.fail(name))
    assert written["edges"][0]["values"]["infinities"] == 1
