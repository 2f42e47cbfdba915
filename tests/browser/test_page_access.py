"""The page for everybody: keyboard, screen reader, phone, light and dark, three languages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from sfumato.client.page import write_page
from tests.browser.survey_page import ANSWERS, Collector, Respondent, collecting, town

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Collector]]:
    folder = tmp_path_factory.mktemp("page")
    write_page(town(), folder, submit="reports")
    with collecting(folder) as found:
        yield found


def violations(page: Page) -> list[str]:
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": WCAG}}).response["violations"]
    return [f"{each['id']}: {node['html']}" for each in found for node in each["nodes"]]


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1200, "light")])
def test_no_step_violates_wcag(chromium: Browser, survey: tuple[str, Collector], width: int, scheme: str) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    person = Respondent(context.new_page(), survey[0]).open()
    page, found = person.page, {}

    def look(step: str) -> None:
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        found[step] = violations(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, step

    look("start")
    person.next()
    page.click("#next")
    look("error")
    for name, value in ANSWERS.items():
        person.fill(value)
        look(name)
        person.next()
    look("summary")
    person.send().wait_for("Sent.")
    look("receipt")
    person.open().next()
    look("locked")
    person.answer_rest({**ANSWERS, "age": 30})
    look("refused")
    assert {step: broken for step, broken in found.items() if broken} == {}
    context.close()


def test_the_whole_way_by_keyboard_alone(page: Page, survey: tuple[str, Collector]) -> None:
    person = Respondent(page, survey[0]).open()
    sent = len(survey[1].requests)

    def keys(*names: str) -> None:
        for name in names:
            page.keyboard.press(name)

    def reach(text: str) -> None:
        """Tab until what has the focus shows the text."""
        for _ in range(40):
            keys("Tab")
            if text in page.evaluate("document.activeElement.closest('label, button, summary')?.innerText ?? ''"):
                return
        raise AssertionError(f"no way to {text}")

    def step(words: str) -> None:
        page.wait_for_function(
            "words => document.activeElement.matches('h2') && document.title.startsWith(words)", arg=words, polling=50
        )

    reach("Begin")
    keys("Enter")
    step("How old")
    reach("Your answer")
    page.keyboard.type("47")
    keys("Tab", "ArrowUp", "Enter")
    step("What do you earn")
    reach("Your answer")
    page.keyboard.type("31000")
    keys("Enter")
    step("Have you travelled")
    reach("yes")
    keys("Space", "Enter")
    step("Which stops")
    reach("Find")
    page.keyboard.type("Mus")
    keys("Tab", "Space", "Enter")
    step("Where do you live")
    reach("Find")
    page.keyboard.type("Old")
    keys("Tab", "Space", "Enter")
    step("Would you take")
    reach("Leave unanswered")
    keys("Enter")
    step("What will be sent")
    report = json.loads(person.letters)["reports"][0]["report"]
    assert report["age.level"] == "open" and report["stops"]["size"] == 1 and report["district"] == "Old Town"
    assert report["bus"] is None
    reach("Send")
    keys("Enter")
    step("Your report")
    person.wait_for("Sent.")
    assert len(survey[1].requests) == sent + 1
    reach("Withdraw")
    keys("Enter")
    person.wait_for("Withdrawn.")


@pytest.mark.parametrize(
    ("typed", "words"),
    [("", "Please answer"), ("12", "from 18 to 90"), ("47.5", "whole number"), ("e", "Please answer")],
)
def test_errors_are_announced_and_tied_to_the_input(
    page: Page, survey: tuple[str, Collector], typed: str, words: str
) -> None:
    Respondent(page, survey[0]).open().next()
    page.locator("#asked input").press_sequentially(typed)
    page.click("#next")
    error = page.locator("#trouble")
    error.get_by_text(words).wait_for()
    assert error.get_attribute("role") == "alert"
    focused = page.locator("#asked input:focus")
    assert focused.get_attribute("aria-invalid") == "true" and "trouble" in focused.get_attribute("aria-describedby")
    focused.press_sequentially("4")
    assert page.inner_text("#trouble") == "" and focused.get_attribute("aria-invalid") == "false"


def test_a_needed_answer_cannot_be_left_out_and_a_basket_has_its_sizes(
    page: Page, survey: tuple[str, Collector]
) -> None:
    person = Respondent(page, survey[0]).open().next()
    for name in ("age", "income"):
        person.press("#skip")
        assert name
    assert page.is_hidden("#skip")
    page.click("#next")
    assert "needs an answer" in person.trouble
    person.fill("no")
    person.next()
    person.fill(["Market", "Station", "Harbour", "Hospital"])
    page.click("#next")
    assert "1, 2, 3. Ticked: 4." in person.trouble
    assert "Ticked: 4" in page.inner_text("#asked")


def test_back_keeps_what_was_answered(page: Page, survey: tuple[str, Collector]) -> None:
    person = Respondent(page, survey[0]).open().next()
    person.fill(47)
    page.check("#level >> text=open")
    person.next()
    page.go_back()
    page.wait_for_function("() => document.title.startsWith('How old')")
    assert page.input_value("#asked input") == "47" and page.is_checked("#level label:has-text('open') input")


@pytest.mark.parametrize(
    ("language", "words"),
    [("de", ("Bevor Sie beginnen", "Frage 1 von 6", "Was gesendet wird", "Ihre Meldung")),
     ("fr", ("Avant de commencer", "Question 1 sur 6", "Ce qui sera envoyé", "Votre rapport"))],
)  # fmt: skip
def test_the_page_speaks_the_language_of_the_plan(
    page: Page, tmp_path: Path, language: str, words: tuple[str, ...]
) -> None:
    write_page(town(language=language), tmp_path, submit="reports")
    said = []
    with collecting(tmp_path) as (address, _):
        person = Respondent(page, address).open()
        assert page.get_attribute("html", "lang") == language

        def read() -> None:
            said.append(page.inner_text("main"))

        read()
        person.next()
        read()
        person.answer_rest()
        read()
        person.send()
        person.page.locator("#receipts .card").wait_for()
        read()
        for text, word in zip(said, words, strict=True):
            assert word in text
        for text in said:
            assert "device." not in text and "{" not in text.replace('{"', "") and "undefined" not in text
