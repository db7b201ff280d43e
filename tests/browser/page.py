"""The graph page as somebody uses it: what is seen, clicked and typed."""

import json

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

KEYS = {
    "up": Keys.ARROW_UP, "down": Keys.ARROW_DOWN, "left": Keys.ARROW_LEFT,
    "right": Keys.ARROW_RIGHT, "enter": Keys.ENTER, "home": Keys.HOME, "end": Keys.END,
    "escape": Keys.ESCAPE, "tab": Keys.TAB,
}  # fmt: skip


class Page:
    def __init__(self, driver):
        self.driver = driver
        assert driver.find_element(By.TAG_NAME, "body").get_attribute("data-ready") == "true"
        self.model = json.loads(self.run("return document.getElementById('model').textContent"))

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def id(self, name):
        return self.driver.find_element(By.ID, name)

    def text(self, name):
        return self.id(name).text

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def keys_of(self, selector="#graph .node"):
        """The keys of drawn things: "n3" for a node, "g2" for a folded group."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.dataset.key)", selector
        )

    def click(self, key):
        made = self.driver.find_element(By.CSS_SELECTOR, f"[data-key='{key}']")
        self.run("arguments[0].scrollIntoView({block: 'center', inline: 'center'})", made)
        made.find_element(By.CSS_SELECTOR, "text").click()

    def press(self, *names):
        for name in names:
            self.driver.switch_to.active_element.send_keys(KEYS.get(name, name))

    def focused(self):
        return self.run("return document.activeElement.dataset.key || document.activeElement.id")

    def numbers(self, word):
        return [k for k, node in enumerate(self.model["nodes"]) if node["word"] == word]

    def rectangles(self, selector):
        """Left, top, right, bottom of elements on the screen."""
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => {"
            "const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; })",
            selector,
        )

    def media(self, name, value):
        """Open the page again as for somebody with this preference."""
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": name, "value": value}]}
        )
        self.driver.refresh()
