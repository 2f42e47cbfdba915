"""What a stolen store shows: no true answer, no address, no user agent, no invitation beside a report, no order."""

from __future__ import annotations

import http.client
import json
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato.collector.access import issue_invitations
from sfumato.collector.store import open_store
from tests.collector.serving import Running, serving
from tests.statistics import FALSE_ALARM

PEOPLE, AT_ONCE = 10_000, 250
ADDRESS, AGENT, MARK = "203.0.113.77", "Peculiar/7.3 (walnut)", "x-forwarded-for"
TRUE = {"confession": "bergamot-and-thistle", "age": 41}
PLAN = sf.Plan.loads(
    f"""
name = "town"
[attributes.confession]
categories = ["{TRUE['confession']}", "no"]
channel = "randomized-response"
gamma = 19
[attributes.age]
low = 0
high = 100
channel = "square-wave"
gamma = 9
"""
)


def send(running: Running, sent: list[dict[str, Any]]) -> None:
    line = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    headers = {"Content-Type": "application/json", "User-Agent": AGENT, MARK: ADDRESS}
    line.request("POST", "/town/reports", json.dumps({"plan": PLAN.identity, "reports": sent}), headers)
    answer = line.getresponse()
    assert answer.status == 200 and not json.loads(answer.read())["refused"]
    line.close()


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[str], list[str]]]:
    """The folder of a store after 10,000 answers, the invitations used and the ids in the order of arrival."""
    folder = tmp_path_factory.mktemp("stolen")
    address = str(folder / "store.db")
    with serving(address, invited=True, plan=PLAN) as running:
        with open_store(address).connected() as connection, connection.transaction():
            codes = issue_invitations(connection, connection.require_survey("town"), PEOPLE)
        people = {"confession": np.array([TRUE["confession"]] * PEOPLE), "age": np.full(PEOPLE, TRUE["age"])}
        blurred = PLAN.randomize(people)
        sent = [
            {
                "id": secrets.token_hex(16),
                "invitation": codes[place],
                "report": {"confession": str(blurred["confession"][place]), "age": float(blurred["age"][place])},
            }
            for place in range(PEOPLE)
        ]
        with ThreadPoolExecutor(2) as senders:
            list(senders.map(lambda at: send(running, sent[at : at + AT_ONCE]), range(0, PEOPLE, AT_ONCE)))
        yield folder, codes, [each["id"] for each in sent]


def stolen(folder: Path) -> dict[str, bytes]:
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert sum(map(len, found.values())) > 100_000
    return found


def test_no_file_holds_a_true_answer_an_address_or_an_agent(after: tuple[Path, list[str], list[str]]) -> None:
    folder, codes, ids = after
    for name, data in stolen(folder).items():
        beside_the_plan = data.replace(PLAN.to_json().encode(), b"")
        assert str(TRUE["confession"]).encode() not in beside_the_plan, f"{name}: an answer"
        for word in (ADDRESS, AGENT, "walnut", "127.0.0.1", MARK):
            assert word.encode() not in data, (name, word)
        assert not any(code.encode() in data for code in codes[:200]), f"{name}: an invitation as it was sent"
        assert not any(id.encode() in data for id in ids[:200]), f"{name}: an id as text, as it is in no table"


def test_an_invitation_and_a_report_stand_in_no_row_together(after: tuple[Path, list[str], list[str]]) -> None:
    folder, _, _ = after
    with open_store(str(folder / "store.db")).connected() as connection:
        for table in ("reports", "invitations"):
            columns = {row[1] for row in connection.rows(f"PRAGMA table_info({table})")}
            assert columns == {"reports": {"survey", "id", "body"}, "invitations": {"survey", "code", "used"}}[table]
        assert connection.invitations(connection.require_survey("town").number) == (PEOPLE, PEOPLE)


def test_the_order_of_rows_is_not_the_order_of_arrival(after: tuple[Path, list[str], list[str]]) -> None:
    """Spearman's rank correlation of place and arrival; a false alarm at the rate that all sampling tests have."""
    folder, _, ids = after
    arrived = {id: place for place, id in enumerate(ids)}
    with open_store(str(folder / "store.db")).connected() as connection:
        rows = [bytes(id).hex() for (id,) in connection.rows("SELECT id FROM reports")]
    assert len(rows) == PEOPLE
    assert stats.spearmanr(range(PEOPLE), [arrived[id] for id in rows]).pvalue > FALSE_ALARM


def test_after_tidying_the_file_shows_no_order_and_nothing_withdrawn(after: tuple[Path, list[str], list[str]]) -> None:
    """Where each row lies in the file, against when it came."""
    folder, _, ids = after
    store = open_store(str(folder / "store.db"))
    with store.connected() as connection, connection.transaction():
        assert connection.withdraw(connection.require_survey("town").number, bytes.fromhex(ids[0]))
    store.tidy()
    data = (folder / "store.db").read_bytes()
    places = [data.find(bytes.fromhex(id)) for id in ids[1:]]
    assert min(places) > 0
    assert stats.spearmanr(places, range(len(places))).pvalue > FALSE_ALARM
