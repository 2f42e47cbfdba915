"""What all learners share: scikit-learn's contract, reports in any form, weights, and plain data."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.utils.estimator_checks import check_classifiers_train, parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

import sfumato as sf
from sfumato.learners import LEARNERS, learner_named
from sfumato.learners.estimator import Learner, generator

WHY = "folds, and cells of clear numbers, hold records: a weight of two is one of them, two records are two"
BY_RECORD = {"check_sample_weight_equivalence_on_dense_data": WHY}


def known_differences(estimator: Any) -> dict[str, str]:
    by_record = (sf.AdditiveClassifier, sf.JointModel, sf.GaussianMixtureClassifier, sf.Chooser)
    return BY_RECORD if isinstance(estimator, by_record) else {}


@parametrize_with_checks(
    [
        sf.TreeClassifier(),
        sf.AdditiveClassifier(),
        sf.JointModel(),
        sf.NaiveBayesClassifier(),
        sf.FaceValueClassifier(),
    ],
    expected_failed_checks=known_differences,
)
def test_an_estimator_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


RECIPES = {
    "bayes": sf.NaiveBayesClassifier(),
    "mixture": sf.ProductMixtureClassifier(members=1, components=4, random_state=0),
}
"""Soon fitted, and the second tells what true values may be."""


@parametrize_with_checks(
    [sf.ProductMixtureClassifier(), sf.GaussianMixtureClassifier(), sf.Chooser(recipes=RECIPES)],
    expected_failed_checks=known_differences,
)
def test_what_fits_for_longer_keeps_it_too(estimator, check):
    check(estimator)


def test_the_usual_recipes_of_a_chooser_keep_it_together() -> None:
    check_classifiers_train("Chooser", sf.Chooser())


@pytest.mark.parametrize("kind", LEARNERS)
def test_two_fits_with_defaults_answer_the_same_whatever_was_drawn_before(kind) -> None:
    rng = np.random.default_rng(3)
    channel = sf.Gaussian(sf.Interval(0, 1), privacy=0.5)
    x = rng.random((300, 3))
    reports = channel.randomize(np.where(x < 0.5, x / 2, x), rng)
    learner = learner_named(kind)
    made = learner([channel] * 3, recipes=RECIPES) if kind == "Chooser" else learner(channels=[channel] * 3)
    first, second = (made.fit(reports, x.sum(axis=1) > 1.5).predict_proba(x) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_random_state_is_a_seed_or_a_source_of_further_ones() -> None:
    assert [generator(each).random() for each in (3, np.random.RandomState(3))] == [generator(3).random()] * 2
    assert generator(None).random() == generator(None).random() != generator(3).random()
    source, drawing = np.random.RandomState(3), np.random.default_rng(3)
    assert generator(source).random() != generator(source).random() and generator(drawing) is drawing


AGE = sf.Gaussian(sf.Interval(20, 80), scale=6)
CITY = sf.RandomizedResponse(sf.Categories(["Lima", "Oslo", "Rome"]), keep=0.9)


def learners() -> dict[str, Learner]:
    """One of each, quick, for numbers."""
    return {
        "TreeClassifier": sf.TreeClassifier(random_state=0),
        "AdditiveClassifier": sf.AdditiveClassifier(),
        "GaussianMixtureClassifier": sf.GaussianMixtureClassifier(random_state=0),
        "NaiveBayesClassifier": sf.NaiveBayesClassifier(density="reconstructed"),
        "JointModel": sf.JointModel(members=1, random_state=0),
        "ProductMixtureClassifier": sf.ProductMixtureClassifier(members=1, components=8, random_state=0),
        "FaceValueClassifier": sf.FaceValueClassifier(),
        "Chooser": sf.Chooser(recipes={**RECIPES, "direct": sf.FaceValueClassifier()}, random_state=0),
    }


def survey(n: int = 2_000) -> tuple[dict[str, Any], Any, dict[str, Any]]:
    """Reports of two numbers, the class, and the true values."""
    rng = np.random.default_rng(1)
    values = {"age": rng.uniform(20, 80, n), "years": rng.uniform(20, 80, n)}
    y = np.where(values["age"] + rng.normal(0, 3, n) > 50, "old", "young")
    return {name: AGE.randomize(x, rng) for name, x in values.items()}, y, values


CHANNELS = {"age": AGE, "years": AGE}


def test_the_registry_names_every_learner() -> None:
    assert list(LEARNERS) == list(learners()) and set(LEARNERS) <= set(sf.__all__)
    assert all(issubclass(learner_named(name), Learner) for name in LEARNERS)
    assert {type(model).__name__ for model in learners().values()} == set(LEARNERS)
    with pytest.raises(ValueError, match="'Forest' is unknown; the learners are TreeClassifier"):
        learner_named("Forest")


@pytest.mark.parametrize("name", LEARNERS)
def test_a_table_with_channels_and_reports_of_them_are_the_same_to_a_learner(name: str) -> None:
    table, y, truth = survey()
    grid = pd.DataFrame(truth)[:200]
    model = learners()[name].set_params(channels=CHANNELS).fit(pd.DataFrame(table), y)
    reports = sf.Reports(pd.DataFrame({**table, "group": y}), CHANNELS, target="group", seed=0)
    again = learners()[name].fit(reports)
    assert again.classes_.tolist() == model.classes_.tolist() == ["old", "young"]
    assert again.feature_names_in_.tolist() == ["age", "years"]
    assert np.mean(again.predict(grid) == model.predict(grid)) > 0.93
    assert again.score(grid, y[:200]) > 0.8


def test_the_class_column_of_reports_is_named_in_fit() -> None:
    table, y, truth = survey()
    untargeted = sf.Reports({**table, "group": y}, CHANNELS)
    assert untargeted.names == ("age", "years", "group")
    named = sf.NaiveBayesClassifier().fit(untargeted, "group")
    given = sf.NaiveBayesClassifier().fit(sf.Reports(table, CHANNELS), y)
    assert named.attribute_names_ == ["age", "years"]
    np.testing.assert_array_equal(named.predict_proba(truth), given.predict_proba(truth))
    with pytest.raises(ValueError, match="these reports have no class"):
        sf.NaiveBayesClassifier().fit(sf.Reports(table, CHANNELS))


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_travels_as_plain_data(name: str) -> None:
    table, y, truth = survey()
    model = learners()[name].set_params(channels=CHANNELS).fit(pd.DataFrame(table), y)
    text = json.dumps(model.to_dict(), allow_nan=False)
    again = learner_named(name).from_dict(json.loads(text))
    grid = pd.DataFrame(truth)[:300]
    np.testing.assert_array_equal(again.predict(grid), model.predict(grid))
    np.testing.assert_allclose(again.predict_proba(grid), model.predict_proba(grid), rtol=0, atol=1e-12)
    assert again.attribute_names_ == ["age", "years"]


@pytest.mark.parametrize("name", LEARNERS)
def test_weights_of_three_outvote_weights_of_one(name: str) -> None:
    """Half the people have their classes the wrong way round and a third of the others' weight."""
    table, y, truth = survey()
    wrong = np.arange(y.size) % 2 == 0
    mixed = np.where(wrong, np.where(y == "old", "young", "old"), y)
    weight = np.where(wrong, 1.0, 3.0)
    model = learners()[name].set_params(channels=CHANNELS)
    assert model.fit(table, mixed, sample_weight=weight).score(truth, y) > 0.75
    assert model.fit(table, mixed, sample_weight=4 - weight).score(truth, y) < 0.25


