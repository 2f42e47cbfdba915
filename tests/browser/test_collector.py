"""The whole loop against a running service: invited, answered, received, withdrawn; the dashboard moves; the model
comes home and classifies where there is no connection."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import sfumato as sf
from sfumato.collector.access import SCOPES, issue_invitations
from sfumato.collector.simulate import Crowd, reports_of
from sfumato.collector.store import open_store
from tests.browser.survey_page import Respondent, eventually, town
from tests.collector.serving import Running, serving, token

PEOPLE = 1500


def open_class() -> sf.Plan:
    """The town's plan with its class in the clear, so that a model can be learned."""
    spec = town().to_dict()
    bus = {key: value for key, value in spec["attributes"]["bus"].items() if key not in ("channel", "gamma")}
    return sf.Plan.from_dict({**spec, "attributes": {**spec["attributes"], "bus": bus}})


PLAN = open_class()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    store = str(tmp_path_factory.mktemp("store") / "store.db")
    with serving(store, invited=True, plan=PLAN, pause_factor=0) as running:
        yield running


def invitations(running: Running, number: int) -> list[str]:
    with open_store(running.address).connected() as connection, connection.transaction():
        return issue_invitations(connection, connection.require_survey("town"), number)


def stored(running: Running) -> int:
    with open_store(running.address).connected() as connection:
        return connection.count_reports(connection.require_survey("town").number)


def crowd(number: int) -> dict[str, Any]:
    """People of whom the young want a night bus."""
    chance = np.random.default_rng(5)
    age = chance.integers(18, 90, number)
    stops = [list(map(str, chance.choice(["Market", "Station", "Harbour"], 2, replace=False))) for _ in range(number)]
    return {
        "age": age, "income": chance.uniform(0, 200_000, number), "fare": chance.choice(["yes", "no"], number),
        "stops": stops, "district": chance.choice(["Centre", "North"], number), "bus": np.where(age < 65, "yes", "no"),
    }  # fmt: skip


def later(board: Page) -> bool:
    """So much later by the dashboard's clock that it asks again."""
    board.clock.run_for(6_000)
    return True


def test_the_whole_loop(service: Running, chromium: Browser) -> None:
    mine, *others = invitations(service, 1 + PEOPLE)
    analyst = token(service.address, *SCOPES)
    context = chromium.new_context()
    person = Respondent(context.new_page(), f"{service.url}/town/#invitation={mine}").open()
    person.answer().send().wait_for("Sent.")
    eventually(lambda: stored(service) == 1, person.page)

    board = chromium.new_context().new_page()
    board.clock.install()
    board.goto(f"{service.url}/login#{analyst['Authorization'].removeprefix('Bearer ')}")
    board.wait_for_url("**/town/dashboard")
    assert "1 report" in board.inner_text("header")

    people = Crowd(PLAN, f"{service.url}/town")
    people.send(reports_of(PLAN, crowd(PEOPLE), levels={"age": "open"}), invitations=iter(others))
    assert people.outcome.accepted == PEOPLE
    board.bring_to_front()
    eventually(lambda: later(board) and f"{PEOPLE + 1:,}" in board.inner_text("header"), board, seconds=60)

    options = {"method": "byclass", "holdout": 0}
    wanted = service.ask("POST", "/town/api/jobs", {"kind": "train", "options": options}, **analyst)
    assert wanted.status == 202, wanted.data
    job = wanted.json
    while service.ask("GET", f"/town/api/jobs/{job['id']}", **analyst).json["state"] in ("waiting", "running"):
        time.sleep(0.2)
    assert service.ask("PUT", "/town/api/model", {"job": job["id"]}, **analyst).status == 204

    person.page.reload(wait_until="networkidle")
    context.set_offline(True)
    person.answer(level=None).send()
    said = person.page.inner_text("#verdict")
    assert "yes" in said and "rule that decided" in said
    context.set_offline(False)

    person.page.click("text=Withdraw >> nth=-1")
    person.wait_for("Withdrawn.")
    eventually(lambda: stored(service) == PEOPLE, person.page)


def test_without_an_invitation_the_page_says_that_one_is_needed(service: Running, page: Page) -> None:
    person = Respondent(page, f"{service.url}/town/").open()
    person.answer().send().wait_for("invitation")
    assert "refused" in person.receipts.lower() or "not accepted" in person.receipts.lower()
