"""The ground that browser tests stand on."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.chromium import STATIC


def test_a_page_served_on_loopback_has_web_crypto(page: Page, origin: str) -> None:
    page.goto(f"{origin}/{STATIC}/package.json")
    assert page.evaluate("isSecureContext && typeof crypto.subtle.digest") == "function"


def test_a_page_over_plain_http_has_none(page: Page) -> None:
    page.route("http://town.example/**", lambda route: route.fulfill(body="hello", content_type="text/html"))
    page.goto("http://town.example/")
    assert page.evaluate("[isSecureContext, typeof crypto.subtle]") == [False, "undefined"]


@pytest.mark.parametrize("turn", [1, 2])
def test_every_page_has_a_storage_of_its_own(page: Page, origin: str, turn: int) -> None:
    page.goto(f"{origin}/{STATIC}/package.json")
    assert page.evaluate("localStorage.getItem('x')") is None
    page.evaluate("localStorage.setItem('x', '1')")
