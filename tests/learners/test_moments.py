"""Moments with the noise taken off, and learners on people at mixed levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.counts import Reports
from sfumato.learners.moments import (
    code_excess,
    code_noise,
    code_values,
    mean_noise,
    moments,
    shrink_variances,
    unbiased_values,
)

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
        sf.NaiveBayesClassifier(channels, density="reconstructed"),
        sf.JointModel(channels, random_state=0),
    ]


@pytest.mark.parametrize("model", estimators(), ids=["byclass tree", "joint tree", "naive bayes", "joint model"])
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
    apart = sf.NaiveBayesClassifier({"age": OPEN_OR_SHY}, "reconstructed").fit(reports, y).score(grid, expected)
    ignored = sf.NaiveBayesClassifier({"age": OPEN_OR_SHY.level("shy")}, "reconstructed").fit(reports[["age"]], y)
    assert apart > ignored.score(grid, expected) + 0.02


@pytest.mark.parametrize("as_frame", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_level_columns_are_found_in_every_kind_of_table(as_frame: Any) -> None:
    reports, y, _ = people(1_000)
    model = sf.NaiveBayesClassifier({"age": OPEN_OR_SHY}, "reconstructed")
    expected = model.fit(reports, y).predict_proba(reports[["age"]])
    found = model.fit(as_frame(reports.to_dict("list")), y).predict_proba(reports[["age"]])
    np.testing.assert_array_equal(found, expected)


def test_without_a_level_everybody_took_the_default() -> None:
    reports, y, _ = people(400)
    shy = reports.assign(**{"age.level": "shy"})
    absent = reports.assign(**{"age.level": [None] * 400})
    grid = pd.DataFrame({"age": np.linspace(21, 79, 30)})
    model = sf.NaiveBayesClassifier({"age": OPEN_OR_SHY}, "reconstructed")
    expected = model.fit(shy, y).predict_proba(grid)
    for table in (absent, reports[["age"]]):
        np.testing.assert_array_equal(model.fit(table, y).predict_proba(grid), expected)


def test_an_unknown_level_is_named() -> None:
    reports, y, _ = people(20)
    reports.loc[0, "age.level"] = "opn"
    with pytest.raises(ValueError, match=r"'opn' is unknown.*did you mean 'open'"):
        sf.JointModel({"age": OPEN_OR_SHY}).fit(reports, y)


def test_moments_weigh_each_report_by_what_it_tells() -> None:
    """With one level next to noiseless and the other very noisy, the estimates are the first level's own."""
    rng = np.random.default_rng(4)
    x, noise = rng.normal(5.0, 2.0, 4_000), np.repeat([1e-12, 1e6], 2_000)
    reports = x + rng.normal(size=4_000) * np.sqrt(noise)
    mean, variance = moments(reports, np.ones((4_000, 1)), noise)
    np.testing.assert_allclose(mean, x[:2_000].mean(), atol=2e-3)
    np.testing.assert_allclose(variance, x[:2_000].var(), rtol=2e-3)


def test_a_clear_report_that_is_alone_in_its_class_beside_blurred_ones_is_its_mean() -> None:
    mean, variance = moments(np.array([3.0, 5.0]), np.eye(2), noise=np.array([0.0, 4.0]))
    assert mean.tolist() == [3.0, 5.0]
    assert np.isfinite(shrink_variances(variance, np.eye(2), noise=np.array([0.0, 4.0]))).all()


def test_moments_of_one_level_take_the_noise_off() -> None:
    reports, mass, noise = np.array([1.0, 3.0, 5.0, 7.0]), np.ones((4, 1)), np.full(4, 2.0)
    mean, variance = moments(reports, mass, noise)
    np.testing.assert_allclose((mean, variance), ([4.0], [3.0]))


