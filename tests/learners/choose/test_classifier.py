"""The chooser: which recipes will serve best on true values, told from reports alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato.counts import Fold
from sfumato.learners.choose import Chooser, estimated_accuracy
from sfumato.learners.choose.accuracy import accuracy
from sfumato.learners.choose.classifier import first_is_small
from sfumato.learners.choose.judging import (
    DRAWS,
    FAR_BEHIND,
    Judge,
    calibrated_log_likelihood,
    errors_behind,
    first_as_good,
    likelihood,
    log_of_mean,
    pool_weights,
)
from sfumato.learners.choose.on_grid import GridLosses
from sfumato.learners.face_value import FaceValueClassifier
from sfumato.learners.product_mixture import ProductMixtureClassifier
from sfumato.learners.tree import TreeClassifier

UNIT = sf.Interval(0, 1)


class Band:
    """A classifier that knows a band of x, and is as sure as it is right."""

    def __init__(self, low: float, high: float, right: float = 0.99) -> None:
        self.low, self.high, self.right = low, high, right

    def _probabilities(self, columns: Any) -> np.ndarray[Any, Any]:
        inside = np.where((columns[0] > self.low) & (columns[0] < self.high), self.right, 1 - self.right)
        return np.column_stack([1 - inside, inside])


def band_data(n: int, scale: float, seed: int) -> tuple[sf.Gaussian, pd.DataFrame, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    channel = sf.Gaussian(UNIT, scale=scale)
    return channel, pd.DataFrame({"x": channel.randomize(x, rng)}), (x > 0.4) & (x < 0.6)


def judge_of_bands(n: int = 4_000, scale: float = 0.1, seed: int = 1) -> Judge:
    """The second half of the people, with what the first half tells about their true values."""
    channel, table, y = band_data(n, scale, seed)
    reports = sf.Reports(table, {"x": channel}, target=y)
    half = np.arange(n) < n // 2
    rest, held = (reports.of_records(np.flatnonzero(each)) for each in (half, ~half))
    behind = ProductMixtureClassifier([channel], members=1, random_state=0).fit(rest)
    return Judge(held, behind, np.array([0.8, 0.2]), np.random.default_rng(0))


def test_the_true_classifier_scores_best_and_counts_most() -> None:
    judge = judge_of_bands()
    bands = Band(0.4, 0.6), Band(0.25, 0.75), Band(0.5, 0.7)
    logs = [
        calibrated_log_likelihood(judge.log_probabilities(band), judge.label, judge.weight, judge.shares)
        for band in bands
    ]
    assert logs[0].mean() > max(logs[1].mean(), logs[2].mean())
    assert pool_weights(logs, judge.weight).argmax() == 0


def test_the_accuracy_of_any_classifier_is_estimated_from_reports() -> None:
    judge = judge_of_bands(12_000)
    for band, true, most in ((Band(0.4, 0.6), 1.0, 0.08), (Band(0.25, 0.75), 0.7, 0.25), (Band(0.5, 0.7), 0.8, 0.25)):
        found, error = accuracy([(band._probabilities, judge.held_out, [judge.behind])], np.random.default_rng(0))
        assert abs(found - true) < min(0.1, 2 * error) and error < most  # who is wrong about itself is hard to judge


def shells(n: int, rng: np.random.Generator) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A narrow and a wide cloud around one place in twelve columns: sums of reports tell nothing about the class."""
    y = rng.random(n) < 0.5
    return np.clip(0.5 + np.where(y, 0.06, 0.14)[:, None] * rng.standard_normal((n, 12)), 0, 1), y


def test_heavy_noise_makes_the_estimate_of_accuracy_unsure_and_not_wrong() -> None:
    """It used to be 64.2 % ± .3 where the truth is 72 %."""
    rng = np.random.default_rng(12)
    channel = sf.Gaussian(UNIT, privacy=1.5)
    x, y = shells(9_000, rng)
    columns = {f"x{j}": column for j, column in enumerate(channel.randomize(x, rng).T.copy())}
    reports = sf.Reports(columns, dict.fromkeys(columns, channel), target=y)
    rest, held = (reports.of_records(np.arange(*ends)) for ends in ((0, 6_000), (6_000, 9_000)))
    model = sf.GaussianMixtureClassifier([channel] * 12, random_state=0).fit(rest)
    people, true = shells(4_000, rng)
    found, error = estimated_accuracy(model, rest, held, np.random.default_rng(0))
    assert abs(found - np.mean(model._probabilities(list(people.T)).argmax(axis=1) == true)) < 2 * error < 0.25


