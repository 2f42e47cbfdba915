"""The chooser: which recipe will serve better on true values, told from reports alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato.mining.chooser import Chooser, Judge, about_as_good, held_out_logs
from sfumato.mining.direct import DirectClassifier
from sfumato.mining.joint import MixtureModel

UNIT = sf.Interval(0, 1)


class Band:
    """A classifier that knows a band of x: the best one when the band is true."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high, self.classes_ = low, high, np.array([False, True])

    def answers(self, X: Any) -> np.ndarray[Any, Any]:
        return ((X[0] > self.low) & (X[0] < self.high)).astype(np.int64)


def band_data(n: int, scale: float, seed: int) -> tuple[sf.Gaussian, pd.DataFrame, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    channel = sf.Gaussian(UNIT, scale=scale)
    return channel, pd.DataFrame({"x": channel.randomize(x, rng)}), (x > 0.4) & (x < 0.6)


def test_the_true_classifier_scores_best() -> None:
    channel, reports, y = band_data(4_000, 0.1, 1)
    judge = Judge(sf.Reports(reports, {"x": channel}), np.random.default_rng(0))
    draws = judge.draws(np.arange(4_000), 50)
    truth, wide, aside = (
        held_out_logs(band.answers(draws).reshape(-1, 50), y.astype(np.int64), 2).mean()
        for band in (Band(0.4, 0.6), Band(0.25, 0.75), Band(0.5, 0.7))
    )
    assert truth > wide and truth > aside


def test_answers_right_nine_times_in_ten_score_as_such() -> None:
    y = np.repeat([0, 1], 500)
    answers = np.where(np.arange(1_000) % 10 == 0, 1 - y, y)[:, None]
    expected = 0.9 * np.log(0.8 + 0.1) + 0.1 * np.log(0.1)
    assert held_out_logs(answers, y, 2).mean() == pytest.approx(expected)


def test_answers_that_never_leave_one_class_tell_nothing() -> None:
    y = np.array([0, 1, 1, 1])
    shares = 0.25 * np.log(0.25) + 0.75 * np.log(0.75)
    assert held_out_logs(np.ones((4, 5), np.int64), y, 2).mean() == pytest.approx(shares)
    assert held_out_logs(y[:, None], y, 2).mean() == pytest.approx(0.0, abs=0.01)


def test_draws_behind_noiseless_reports_are_the_reports() -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(0, 5, 400)
    channel = sf.RandomizedResponse(sf.Categories(list(range(5))), keep=0.999999)
    judge = Judge(sf.Reports({"x": values}, [channel]), np.random.default_rng(0))
    draws = judge.draws(np.arange(400), 2)[0].astype(int)
    assert np.mean(draws == np.repeat(values, 2)) > 0.99


def test_it_reconstructs_where_noise_hides_a_band_and_serves_what_it_chose() -> None:
    channel, reports, y = band_data(3_000, 0.25, 2)
    channels = {"x": channel}
    chooser = Chooser(channels, recipes=recipes(channels), random_state=0).fit(reports, y)
    assert chooser.reconstructs_ and chooser.chosen_ == "reconstruct"
    assert chooser.verdict().startswith("Reconstruct: reconstruct.")
    grid = pd.DataFrame({"x": np.linspace(0.01, 0.99, 99)})
    np.testing.assert_array_equal(chooser.predict(grid), chooser.estimator_.predict(grid))
    np.testing.assert_array_equal(chooser.predict_proba(grid), chooser.estimator_.predict_proba(grid))


def recipes(channels: Any) -> dict[str, Any]:
    tree = DecisionTreeClassifier(min_samples_leaf=50, random_state=0)
    return {
        "direct": DirectClassifier(tree, channels),
        "reconstruct": MixtureModel(channels, members=2, random_state=0),
    }


def test_it_mines_directly_where_a_model_cannot_see_what_the_tree_sees() -> None:
    """Little noise and one component: the mixture is blind to the band, the tree on reports is not."""
    channel, reports, y = band_data(2_000, 0.01, 4)
    blind = MixtureModel({"x": channel}, components=1, pseudo_count=50.0, members=1, random_state=0)
    offered = {**recipes({"x": channel}), "reconstruct": blind}
    chooser = Chooser({"x": channel}, recipes=offered, random_state=0).fit(reports, y)
    assert chooser.chosen_ == "direct" and chooser.verdict().startswith("Mine the reports directly")


def test_the_usual_recipes_cover_both_ways() -> None:
    numbers, labels = sf.Gaussian(UNIT, scale=0.1), sf.RandomizedResponse(sf.Categories(["a", "b"]), keep=0.8)
    assert ways({"x": numbers}) == ["reconstruct"] * 3 + ["direct"] * 3
    assert ways([numbers, labels]) == ["reconstruct"] * 2 + ["direct"] * 3  # no linear discriminant of labels


def ways(channels: Any) -> list[str]:
    return [name.split(",")[0] for name in Chooser(channels)._recipes()]


def test_of_recipes_that_do_equally_well_the_first_is_taken() -> None:
    logs = np.log(np.array([0.5, 0.6, 0.7, 0.6]))
    assert about_as_good(logs, logs) and about_as_good(logs, logs + np.array([0.1, -0.1, 0.1, -0.1]))
    assert not about_as_good(logs - 0.1, logs)


def test_no_recipes_is_an_error() -> None:
    with pytest.raises(ValueError, match="recipes is empty"):
        Chooser(recipes={}).fit(np.zeros((4, 1)), [0, 1, 0, 1])
