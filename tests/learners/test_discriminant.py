"""The linear discriminant of true values, from reports."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import sfumato as sf
from sfumato.learners.discriminant import LinearDiscriminant
from sfumato.learners.moments import less_noise


def test_without_noise_it_is_scikit_learns() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) + y[:, None]
    expected = LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(LinearDiscriminant().fit(X, y).predict_proba(X), expected, atol=1e-6)


def test_the_noise_is_taken_off_the_diagonal() -> None:
    truth = np.array([[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(less_noise(truth + np.diag([1.0, 3.0]), np.array([1.0, 3.0])), truth)


def test_more_noise_than_variance_leaves_something_positive() -> None:
    assert (np.linalg.eigvalsh(less_noise(np.eye(2), np.array([5.0, 0.5]))) > 0).all()


def test_it_finds_the_direction_that_noise_bends() -> None:
    """x1 and x2 go together and only their difference tells the class: reports hide it, the correction finds it."""
    rng = np.random.default_rng(2)
    common, y = rng.normal(0, 2, 30_000), rng.integers(0, 2, 30_000)
    X = np.clip(np.column_stack([common + 0.5 * y, common - 0.5 * y]) + rng.normal(0, 0.5, (30_000, 2)), -10, 10)
    channel = sf.Gaussian(sf.Interval(-10, 10), scale=1.0)
    reports = np.column_stack([channel.randomize(column, rng) for column in X.T])
    ours, clean = LinearDiscriminant([channel, channel]).fit(reports, y), LinearDiscriminant().fit(X, y)
    direct = LinearDiscriminant().fit(reports, y)
    assert np.linalg.norm(slope(ours) - slope(clean)) < 0.1 * np.linalg.norm(slope(clean))
    assert np.linalg.norm(slope(direct) - slope(clean)) > 0.5 * np.linalg.norm(slope(clean))
    assert ours.score(X, y) > clean.score(X, y) - 0.005


def slope(model: LinearDiscriminant) -> np.ndarray[Any, Any]:
    return np.asarray(model.coef_[1] - model.coef_[0])


CITY = sf.RandomizedResponse(sf.Categories(["Bonn", "Pisa", "Rome", "Ulm"]), keep=0.5)
PAY = sf.Gaussian(sf.Interval(0, 10), scale=3)
ANSWER = sf.RandomizedResponse(sf.Categories(["no", "yes"]), keep=0.8)


def residents(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """City and pay go together, and both tell about the class."""
    pay = rng.uniform(0, 10, n)
    city = np.array(CITY.domain.labels)[np.minimum((pay / 5 + 3 * rng.random(n)).astype(int), 3)]
    odds = pay - 5 + np.where(city == "Rome", -3.0, 1.0)
    return pd.DataFrame({"city": city, "pay": pay}), np.where(rng.logistic(size=n) < odds, "yes", "no")


@pytest.mark.parametrize("blurred", [False, True], ids=["clear classes", "blurred classes"])
def test_categories_are_indicators_whose_noise_is_taken_off(blurred: bool) -> None:
    rng = np.random.default_rng(4)
    true, y = residents(40_000, rng)
    reports = pd.DataFrame({"city": CITY.randomize(true["city"], rng), "pay": PAY.randomize(true["pay"], rng)})
    classes = ANSWER.randomize(y, rng) if blurred else y
    model = LinearDiscriminant({"city": CITY, "pay": PAY}, label_channel=ANSWER if blurred else None)
    model.fit(reports, classes)
    clean = LinearDiscriminant().fit(true, y)
    of_city, of_clean = (slope(each)[:3] - slope(each)[:3].mean() for each in (model, clean))
    np.testing.assert_allclose(of_city, of_clean, atol=0.4)
    np.testing.assert_allclose(slope(model)[3], slope(clean)[3], rtol=0.1)
    assert model.score(true, y) > clean.score(true, y) - 0.01
    again = LinearDiscriminant.from_dict(json.loads(json.dumps(model.to_dict())))
    np.testing.assert_array_equal(again.predict_proba(true), model.predict_proba(true))


def test_clear_labels_are_scikit_learns_indicators() -> None:
    true, y = residents(2_000, np.random.default_rng(5))
    X = np.column_stack([true["city"] == label for label in CITY.domain.labels[:-1]] + [true["pay"]]).astype(float)
    expected = LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(LinearDiscriminant().fit(true, y).predict_proba(true), expected, atol=1e-6)


def test_gaps_and_unknown_labels_are_filled_with_the_mean() -> None:
    rng = np.random.default_rng(6)
    true, y = residents(5_000, rng)
    reports = pd.DataFrame({"city": CITY.randomize(true["city"], rng), "pay": PAY.randomize(true["pay"], rng)})
    reports.loc[::4, "city"] = None
    model = LinearDiscriminant({"city": CITY, "pay": PAY}).fit(reports, y)
    asked = pd.DataFrame({"city": ["Oslo", None], "pay": [5.0, 5.0]})
    found = model.predict_proba(asked)
    np.testing.assert_array_equal(found[0], found[1])
