"""The graph page, used in a real browser."""

import time

import pytest
from explain.graphs.programs import classifier, custom, product, recurrent, residual, retained
from explain.graphs.test_folding import loop
from explain.graphs.test_written import HOSTILE, hostile_model
from selenium import webdriver

import lamina
from lamina.explain import graph
from lamina.explain.graphs.page import page_of


@pytest.fixture(autouse=True)
def same_numbers():
    lamina.manual_seed(0)


def page_for(program):
    root, _alive = program()
    return graph(root).html()


@pytest.fixture
def deep(show):
    """A model with modules in modules; all folded but the outermost."""
    page = show(page_for(residual))
    page.id("fold-all").click()
    return page


# --- opening -------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", [product, classifier, residual, recurrent, custom])
def test_it_opens_and_asks_the_network_for_nothing(show, program):
    page = show(page_for(program))
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    assert page.text("title").startswith("Graph of ")
    assert "kept for backward" in page.text("totals")


def test_a_small_graph_is_drawn_whole(show):
    page = show(page_for(product))
    assert sorted(page.keys_of()) == ["n0", "n1", "n2", "n3"]
    labels = [made.text.split("\n")[0] for made in page.all("#graph .node")]
    assert labels[2:] == ["mul", "sum"]
    assert len(page.all("#graph path.edge")) == 3
    assert page.all("[data-key=n3]")[0].get_attribute("class").split()[-1] == "root"


@pytest.mark.parametrize("program", [product, classifier, residual, recurrent])
def test_nothing_overlaps_and_all_text_is_inside_its_box(show, program):
    page = show(page_for(program))
    boxes = page.rectangles("#graph .node .shape")
    for k, one in enumerate(boxes):
        for other in boxes[:k]:
            assert (
                one[0] >= other[2] or other[0] >= one[2]
                or one[1] >= other[3] or other[1] >= one[3]
            )  # fmt: skip
    inside = page.run("""
        return [...document.querySelectorAll('#graph .node')].every(node => {
          const box = node.querySelector('.shape').getBoundingClientRect();
          return [...node.querySelectorAll('text')].every(text => {
            const r = text.getBoundingClientRect();
            return r.left >= box.left && r.right <= box.right
              && r.top >= box.top - 1 && r.bottom <= box.bottom + 1;
          });
        });""")
    assert inside


def test_source_that_looks_like_markup_stays_text(show):
    page = show(page_of(hostile_model()))
    assert page.run("return document.scripts.length") == 3
    page.click("n0")
    assert page.run("return document.querySelector('#details pre').textContent") == HOSTILE
    assert page.run("return document.querySelector('#details h2').textContent") == (
        f"{HOSTILE} ({HOSTILE})"
    )


def test_five_thousand_operations_can_be_used(show):
    text = graph(loop(1250)).html()
    start = time.monotonic()
    page = show(text)
    assert time.monotonic() - start < 10
    assert len(page.keys_of()) < 60
    page.id("unfold-all").click()
    assert len([key for key in page.keys_of() if "@" not in key]) <= 300
    page.id("last").click()
    assert page.text("count").startswith("5003 of 5003")
    page.id("search").send_keys("sum")
    page.press("enter")
    assert page.focused() == f"n{len(page.model['nodes']) - 1}"


def test_a_notebook_shows_it_in_a_frame(driver, show, tmp_path):
    root, _alive = product()
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><title>Notebook</title>{graph(root)._repr_html_()}")
    driver.get(path.as_uri())
    driver.switch_to.frame(driver.find_element("tag name", "iframe"))
    try:
        assert driver.find_element("id", "title").text.startswith("Graph of ")
        driver.find_element("id", "step").click()
        assert "the pass begins here" in driver.find_element("id", "sentence").text
    finally:
        driver.switch_to.default_content()


# --- folding -------------------------------------------------------------------------------------


def test_groups_unfold_and_fold_by_clicks(deep):
    assert len(deep.keys_of("#graph .node.group")) == 1
    deep.click("g0")
    assert "b0" in deep.keys_of("#graph .box-title")
    inner = deep.keys_of("#graph .node.group")
    assert len(inner) > 2
    deep.click("b0")
    assert deep.keys_of("#graph .node.group") == ["g0"]


