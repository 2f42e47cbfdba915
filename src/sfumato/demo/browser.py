"""One person at the respondent's page in a real browser, where there is one: Chromium, driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

MISSING = "no browser that could answer was found (it takes chromium and the Python package playwright)"
PATIENCE = 60_000


class Person:
    """A browser with a storage of its own, open at a survey's page."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address
        page.set_default_timeout(PATIENCE)

    def send(self, answers: Mapping[str, Any]) -> None:
        """Answer, see what is sent, and send it."""
        self._open()
        self._answer(answers)
        self.page.wait_for_function("() => document.getElementById('receipts').innerText.includes('Sent.')")

    def verdict(self, answers: Mapping[str, Any]) -> str:
        """What the model that came home says of the answers, with the network off."""
        self._open()
        self.page.wait_for_load_state("networkidle")
        self.page.context.set_offline(True)
        self._answer(answers)
        return str(self.page.inner_text("#verdict h3"))

    def _answer(self, answers: Mapping[str, Any]) -> None:
        """Every question, in the page's order."""
        self._press()
        for value in answers.values():
            if isinstance(value, str) or self.page.locator("#asked input[type=radio]").count():
                self.page.locator("#asked").get_by_label(str(value), exact=True).check()
            else:
                self.page.fill("#asked input", str(value))
            self._press()
        self._press()

    def _open(self) -> None:
        self.page.goto(self.address)
        self.page.wait_for_selector("#all:not([hidden])")

    def _press(self) -> None:
        before = self.page.title()
        self.page.click("#next")
        self.page.wait_for_function("before => document.title !== before", arg=before)


@contextmanager
def person_at(address: str) -> Iterator[Person | None]:
    """A person at a survey's page; None where there is no browser."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None or find_spec("playwright") is None:
        yield None
        return
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found)
        except Error:  # it is there and cannot run here
            yield None
            return
        try:
            yield Person(browser.new_context().new_page(), address)
        finally:
            browser.close()
