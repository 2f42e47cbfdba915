"""Signing in with a real browser: by the printed link, by hand, with a wrong token."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

from tests.browser.test_page_access import violations
from tests.collector.analysts import fill
from tests.collector.serving import serving, token

SLOW = 60_000


def test_the_printed_link_leads_to_the_dashboard_and_leaves_no_trace_of_the_token(page: Page, tmp_path: Path) -> None:
    address = str(tmp_path / "store.db")
    with serving(address) as running:
        fill(address, 300)
        secret = token(address, "read")["Authorization"].partition(" ")[2]
        page.goto(f"{running.url}/town/dashboard")
        page.wait_for_url("**/login?survey=town")
        assert violations(page) == []
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("A valid token is needed").wait_for()
        assert violations(page) == []
        page.goto(f"{running.url}/login#{secret}")  # the same page, on which only what is behind # changes
        page.wait_for_url("**/town/dashboard", timeout=SLOW)
        assert page.evaluate("document.cookie") == "" and secret not in page.content()
        (cookie,) = page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        page.go_back()
        assert secret not in page.url
        page.goto(f"{running.url}/town/dashboard")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/login")
        assert page.context.cookies() == []
