"""Jobs compute what the library computes from the same reports; what a plan cannot answer is refused at once."""

from __future__ import annotations

import io
import json
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato import shipping
from sfumato.channels.baskets import SelectASize
from sfumato.cli import run
from sfumato.client import Device, Ledger
from sfumato.collector.background.worker import Worker, check_job, standing
from sfumato.collector.form import ReportForm
from sfumato.collector.settings import Settings
from sfumato.collector.store import Arrival, Store, open_store
from sfumato.tables import PLAN_COLUMN
from tests.collector.serving import PLAN, reports
from tests.statistics import critical_z

BASKETS = SelectASize.design(sf.Items(50), sizes=[3], gamma=19, up_to=2)
SHOP = sf.Plan.from_dict({"name": "shop", "attributes": {"basket": {"items": 50, **BASKETS.to_spec()}}})


def collected(store: Store, sent: list[dict[str, Any]], plan: sf.Plan = PLAN) -> Worker:
    """A worker beside a survey "town" with these reports."""
    form = ReportForm(plan)
    with store.connected() as connection, connection.transaction():
        number = connection.open_survey("town", plan).number
        connection.take([Arrival(number, bytes.fromhex(one["id"]), form.pack(one["report"])) for one in sent])
    return Worker(store)


def job(worker: Worker, kind: str, **options: Any) -> tuple[dict[str, Any], bytes | None]:
    """A job done here, as the store has it afterwards."""
    with worker.store.connected() as connection, connection.transaction():
        town = connection.require_survey("town").number
        connection.add_job("1" * 16, town, kind, options)
        connection.move_job("1" * 16, "waiting", "running")
    worker.answer("job", survey=town, id="1" * 16)
    with worker.store.connected() as connection:
        return connection.jobs(town)[0], connection.job_result("1" * 16)


def test_a_trained_model_is_a_models_file_and_knows_its_error(store: Store) -> None:
    sent = reports(600)
    sent[0]["report"]["group"] = None
    done, result = job(collected(store, sent), "train", method="byclass", holdout=0.5)
    assert done["state"] == "done" and "held out" in done["said"] and result is not None
    shipped = shipping.loads(result.decode())
    assert shipped.plan is not None and shipped.plan.identity == PLAN.identity
    assert shipped.measured["trained_on"] + shipped.measured["held_out"]["records"] == 599, "one has no class"
    assert shipped.predict({"smokes": "yes", "age": 30}) in ("A", "B")


