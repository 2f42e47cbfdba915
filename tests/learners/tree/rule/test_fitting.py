"""Rules from reports: the function behind the noise, nothing where there is nothing, the same from every engine."""

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.counts import Reports
from sfumato.evidence import Axis
from sfumato.learners.tree import TreeClassifier
from sfumato.learners.tree.rule.boxes import Groups
from sfumato.learners.tree.rule.fitting import carried, uncut
from tests.learners.conftest import Survey

AGE = 2  # the place of age among the columns


@pytest.fixture(scope="module")
def ages():
    """Function 1, whose ages are blurred as much as AS00 does at most but one."""
    return Survey(1, 60_000, 1.0, seed=3)


@pytest.fixture(scope="module")
def rule(ages):
    return TreeClassifier(ages.channels, "likelihood", random_state=0).fit(ages.reports, ages.y)


@pytest.fixture(scope="module")
def bands():
    """Function 2 so blurred that reports do not pay for its nine leaves."""
    return Survey(2, 60_000, 2.0, seed=5)


def test_function_1_is_found_as_three_leaves_with_cuts_within_their_errors(ages, rule):
    assert rule.get_n_leaves() == 3
    assert rule.score(ages.X_test, ages.y_test) > 0.98
    inner = np.flatnonzero(rule.tree_.column == AGE)
    cuts, errors = rule.tree_.cut[inner], rule.errors_.cut[inner]
    order = np.argsort(cuts)
    assert (np.abs(cuts[order] - [40, 60]) < 5 * errors[order]).all()
    assert (errors < 1).all()


def test_it_says_how_well_cuts_and_shares_are_known(rule):
    assert "(± " in rule.export_text().splitlines()[0]
    assert " ± " in rule.rules()[0] and "of people there" in rule.rules()[0]


def test_it_arrives_as_it_left(ages, rule):
    again = TreeClassifier.from_dict(json.loads(json.dumps(rule.to_dict())))
    np.testing.assert_array_equal(again.predict(ages.X_test), rule.predict(ages.X_test))
    assert again.rules() == rule.rules() and again.export_text() == rule.export_text()


def test_pure_noise_gives_one_leaf():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        channel = sf.Gaussian(sf.Interval(0, 1), scale=0.25)
        X = channel.randomize(rng.random((20_000, 3)), rng)
        tree = TreeClassifier([channel] * 3, "likelihood", random_state=0).fit(X, rng.integers(0, 2, 20_000))
        assert tree.get_n_leaves() == 1


def test_three_classes_labels_gaps_clear_columns_and_blurred_classes():
    rng = np.random.default_rng(4)
    n = 40_000
    x, clear = rng.random(n), rng.random(n)
    city = rng.choice(["Lima", "Oslo", "Rome"], n)
    y = np.where(x < 0.4, "low", np.where(np.isin(city, ["Lima", "Rome"]), "high", "cold"))
    noise = sf.Gaussian(sf.Interval(0, 1), scale=0.2)
    cities = sf.RandomizedResponse(sf.Categories(["Lima", "Oslo", "Rome"]), keep=0.7)
    labels = sf.RandomizedResponse(sf.Categories(["cold", "high", "low"]), keep=0.8)
    reports = pl.DataFrame({
        "x": np.where(rng.random(n) < 0.1, np.nan, noise.randomize(x, rng)), "clear": clear,
        "city": cities.randomize(city, rng),
    })
    channels = {"x": noise, "clear": None, "city": cities}
    tree = TreeClassifier(channels, "likelihood", label_channel=labels, random_state=0)
    tree.fit(reports, labels.randomize(y, rng))
    truth = pl.DataFrame({"x": x, "clear": clear, "city": city})
    assert tree.score(truth, y) > 0.97
    assert tree.get_n_leaves() <= 4
    assert TreeClassifier.from_dict(tree.to_dict()).score(truth, y) == tree.score(truth, y)


@pytest.mark.parametrize("survey", ["ages", "bands"])
def test_engines_find_the_same_rule_or_average(survey, request, tmp_path):
    asked = request.getfixturevalue(survey)
    names = [f"x{j}" for j in range(asked.reports.shape[1])]
    table = pl.DataFrame(asked.reports, schema=names).with_columns(group=pl.Series(asked.y))
    table.write_parquet(tmp_path / "reports.parquet")
    channels = dict(zip(names, asked.channels, strict=True))
    stored = sf.Reports(tmp_path / "reports.parquet", channels, target="group", seed=0, engine="duckdb")
    here = sf.Reports(table, channels, target="group", seed=0)
    trees = [TreeClassifier(None, "likelihood", random_state=0).fit(each) for each in (stored, here)]
    assert trees[0].tree_.to_dict() == trees[1].tree_.to_dict()


