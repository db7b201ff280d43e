"""The graph page with a keyboard, with a screen reader, and for eyes of every kind."""

import os
from pathlib import Path

import pytest
from explain.graphs.programs import classifier, residual
from selenium.webdriver.common.by import By

import lamina
from lamina.explain import graph


@pytest.fixture
def page(show):
    lamina.manual_seed(0)
    root, _alive = classifier()
    return show(graph(root).html())


@pytest.fixture
def deep(show):
    lamina.manual_seed(0)
    root, _alive = residual()
    return show(graph(root).html())


def test_tab_goes_through_everything_once(page):
    seen = []
    for _ in range(40):
        page.press("tab")
        name = page.focused()
        if not name and page.run("return document.activeElement === document.body"):
            break
        seen.append(name)
    root = f"n{page.model['roots'][0]}"
    wanted = ["search", "fold-all", "zoom-in", "help-button", root, "details", "step", "slider"]
    assert [name for name in seen if name in wanted] == wanted
    assert seen.count(root) == 1
    assert sum(name.startswith(("n", "g", "b")) and name[1:].isdigit() for name in seen) == 1


def test_arrows_go_along_the_edges(page):
    page.run("document.querySelector('#graph [tabindex=\"0\"]').focus()")
    root = page.model["roots"][0]
    assert page.focused() == f"n{root}"
    page.press("up")
    above = int(page.focused()[1:])
    assert any(e["source"] == above and e["target"] == root for e in page.model["edges"])
    page.press("down")
    assert page.focused() == f"n{root}"
    page.press("home")
    assert page.focused() == page.keys_of()[0]
    page.press("end")
    assert page.focused() == f"n{root}"


def test_every_node_can_be_reached_with_arrows(page):
    keys = set(page.keys_of())
    page.run("document.querySelector('#graph [tabindex=\"0\"]').focus()")
    reached, waiting = {page.focused()}, [page.focused()]
    while waiting:
        key = waiting.pop()
        for name in ("up", "down", "left", "right"):
            page.run("drawing.elements.get(arguments[0]).focus()", key)
            page.press(name)
            if page.focused() not in reached:
                reached.add(page.focused())
                waiting.append(page.focused())
    assert keys <= reached


def test_groups_unfold_and_fold_by_keys(deep):
    deep.id("fold-all").click()
    deep.run("drawing.elements.get('g0').focus()")
    deep.press("enter")
    assert deep.focused() == "b0"
    deep.press("down")
    inside = deep.focused()
    assert inside in deep.keys_of()
    deep.press("f")
    assert deep.focused() == "g0"


def test_letters_step_and_open_the_help(page):
    page.press("n", "n", "p")
    assert page.text("count").startswith("1 of")
    page.press("?")
    assert page.id("help").is_displayed()
    assert "leaf: its gradient is collected in .grad" in page.text("help")
    page.press("?")
    assert not page.id("help").is_displayed()


def test_the_focus_is_seen(page):
    page.press("tab", "tab")
    assert page.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    while not page.focused().startswith("n"):
        page.press("tab")
    ring = "getComputedStyle(document.activeElement.querySelector('.ring')).stroke"
    assert page.run(f"return {ring}") != "none"


def test_a_screen_reader_is_told_what_a_node_is(page):
    node = page.driver.find_element(By.CSS_SELECTOR, f"[data-key=n{page.numbers('relu')[0]}]")
    assert node.aria_role == "button"
    assert node.accessible_name.startswith("relu net(torch.randn(4, 5)) [4, 8] float32")
    assert node.accessible_name.endswith("1 input, 1 use")
    assert page.id("sentence").get_attribute("aria-live") == "polite"
    assert (
        page.id("slider").get_attribute("aria-valuetext") == f"step 0 of {len(page.model['steps'])}"
    )
    for control in page.all("button, input"):
        assert control.accessible_name, control.get_attribute("outerHTML")


def test_folded_and_unfolded_groups_say_so(deep):
    folded = deep.all("#graph .node.group")
    unfolded = deep.all("#graph .box-title")
    assert {made.get_attribute("aria-expanded") for made in folded} <= {"false"}
    assert {made.get_attribute("aria-expanded") for made in unfolded} == {"true"}


def test_nothing_moves_for_those_who_ask_for_that(page):
    page.media("prefers-reduced-motion", "reduce")
    durations = page.run(
        "return [...document.querySelectorAll('*')].map(e => getComputedStyle(e))"
        ".filter(s => parseFloat(s.transitionDuration) || parseFloat(s.animationDuration)).length"
    )
    assert durations == 0


CONTRAST = """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => {
  const part = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const ratio = (a, b) => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
const paper = parse(getComputedStyle(document.body).backgroundColor);
return [...document.querySelectorAll('#graph .node')].map((node) => {
  const fill = getComputedStyle(node.querySelector('.shape')).fill;
  const back = fill === 'none' ? paper : parse(fill);
  return Math.min(...[...node.querySelectorAll('text')].map(
    (text) => ratio(parse(getComputedStyle(text).fill), back)));
});
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("steps", [0, 3, 99])
def test_text_has_the_contrast_that_is_asked_for(page, scheme, steps):
    """WCAG 2.2, criterion 1.4.3: 4.5 to 1 for text of normal size."""
    page.media("prefers-color-scheme", scheme)
    page.media("prefers-reduced-motion", "reduce")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]})  # fmt: skip
    page.driver.refresh()
    page.run("goTo(arguments[0])", steps)
    assert min(page.run(CONTRAST)) >= 4.5


AXE = os.environ.get("AXE_CORE", "")


@pytest.mark.skipif(not Path(AXE).is_file(), reason="axe-core is not there (npm brings it)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(deep, scheme):
    deep.media("prefers-color-scheme", scheme)
    deep.id("help-button").click()
    deep.press("n", "n")
    deep.run(Path(AXE).read_text(encoding="utf-8"))
    found = deep.driver.execute_async_script(
        "const done = arguments[0]; axe.run().then((r) => done(r.violations))"
    )
    assert [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in found] == []