@pytest.mark.parametrize("name", LEARNERS)
def test_records_of_no_weight_are_as_if_they_were_not_there(name: str) -> None:
    table, y, truth = survey(600)
    weight = np.r_[np.ones(400), np.zeros(200)]
    some = {column: values[:400] for column, values in table.items()}
    model = learners()[name].set_params(channels=CHANNELS)
    grid = {column: values[:50] for column, values in truth.items()}
    expected = model.fit(some, y[:400]).predict_proba(grid)
    np.testing.assert_allclose(model.fit(table, y, sample_weight=weight).predict_proba(grid), expected, atol=1e-6)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, duckdb.from_df, dict])
def test_every_kind_of_table_is_read_and_synthetic_records_come_back_as_it(kind: Any) -> None:
    table, y, truth = survey(800)
    frame = duckdb.from_df(pd.DataFrame(table)) if kind is duckdb.from_df else kind(table)
    model = sf.JointModel(CHANNELS, members=1, random_state=0).fit(frame, y)
    expected = sf.JointModel(CHANNELS, members=1, random_state=0).fit(table, y)
    np.testing.assert_array_equal(model.predict_proba(truth), expected.predict_proba(truth))
    sample, classes = model.sample(20, random_state=0)
    assert type(sample) is type(frame) and len(classes) == 20
    assert list(sample.columns if hasattr(sample, "columns") and kind is not pa.table else table) == list(table)


