from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv, parquet

from sfumato import shipping
from sfumato.domain import Categories, Interval
from sfumato.examples import credit
from sfumato.reconstruction import shares

FILES = {"plan.toml", "people.parquet", "reports.parquet", "estimates.csv", "model.json", "report.html"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[Path, str]:
    """The demo's folder and what it printed."""
    from contextlib import redirect_stdout
    from io import StringIO

    from sfumato.cli import run

    folder, printed = tmp_path_factory.mktemp("demo"), StringIO()
    with redirect_stdout(printed):
        assert run(["demo", "-o", str(folder), "--people", "5000"]) == 0
    return folder, printed.getvalue()


def test_the_demo_leaves_a_plan_tables_and_a_page_and_ends_with_its_path(demo):
    folder, printed = demo
    assert {path.name for path in folder.iterdir()} == FILES
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
    assert abs(accuracy - arrived.measured["test"]["accuracy"]) < 0.05
    assert "What can be learned" in (folder / "report.html").read_text()


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
    assert text.count('<svg role="img"') == charts
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
