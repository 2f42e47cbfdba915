"""A simulated person who answers on the respondent's page in a real browser: Chromium, driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

MISSING = "no browser that could answer was found (it takes chromium and the Python package playwright)"
TIMEOUT = 60_000
"""Milliseconds that the browser may take for a step of the page. Judgement: less gives up on a slow machine, more waits
longer for a page that hangs."""


class Person:
    """A simulated person at a survey's page: a tab of a real browser with a storage of its own.

    ``page``: playwright's page object. ``address``: the URL of the survey's page.
    """

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address
        page.set_default_timeout(TIMEOUT)

    def send(self, answers: Mapping[str, Any]) -> None:
        """Answer every question on the page, send the reports, and wait until the page says that they were sent.

        ``answers``: the person's true answers by question, in the page's order.
        """
        self._open()
        self._answer(answers)
        self.page.wait_for_function("() => document.getElementById('receipts').innerText.includes('Sent.')")

    def verdict(self, answers: Mapping[str, Any]) -> str:
        """Answer every question with the network off; return what the page then says of the shipped model's class.

        ``answers``: the person's true answers by question, in the page's order.
        """
        self._open()
        self.page.wait_for_load_state("networkidle")
        self.page.context.set_offline(True)
        self._answer(answers)
        return str(self.page.inner_text("#verdict h3"))

    def _answer(self, answers: Mapping[str, Any]) -> None:
        """Fill in the answers, given by question in the page's order, and go on to the page's summary."""
        self._go_on()
        for value in answers.values():
            if isinstance(value, str) or self.page.locator("#asked input[type=radio]").count():
                self.page.locator("#asked").get_by_label(str(value), exact=True).check()
            else:
                self.page.fill("#asked input", str(value))
            self._go_on()
        self._go_on()

    def _open(self) -> None:
        """Open the survey's page, and wait until it is shown."""
        self.page.goto(self.address)
        self.page.wait_for_selector("#all:not([hidden])")

    def _go_on(self) -> None:
        """Press the button to the next step of the page, and wait until that step is shown."""
        before = self.page.title()
        self.page.click("#next")
        self.page.wait_for_function("before => document.title !== before", arg=before)


@contextmanager
def person_at(address: str) -> Iterator[Person | None]:
    """Open a browser for a simulated person at a survey's page, for a with block.

    ``address``: the page's URL. Yields a `Person`; None if no browser can be run.
    """
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser_path is None or find_spec("playwright") is None:
        yield None
        return
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=browser_path)
        except Error:  # it is installed and cannot run here
            yield None
            return
        try:
            yield Person(browser.new_context().new_page(), address)
        finally:
            browser.close()
