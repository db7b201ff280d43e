"""The graph page: how long it takes to read and write, how large it is, and how fast it opens.

Times in the browser are measured where selenium, Chromium and its chromedriver are.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from _report import best_seconds, note, print_table

import lamina
from lamina.bench.training import transformer
from lamina.explain import Graph, graph

ROUNDS = 5
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
           "--disable-background-networking", "--disable-component-update",
           "--disable-sync")  # fmt: skip


def small() -> Any:
    """Five nodes."""
    w = lamina.ones(3, requires_grad=True)
    y = w * lamina.arange(3.0)
    return (y * y).sum(), w


def gpt() -> Any:
    """The loss of the transformer of `lamina bench`: 4 layers of 128, context 64."""
    model = transformer(lamina, characters=65, width=128, heads=4, layers=4, length=64)
    text = lamina.randint(0, 65, (4, 64))
    scores = model(text)
    return lamina.nn.functional.cross_entropy(scores.flatten(0, 1), text.flatten()), model


def loop() -> Any:
    """A recurrence: 5,001 operations."""
    weight = lamina.ones(4, requires_grad=True)
    state = lamina.ones(4)
    for _ in range(1250):
        state = lamina.tanh(state * weight)
        state = state + 0.5
        state = state / 2
    return state.sum(), weight


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """A browser without a window, or None."""
    binary = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    try:
        from selenium import webdriver
    except ImportError:
        webdriver = None
    if webdriver is None or binary is None or driver is None:
        note("not measured: the browser (it needs selenium, Chromium and chromedriver)")
        yield None
        return
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    with tempfile.TemporaryDirectory() as profile:
        for option in (*OPTIONS, f"--user-data-dir={profile}"):
            options.add_argument(option)
        made = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        try:
            yield made
        finally:
            made.quit()


def opening_seconds(driver: Any, path: Path) -> float:
    """From asking for the page to its drawing, best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        driver.get(path.as_uri())
        assert driver.execute_script("return document.body.dataset.ready") == "true"
        best = min(best, time.perf_counter() - started)
    return best


def row(make: Callable[[], Any], driver: Any, folder: Path) -> list[str]:
    """The figures of one graph."""
    root, _alive = make()
    drawn: Graph = graph(root)
    read, write = best_seconds([lambda: graph(root), drawn.html], 1, ROUNDS)
    path = drawn.save(folder / f"{make.__name__}.html")
    seconds = "" if driver is None else f"{1000 * opening_seconds(driver, path):.0f}"
    return [
        make.__name__, f"{len(drawn.model.nodes):,}", f"{1000 * read:.0f}", f"{1000 * write:.0f}",
        f"{path.stat().st_size / 1000:.0f}", seconds,
    ]  # fmt: skip


def main() -> None:
    """Print the table."""
    header = ["graph", "nodes", "read (ms)", "write (ms)", "size (kB)", "open (ms)"]
    with browser() as driver, tempfile.TemporaryDirectory() as folder:
        rows = [row(make, driver, Path(folder)) for make in (small, gpt, loop)]
    print_table(header, rows)


if __name__ == "__main__":
    main()
