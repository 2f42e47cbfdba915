"""The page when something is wrong: a sentence each, nothing lost, nothing sent twice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from sfumato.client.page import write_page
from tests.browser.survey_page import Collector, Respondent, collecting, town

FORBIDDEN = "IDBFactory.prototype.open = () => { throw new DOMException('denied', 'SecurityError'); };"
FULL = """
const put = IDBObjectStore.prototype.put;
IDBObjectStore.prototype.put = function (...given) {
  const asked = put.apply(this, given);
  if (window.isFull) this.transaction.abort();
  return asked;
};"""
"""A browser's own ways to fail, since no test can fill a disk."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_page(SMALL, tmp_path / "page", submit="reports")
    return tmp_path / "page"


SMALL = town(attributes={"age": town().to_dict()["attributes"]["age"]})


@pytest.fixture
def survey(folder: Path) -> Iterator[tuple[str, Collector]]:
    with collecting(folder) as found:
        yield found


def opened(page: Page, survey: tuple[str, Collector]) -> Respondent:
    return Respondent(page, survey[0]).open()


def damage(folder: Path, edit: Any) -> None:
    path = folder / "survey.json"
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))


DAMAGED = {
    "gamma": (lambda document: document["questions"][0]["levels"]["open"].update(gamma="x"), "cannot be read"),
    "domain": (lambda document: document["questions"][0]["domain"].update(high=91), "cannot be read"),
    "newer program": (lambda document: document["questions"][0]["program"].update(program=2), "version"),
    "newer survey": (lambda document: document.update(survey=3), "version"),
    "no questions": (lambda document: document.pop("questions"), "cannot be read"),
    "collector": (lambda document: document.update(collector="https://town.example"), "it names https://town.example"),
}


def test_a_damaged_or_newer_survey_is_refused_in_a_sentence(
    page: Page, folder: Path, survey: tuple[str, Collector]
) -> None:
    whole = (folder / "survey.json").read_text()
    for name, (edit, words) in DAMAGED.items():
        (folder / "survey.json").write_text(whole)
        damage(folder, edit)
        opened(page, survey)
        assert words in page.inner_text("#broken") and page.is_hidden("#all"), name
    assert not survey[1].requests


def test_a_survey_that_is_no_document_is_refused(page: Page, folder: Path, survey: tuple[str, Collector]) -> None:
    for text in ("", "<html>", '{"survey": 1'):
        (folder / "survey.json").write_text(text)
        opened(page, survey)
        assert page.inner_text("#broken") and page.is_hidden("#all")


@pytest.mark.parametrize("text", ["{}", '{"format": "sfumato-model", "version": 99}'], ids=["other", "newer"])
def test_a_damaged_model_is_said_and_the_report_is_sent_all_the_same(
    page: Page, folder: Path, survey: tuple[str, Collector], text: str
) -> None:
    damage(folder, lambda document: document.update(model="model.json"))
    (folder / "model.json").write_text(text)
    person = opened(page, survey).answer({"age": 47}).send().wait_for("Sent.")
    assert "The model cannot be used; your report is not affected." in person.page.inner_text("#verdict")


def test_without_storage_the_page_works_and_says_what_that_means(page: Page, survey: tuple[str, Collector]) -> None:
    page.add_init_script(FORBIDDEN)
    person = opened(page, survey)
    assert "cannot store anything" in page.inner_text("#notice")
    person.answer({"age": 47})
    assert "cannot store anything" in page.inner_text("#notice")
    person.send().wait_for("Sent.")
    assert len(survey[1].requests) == 1


def test_a_storage_that_is_full_when_it_matters_is_said_and_the_report_is_sent_once(
    page: Page, survey: tuple[str, Collector]
) -> None:
    page.add_init_script(FULL)
    person = opened(page, survey).answer({"age": 47})
    page.evaluate("window.isFull = true")
    person.send().wait_for("Sent.")
    assert "cannot store anything" in page.inner_text("#notice")
    page.evaluate("document.getElementById('device').open = true")
    with page.expect_download() as download:
        page.click("#save")
    assert len(json.loads(Path(download.value.path()).read_text())["ledger"]["told"]) == 1
    page.evaluate("window.isFull = false")
    assert len(survey[1].requests) == 1


def test_without_web_crypto_the_page_says_so_and_stops(survey: tuple[str, Collector], chromium: Browser) -> None:
    """Plain HTTP from another host than this one: what a browser calls insecure, by a name that leads to loopback."""
    port = survey[0].rpartition(":")[2]
    rules = "--host-resolver-rules=MAP town.example 127.0.0.1"
    browser = chromium.browser_type.launch(executable_path=shutil.which("chromium"), args=[rules])
    person = Respondent(browser.new_page(), f"http://town.example:{port}").open()
    assert "open it with https" in person.page.inner_text("#broken") and person.page.is_hidden("#all")
    browser.close()


def test_nothing_but_its_own_files_and_the_collector_can_be_reached(page: Page, survey: tuple[str, Collector]) -> None:
    opened(page, survey)
    tried = page.evaluate("fetch('http://127.0.0.1:9/').catch((error) => error.name)")
    refused = page.evaluate("""(() => {
      try {
        document.body.append(Object.assign(document.createElement("script"), { textContent: "window.ran = true" }));
      } catch (error) {
        return error.message;
      }
    })()""")
    assert tried == "TypeError" and "TrustedScript" in refused and page.evaluate("window.ran") is None


def test_without_an_address_the_report_is_saved_as_a_file(page: Page, tmp_path: Path) -> None:
    write_page(SMALL, tmp_path)
    with collecting(tmp_path) as (address, collector):
        person = Respondent(page, address).open()
        assert "This page sends nothing." in page.inner_text("#whom")
        person.answer({"age": 47})
        shown = person.letters
        with page.expect_download() as download:
            page.click("#next")
        person.wait_for("Saved as a file.")
        assert Path(download.value.path()).read_text() == shown and not collector.requests
        assert f"told {address}" in (page.locator("#with").text_content() or "")