def test_all_can_be_unfolded_and_folded(deep):
    deep.id("unfold-all").click()
    assert not deep.keys_of("#graph .node.group")
    operations = [k for k, node in enumerate(deep.model["nodes"]) if node["kind"] == "operation"]
    assert {f"n{k}" for k in operations} <= set(deep.keys_of())
    deep.id("fold-all").click()
    assert "g0" in deep.keys_of()


def test_a_tensor_that_many_use_is_drawn_beside_each(show):
    w = lamina.ones(2, requires_grad=True)
    y = w.exp() * w.sin() + w.cos() * w.tanh() + w
    page = show(graph(y).html())
    assert len([key for key in page.keys_of() if key.startswith("n0@")]) == 4
    page.id("last").click()
    assert len(page.all("#graph .node.leaf.filled")) == 5


# --- details -------------------------------------------------------------------------------------


def test_a_click_shows_source_and_what_is_kept(show):
    w = lamina.ones(3, requires_grad=True)
    h = lamina.tanh(w)
    page = show(graph((h * h).sum()).html())
    page.click("n2")
    shown = page.text("details")
    assert "MulBackward0" in shown
    assert page.all("#details mark")[0].text == "h * h"
    assert "Kept for backward" in shown
    assert "[3] float32, 12 bytes" in shown
    page.all("#details button.link")[0].click()
    assert page.all("#details h2")[0].text == "tanh (h)"
    assert page.focused() == "n1"


def test_the_source_is_shown_beside_the_pointer(show, driver):
    w = lamina.ones(3, requires_grad=True)
    h = lamina.tanh(w * 2)
    page = show(graph(h).html())
    point = webdriver.ActionChains(driver, duration=10)
    point.move_to_element(page.all("[data-key=n2] text")[0]).perform()
    assert page.id("hint").is_displayed()
    assert "h = lamina.tanh(w * 2)" in page.text("hint")
    assert page.all("#hint mark")[0].text == "lamina.tanh(w * 2)"
    point.move_to_element(page.all("[data-edge='n1>n2']")[0]).perform()
    assert page.text("hint") == "gradient: [3] float32"
    page.press("escape")
    assert not page.id("hint").is_displayed()


def test_values_are_shown_where_they_were_asked_for(show):
    a = lamina.tensor([3.0, 4.0], requires_grad=True)
    page = show(graph((a * a).sum(), values=True).html())
    page.click("n0")
    assert "norm 5, largest 4" in page.text("details")


def test_gradients_that_are_not_finite_are_marked(show):
    x = lamina.tensor([0.0, 1.0], requires_grad=True)
    page = show(graph(lamina.sqrt(x).sum(), values=True).html())
    marked = page.run(
        "return [...drawing.edges.values()].filter(e => e.path.matches('.infinite'))"
        ".map(e => e.name)"
    )
    assert marked == ["n0>n1"]
    page.press("n", "n")
    assert "1 infinite" in page.text("sentence")


def test_a_pass_that_will_fail_is_marked(show):
    x = lamina.ones(3, requires_grad=True)
    h = lamina.tanh(x)
    h += 1
    page = show(graph(h.sum()).html())
    assert len(page.all("#graph .node.problem")) == 1
    page.click("n1")
    assert "modified by an inplace operation" in page.all("#details pre.bad")[0].text
    page.id("last").click()
    assert "The pass fails here" in page.text("sentence")


# --- stepping ------------------------------------------------------------------------------------


