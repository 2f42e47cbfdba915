"""The dashboard in a real browser: for everybody, kept fresh under its own policy, and whole without script."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from sfumato.findings import Standing, page_of
from tests.browser.chromium import ROOT, Files, serving
from tests.browser.test_page_access import violations
from tests.findings.survey_tables import collected, people, town
from tests.findings.test_page import DAYS, ITEMSETS

SCRIPT = ROOT / "src/sfumato/collector/http/static/dashboard.js"
TREE = {
    "kind": "TreeClassifier", "plan": None, "measured": {},
    "device": {
        "form": "tree", "classes": ["yes", "no"],
        "nodes": [
            {"column": 0, "cut": 40, "left": 1, "right": 2, "said": ["age is below 40", "age is at least 40", "?"]},
            {"column": 1, "cut": 1, "left": 3, "right": 4, "said": ["fare is yes", "fare is no", "?"]},
            {"counts": [10, 300]}, {"counts": [200, 5]}, {"counts": [30, 80]},
        ],
    },
}  # fmt: skip
JOBS = [{"id": "1", "kind": "train", "state": "done", "said": "a tree of five leaves"}]


@dataclass
class Service:
    """A page as a collector serves it, with its policy as a header; it may be changed, or fail."""

    page: Any
    status: int = 200


@contextmanager
def service(page: Any) -> Iterator[tuple[str, Service]]:
    shown = Service(page)

    class Handler(Files):
        def do_GET(self) -> None:  # noqa: N802 (the name that the library calls)
            own = self.path == "/static/dashboard.js"
            body = SCRIPT.read_bytes() if own else shown.page.html().encode()
            self.send_response(200 if own else shown.status)
            self.send_header("Content-Type", "text/javascript" if own else "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", shown.page.policy)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(Path(), Handler) as address:
        yield f"{address}/town/dashboard", shown


@pytest.fixture(scope="module")
def tables() -> tuple[Any, Any]:
    """The town's survey: half of its reports, and all of them."""
    table = collected(town(), people(2_000, np.random.default_rng(7)), shares={"normal": 0.7, "cautious": 0.3})
    return table.slice(0, 1_000), table


def town_page(table: Any, together: tuple[str, str] | None = None) -> Any:
    rejections, flood = {"another plan": 3, "too large": 1}, [*DAYS, ("2026-05-10", 4_000, 0)]
    standing = Standing("The town", "open", flood, rejections, (4_000, 3_000), TREE, ITEMSETS, JOBS)
    return page_of(table, town(), standing, together=together)


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1200, "light")])
def test_the_page_violates_no_rule_of_wcag(chromium: Browser, tables: Any, width: int, scheme: Any) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    with service(town_page(tables[1], ("fare", "bus"))) as (address, _):
        page = context.new_page()
        page.goto(address)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_the_policy_lets_the_style_and_the_script_through_and_nothing_is_refused(page: Page, tables: Any) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    with service(town_page(tables[0])) as (address, _):
        page.goto(address)
        assert page.evaluate("getComputedStyle(document.querySelector('.card')).borderRadius") != "0px"
        assert page.evaluate("getComputedStyle(document.querySelector('.shares rect')).fill") != "rgb(0, 0, 0)"
        assert said == []
        page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\" id=\"red\">x</p>')")
        assert page.evaluate("getComputedStyle(document.getElementById('red')).color") != "rgb(255, 0, 0)"
    assert said and all("inline style" in each for each in said)


def test_new_numbers_come_in_and_the_reader_stays_where_they_were(page: Page, tables: Any) -> None:
    page.clock.install()
    with service(town_page(tables[0], ("fare", "bus"))) as (address, shown):
        page.goto(address)
        assert page.locator("header p").inner_text().startswith("1,000 reports")
        page.get_by_text("The numbers").nth(1).click()
        opened = page.locator("details[open]").count()
        page.locator("summary", has_text="The numbers").nth(1).focus()
        page.evaluate("scrollTo({ top: 1_200, behavior: 'instant' })")  # a wheel may still be turning when one looks
        top = page.evaluate("scrollY")
        assert top > 900
        shown.page = town_page(tables[1], ("fare", "bus"))
        page.clock.run_for(6_000)
        page.locator("#news", has_text="Numbers updated at").wait_for()
        assert page.locator("header p").inner_text().startswith("2,000 reports")
        assert page.locator("details[open]").count() == opened
        assert abs(page.evaluate("scrollY") - top) < 2
        assert page.evaluate("document.activeElement.textContent") == "The numbers"
        assert page.locator("#news").get_attribute("role") == "status"


def test_nothing_is_swapped_while_nothing_has_changed(page: Page, tables: Any) -> None:
    page.clock.install()
    with service(town_page(tables[0])) as (address, _):
        page.goto(address)
        page.evaluate("document.querySelector('main').dataset.mine = 'yes'")
        for _ in range(2):
            with page.expect_response(address):
                page.clock.run_for(6_000)
        assert page.get_attribute("main", "data-mine") == "yes" and page.inner_text("#news") == ""


def test_a_collector_that_does_not_answer_is_said_so_and_the_numbers_stay(page: Page, tables: Any) -> None:
    page.clock.install()
    with service(town_page(tables[0])) as (address, shown):
        page.goto(address)
        shown.status = 503
        page.clock.run_for(6_000)
        page.locator("#news", has_text="does not answer").wait_for()
        assert page.locator(".card").count() > 5
        shown.status = 200
        page.clock.run_for(6_000)
        page.locator("#news", has_text="answers again").wait_for()


def test_all_of_it_is_there_without_script(chromium: Browser, tables: Any) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    with service(town_page(tables[0], ("fare", "bus"))) as (address, _):
        page.goto(address)
        assert page.locator(".card svg").count() > 10 and page.locator("table.heat").count() == 1
        page.select_option("select[name=first]", "age")
        page.get_by_role("button", name="Show").click()
        assert page.url.endswith("?first=age&second=bus")
    context.close()
