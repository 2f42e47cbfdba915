"""A collector is started and stopped by one call, in a program as on the command line."""

from __future__ import annotations

import dataclasses
import inspect
import logging
import re
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato import collector
from sfumato.client.wire import ask
from sfumato.collector import Settings, UnservablePlanError, start
from sfumato.collector.http.server import Complaints
from sfumato.collector.simulate import Crowd, draw_people, reports_of
from sfumato.collector.store import StoreError, open_store
from tests.collector.serving import PLAN

OTHER = sf.Plan.from_dict({**PLAN.to_dict(), "attributes": {"a": {"low": 0, "high": 1, "role": "clear"}}})


def test_it_answers_when_it_has_started_and_not_when_it_has_stopped(address: str) -> None:
    with start(PLAN, address) as running:
        assert [survey.name for survey in running.surveys] == ["town"]
        crowd = Crowd(PLAN, running.page("town"))
        crowd.send(reports_of(PLAN, draw_people(PLAN, 300, np.random.default_rng(1))))
        assert crowd.outcome.accepted == 300
        assert running.token is not None
        counted = ask(running.page("town") + "api/counts", token=running.token, seconds=60)
        assert b'"reports": 300' in counted.data
    assert not ask(f"{running.address}/health").status
    running.stop()
    with start((), address) as again:
        assert again.token is None, "the first one is valid still"
        assert ask(again.page("town") + "plan").good


def test_several_collectors_run_in_one_process(tmp_path: Path) -> None:
    with start(PLAN, str(tmp_path / "one.db")) as one, start([PLAN], open_store(str(tmp_path / "two.db"))) as two:
        assert one.address != two.address
        assert ask(f"{one.address}/health").good and ask(f"{two.address}/health").good
    assert not any(isinstance(each, Complaints) for each in logging.getLogger("uvicorn.error").handlers)


def test_what_cannot_be_served_is_said_and_holds_nothing(tmp_path: Path) -> None:
    address = str(tmp_path / "store.db")
    with start(PLAN, address, Settings(token=False)) as running:
        assert running.token is None
        with pytest.raises(StoreError, match="served by another process"):
            start((), address)
        with pytest.raises(ValueError, match="is taken"):
            start((), str(tmp_path / "other.db"), Settings(port=int(running.address.rpartition(":")[2])))
    with pytest.raises(UnservablePlanError, match="another plan") as refused:
        start([PLAN, OTHER], address)
    assert refused.value.plan is OTHER
    with start(PLAN, address, Settings(invited=False)) as running:
        assert ask(f"{running.address}/health").good


def test_a_service_that_fails_at_its_start_says_why(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"))
    with store.connected() as connection:
        connection.execute("DROP TABLE jobs")
    with pytest.raises(StoreError, match=r"could not start: .*no such table: jobs"):
        start(PLAN, store)
    with store.exclusive():
        pass


def test_every_setting_says_what_it_does_and_where_it_comes_from() -> None:
    source = inspect.getsource(Settings)
    for field in dataclasses.fields(Settings):
        said = re.search(rf'^    {field.name}: .*\n    """(.*?)"""', source, re.DOTALL | re.MULTILINE)
        assert said and "Source:" in said[1], field.name
    assert dataclasses.fields(collector.Settings) and Settings.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_what_is_no_plan_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"plan='town.toml' is no plan; give sf.Plan.load\(path\)"):
        start("town.toml", str(tmp_path / "store.db"))  # type: ignore[arg-type]
    assert not (tmp_path / "store.db").exists()