def test_steps_tell_the_whole_pass(show):
    page = show(page_for(retained))
    steps = page.model["steps"]
    for number, step in enumerate(steps, 1):
        page.id("step").click()
        assert page.text("sentence") == step["sentence"]
        assert page.text("count").startswith(f"{number} of {len(steps)}")
        assert page.keys_of("#graph .node.now") == [f"n{step['node']}"]
    assert not page.id("step").is_enabled()
    filled = [f"n{k}" for k, node in enumerate(page.model["nodes"]) if node["kind"] == "leaf"]
    assert page.keys_of("#graph .node.filled") == filled
    assert len(page.all("#graph .chip")) == 2  # .grad of the leaf, and of the retained result
    page.id("back").click()
    assert page.text("count").startswith(f"{len(steps) - 1} of")
    page.id("first").click()
    assert page.text("count").startswith("0 of")
    assert not page.all("#graph .node.now, #graph .node.filled, #graph .node.waiting")


def test_what_is_kept_shrinks_to_nothing(show):
    page = show(page_for(classifier))
    assert "kept" in page.text("count")
    page.id("last").click()
    assert "kept" not in page.text("count")


def test_gradients_that_wait_are_marked(show):
    page = show(page_for(classifier))
    page.press("n", "n", "n")
    sent = page.model["steps"][2]["sent"]
    waiting = {f"n{page.model['edges'][number]['source']}" for number in sent}
    assert waiting == set(page.keys_of("#graph .node.waiting"))
    assert len(page.all("#graph .grad:not(.past)")) == len(sent)


def test_play_goes_on_by_itself_until_paused(show):
    page = show(page_for(product))
    page.id("play").click()
    assert page.id("play").get_attribute("aria-pressed") == "true"
    deadline = time.monotonic() + 5
    while page.text("count").startswith("0") and time.monotonic() < deadline:
        time.sleep(0.1)
    page.id("play").click()
    stopped = page.text("count")
    time.sleep(1.2)
    assert page.text("count") == stopped
    assert not stopped.startswith("0")


# --- search --------------------------------------------------------------------------------------


def test_search_finds_what_is_folded_away(deep):
    wanted = deep.numbers("gelu")
    assert not {f"n{k}" for k in wanted} & set(deep.keys_of())
    deep.press("/")
    assert deep.focused() == "search"
    deep.press("gelu")
    options = deep.all("#found [role=option]")
    assert len(options) == len(wanted)
    assert deep.id("search").get_attribute("aria-expanded") == "true"
    deep.press("down", "enter")
    assert deep.focused() == f"n{wanted[1]}"
    assert deep.all("#details h2")[0].text == "gelu"


def test_search_knows_names_source_and_lines(deep):
    node = deep.model["nodes"][deep.numbers("mean")[0]]
    place = deep.model["places"][node["place"]]
    for text in (f"{place['file']}:{place['line']}", "pow(2).mean", "MeanBackward", "head.bi"):
        deep.id("search").clear()
        deep.id("search").send_keys(text)
        assert deep.all("#found [role=option]"), text
    deep.id("search").clear()
    deep.id("search").send_keys("no such thing")
    assert "nothing is called" in deep.text("sentence")
    deep.press("escape")
    assert deep.id("search").get_attribute("aria-expanded") == "false"


# --- zoom and window -----------------------------------------------------------------------------


def test_zoom_and_fit(show):
    page = show(page_for(residual))
    page.id("zoom-in").click()
    before = page.rectangles("#graph svg")[0]
    page.id("zoom-out").click()
    after = page.rectangles("#graph svg")[0]
    assert after[2] - after[0] == pytest.approx((before[2] - before[0]) / 1.2, rel=0.01)
    page.id("fit").click()
    svg, frame = page.rectangles("#graph svg")[0], page.rectangles("#graph")[0]
    assert svg[2] - svg[0] <= frame[2] - frame[0]
    assert svg[3] - svg[1] <= frame[3] - frame[1]


@pytest.mark.parametrize("width", [500, 900])
def test_a_narrow_window_has_no_lost_parts(driver, show, width):
    driver.set_window_size(width, 800)
    page = show(page_for(residual))
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    assert page.run("return document.documentElement.scrollHeight <= innerHeight")
    for name in ("step", "search", "fit"):
        left, top, right, bottom = page.rectangles(f"#{name}")[0]
        assert left >= 0
        assert top >= 0
        assert right <= page.run("return innerWidth")
        assert bottom <= page.run("return innerHeight")