def test_itemsets_are_those_that_the_command_finds_in_an_export(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    smokes = {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 19}
    plan = sf.Plan.from_dict({"attributes": {"smokes": smokes, **SHOP.to_dict()["attributes"]}})
    sent = [
        {"id": f"{place:032x}", "report": Device(place.to_bytes(32, "big"), Ledger()).reply(
            plan, {"basket": [1, 2, 3 + place % 5], "smokes": "no"}, collector="town.example").report}
        for place in range(300)
    ]  # fmt: skip
    sent.append({"id": "f" * 32, "report": {"basket": None, "smokes": "yes"}})
    worker = collected(store, sent, plan)
    done, result = job(worker, "itemsets", min_support=0.3, max_len=2, rules=0.5)
    assert done["state"] == "done" and "found" in done["said"] and result is not None
    mined = json.loads(result)
    assert {tuple(row["itemsets"]) for row in mined["itemsets"]} >= {(1,), (2,), (1, 2)}
    assert any((rule["antecedents"], rule["consequents"]) == ([1], [2]) for rule in mined["rules"])
    (tmp_path / "plan.json").write_text(plan.to_json())
    (tmp_path / "reports.parquet").write_bytes(worker.answer("export", survey="town"))
    files = [str(tmp_path / name) for name in ("plan.json", "reports.parquet")]
    assert run(["itemsets", "mine", *files, "--min-support", "0.3", "--max-len", "2", "--rules", "0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == mined


def test_an_audit_is_the_audit_of_the_plan(store: Store) -> None:
    done, result = job(collected(store, []), "audit", samples=2000)
    assert done["state"] == "done" and "passed" in done["said"] and result is not None
    assert json.loads(result)["passed"] is True


def test_without_reports_there_is_nothing_to_learn(store: Store) -> None:
    with pytest.raises(ValueError, match="no reports with a class yet"):
        job(collected(store, []), "train")
    with pytest.raises(ValueError, match="stopped"), store.connected() as connection:
        connection.move_job("1" * 16, "running", "stopped")
        Worker(store).answer("job", survey="town", id="1" * 16)


def test_a_result_that_is_too_large_is_not_kept(address: str) -> None:
    store = open_store(address, Settings(result_bytes=100))
    with pytest.raises(ValueError, match="100 can be kept"):
        job(collected(store, []), "audit", samples=1000)


@pytest.mark.parametrize(
    ("plan", "kind", "options", "said"),
    [
        (PLAN, "train", {"method": "nix"}, "method nix is unknown"),
        (SHOP, "train", {}, "no attribute is the class"),
        (PLAN, "itemsets", {"min_support": 0.1}, "there are: none"),
        (SHOP, "itemsets", {"min_support": 0.1, "question": "age"}, "there are: basket"),
    ],
)
def test_what_a_plan_cannot_answer_is_refused(plan: sf.Plan, kind: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_job(plan, kind, options)


def test_an_export_holds_every_report_once_in_an_order_of_its_own(store: Store) -> None:
    sent = reports(300)
    worker = collected(store, sent)
    first, second = (parquet.read_table(io.BytesIO(worker.answer("export", survey="town"))) for _ in range(2))
    assert first.schema.metadata[PLAN_COLUMN.encode()].decode() == PLAN.origin
    assert first != second, "two orders of 300 rows are the same once in 10^600"
    by_all = [(name, "ascending") for name in first.column_names]
    assert first.sort_by(by_all) == second.sort_by(by_all)
    assert PLAN.counts(first)["age"].total == 300


def test_the_order_of_an_export_says_nothing_about_the_order_of_arrival(store: Store) -> None:
    """Of ranks without order, √(n−1) · their correlation is about normal."""
    plan = sf.Plan.from_dict({"attributes": {"number": {"low": 0, "high": 2000, "integer": True, "role": "clear"}}})
    sent = [{"id": secrets.token_hex(16), "report": {"number": place}} for place in range(2000)]
    worker = collected(store, sent, plan)
    arrived = parquet.read_table(io.BytesIO(worker.answer("export", survey="town")))["number"].to_numpy()
    assert sorted(arrived) == list(range(2000))
    assert abs(np.corrcoef(arrived, np.arange(2000))[0, 1]) * np.sqrt(1999) < critical_z()


def test_a_shipped_model_is_of_this_plan_and_what_devices_execute_is_made_anew(store: Store) -> None:
    worker = collected(store, reports(400))
    _, result = job(worker, "train", method="naive-bayes", holdout=0.0)
    assert result is not None
    document = json.loads(result)
    wrong = json.dumps(document | {"device": {"made": "up"}})
    assert json.loads(worker.answer("model", survey="town", text=wrong)) == document
    other = json.dumps(document | {"plan": SHOP.to_dict()})
    for text, said in ((other, "another plan"), ("{", "JSON"), ('{"format": 1}', "not a model")):
        with pytest.raises(ValueError, match=said):
            worker.answer("model", survey="town", text=text)


def test_the_table_is_read_again_when_reports_came_or_went(store: Store) -> None:
    sent = reports(20)
    worker = collected(store, sent[:10])

    def rows() -> int:
        with store.connected() as connection:
            return int(worker.table(connection, connection.require_survey("town")).num_rows)

    assert rows() == rows() == 10
    collected(store, sent)
    assert rows() == 20
    with store.connected() as connection, connection.transaction():
        connection.withdraw(connection.require_survey("town").number, bytes.fromhex(sent[0]["id"]))
    assert rows() == 19


def test_the_standing_of_a_survey_is_what_was_counted(store: Store) -> None:
    collected(store, reports(5))
    with store.connected() as connection, connection.transaction():
        town = connection.require_survey("town").number
        for today, number in (("2026-01-01", 2), ("2026-01-02", 3)):
            connection.tally(town, "refused: plan", number, today)
        connection.add_job("1" * 16, town, "itemsets", {})
        connection.move_job("1" * 16, "waiting", "done", "", b'{"itemsets": [], "rules": []}')
        told = standing(connection, connection.require_survey("town"))
    assert told.rejections == {"plan": 5} and told.itemsets == {"itemsets": [], "rules": []}
    assert sum(accepted for _, accepted, _ in told.days) == 5 and told.invitations is None


def test_a_deleted_survey_is_said_to_be_so(store: Store) -> None:
    worker = collected(store, reports(5))
    with store.connected() as connection, connection.transaction():
        connection.delete_survey("town")
    with pytest.raises(ValueError, match="deleted"):
        worker.answer("counts", survey="town")
