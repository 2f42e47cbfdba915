"""The respondent's page in a real browser: what leaves it, what it keeps, and what it says when something is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import sfumato as sf
from sfumato import shipping
from sfumato.client.page import write_page
from tests.browser.survey_page import (
    ANSWERS,
    Collector,
    Respondent,
    another_tab,
    collecting,
    eventually,
    saved_device,
    says,
    town,
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree that sends people of less than about 50 to the night bus, learned from true answers."""
    rng = np.random.default_rng(1)
    people = {"age": rng.integers(18, 90, 2000), "income": rng.uniform(0, 200_000, 2000)}
    learned = sf.TreeClassifier(reconstruction="none").fit(people, np.where(people["age"] < 50, "yes", "no"))
    path = tmp_path_factory.mktemp("model") / "model.json"
    shipping.save(learned, path, plan=town())
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Path:
    made = tmp_path_factory.mktemp("page")
    write_page(town(), made, submit="reports", model=model)
    return made


@pytest.fixture
def survey(folder: Path) -> Iterator[tuple[str, Collector]]:
    with collecting(folder) as found:
        yield found


# --- what leaves --------------------------------------------------------------------------------------------------


def test_what_is_shown_is_what_leaves_and_no_true_value_is_in_it(person: Respondent, collector: Collector) -> None:
    asked: list[str] = []
    person.page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    person.answer().send().wait_for("Sent.")
    (_, path, body), (sent,) = collector.requests[0], collector.posted
    shown = json.loads(body)
    assert path == "/reports" and len(collector.requests) == 1
    assert set(sent) == {"plan", "reports"} and sent["plan"] == town().identity
    assert set(sent["reports"][0]) == {"id", "report"} and len(sent["reports"][0]["id"]) == 32
    report = sent["reports"][0]["report"]
    assert list(report) == ["age", "age.level", "income", "fare", "stops", "district", "bus"]
    assert report["age.level"] == "open" and report["district"] == "Old Town"
    assert set(report["stops"]) in ({"size", "seed"}, {"size", "bitmap"}) and report["stops"]["size"] == 2
    for kept in ("31337", "Harbour", "Museum", kept_secret(person.page)):
        assert kept not in body
    assert shown == sent and asked == [f"POST {person.address}/reports"]
    assert not {"Cookie", "Referer"} & set(collector.headers[0])


def test_the_message_letter_by_letter_is_the_body_of_the_request(person: Respondent, collector: Collector) -> None:
    person.answer()
    shown = person.letters
    person.send().wait_for("Sent.")
    assert collector.requests[0][2] == shown


def test_a_double_click_sends_once(person: Respondent, collector: Collector) -> None:
    person.answer().page.dblclick("#next")
    person.wait_for("Sent.")
    assert len(collector.requests) == 1 and person.title.startswith("Your report") and not person.trouble


def test_an_answer_that_is_left_out_is_sent_as_missing(person: Respondent, collector: Collector) -> None:
    person.answer({**ANSWERS, "age": None, "stops": None}, level=None).send().wait_for("Sent.")
    report = collector.posted[0]["reports"][0]["report"]
    assert report["age"] is None and report["stops"] is None and report["income"] is not None


def test_after_a_reload_the_same_answers_are_the_same_report_and_are_not_sent_again(
    person: Respondent, collector: Collector
) -> None:
    person.answer()
    first = person.letters
    person.send().wait_for("Sent.")
    person.open().answer(level=None)
    assert person.letters == first
    person.send().wait_for("Sent.")
    person.page.wait_for_timeout(300)
    assert len(collector.requests) == 1


def test_the_level_is_locked_after_the_first_report_and_says_why(person: Respondent) -> None:
    person.answer().send().wait_for("Sent.")
    person.open().next()
    said = person.page.inner_text("#level")
    assert "at the level open" in said and "second report" in said
    assert person.page.is_disabled("#level input >> nth=0")
    assert person.page.is_checked("#level label:has-text('open') input")