def test_counts_of_codes_have_the_moments_of_the_reports() -> None:
    """What naive Bayes reads: values and noise by code, counted by class, are the reports one by one."""
    table, y, _ = people(2_000)
    reports = Reports(table, {"age": OPEN_OR_SHY}, target=y)
    column = reports.column("age")
    counts = reports.counts(["age"])
    noise = np.array([OPEN_OR_SHY.level(name).noise_variance for name in table["age.level"]])
    mass = np.eye(2)[y.astype(int)]
    by_code = moments(code_values(column), counts, code_noise(column))
    np.testing.assert_allclose(by_code, moments(table["age"].to_numpy(), mass, noise), rtol=1e-9)
    assert mean_noise(column) == pytest.approx(noise.mean())


@pytest.mark.parametrize(
    "channel", [sf.SquareWave(AGE, gamma=19), sf.SquareWave(AGE, gamma=3), sf.Uniform(AGE, privacy=1.0)], ids=str
)
def test_reports_are_read_as_unbiased_numbers(channel: Any) -> None:
    """A square wave's reports lie around a line that is flatter than the truth: means and variances allow for it."""
    law, values, true = channel.law(), unbiased_values(channel), np.asarray(channel.inputs.values)
    np.testing.assert_allclose(values @ law, true, atol=0.02 * AGE.width)
    assert values @ law @ np.full(true.size, 1 / true.size) == pytest.approx(true.mean())


def test_naive_bayes_and_one_normal_a_class_learn_through_a_square_wave() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 20_000)
    true = np.clip(rng.normal(35 + 10 * y, 6)[:, None] + np.zeros(2), 20, 80)
    channel = sf.SquareWave(AGE, gamma=19)
    reports = channel.randomize(true, rng)
    normals = sf.GaussianMixtureClassifier([channel] * 2, components=1, shrinkage=1_000)
    for model in (sf.NaiveBayesClassifier([channel] * 2, "moments"), normals):
        assert model.fit(reports, y).score(true, y) > 0.78, model
    mean = sf.NaiveBayesClassifier([channel] * 2, "moments").fit(reports, y).densities_[0].mean
    np.testing.assert_allclose(mean, [true[y == group, 0].mean() for group in (0, 1)], atol=0.5)


def test_noise_that_depends_on_the_value_is_taken_off_by_value() -> None:
    """A square wave blurs values at the ends more than those in the middle: both variances come out."""
    rng = np.random.default_rng(2)
    true = np.column_stack([rng.normal(50, 3, 200_000), rng.choice([22.0, 78.0], 200_000)])
    channel = sf.SquareWave(AGE, gamma=19)
    for column in true.T:
        reports = Reports({"age": channel.randomize(column, rng)}, {"age": channel})
        counts = reports.counts(["age"])[:, None]
        read = reports.column("age")
        _, variance = moments(code_values(read), counts, code_noise(read), code_excess(read))
        assert variance[0] == pytest.approx(column.var(), abs=6.0)
        assert mean_noise(read) == pytest.approx(np.var(code_values(read)[read.ranks]) - column.var(), abs=6.0)


def test_variances_that_noise_hides_are_shared_by_the_classes() -> None:
    mass, noise = np.full((1, 2), 1_000.0), 100.0
    hidden = shrink_variances(np.array([0.5, 2.0]), mass, noise)
    np.testing.assert_allclose(hidden[0], hidden[1])
    assert hidden[0] > 1.25
    np.testing.assert_allclose(shrink_variances(np.array([0.5, 2.0]), mass, 1e-9), [0.5, 2.0], rtol=1e-3)
    np.testing.assert_array_equal(shrink_variances(np.array([0.5, 2.0]), mass), [0.5, 2.0])


def test_variances_that_dwarf_the_noise_are_what_they_were() -> None:
    mass, values = np.ones((3, 2)), np.array([0.0, 1.0, 2.0])
    variance = moments(values, mass)[1]
    with np.errstate(over="raise"):
        for noise in (1e-9, 1e-33):
            np.testing.assert_allclose(shrink_variances(variance, mass, np.full(3, noise)), variance, rtol=1e-6)