def test_leaves_of_a_clean_rule_are_pure_though_cuts_lie_inside_cells() -> None:
    rng, channel = np.random.default_rng(11), sf.Gaussian(sf.Interval(0, 1), privacy=0.5)
    x = rng.random((8_000, 2))
    tree = sf.TreeClassifier([channel] * 2, "likelihood", random_state=0)
    tree.fit(channel.randomize(x, rng), (x[:, 0] > 0.4) & (x[:, 1] > 0.4))
    leaves = tree.tree_.counts[tree.tree_.left < 0]
    assert len(leaves) == 3 and np.all(leaves.max(axis=1) > 0.995 * leaves.sum(axis=1))


def test_where_no_structure_can_be_paid_for_the_average_of_many_decides_better_than_one_rule(bands, monkeypatch):
    def tree() -> TreeClassifier:
        return TreeClassifier(bands.channels, "likelihood", random_state=0).fit(bands.reports, bands.y)

    usual = tree()
    assert usual.errors_ is None and usual.joint_ is not None  # no cut has an interval of its own
    monkeypatch.setattr("sfumato.learners.tree.classifier.lead_of_rule", lambda *_: np.inf)
    assert usual.score(bands.X_test, bands.y_test) > tree().score(bands.X_test, bands.y_test) + 0.03


@pytest.mark.parametrize("high", [3, 24, 25, 26, 40, 80])
def test_what_may_be_cut_anywhere_is_a_property_of_the_column_at_every_resolution(high) -> None:
    channel = sf.Gaussian(sf.Interval(0, high, integer=True), privacy=0.5)
    axis = Axis(Reports({"x": channel.randomize([0, high], 0)}, {"x": channel}).column("x"))
    assert {isinstance(uncut(axis.at(size)), Groups) for size in (2, 6, 8, 11, 13, 19, 29, 50, 98)} == {high <= 24}


@pytest.mark.parametrize("blurred", [True, False])
def test_parts_of_a_rule_are_the_same_people_in_finer_and_in_coarser_cells(blurred) -> None:
    channel = sf.Gaussian(sf.Interval(0, 24, integer=True), privacy=0.5) if blurred else None
    values = np.random.default_rng(0).integers(0, 25, 400).astype(float)
    axis = Axis(Reports({"x": values if channel is None else channel.randomize(values, 1)}, {"x": channel}).column("x"))
    fine, coarse = axis.at(50), axis.at(6)
    alone = np.zeros(fine.size, int)
    alone[2:] = 1
    alone[3:] = 2  # the third cell is a part of its own, which no coarse cell shows
    part, kept = carried(Groups(alone, True), fine, uncut(coarse), coarse)
    assert part.of_cell.size == coarse.size and part.parts == kept.size and set(kept) < {0, 1, 2}
    again, all_ = carried(Groups(alone, True), fine, uncut(fine), fine)
    assert again.of_cell.tolist() == alone.tolist() and all_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", [1, 3, 11])
def test_whole_numbers_of_many_values_beside_two_other_columns_make_a_rule(seed) -> None:
    rng, n = np.random.default_rng(seed), 2_000 + 500 * (seed % 3)
    high = int(rng.choice([26, 30, 80]))
    wholes = sf.Interval(0, high, integer=True), sf.Interval(18, 90, integer=True)
    domains = [*wholes, sf.Interval(0, 80, integer=bool(seed % 2))]
    x = np.column_stack([rng.integers(0, high + 1, n), rng.integers(18, 91, n), rng.integers(0, 81, n)])
    unit = x / [high, 90, 80]
    y = (unit[:, 0] > 0.5) & (unit[:, 1] > 0.5) | (unit[:, 2] > 0.7) if seed % 2 else unit.sum(axis=1) > 1.6
    channels = [sf.Gaussian(domain, privacy=0.5) for domain in domains]
    reports = np.column_stack([channel.randomize(column, rng) for channel, column in zip(channels, x.T, strict=True)])
    assert sf.TreeClassifier(channels, random_state=0).fit(reports, y).score(x, y) > 0.8


@pytest.mark.parametrize("seed", range(2))
def test_a_column_of_one_value_joins_no_rule(seed) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.beta(2, 5, 2_500), rng.integers(0, 5, 2_500)
    y = np.where(rng.random(y.size) < 0.1, y, 4 * (x > 0.3))
    attributes = {
        "x": {"low": 0, "high": 1, "channel": "discretize", "width": 0.02},
        "constant": {"low": 0, "high": 1, "role": "clear"},
        "y": {"categories": list(range(5)), "role": "class"},
    }
    plan = sf.Plan.from_dict({"attributes": attributes})
    reports = sf.Reports(plan.randomize({"x": x, "constant": np.full(y.size, 0.1), "y": y}, rng=1), plan)
    tree = TreeClassifier(reconstruction="likelihood").fit(reports)
    assert set(tree.tree_.column[tree.tree_.column >= 0].tolist()) == {0}