# --- the outbox ---------------------------------------------------------------------------------------------------


def test_offline_then_closed_then_back_it_is_sent_once(person: Respondent, collector: Collector) -> None:
    context = person.page.context
    context.set_offline(True)
    person.answer().send().wait_for("Waiting to be sent.")
    person.page.close()
    assert not collector.requests
    context.set_offline(False)
    another_tab(context, person.address).wait_for("Sent.")
    another_tab(context, person.address).wait_for("Sent.")
    assert len(collector.requests) == 1


def test_the_page_sends_of_itself_when_the_connection_is_back(person: Respondent, collector: Collector) -> None:
    person.page.context.set_offline(True)
    person.answer().send().wait_for("Waiting to be sent.")
    person.page.context.set_offline(False)
    person.wait_for("Sent.")
    assert len(collector.requests) == 1


def test_two_tabs_send_once(person: Respondent, collector: Collector) -> None:
    collector.delay = 0.5
    other = another_tab(person.page.context, person.address)
    person.answer()
    other.answer()
    assert person.letters == other.letters
    person.send()
    other.page.bring_to_front()
    other.page.click("#next")
    other.page.locator("#trouble", has_text="Another window").wait_for()
    other.send().wait_for("Sent.")
    person.wait_for("Sent.")
    assert len(collector.requests) == 1


def test_two_tabs_that_find_a_waiting_report_send_it_once(person: Respondent, collector: Collector) -> None:
    context = person.page.context
    context.set_offline(True)
    person.answer().send().wait_for("Waiting to be sent.")
    collector.delay = 0.5
    context.set_offline(False)
    tabs = [another_tab(context, person.address) for _ in range(3)]
    for tab in (*tabs, person):
        tab.wait_for("Sent.")
    assert len(collector.requests) == 1


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (says(503), "The server answered with 503"),
        (says(200, '{"accepted": ["another"], "refused": 7}'), "made no sense"),
        (says(200, "<html>welcome</html>"), "made no sense"),
    ],
    ids=["503", "another", "html"],
)
def test_after_a_failure_or_nonsense_it_waits_says_so_and_sends_again(
    person: Respondent, collector: Collector, failure: Any, words: str
) -> None:
    collector.behave = [failure]
    person.page.clock.install()
    person.answer().send().wait_for(words)
    assert "Waiting to be sent." in person.receipts
    eventually(lambda: later(person, 3) and len(collector.requests) == 2, person.page)
    person.wait_for("Sent.")
    assert [method for method, _, _ in collector.requests] == ["POST", "POST"]
    assert collector.posted[0] == collector.posted[1] and len(collector.stored) == 1


def test_the_server_says_when_to_come_back_and_is_not_asked_before(person: Respondent, collector: Collector) -> None:
    collector.behave = [says(429, Retry_After="3600")]
    person.page.clock.install()
    person.answer().send().wait_for("The server answered with 429")
    for _ in range(3):
        assert later(person, 600) and len(collector.requests) == 1
    eventually(lambda: later(person, 3600) and len(collector.requests) == 2, person.page)
    person.wait_for("Sent.")
    assert len(collector.requests) == 2


def later(person: Respondent, seconds: int) -> bool:
    """So much later by the page's clock, and once whoever sends has looked whether it is time."""
    person.page.clock.fast_forward(1_000 * seconds)
    person.page.evaluate("navigator.locks.request('sfumato', () => null)")
    return True


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (says(409, '{"reason": "the survey is closed"}'), "the survey is closed"),
        (says(400), "The server answered with 400"),
        (None, "two people of one name"),
    ],
    ids=["409", "400", "listed"],
)
def test_a_refusal_is_shown_and_final(person: Respondent, collector: Collector, refusal: Any, words: str) -> None:
    def listed() -> tuple[int, dict[str, str], str]:
        refused = {"id": collector.posted[0]["reports"][0]["id"], "reason": "two people of one name"}
        return 200, {}, json.dumps({"accepted": [], "refused": [refused]})

    collector.behave = [refusal or listed]
    person.answer().send().wait_for("Refused")
    assert words in person.receipts
    person.open().wait_for(words)
    person.page.wait_for_timeout(500)
    assert len(collector.requests) == 1


