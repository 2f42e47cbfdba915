"""The browser tests share one way to reach a browser and a server, and a person at a page that a ``survey`` serves."""

import pytest
from playwright.sync_api import Page

from tests.browser.chromium import chromium, origin, page
from tests.browser.survey_page import Collector, Respondent

__all__ = ["chromium", "origin", "page"]


@pytest.fixture
def collector(survey: tuple[str, Collector]) -> Collector:
    return survey[1]


@pytest.fixture
def person(page: Page, survey: tuple[str, Collector]) -> Respondent:
    return Respondent(page, survey[0]).open()