def test_labels_in_an_array_are_read_where_a_channel_says_so() -> None:
    rng = np.random.default_rng(2)
    city = rng.choice(["Lima", "Oslo", "Rome"], 900)
    model = sf.NaiveBayesClassifier([CITY]).fit(CITY.randomize(city, rng)[:, None].astype(object), city == "Rome")
    assert model.predict(np.array([["Rome"], ["Oslo"]], dtype=object)).tolist() == [True, False]


def test_bad_arguments_are_refused_in_one_line() -> None:
    table, y, _ = survey(50)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        sf.NaiveBayesClassifier(CHANNELS).fit(table, y[:10])
    with pytest.raises(ValueError, match="requires y to be passed"):
        sf.NaiveBayesClassifier(CHANNELS).fit(table)
    with pytest.raises(ValueError, match="whose reports are no classes; use RandomizedResponse"):
        sf.NaiveBayesClassifier(CHANNELS, label_channel=AGE).fit(table, y)
    with pytest.raises(ValueError, match="sample_weight has 3 entries for 50"):
        sf.NaiveBayesClassifier(CHANNELS).fit(table, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="every sample_weight is zero"):
        sf.NaiveBayesClassifier(CHANNELS).fit(table, y, sample_weight=np.zeros(50))
    with pytest.raises(TypeError, match="neither a list with one entry a column nor a mapping"):
        sf.NaiveBayesClassifier(AGE).fit(table, y)


def test_a_text_among_true_numbers_is_not_printed() -> None:
    model = sf.NaiveBayesClassifier().fit(np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="a text where the model reads numbers") as refusal:
        model.predict(np.array([["secret"]], dtype=object))
    assert "secret" not in str(refusal.value)


def test_products_of_matrices_have_one_thread_while_a_learner_learns_and_as_many_as_before_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def pools() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    seen: list[int] = []
    learn = sf.NaiveBayesClassifier._learn
    monkeypatch.setattr(
        sf.NaiveBayesClassifier, "_learn", lambda self, *given: (seen.extend(pools()), learn(self, *given))[1]
    )
    with threadpool_limits(2, user_api="blas"):
        sf.NaiveBayesClassifier().fit(np.arange(8.0)[:, None], np.arange(8) % 2)
        assert set(seen) == {1} and set(pools()) == {2}


@pytest.mark.parametrize("lazy", [False, True], ids=["memory", "lazy"])
@pytest.mark.parametrize("kind", LEARNERS)
def test_a_clear_column_that_nobody_answered_teaches_nothing_and_may_be_answered_later(kind, lazy) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 60)
    plan = sf.Plan.from_dict({"attributes": {
        "x": {"low": 0, "high": 2, "channel": "gaussian", "privacy": 0.5},
        "town": {"categories": ["a", "b"], "role": "clear"},
        "y": {"categories": [0, 1], "role": "class"},
    }})  # fmt: skip
    people = {"x": y + rng.random(60), "town": np.full(60, None), "y": y}
    reports = plan.randomize(people, rng=1)
    table = pl.DataFrame({**reports, "town": pl.Series([None] * 60, dtype=pl.String)}).lazy() if lazy else reports
    model = learner_named(kind)().fit(sf.Reports(table, plan))
    later = {"x": people["x"], "town": np.array(["a", "b"] * 30, object)}
    expected = model.predict_proba({name: people[name] for name in later})
    np.testing.assert_allclose(model.predict_proba(later), expected, atol=1e-6)
    again = type(model).from_dict(json.loads(json.dumps(model.to_dict(), allow_nan=False)))
    np.testing.assert_allclose(again.predict_proba(later), expected, atol=1e-6)
