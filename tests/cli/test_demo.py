from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv, parquet

from sfumato import shipping
from sfumato.cli import run
from sfumato.collector.access import valid_tokens
from sfumato.collector.store import open_store
from sfumato.demo import credit
from sfumato.domain import Categories, Interval
from sfumato.reconstruction import shares

FILES = {"plan.toml", "people.parquet", "reports.parquet", "estimates.csv", "model.json", "report.html"}
STORE = {"survey.db", "survey.db.lock"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[Path, str]:
    """The demo's folder and what it printed."""
    folder, printed = tmp_path_factory.mktemp("demo"), StringIO()
    with redirect_stdout(printed):
        assert run(["demo", "-o", str(folder), "--people", "5000"]) == 0
    return folder, printed.getvalue()


def test_the_demo_leaves_a_plan_tables_and_a_page_and_ends_with_its_path(demo):
    folder, printed = demo
    assert {path.name for path in folder.iterdir()} == FILES | STORE
    assert printed.rstrip().splitlines()[-1].endswith("report.html")
    assert parquet.read_table(folder / "reports.parquet").num_rows == 5000


def test_every_attribute_is_estimated_better_than_its_reports_look(demo):
    folder, _ = demo
    estimates = csv.read_csv(folder / "estimates.csv").to_pandas()
    people, reports = (parquet.read_table(folder / name) for name in ("people.parquet", "reports.parquet"))
    ours, theirs = [], []
    for name, part in estimates.groupby("attribute"):
        domain = credit.plan().attributes[name].domain
        edges = None if isinstance(domain, Categories) else np.append(part["low"], part["high"].iloc[-1])
        truth, seen = (shares(table.column(name).to_numpy(), domain, edges) for table in (people, reports))
        ours.append(np.abs(part["probability"] - truth).sum() / 2)
        theirs.append(np.abs(seen - truth).sum() / 2)
    assert np.mean(ours) < np.mean(theirs) / 2


def test_the_demo_learns_a_tree_from_the_reports_and_ships_it(demo):
    folder, printed = demo
    assert "learning 'group': accuracy on 10,000 people who were not asked" in printed
    arrived = shipping.load(folder / "model.json")
    fresh = credit.people(4000, np.random.default_rng(99))
    accuracy = np.mean(arrived.predict(fresh) == fresh["group"])
    assert accuracy > 0.7
    assert arrived.plan is not None and arrived.plan.identity == credit.plan().identity
    assert "What can be learned" in (folder / "report.html").read_text()


def test_the_reports_went_through_a_collector_which_keeps_nothing_else(demo):
    folder, printed = demo
    text = (folder / "report.html").read_text()
    assert "How the reports came here" in text and "reports accepted, 0 refused" in text
    store = open_store(str(folder / "survey.db"))
    with store.connected() as connection:
        (survey,) = connection.surveys()
        assert connection.count_reports(survey.number) == 5000
        assert survey.model is not None and valid_tokens(connection) == []
        assert [job["state"] for job in connection.jobs()] == ["done"]
    assert "one person answered in a real browser" in printed or "no browser that could answer" in printed


def test_without_a_collector_the_reports_are_handed_over(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sfumato.cli.demo.NEEDED", ("starlette", "a_package_that_is_not_there"))
    assert run(["demo", "-o", str(tmp_path), "--people", "2000"]) == 0
    said = capsys.readouterr()
    assert "pip install 'sfumato[collector]'" in said.err and said.out.rstrip().endswith("report.html")
    assert {path.name for path in tmp_path.iterdir()} == FILES


def test_the_page_loads_nothing_from_elsewhere(demo):
    folder, _ = demo
    text = (folder / "report.html").read_text()
    for loading in ('src="http', "@import", "url(http", '<link rel="stylesheet"'):
        assert loading not in text
    for word in ("credit", "salary", "γ", "error bar"):
        assert word in text


def test_every_chart_is_drawn_in_the_page_and_none_of_them_by_a_script(demo):
    folder, _ = demo
    text = (folder / "report.html").read_text()
    charts = sum(attribute.channel is not None for attribute in credit.plan().attributes.values())
    assert text.count('class="picture"') == charts
    assert "<script" not in text


def test_the_simulated_people_fit_the_plan():
    people = credit.people(2000, np.random.default_rng(0))
    plan = credit.plan()
    assert list(people) == list(plan.attributes)
    for name, attribute in plan.attributes.items():
        if isinstance(attribute.domain, Interval):
            attribute.domain.clean(people[name])
        else:
            assert (attribute.domain.encode(people[name]) >= 0).all()