def test_accuracy_is_estimated_where_nobody_held_out_reported_one_of_the_classes() -> None:
    channel, table, y = band_data(900, 0.1, 3)
    reports = sf.Reports(table, {"x": channel}, target=y)
    narrow = np.flatnonzero(~y)
    rest, held = reports.of_records(np.arange(800)), reports.of_records(narrow[narrow >= 800])
    model = sf.NaiveBayesClassifier([channel]).fit(rest)
    found, error = estimated_accuracy(model, rest, held, np.random.default_rng(0))
    assert 0.5 < found <= 1 and error > 0


def test_powers_follow_the_gradient() -> None:
    judge = judge_of_bands(400)
    logs = [judge.log_probabilities(band) for band in (Band(0.4, 0.6), Band(0.25, 0.75))]
    at, step = np.array([0.3, 0.5]), 1e-3

    def value(powers: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
        return likelihood(powers, logs, judge.label, judge.weight)

    for m, slope in enumerate(value(at)[1]):
        ahead, before = (value(at + side * step * np.eye(2)[m])[0] for side in (1, -1))
        assert slope == pytest.approx((ahead - before) / (2 * step), rel=1e-2, abs=0.2)


def test_answers_that_tell_nothing_are_at_least_as_likely_as_the_shares() -> None:
    judge = judge_of_bands(400)
    log_p = judge.log_probabilities(Band(2.0, 3.0, 0.8))
    logs = calibrated_log_likelihood(log_p, judge.label, judge.weight, judge.shares)
    assert np.unique(logs.round(6)).size == 2 and logs.mean() >= np.log(judge.label @ judge.shares).mean()


def test_the_logarithm_of_a_mean_of_few_draws_is_right_on_average() -> None:
    draws = (np.random.default_rng(2).random((20_000, DRAWS)) < 0.5) + 1e-9
    assert np.log(draws.mean(axis=1)).mean() < np.log(0.5) - 0.01
    assert log_of_mean(draws)[0].mean() == pytest.approx(np.log(0.5), abs=0.003)


def recipes(channels: Any) -> dict[str, Any]:
    tree = DecisionTreeClassifier(min_samples_leaf=50, random_state=0)
    return {
        "reconstruct": ProductMixtureClassifier(channels, members=2, random_state=0),
        "direct": FaceValueClassifier(tree, channels),
    }


def test_it_reconstructs_where_noise_hides_a_band_and_serves_what_it_chose() -> None:
    channel, reports, y = band_data(3_000, 0.25, 2)
    channels = {"x": channel}
    chooser = Chooser(channels, recipes=recipes(channels), random_state=0).fit(reports, y)
    assert chooser.reconstructs_ and chooser.chosen_ == "reconstruct"
    assert chooser.verdict().startswith("Reconstruct: reconstruct;")
    grid = pd.DataFrame({"x": np.linspace(0.01, 0.99, 99)})
    np.testing.assert_array_equal(chooser.predict(grid), chooser.estimator_.predict(grid))
    np.testing.assert_array_equal(chooser.predict_proba(grid), chooser.estimator_.predict_proba(grid))


def test_it_mines_directly_where_a_model_cannot_see_what_the_tree_sees() -> None:
    """Little noise and one component: the mixture is blind to the band, the tree on reports is not."""
    channel, reports, y = band_data(2_000, 0.01, 4)
    blind = ProductMixtureClassifier({"x": channel}, components=1, pseudo_count=50.0, members=1, random_state=0)
    offered = {**recipes({"x": channel}), "reconstruct": blind}
    chooser = Chooser({"x": channel}, recipes=offered, random_state=0).fit(reports, y)
    assert chooser.chosen_ == "direct" and chooser.verdict().startswith("Mine the reports directly")


def two_halves(n: int, seed: int) -> tuple[dict[str, sf.Channel], pd.DataFrame, np.ndarray[Any, Any], Any]:
    """One recipe knows one column, one the other: together they know more."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2 * n, 2))
    y = (x.sum(axis=1) + rng.logistic(size=2 * n) / 4 > 0).astype(int)
    channels = {name: sf.Gaussian(sf.Interval(-6, 6), scale=0.5) for name in "ab"}
    table = pd.DataFrame({name: channels[name].randomize(x[:n, j], rng) for j, name in enumerate("ab")})
    return channels, table, y[:n], (pd.DataFrame(x[n:], columns=["a", "b"]), y[n:])


def test_recipes_that_cannot_be_told_apart_answer_together() -> None:
    channels, table, y, (people, true) = two_halves(3_000, 5)
    kinds = {f"knows {name}": FaceValueClassifier(ByColumn(j), channels) for j, name in enumerate("ab")}
    chooser = Chooser(channels, recipes=kinds, random_state=0).fit(table, y)
    assert len(chooser.members_) == 2 and "together; held-out people do not tell" in chooser.verdict()
    assert sum(chooser.weights_.values()) == pytest.approx(1) and min(chooser.weights_.values()) > 0
    pairs = zip(chooser.weights_.values(), chooser.members_, strict=True)
    expected = sum(w * each.predict_proba(people) for w, each in pairs)
    np.testing.assert_allclose(chooser.predict_proba(people), expected, atol=1e-8)
    alone = [each.score(people, true) for each in chooser.members_]
    assert chooser.score(people, true) > min(alone)
    with pytest.raises(AttributeError, match="answer together"):
        _ = chooser.estimator_
    again = Chooser.from_dict(chooser.to_dict())
    np.testing.assert_allclose(again.predict_proba(people), chooser.predict_proba(people), rtol=1e-9)


def test_one_answers_alone_where_that_is_asked_for() -> None:
    channels, table, y, _ = two_halves(3_000, 5)
    kinds = {f"knows {name}": FaceValueClassifier(ByColumn(j), channels) for j, name in enumerate("ab")}
    chooser = Chooser(channels, recipes=kinds, combine=False, random_state=0).fit(table, y)
    assert chooser.weights_ == {chooser.chosen_: 1.0} and chooser.estimator_ is chooser.members_[0]


class ByColumn(DecisionTreeClassifier):
    """A tree that sees one column alone."""

    def __init__(self, column: int = 0) -> None:
        super().__init__(max_depth=4, min_samples_leaf=50, random_state=0)
        self.column = column

    def _seen(self, X: Any) -> Any:
        hidden = np.zeros_like(np.asarray(X, float))
        hidden[:, self.column] = np.asarray(X, float)[:, self.column]
        return hidden

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(self._seen(X), y, sample_weight=sample_weight)


def test_the_usual_recipes_cover_both_ways() -> None:
    numbers = sf.Gaussian(UNIT, scale=0.1)
    reports = sf.Reports({"x": [0.1, 0.2]}, {"x": numbers})
    assert [name.split(",")[0] for name in Chooser()._recipes(reports)] == ["reconstruct"] * 5 + ["direct"] * 3
    assert list(Chooser(readable=True)._recipes(reports)) == ["reconstruct, tree", "reconstruct, sum of terms"]
    blurred = Chooser(label_channel=sf.RandomizedResponse(sf.Categories([0, 1]), keep=0.8))._recipes(reports)
    assert all(name.startswith("reconstruct") for name in blurred)  # the others cannot allow for that


def test_sets_of_categories_are_not_taken_for_values() -> None:
    towns = sf.SubsetResponse(sf.Categories([*"abcdefghijkl"]), gamma=3)
    rng = np.random.default_rng(3)
    town = rng.choice([*"abcdefghijkl"], 600)
    table = pd.DataFrame({"town": towns.randomize(town, rng)})
    assert all(name.startswith("reconstruct") for name in Chooser()._recipes(sf.Reports(table, {"town": towns})))
    with pytest.raises(ValueError, match="column 'town': reports of subset-response are no values of its domain"):
        FaceValueClassifier(None, {"town": towns}).fit(table, town < "f")
    quick = {
        "bayes": sf.NaiveBayesClassifier({"town": towns}),
        "mixture": ProductMixtureClassifier({"town": towns}, members=1),
    }
    chooser = Chooser({"town": towns}, recipes=quick, random_state=0).fit(table, town < "f")
    assert chooser.score(pd.DataFrame({"town": town}), town < "f") > 0.8


def test_classes_through_a_channel_are_judged_as_true_ones() -> None:
    channel, table, y = band_data(6_000, 0.05, 7)
    label = sf.RandomizedResponse(sf.Categories([False, True]), keep=0.8)
    told = label.randomize(y, np.random.default_rng(8))
    offered = {
        "sees": ProductMixtureClassifier([channel], label_channel=label, members=1, random_state=0),
        "blind": ProductMixtureClassifier([channel], label_channel=label, components=1, members=1, random_state=0),
    }
    chooser = Chooser([channel], recipes=offered, label_channel=label, random_state=0).fit(table, told)
    assert chooser.chosen_ == "sees"
    accuracy, error = chooser.accuracy_
    assert abs(accuracy - 0.97) < 2 * error


def test_each_counts_half_as_much_for_every_standard_error_behind() -> None:
    rng, weight = np.random.default_rng(4), np.ones(2_000)
    best = np.log(rng.uniform(0.3, 0.9, 2_000))
    away = rng.normal(0, 0.2, 2_000)
    away = (away - away.mean()) / away.std()
    behind = [best - 0.2 * away - z * 0.2 / np.sqrt(2_000) for z in (1.0, 2.0, FAR_BEHIND + 0.1)]
    assert [errors_behind(each, best, weight) for each in behind] == pytest.approx([1.0, 2.0, FAR_BEHIND + 0.1])
    assert pool_weights([best, *behind], weight) == pytest.approx(np.array([4, 2, 1, 0]) / 7)
    assert first_as_good([behind[1], behind[0], best], weight, 1.5) == 1


def test_an_estimate_of_accuracy_is_near_the_truth() -> None:
    rng = np.random.default_rng(9)
    x = rng.random(28_000)
    y = rng.random(28_000) < 1 / (1 + np.exp(-10 * (x - 0.5)))
    channel = sf.Gaussian(UNIT, scale=0.2)
    reports = sf.Reports({"x": channel.randomize(x[:8_000], rng)}, {"x": channel}, target=y[:8_000])
    rest, held = (reports.of_records(np.arange(*ends)) for ends in ((0, 6_000), (6_000, 8_000)))
    model = sf.NaiveBayesClassifier([channel], "reconstructed").fit(rest)
    true = model.score(pd.DataFrame({"x": x[8_000:]}), y[8_000:])
    found, error = estimated_accuracy(model, rest, held, np.random.default_rng(0))
    assert abs(found - true) < 0.03 and 0 < error < 0.05


def test_no_recipes_is_an_error() -> None:
    with pytest.raises(ValueError, match="recipes is empty"):
        Chooser(recipes={}).fit(np.zeros((4, 1)), [0, 1, 0, 1])


def readable_choice(truth: Any, columns: int = 2, people: int = 12_000) -> Chooser:
    rng = np.random.default_rng(11)
    x = rng.random((people, columns))
    channel = sf.Gaussian(UNIT, privacy=0.5)
    chooser = Chooser([channel] * columns, readable=True, random_state=0)
    return chooser.fit(channel.randomize(x, rng), truth(x))


def test_boxes_are_read_as_a_tree() -> None:
    chooser = readable_choice(lambda x: (x[:, 0] > 0.4) & (x[:, 1] > 0.4), people=60_000)
    assert chooser.chosen_ == "reconstruct, tree" and chooser.scores_[chooser.chosen_] > -0.6


def test_a_slanted_line_is_read_as_a_sum_of_terms() -> None:
    chooser = readable_choice(lambda x: 2 * x[:, 0] + x[:, 1] > 1.5)
    assert chooser.chosen_ == "reconstruct, sum of terms"
    assert chooser.scores_["reconstruct, sum of terms"] > chooser.scores_["reconstruct, tree"]


def test_readable_models_of_too_many_columns_for_a_grid_are_judged_by_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.learners.choose.on_grid.MOST_DIMENSIONS", 0.5)
    chooser = readable_choice(lambda x: x[:, 0] > 0.5)
    assert set(chooser.scores_) == {"reconstruct, tree", "reconstruct, sum of terms"}


def test_readable_models_that_find_nothing_are_judged_too() -> None:
    chance = np.random.default_rng(3)
    chooser = readable_choice(lambda x: chance.integers(0, 2, len(x)))
    assert chooser.estimator_.columns_read() == [] and abs(chooser.accuracy_[0] - 0.5) < 0.05


def test_the_first_that_is_about_as_good_as_the_best_is_taken() -> None:
    loss, error = np.array([0.503, 0.501, 0.5]), np.full((3, 3), 0.001)
    found = GridLosses(loss, loss[:, None] - loss[None], error)
    assert found.first_as_good() == 1 and found.first_as_good(0.0) == 2


def test_a_large_tree_is_not_preferred_to_a_formula() -> None:
    small, large = (TreeClassifier.__new__(TreeClassifier) for _ in range(2))
    small.get_n_leaves, large.get_n_leaves = (lambda: 9), (lambda: 150)
    fold = Fold(0, 3)
    assert first_is_small([(fold, [small])]) and not first_is_small([(fold, [large]), (fold, [large]), (fold, [small])])
