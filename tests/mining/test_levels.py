"""People at mixed levels: every report is read through the table of its own level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sfumato.mining.columns import axis_of
from sfumato.mining.level_columns import with_levels
from sfumato.mining.levels import ChosenLevels

import sfumato as sf
from sfumato.mining.moments import moments_of_levels

AGE = sf.Interval(20, 80)
OPEN_OR_SHY = sf.Choice({"open": sf.Gaussian(AGE, privacy=0.1), "shy": sf.Gaussian(AGE, privacy=2.0)}, default="shy")
TWO_PHASE = sf.TwoPhase(sf.Gaussian(AGE, privacy=1.0), {"normal": 200, "cautious": 100, "coarse": 2})


def people(n: int, seed: int = 3) -> tuple[pd.DataFrame, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Reports with levels, the classes, and the true ages."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n)
    levels = rng.choice(["open", "shy"], n)
    reports = OPEN_OR_SHY.randomize(age, rng, level=levels)
    return pd.DataFrame({"age": reports, "age.level": levels}), (age < 40) | (age >= 60), age


def estimators() -> list[Any]:
    channels = {"age": OPEN_OR_SHY}
    return [
        sf.TreeClassifier(channels, "byclass"),
        sf.TreeClassifier(channels, "joint", random_state=0),
        sf.NaiveBayes(channels, density="reconstructed"),
        sf.JointModel(channels, random_state=0),
    ]


@pytest.mark.parametrize("model", estimators(), ids=lambda model: f"{type(model).__name__}-{id(model) % 97}")
def test_estimators_learn_from_mixed_levels(model: Any) -> None:
    reports, y, _ = people(6_000)
    truth = pd.DataFrame({"age": np.linspace(20.5, 79.5, 300)})
    expected = (truth["age"] < 40) | (truth["age"] >= 60)
    assert model.fit(reports, y).score(truth, expected) > 0.93


def test_levels_kept_apart_tell_more_than_levels_ignored() -> None:
    """Read as if all came through the shy channel, the open reports lose what they tell."""
    reports, y, _ = people(4_000)
    grid = pd.DataFrame({"age": np.linspace(20.5, 79.5, 300)})
    expected = (grid["age"] < 40) | (grid["age"] >= 60)
    apart = sf.NaiveBayes({"age": OPEN_OR_SHY}, "reconstructed").fit(reports, y).score(grid, expected)
    ignored = sf.NaiveBayes({"age": OPEN_OR_SHY.level("shy")}, "reconstructed").fit(reports[["age"]], y)
    assert apart > ignored.score(grid, expected) + 0.02


@pytest.mark.parametrize("as_frame", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_level_columns_are_found_in_every_kind_of_table(as_frame: Any) -> None:
    reports, y, _ = people(1_000)
    model = sf.NaiveBayes({"age": OPEN_OR_SHY}, "reconstructed")
    expected = model.fit(reports, y).predict_proba(reports[["age"]])
    found = model.fit(as_frame(reports.to_dict("list")), y).predict_proba(reports[["age"]])
    np.testing.assert_array_equal(found, expected)


def test_without_a_level_everybody_took_the_default() -> None:
    reports, _, _ = people(50)
    column = reports["age"].to_numpy()
    absent = np.array([None] * 50, dtype=object)
    as_default = ChosenLevels("age", OPEN_OR_SHY, column)
    np.testing.assert_array_equal(as_default.codes, ChosenLevels("age", OPEN_OR_SHY, column, absent).codes)
    np.testing.assert_array_equal(as_default.codes, axis_of("age", OPEN_OR_SHY.level("shy"), column).codes)


def test_each_block_of_the_stacked_table_is_a_law() -> None:
    reports, _, _ = people(500)
    attribute = axis_of("age", OPEN_OR_SHY, with_levels(reports["age"].to_numpy(), reports["age.level"]))
    cells = attribute.at(20)
    assert attribute.levels == 2
    np.testing.assert_allclose(cells.table.sum(axis=0), 2.0, rtol=1e-5)
    block = attribute.level_of(attribute.codes)
    assert np.array_equal(block == 0, reports["age.level"] == "open")


def test_levels_of_nearly_the_same_law_share_a_block_that_averages_them() -> None:
    rng = np.random.default_rng(1)
    levels = np.array(["normal"] * 300 + ["cautious"] * 100 + ["coarse"] * 100, dtype=object)
    reports = TWO_PHASE.randomize(rng.uniform(20, 80, 500), rng, level=levels)
    attribute = ChosenLevels("age", TWO_PHASE, reports, levels)
    assert attribute.blocks == [["normal", "cautious"], ["coarse"]]
    part = attribute.parts[0]
    edges, bounds = np.linspace(20, 80, 11), np.linspace(0, 100, 21)
    laws = [TWO_PHASE.level(name).matrix(true=edges, reported=bounds) for name in ("normal", "cautious")]
    np.testing.assert_allclose(part.table(edges, bounds), 0.75 * laws[0] + 0.25 * laws[1])  # type: ignore[attr-defined]


def test_an_unknown_level_is_named() -> None:
    reports, y, _ = people(20)
    reports.loc[0, "age.level"] = "opn"
    with pytest.raises(ValueError, match=r"'opn' is unknown.*did you mean 'open'"):
        sf.JointModel({"age": OPEN_OR_SHY}).fit(reports, y)


def test_moments_of_levels_weigh_each_report_by_what_it_tells() -> None:
    """With one level next to noiseless and the other very noisy, the estimates are the first level's own."""
    rng = np.random.default_rng(4)
    x, noise = rng.normal(5.0, 2.0, 4_000), np.repeat([1e-12, 1e6], 2_000)
    reports = x + rng.normal(size=4_000) * np.sqrt(noise)
    mean, variance = moments_of_levels(reports, np.ones((4_000, 1)), noise)
    np.testing.assert_allclose(mean, x[:2_000].mean(), atol=2e-3)
    np.testing.assert_allclose(variance, x[:2_000].var(), rtol=2e-3)


