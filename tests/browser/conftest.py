"""Tests of the graph page in a real browser: `make browser`. Otherwise this folder is left out."""

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

import pytest

IS_WANTED = os.environ.get("LAMINA_BROWSER") == "1"
collect_ignore_glob = [] if IS_WANTED else ["*.py"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1280,900", "--lang=en",
)  # fmt: skip


def pytest_configure(config):
    if not IS_WANTED:
        return
    missing = []
    if not any(map(shutil.which, BROWSERS)):
        missing.append("a browser: Chromium (Debian: apt-get install chromium)")
    if not shutil.which("chromedriver"):
        missing.append("chromedriver (Debian: apt-get install chromium-driver)")
    if importlib.util.find_spec("selenium") is None:
        missing.append("selenium (pip install 'lamina[browser]')")
    if missing:
        pytest.exit("the browser tests need " + "; ".join(missing), returncode=3)


@pytest.fixture(scope="session")
def driver():
    """One browser with a fresh profile for all tests."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(prefix="lamina-browser-") as folder:
        for option in (*OPTIONS, f"--user-data-dir={folder}"):
            options.add_argument(option)
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        made = webdriver.Chrome(options=options, service=service)
        try:
            yield made
        finally:
            made.quit()


@pytest.fixture
def show(driver, tmp_path):
    """Write a graph as a page and open it; afterwards the browser must have nothing to complain."""
    from browser.page import Page

    driver.set_window_size(1280, 900)

    def open_page(text):
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        driver.get(path.as_uri())
        return Page(driver)

    yield open_page
    pictures = os.environ.get("LAMINA_PICTURES")
    if pictures:
        name = os.environ["PYTEST_CURRENT_TEST"].partition(" ")[0].rpartition("::")[2]
        driver.save_screenshot(str(Path(pictures) / f"{name}.png"))
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert driver.get_log("browser") == []
