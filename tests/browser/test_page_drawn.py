"""The page of a plan whose devices draw the questions: it asks those alone, and they are the ones that Python draws."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

import sfumato as sf
from sfumato import shipping
from sfumato.client.page import write_page
from tests.browser.survey_page import ANSWERS, Collector, Respondent, collecting, eventually, saved_device, town

EACH = 2
ALWAYS = ("district", "bus")


def drawing(**changes: Any) -> sf.Plan:
    """The town's questions, two of the four that are blurred drawn on the device; none needs an answer."""
    spec = town(**changes).to_dict()
    del spec["attributes"]["fare"]["missing"]
    return sf.Plan.from_dict({**spec, "questions_each": EACH})


PLAN = drawing()
QUESTIONS = {each.question: name for name, each in PLAN.attributes.items()}


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[tuple[str, Collector]]:
    write_page(PLAN, tmp_path / "page", submit="reports")
    with collecting(tmp_path / "page") as found:
        yield found


def answer_rest(person: Respondent, answers: dict[str, Any] = ANSWERS) -> list[str]:
    """From a question to the summary, whatever is asked; the questions that were."""
    asked = []
    while (title := person.title.rpartition(" – ")[0]) in QUESTIONS:
        asked.append(QUESTIONS[title])
        person.fill(answers[asked[-1]])
        person.next()
    return asked


def report_of(person: Respondent) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(person.letters)["reports"][0]["report"]
    return found


def restore(person: Respondent, secret: str, folder: Path) -> None:
    (folder / "device.json").write_text(
        json.dumps({"device": 1, "secret": secret, "ledger": json.loads(sf.Ledger().dumps())})
    )
    person.page.evaluate("document.getElementById('device').open = true")
    person.page.set_input_files("#restore", folder / "device.json")
    person.page.locator("#trouble", has_text="Restored.").wait_for()


def asks(secret: str, person: Respondent) -> tuple[str, ...]:
    return sf.Device(bytes.fromhex(secret), sf.Ledger()).asks(PLAN, collector=person.address)


def test_only_the_drawn_questions_are_asked_and_the_message_has_null_for_the_others(
    person: Respondent, collector: Collector
) -> None:
    said = person.page.inner_text("main")
    assert "Your device has drawn 2 of 4 questions for you, by chance; which ones depends on nothing" in said
    person.next()
    assert "Question 1 of 4" in person.page.inner_text("#asked")
    asked = answer_rest(person)
    report = report_of(person)
    assert len(asked) == EACH + len(ALWAYS) and set(ALWAYS) < set(asked)
    assert list(report) == ["age", "age.level", "income", "fare", "stops", "district", "bus"]
    assert {name for name in PLAN.columns if report[name] is not None} == set(asked)
    assert report["age.level"] == "private"
    assert person.page.locator("#rows tr").count() == len(asked)
    assert "You answer 2 of these 4 questions" in (person.page.locator("#together").text_content() or "")
    person.send().wait_for("Sent.")
    assert collector.posted[0]["reports"][0]["report"] == report


def test_python_draws_the_same_questions_and_makes_and_remembers_the_same(person: Respondent) -> None:
    asked = answer_rest(person.next())
    report = report_of(person)
    person.send().wait_for("Sent.")
    saved = json.loads(saved_device(person.page).read_text())
    device = sf.Device(bytes.fromhex(saved["secret"]), sf.Ledger())
    assert device.asks(PLAN, collector=person.address) == tuple(asked)
    assert device.reply(PLAN, ANSWERS, collector=person.address).report == report
    told = sf.Ledger.loads(json.dumps(saved["ledger"]))
    assert [each.attribute for each in told.entries] == asked == [each.attribute for each in device.ledger.entries]
    assert told.total().gamma == device.ledger.total().gamma
    assert f"your blurred or clear answers to {asked[0]}, {asked[1]}, district and bus" in str(told.total())


def test_after_a_reload_the_same_questions_give_the_same_report_and_it_is_sent_once(
    person: Respondent, collector: Collector
) -> None:
    asked = answer_rest(person.next())
    first = person.letters
    person.send().wait_for("Sent.")
    assert answer_rest(person.open().next()) == asked and person.letters == first
    person.send().wait_for("Sent.")
    person.page.wait_for_timeout(300)
    assert len(collector.requests) == 1


def test_another_secret_draws_others_and_what_they_ask_is_asked_before_anything_is_sent(
    person: Respondent, collector: Collector, tmp_path: Path
) -> None:
    asked = answer_rest(person.next())
    other = next(key for key in iter(lambda: secrets.token_hex(32), "") if not set(asks(key, person)[:2]) & set(asked))
    restore(person, other, tmp_path)
    assert QUESTIONS[person.title.rpartition(" – ")[0]] == asks(other, person)[0]
    new = answer_rest(person)
    assert new == [*asks(other, person)] and not collector.requests
    assert {name for name in PLAN.columns if report_of(person)[name] is not None} == set(new)


def test_a_limit_counts_the_questions_that_are_asked_and_holds_for_a_changed_answer(
    person: Respondent, collector: Collector, tmp_path: Path
) -> None:
    first = next(key for key in iter(lambda: secrets.token_hex(32), "") if asks(key, person)[0] == "age")
    restore(person, first, tmp_path)
    answer_rest(person.next())
    person.send().wait_for("Sent.")
    answer_rest(person.open().next(), {**ANSWERS, "age": 61, "district": "North"})
    assert "beyond your limit" in person.trouble and "age" in person.trouble and person.page.is_hidden("#next")
    person.page.fill("#times", "2")
    person.page.click("#limit button")
    person.page.locator("#next").wait_for()
    person.send()  # the receipt of the first is there already
    eventually(lambda: len({one["reports"][0]["id"] for one in collector.posted}) == 2, person.page)


@pytest.mark.parametrize(
    ("language", "words"),
    [("de", "Ihr Gerät hat 2 von 4 Fragen für Sie ausgelost; welche, hängt von nichts ab, was Sie antworten."),
     ("fr", "Votre appareil a tiré au sort, parmi 4 questions, 2 pour vous ; ce tirage ne dépend en rien de vos")],
)  # fmt: skip
def test_the_start_says_so_in_the_language_of_the_plan(page: Page, tmp_path: Path, language: str, words: str) -> None:
    write_page(drawing(language=language), tmp_path, submit="reports")
    with collecting(tmp_path) as (address, _):
        Respondent(page, address).open()
        assert words in page.inner_text("main")


def test_where_nothing_is_drawn_nothing_is_said_of_it(page: Page, tmp_path: Path) -> None:
    write_page(town(), tmp_path, submit="reports")
    with collecting(tmp_path) as (address, _):
        Respondent(page, address).open()
        assert page.is_hidden("#drawn") and "drawn" not in page.inner_text("main")


def test_the_model_takes_what_was_not_asked_as_missing(page: Page, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    people = {"age": rng.integers(18, 90, 2000), "income": rng.uniform(0, 200_000, 2000)}
    holes = {name: np.where(rng.random(2000) < 0.5, values, np.nan) for name, values in people.items()}
    learned = sf.TreeClassifier(reconstruction="none").fit(holes, np.where(people["age"] < 50, "yes", "no"))
    shipping.save(learned, tmp_path / "model.json", plan=PLAN)
    write_page(PLAN, tmp_path / "page", submit="reports", model=tmp_path / "model.json")
    with collecting(tmp_path / "page") as (address, _):
        person = Respondent(page, address).open().next()
        answer_rest(person)
        person.send()
        assert "with a probability of" in page.inner_text("#verdict")