def test_moments_of_one_level_take_the_noise_off() -> None:
    reports, mass, noise = np.array([1.0, 3.0, 5.0, 7.0]), np.ones((4, 1)), np.full(4, 2.0)
    mean, variance = moments_of_levels(reports, mass, noise)
    np.testing.assert_allclose((mean, variance), ([4.0], [3.0]))


@pytest.mark.filterwarnings("ignore:min_support")
def test_itemsets_of_mixed_levels_weigh_the_levels_by_their_precision() -> None:
    items = sf.Items(8)
    designs = {name: sf.SelectASize.design(items, sizes=[3], gamma=gamma, up_to=2) for name, gamma in LEVELS.items()}
    choice = sf.Choice(designs)
    rng = np.random.default_rng(2)
    baskets = [sorted(rng.choice(8, 3, replace=False, p=POPULAR).tolist()) for _ in range(6_000)]
    reports = {
        name: designs[name].randomize(part, rng)
        for name, part in zip(LEVELS, (baskets[:3_000], baskets[3_000:]), strict=True)
    }
    both = by_itemset(sf.frequent_itemsets(reports, choice, 0.3, max_len=1))
    alone = {
        name: by_itemset(sf.frequent_itemsets(part, designs[name], 0.01, max_len=1)) for name, part in reports.items()
    }
    exact = by_itemset(sf.frequent_itemsets(baskets, None, 0.01, max_len=1))
    for itemset, (support, stderr) in both.items():
        errors = [alone[name][itemset][1] for name in LEVELS]
        assert stderr < 1.02 * min(errors)
        assert abs(support - exact[itemset][0]) < 6 * np.hypot(stderr, 0.01)


LEVELS = {"careful": 9.0, "open": 99.0}
POPULAR = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05])


def by_itemset(table: Any) -> dict[frozenset[Any], tuple[float, float]]:
    return {row.itemsets: (row.support, row.stderr) for row in table.itertuples()}


def test_itemsets_of_a_choice_come_by_level() -> None:
    choice = sf.Choice({"one": sf.SelectASize.design(sf.Items(5), sizes=[2], gamma=9, up_to=1)})
    with pytest.raises(TypeError, match="mapping from each level"):
        sf.frequent_itemsets([[1, 2]], choice, 0.1)