# --- withdrawing --------------------------------------------------------------------------------------------------


def test_a_report_is_withdrawn_and_stays_counted(person: Respondent, collector: Collector) -> None:
    person.answer().send().wait_for("Sent.")
    (number,) = collector.stored
    assert number in person.receipts and "goes on counting it as told" in person.receipts
    person.page.click("text=Withdraw >> nth=-1")
    person.wait_for("Withdrawn.")
    assert collector.requests[-1][:2] == ("DELETE", f"/reports/{number}") and not collector.stored
    person.open().answer(level=None)
    assert "You have told" in (person.page.locator("#sofar").text_content() or "")


def test_what_has_never_left_is_withdrawn_without_a_request(person: Respondent, collector: Collector) -> None:
    person.page.context.set_offline(True)
    person.answer().send().wait_for("Waiting to be sent.")
    person.page.click("text=Withdraw >> nth=-1")
    person.wait_for("Withdrawn.")
    person.page.context.set_offline(False)
    person.page.wait_for_timeout(300)
    assert not collector.requests


def test_a_report_withdrawn_while_it_is_under_way_is_deleted_after_it_has_arrived(
    person: Respondent, collector: Collector
) -> None:
    collector.delay = 100
    person.answer().send().wait_for("Waiting to be sent.")
    eventually(lambda: bool(collector.requests), person.page)
    person.page.click("text=Withdraw >> nth=-1")
    collector.gate.set()
    person.wait_for("Withdrawn.")
    assert [method for method, _, _ in collector.requests] == ["POST", "DELETE"] and not collector.stored


def test_a_collector_that_does_not_withdraw_is_said(person: Respondent, collector: Collector) -> None:
    person.answer().send().wait_for("Sent.")
    collector.behave = [says(405)]
    person.page.click("text=Withdraw >> nth=-1")
    person.wait_for("has not withdrawn it. The server answered with 405")


# --- the ledger ---------------------------------------------------------------------------------------------------


def test_the_total_is_shown_before_sending(person: Respondent, survey: tuple[str, Collector]) -> None:
    person.answer()
    told = person.page.inner_text("#with")
    assert f"You have told {survey[0]} your blurred or clear answers to age, income, fare" in told
    assert "Nothing has been told." in (person.page.locator("#sofar").text_content() or "")
    assert "multiply the odds" in told or "add a factor of at most" in told


def test_a_changed_answer_goes_beyond_the_limit_until_the_person_permits_it(
    person: Respondent, collector: Collector
) -> None:
    person.answer().send().wait_for("Sent.")
    person.open().answer({**ANSWERS, "age": 61, "district": "North"}, level=None)  # 61 alone may be blurred as 47 was
    assert "beyond your limit" in person.trouble and "age" in person.trouble
    assert person.page.is_hidden("#next") and person.page.locator("#device").get_attribute("open") is not None
    person.page.fill("#times", "2")
    person.page.click("#limit button")
    person.page.locator("#next").wait_for()
    person.send()
    eventually(lambda: len(collector.stored) == 2, person.page)
    assert len({one["reports"][0]["id"] for one in collector.posted}) == 2


def test_a_limit_in_percent_refuses_and_a_bad_one_is_announced(person: Respondent, collector: Collector) -> None:
    person.page.click("#device summary")
    person.page.fill("#belief", "3")
    person.page.click("#limit button")
    person.page.locator("#trouble", has_text="from 6 to 99").wait_for()
    person.page.fill("#belief", "50")
    person.page.click("#limit button")
    person.page.locator("#trouble", has_text="The limit is set").wait_for()
    person.answer()
    assert "beyond your limit" in person.trouble and "at most 19" in person.trouble
    assert person.page.is_hidden("#next") and not collector.requests


