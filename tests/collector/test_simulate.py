"""Simulated respondents send what devices send, until each of them is settled, and count once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.collector.form import ReportForm
from sfumato.collector.simulate import Crowd, draw_people, equal_levels, reports_of
from sfumato.collector.store import open_store
from tests.collector.serving import PLAN, serving
from tests.collector.test_form import PLAN as EVERYTHING


def test_lost_answers_are_asked_for_again_and_nobody_is_counted_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.collector.simulate.PAUSE", 0.001)
    monkeypatch.setattr("sfumato.collector.simulate.LONGEST_PAUSE", 0.01)
    monkeypatch.setattr("sfumato.collector.simulate.TRIES", 60)  # two answers in five are lost: nine in a row may be
    address, rng = str(tmp_path / "store.db"), np.random.default_rng(3)
    with serving(address, faults=0.4) as losing:
        crowd = Crowd(PLAN, f"{losing.url}/town", batch=50)
        crowd.send(reports_of(PLAN, draw_people(PLAN, 1500, rng), rng))
    assert crowd.outcome.accepted == 1500 and not crowd.outcome.refused and not crowd.outcome.problem
    with open_store(address).connected() as connection:
        assert connection.count_reports(connection.require_survey("town").number) == 1500


def test_where_nobody_answers_it_gives_up_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.collector.simulate.PAUSE", 0.001)
    with serving(str(tmp_path / "store.db")) as gone:
        crowd = Crowd(PLAN, f"{gone.url}/town", batch=10)
    crowd.send(reports_of(PLAN, draw_people(PLAN, 100, np.random.default_rng(3))))
    assert (crowd.outcome.accepted, crowd.outcome.unanswered) == (0, 100)
    assert "100 reports without an answer: no connection" in str(crowd.outcome)


@pytest.mark.parametrize("items", [64, 1000])
def test_every_kind_of_question_is_simulated_as_its_form_expects(items: int) -> None:
    channel = sf.SelectASize.design(sf.Items(items), sizes=[2, 3], gamma=19)
    spec = EVERYTHING.to_dict()
    spec["attributes"]["basket"] = {"items": items, **channel.to_spec()}
    plan, rng = sf.Plan.from_dict(spec), np.random.default_rng(2)
    reports = reports_of(plan, draw_people(plan, 300, rng), rng, equal_levels(plan))
    form = ReportForm(plan)
    rows = [form.pack(dict(zip(reports, row, strict=True))) for row in zip(*reports.values(), strict=True)]
    assert form.table(rows).num_rows == 300
    assert set(reports["income.level"]) == {"open", "careful"}
    assert {basket["size"] for basket in reports["basket"]} == {2, 3}
