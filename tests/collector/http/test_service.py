"""The public service as a process: what it tells, what it takes, what it refuses, and what it never keeps."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.client import Device, Ledger, Outbox, survey
from sfumato.collector.access import issue_invitations
from sfumato.collector.background.writer import Writer
from sfumato.collector.form import ReportForm
from sfumato.collector.http.messages import MOST_REPORTS
from sfumato.collector.http.service import Service
from sfumato.collector.refusals import RefusedError
from sfumato.collector.settings import Settings
from sfumato.collector.store import day, open_store
from tests.collector.analysts import until
from tests.collector.serving import PLAN, Running, batch, reports, serving, token


@pytest.fixture
def town(address: str) -> Iterator[Running]:
    with serving(address) as running:
        yield running


@pytest.fixture
def watchful(address: str) -> Iterator[Running]:
    """It looks often what others have changed."""
    with serving(address, look_seconds=0.05) as running:
        yield running


@pytest.fixture(scope="module")
def anywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """For tests that leave nothing behind: one service for all of them."""
    with serving(str(tmp_path_factory.mktemp("store") / "store.db")) as running:
        yield running


def stored(running: Running, name: str = "town") -> int:
    with open_store(running.address).connected() as connection:
        return connection.count_reports(connection.require_survey(name).number)


def tallies(running: Running, name: str = "town") -> dict[str, int]:
    """Tallies of today; the service ends first, so that all it has counted is written."""
    running.end()
    with open_store(running.address).connected() as connection:
        return {what: number for _, what, number in connection.tallies(connection.require_survey(name).number)}


def test_a_survey_tells_what_a_device_needs(anywhere: Running) -> None:
    document = anywhere.ask("GET", "/town/survey.json").json
    assert document == survey(PLAN, submit="reports")
    told = anywhere.ask("GET", "/town/plan").json
    assert told["identity"] == PLAN.identity == sf.Plan.from_dict(told["plan"]).identity
    programs = anywhere.ask("GET", "/town/program").json["programs"]
    assert programs["smokes"]["identity"] == document["questions"][0]["mechanism"]
    assert anywhere.ask("GET", "/town/guarantee").json["together"] == document["together"]
    page = anywhere.ask("GET", "/town/")
    assert page.headers["content-type"].startswith("text/html") and b"page.js" in page.data
    assert anywhere.ask("GET", "/town/page.js").headers["content-type"].startswith("text/javascript")
    assert anywhere.ask("HEAD", "/town/plan").data == b""


def test_reports_are_stored_once_however_often_they_are_sent(town: Running) -> None:
    sent = reports(30)
    for _ in range(2):
        verdict = town.ask("POST", "/town/reports", batch(*sent))
        assert verdict.status == 200 and verdict.json == {"accepted": [each["id"] for each in sent], "refused": []}
    one = sent[0]
    again = town.ask("PUT", f"/town/reports/{one['id']}", {"plan": PLAN.identity, "report": one["report"]})
    assert again.status == 200 and again.json["accepted"] == [one["id"]]
    with open_store(town.address).connected() as connection:
        number = connection.require_survey("town").number
        table = ReportForm(PLAN).table([row for page in connection.reports(number) for row in page])
    assert table.num_rows == 30 and sorted(table["group"].to_pylist()) == sorted(e["report"]["group"] for e in sent)


def test_another_report_under_an_id_is_a_conflict(town: Running) -> None:
    first, other = reports(2)
    other["id"] = first["id"]
    other["report"]["smokes"] = "no" if first["report"]["smokes"] == "yes" else "yes"
    assert town.ask("POST", "/town/reports", batch(first)).status == 200
    refused = town.ask("POST", "/town/reports", batch(other))
    assert refused.status == 409 and refused.json["refused"][0]["reason"] == "another report has this id"
    alone = {"plan": PLAN.identity, "report": other["report"]}
    assert town.ask("PUT", f"/town/reports/{first['id']}", alone).status == 409
    (fresh,) = reports(1, seed=2)
    mixed = town.ask("POST", "/town/reports", batch(fresh, other))
    assert mixed.status == 200 and mixed.json["accepted"] == [fresh["id"]] and len(mixed.json["refused"]) == 1
    assert stored(town) == 2 and tallies(town)["refused: conflict"] == 3


def test_a_report_can_be_withdrawn_and_stays_so(town: Running) -> None:
    (sent,) = reports(1)
    town.ask("POST", "/town/reports", batch(sent))
    where = f"/town/reports/{sent['id']}"
    assert town.ask("DELETE", where).status == 204
    assert town.ask("DELETE", where).status == 404
    back = town.ask("POST", "/town/reports", batch(sent))
    assert back.status == 409 and "withdrawn" in back.json["refused"][0]["reason"]
    assert stored(town) == 0


def test_each_bad_report_of_a_batch_is_refused_for_itself(town: Running) -> None:
    good, bad, worse = reports(3)
    bad["report"]["age"] = 1234.5
    del worse["report"]["group"]
    verdict = town.ask("POST", "/town/reports", batch(good, bad, worse))
    assert verdict.status == 200 and verdict.json["accepted"] == [good["id"]]
    assert [each["reason"] for each in verdict.json["refused"]] == [
        "age: not a report of this plan", "the report and the plan differ in 'group'",
    ]  # fmt: skip
    assert town.ask("POST", "/town/reports", batch(bad)).status == 422
    assert stored(town) == 1 and tallies(town)["refused: report"] == 3


GOOD = reports(1)[0]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b'{"plan": 1}', b"[" * 100_000,
        {"plan": PLAN.identity}, {"plan": PLAN.identity, "reports": []}, {"plan": "abc", "reports": [GOOD]},
        {"plan": PLAN.identity, "reports": [GOOD], "extra": 1},
        {"plan": PLAN.identity, "reports": [GOOD | {"id": "x"}]},
        {"plan": PLAN.identity, "reports": [GOOD | {"id": GOOD["id"].upper()}]},
        {"plan": PLAN.identity, "reports": [GOOD | {"id": GOOD["id"] + "\n"}]},
        {"plan": PLAN.identity, "reports": [{"id": GOOD["id"]}]},
        {"plan": PLAN.identity, "reports": [GOOD | {"at": 12}]},
        {"plan": PLAN.identity, "reports": [{"id": GOOD["id"], "report": {"age": [1]}}]},
        {"plan": PLAN.identity, "reports": reports(MOST_REPORTS + 1)},
    ],
)  # fmt: skip
def test_what_is_not_a_batch_is_refused_in_a_sentence(anywhere: Running, body: Any) -> None:
    before = stored(anywhere)
    refused = anywhere.ask("POST", "/town/reports", body)
    assert refused.status == 400 and refused.json["reason"].startswith("the request is not of the form")
    assert stored(anywhere) == before


def test_reports_of_another_plan_are_refused(anywhere: Running) -> None:
    refused = anywhere.ask("POST", "/town/reports", batch(*reports(1), plan="0" * 64))
    assert refused.status == 409 and "another plan" in refused.json["reason"]


def test_too_much_is_refused_and_the_endless_hung_up_on(anywhere: Running) -> None:
    refused = anywhere.ask("POST", "/town/reports", b" " * (Settings().body_bytes + 1))
    assert refused.status == 413 and "fewer reports" in refused.json["reason"]
    with socket.create_connection(("127.0.0.1", anywhere.port)) as line:
        line.sendall(b"POST /town/reports HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        line.settimeout(20)
        with suppress(ConnectionError):  # hung up on
            while True:
                line.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


def test_a_body_that_drips_is_given_up_on(tmp_path: Path) -> None:
    store, began = str(tmp_path / "store.db"), time.monotonic()
    with serving(store, body_seconds=1.0) as running, socket.create_connection(("127.0.0.1", running.port)) as line:
        line.sendall(b"POST /town/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        line.settimeout(40)
        assert b" 408" in line.recv(1000)
        assert time.monotonic() - began > 1.0


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404), ("GET", "/nowhere/plan", 404), ("GET", "/nowhere/", 404), ("GET", "/town/secret.txt", 404),
        ("GET", "/town/..%2fpage.py", 404), ("GET", "/a/b/c/d", 404), ("GET", "/town/model.json", 404),
        ("PATCH", "/town/reports", 405), ("GET", "/town/reports", 405), ("POST", "/town/plan", 405),
        ("DELETE", "/town/reports/xyz", 400), ("PUT", "/town/reports/xyz", 400), ("POST", "/nowhere/reports", 404),
        ("DELETE", f"/town/reports/{'0' * 32}", 404), ("GET", "/metrics", 401),
    ],
)  # fmt: skip
def test_every_refusal_is_a_sentence(anywhere: Running, method: str, path: str, status: int) -> None:
    body = {"plan": PLAN.identity, "report": GOOD["report"]} if method in ("PUT", "POST") else None
    found = anywhere.ask(method, path, body)
    assert found.status == status and len(found.json["reason"]) > 10


def test_a_page_from_elsewhere_may_send_and_read_when_to_try_again(anywhere: Running) -> None:
    asked = anywhere.ask("OPTIONS", "/town/reports", Origin="https://elsewhere.example")
    assert asked.status == 204 and "POST" in asked.headers["access-control-allow-methods"]
    sent = anywhere.ask("POST", "/town/reports", b"", Origin="https://elsewhere.example")
    assert sent.headers["access-control-allow-origin"] == "*"
    assert sent.headers["access-control-expose-headers"] == "Retry-After"
    assert "frame-ancestors 'none'" in anywhere.ask("GET", "/town/").headers["content-security-policy"]
    assert "access-control-allow-origin" not in anywhere.ask("GET", "/metrics").headers


def test_invitations_are_single_use(address: str) -> None:
    with serving(address, invited=True) as running:
        with open_store(address).connected() as connection, connection.transaction():
            (code,) = issue_invitations(connection, connection.require_survey("town"), 1)
        first, second = reports(2)
        assert running.ask("POST", "/town/reports", batch(first)).status == 403
        for _ in range(2):
            assert running.ask("POST", "/town/reports", batch(first | {"invitation": code})).status == 200
        used = running.ask("POST", "/town/reports", batch(second | {"invitation": code}))
        assert used.status == 403 and "used" in used.json["refused"][0]["reason"]
        assert stored(running) == 1


def test_a_survey_opened_or_closed_elsewhere_is_noticed(watchful: Running) -> None:
    store, (late,) = open_store(watchful.address), reports(1)
    with store.connected() as connection, connection.transaction():
        connection.close_survey("town")
        connection.open_survey("village", PLAN)
    closed = watchful.ask("POST", "/town/reports", batch(late))
    assert closed.status == 403 and closed.json["refused"][0]["reason"] == "the survey is closed"
    until(lambda: watchful.ask("GET", "/village/plan").status == 200)
    assert watchful.ask("GET", "/town/plan").json["state"] == "closed"
    assert watchful.ask("POST", "/village/reports", batch(late)).status == 200


def test_health_writes_and_reads(anywhere: Running) -> None:
    for _ in range(3):
        assert anywhere.ask("GET", "/health").json == {"status": "ok"}


def test_many_who_ask_for_its_health_at_once_cost_one_canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written, run = list[Any](), Writer.run

    async def counted(writer: Writer, work: Any) -> Any:
        written.append(work)
        return await run(writer, work)

    async def ask() -> None:
        service = Service(open_store(str(tmp_path / "store.db")), Settings())
        service.writer.start()
        try:
            assert set(await asyncio.gather(*(service.illness() for _ in range(50)))) == {""}
            assert len(written) == 1
        finally:
            await service.writer.stop()
            service.reader.stop()

    monkeypatch.setattr(Writer, "run", counted)
    asyncio.run(ask())


def test_its_health_says_nothing_about_where_the_store_is(tmp_path: Path) -> None:
    with serving(str(tmp_path / "store.db")) as running:
        with open_store(running.address).connected() as connection:
            connection.execute("DROP TABLE notes")
        ill = running.ask("GET", "/health")
        assert ill.status == 503 and ill.json == {"reason": RefusedError("store").sentence}
        assert "notes" in running.end().decode()


def test_an_address_without_its_last_stroke_leads_to_the_page(anywhere: Running) -> None:
    """Whatever the proxy in front is called, and by the same protocol."""
    led = anywhere.ask("GET", "/town", Host="other.example")
    assert led.status == 307 and led.headers["location"] == "town/"
    assert anywhere.ask("GET", "/nowhere").status == anywhere.ask("GET", "/town/plan/").status == 404


def test_metrics_count_answers_and_refusals(anywhere: Running) -> None:
    anywhere.ask("POST", "/town/reports", batch(*reports(3)))
    anywhere.ask("POST", "/town/reports", b"nonsense")
    text = anywhere.ask("GET", "/metrics", **token(anywhere.address, "metrics")).data.decode()
    assert 'sfumato_answers_total{path="/{survey}/reports",status="200"}' in text
    assert 'sfumato_refused_total{reason="malformed"}' in text and 'sfumato_store_bytes{part="log"}' in text
    assert "_created" not in text, "the time of the first report is nobody's business"
    assert anywhere.ask("GET", "/metrics", **token(anywhere.address, "read")).status == 403


def test_nothing_of_a_request_is_logged(tmp_path: Path) -> None:
    with serving(str(tmp_path / "store.db")) as running:
        sent = reports(3)
        running.ask("POST", "/town/reports", batch(*sent))
        running.ask("POST", "/town/reports", b"nonsense of mine")
        running.ask("GET", "/nowhere")
        said = running.end().decode()
    lines = [json.loads(line) for line in said.splitlines()]
    assert [line["event"] for line in lines] == ["started", "stopped"]
    for word in ("127.0.0.1", "tester of answers", "nonsense", sent[0]["id"], "nowhere"):
        assert word not in said


def test_the_document_describes_every_endpoint(anywhere: Running) -> None:
    document = anywhere.ask("GET", "/openapi.json").json
    assert document["openapi"] == "3.1.0"
    assert {"get", "post"} >= set(document["paths"]["/{survey}/reports"])
    answers = document["paths"]["/{survey}/reports"]["post"]["responses"]
    assert {"200", "400", "403", "404", "408", "409", "413", "422", "503"} == set(answers)


def test_the_python_device_is_taken_at_its_word(town: Running, tmp_path: Path) -> None:
    outbox, device = Outbox(tmp_path / "outbox.sqlite"), Device(b"a secret of sixteen bytes", Ledger())
    reply = device.reply(PLAN, {"smokes": "yes", "age": 40, "group": "A"}, collector=town.url)
    outbox.put(f"{town.url}/town/reports", reply.plan, reply.id, reply.report)
    assert outbox.send().accepted == [reply.id] and stored(town) == 1
    outbox.withdraw(reply.id)
    assert outbox.send().withdrawn == [reply.id] and stored(town) == 0


def test_the_python_device_sends_its_invitation(address: str, tmp_path: Path) -> None:
    with serving(address, invited=True) as running:
        with open_store(address).connected() as connection, connection.transaction():
            (code,) = issue_invitations(connection, connection.require_survey("town"), 1)
        outbox, submit = Outbox(tmp_path / "outbox.sqlite"), f"{running.url}/town/reports"
        device = Device(b"a secret of sixteen bytes", Ledger())
        reply = device.reply(PLAN, {"smokes": "yes", "age": 40, "group": "A"}, collector=running.url)
        outbox.put(submit, reply.plan, reply.id, reply.report, "not-an-invitation")
        assert "invitation" in outbox.send().refused[reply.id]
        assert outbox.put(submit, reply.plan, reply.id, reply.report, code) == "waiting"
        assert outbox.send().accepted == [reply.id] and stored(running) == 1


def test_a_survey_is_deleted_when_its_time_is_over(address: str) -> None:
    store = open_store(address)
    with store.connected() as connection, connection.transaction():
        connection.open_survey("old", PLAN, keep_days=30)
        connection.open_survey("newer", PLAN, keep_days=30)
        connection.close_survey("old", today="2020-01-01")
        connection.close_survey("newer")
    with serving(address) as running:
        assert running.ask("GET", "/old/plan").status == 404
        assert running.ask("GET", "/newer/plan").status == 200
    with store.connected() as connection:
        assert [each.name for each in connection.surveys()] == ["newer", "town"]


def test_a_store_that_was_not_tidied_today_is_tidied(watchful: Running) -> None:
    """At midnight or, after a night without service, when it is there again; and when something was deleted."""
    with open_store(watchful.address).connected() as connection:
        until(lambda: connection.tidied() == day())


def test_a_plan_too_long_for_a_page_is_still_collected(tmp_path: Path) -> None:
    labels = [f"street {number}" for number in range(10_001)]
    spec = {"categories": labels, "channel": "randomized-response", "gamma": 19}
    plan = sf.Plan.from_dict({"name": "streets", "attributes": {"street": spec}})
    with serving(str(tmp_path / "store.db"), plan=plan) as running:
        assert running.ask("GET", "/town/").status == 404
        assert running.ask("GET", "/town/survey.json").json["plan"] == plan.identity
        sent = {"id": "0" * 32, "report": {"street": "street 77"}}
        assert running.ask("POST", "/town/reports", {"plan": plan.identity, "reports": [sent]}).status == 200