# --- the model ----------------------------------------------------------------------------------------------------


def test_the_model_classifies_offline_with_the_rule_that_decided(person: Respondent) -> None:
    person.page.wait_for_timeout(200)
    person.page.context.set_offline(True)
    person.answer().send()
    said = person.page.inner_text("#verdict")
    assert "yes" in said and "rule that decided" in said and "age" in said


# --- the secret ---------------------------------------------------------------------------------------------------


def kept_secret(page: Page) -> str:
    """The device's secret as hexadecimal digits, as the page saves it."""
    return str(json.loads(saved_device(page).read_text())["secret"])


def test_secret_and_ledger_saved_and_restored_in_a_fresh_browser_give_the_same_report(
    person: Respondent, chromium: Browser
) -> None:
    person.answer()
    first = person.letters
    person.send().wait_for("Sent.")
    saved = saved_device(person.page)
    fresh = chromium.new_context()
    other = Respondent(fresh.new_page(), person.address).open()
    other.page.click("#device summary")
    other.page.set_input_files("#restore", saved)
    other.page.locator("#trouble", has_text="Restored.").wait_for()
    other.answer(level=None)
    assert other.letters == first and "You have told" in (other.page.locator("#sofar").text_content() or "")
    fresh.close()


def test_python_reads_what_the_page_saved_and_makes_the_same_report(person: Respondent) -> None:
    person.answer()
    report = json.loads(person.letters)["reports"][0]["report"]
    person.send().wait_for("Sent.")
    saved = json.loads(saved_device(person.page).read_text())
    ledger = sf.Ledger.loads(json.dumps(saved["ledger"]))
    device = sf.Device(bytes.fromhex(saved["secret"]), ledger)
    again = device.answer(town(), ANSWERS, collector=person.address, levels={"age": "open"})
    for name in ("age", "age.level", "income", "fare", "district", "bus"):
        assert again[name] == report[name]
    assert len(ledger.entries) == len(ANSWERS)


WRONG = {
    "empty": "", "an object": "{}", "a list": "[1]", "bytes": "\x00\x01",
    "newer": '{"device": 2, "secret": "00", "ledger": {}}',
    "a newer ledger": json.dumps({"device": 1, "secret": "00" * 16, "ledger": {"ledger": 2, "limit": {}, "told": []}}),
    "a short secret": json.dumps({"device": 1, "secret": "short", "ledger": json.loads(sf.Ledger().dumps())}),
}  # fmt: skip


def test_a_wrong_secret_file_is_refused_and_nothing_changes(person: Respondent, tmp_path: Path) -> None:
    before = kept_secret(person.page)
    for name, text in WRONG.items():
        (tmp_path / f"{name}.json").write_text(text)
        person.page.evaluate("document.getElementById('trouble').textContent = ''")
        person.page.set_input_files("#restore", tmp_path / f"{name}.json")
        person.page.locator("#trouble", has_text="Nothing was restored").wait_for()
    assert kept_secret(person.page) == before


def test_restoring_forgets_nothing_that_this_device_has_told(person: Respondent, tmp_path: Path) -> None:
    person.answer().send().wait_for("Sent.")
    other = {"device": 1, "secret": "ab" * 32, "ledger": json.loads(sf.Ledger().dumps())}
    (tmp_path / "other.json").write_text(json.dumps(other))
    person.page.evaluate("document.getElementById('device').open = true")
    person.page.set_input_files("#restore", tmp_path / "other.json")
    person.page.locator("#trouble", has_text="Restored.").wait_for()
    saved = json.loads(saved_device(person.page).read_text())
    assert saved["secret"] == "ab" * 32 and len(saved["ledger"]["told"]) == len(ANSWERS)
