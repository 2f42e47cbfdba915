"""What no learner may depend on: the units of columns, columns that say nothing, classes too rare to be counted."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import sfumato as sf
from sfumato.learners import LEARNERS, learner_named
from sfumato.learners.classes import likely_people
from sfumato.learners.estimator import Learner
from sfumato.learners.moments import moments, shrink_variances, units

QUICK = sf.ProductMixtureClassifier(members=1, components=4)
METHODS: dict[str, Learner] = {
    **{f"tree, {way}": sf.TreeClassifier(reconstruction=way) for way in ("likelihood", "joint", "byclass", "none")},
    **{f"bayes, {way}": sf.NaiveBayesClassifier(density=way) for way in ("auto", "moments", "reconstructed", "direct")},
    "additive": sf.AdditiveClassifier(),
    "joint": sf.JointModel(members=1),
    "products": QUICK,
    "mixture": sf.GaussianMixtureClassifier(components=2),
    "direct": sf.FaceValueClassifier(),
    "chooser": sf.Chooser(
        recipes={"bayes": sf.NaiveBayesClassifier(), "products": QUICK, "direct": sf.FaceValueClassifier()}
    ),
}
AT_FACE_VALUE = ("tree, none", "direct", "chooser")
"""What scikit-learn says of a value that it never saw is its own affair."""
FITTED_ALIKE = 1e-6  # EM and Newton stop at the same step, but sums of other numbers differ in their last digits


def blurred(x: Any, unit: float) -> tuple[sf.Gaussian, Any]:
    channel = sf.Gaussian(sf.Interval(0, unit), scale=unit / 8, step=unit / 256)
    return channel, channel.randomize(x * unit, np.random.default_rng(1))


def fitted(model: Learner, units: Any = (1.0, 1.0), beside: Any = None, n: int = 600) -> tuple[Learner, Any, Any]:
    """A learner of a blurred and a clear number (and of a clear column beside them), and true values."""
    rng = np.random.default_rng(7)
    x, other = rng.random(n), rng.normal(size=n)
    y = x + 0.4 * other > 0.5
    channel, reports = blurred(x, units[0])
    columns = [reports, units[1] * other, *([] if beside is None else [np.full(n, beside)])]
    channels = [channel, *[None] * (len(columns) - 1)]
    true = np.column_stack([units[0] * x, *columns[1:]])
    return model.set_params(channels=channels).fit(np.column_stack(columns), y), true, y


def test_every_learner_is_here() -> None:
    assert {type(model).__name__ for model in METHODS.values()} == set(LEARNERS)


@pytest.mark.parametrize("units", [(2.0**-30, 1.0), (2.0**40, 1.0), (1.0, 2.0**-30), (1.0, 2.0**40)])
@pytest.mark.parametrize("name", METHODS)
def test_the_units_of_a_column_change_no_answer(name: str, units: Any) -> None:
    plain, true, _ = fitted(METHODS[name])
    expected = plain.predict_proba(true)
    other, true, _ = fitted(METHODS[name], units)
    np.testing.assert_allclose(other.predict_proba(true), expected, rtol=0, atol=FITTED_ALIKE)


@pytest.mark.parametrize("value", [0.1, 0.0, 1e9, 1e-9, np.nan])
@pytest.mark.parametrize("name", METHODS)
def test_a_column_that_never_varies_says_nothing_whatever_stands_there_later(name: str, value: float) -> None:
    plain, true, y = fitted(METHODS[name])
    expected = plain.score(true, y)
    model, true, y = fitted(METHODS[name], beside=value)
    assert model.score(true, y) > expected - 0.03
    if name not in AT_FACE_VALUE:
        answers = model.predict_proba(true[:20])
        true[:20, -1] = 3.0
        np.testing.assert_allclose(model.predict_proba(true[:20]), answers, atol=FITTED_ALIKE)


@pytest.mark.parametrize("name", [name for name in METHODS if name not in AT_FACE_VALUE[:2]])
def test_a_class_too_rare_for_its_blurred_label_leaves_the_others_alone(name: str) -> None:
    label = sf.RandomizedResponse(sf.Categories(["a", "b", "c"]), keep=0.6)
    for seed in range(2):
        rng, n = np.random.default_rng(seed), 1_500
        x, clear = rng.random(n), rng.normal(size=n)
        y = np.where(rng.random(n) < 0.002, "c", np.where(x + 0.2 * clear > 0.5, "a", "b"))
        channel, reports = blurred(x, 1.0)
        model = METHODS[name].set_params(channels=[channel, None], label_channel=label)
        X = np.column_stack([x, clear])
        answers = model.fit(np.column_stack([reports, clear]), label.randomize(y, rng)).predict_proba(X)
        model.set_params(label_channel=None)
        assert np.isfinite(answers).all()
        assert np.mean(model.classes_[answers.argmax(axis=1)] == y) > 0.6, seed


@pytest.mark.parametrize("name", [name for name in METHODS if name not in AT_FACE_VALUE])
def test_few_people_weights_and_blurred_classes_go_together(name: str) -> None:
    label = sf.RandomizedResponse(sf.Categories(["a", "b", "c"]), keep=0.5)
    for seed in range(3):
        rng, n = np.random.default_rng(seed), 60
        x = rng.random((n, 8))
        channel, reports = blurred(x, 1.0)
        y = label.randomize(np.where(rng.random(n) < 0.03, "c", np.where(x[:, 0] > 0.5, "a", "b")), rng)
        model = clone(METHODS[name]).set_params(channels=[channel] * 8, label_channel=label)
        model.fit(reports, y, sample_weight=np.where(rng.random(n) < 0.4, 0.0, 3 * rng.random(n)))
        assert np.isfinite(model.predict_proba(x)).all()


@pytest.mark.parametrize("name", METHODS)
def test_one_label_with_gaps_says_nothing_and_no_variance_travels(name: str) -> None:
    x = np.repeat([0.0, 1.0], 60)
    table = pd.DataFrame({"x": x, "always": np.where(np.arange(120) % 3, "here", None)})
    model = clone(METHODS[name]).set_params(channels=None)
    if isinstance(model, sf.NaiveBayesClassifier):
        model.set_params(var_smoothing=0.0)
    answers = model.fit(table, x > 0.5).predict_proba(table)
    again = type(model).from_dict(json.loads(json.dumps(model.to_dict(), allow_nan=False)))
    np.testing.assert_allclose(again.predict_proba(table), answers, atol=1e-12)
    assert model.score(table, x > 0.5) == 1.0


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.parametrize("people, classes", [(1, 1), (30, 1), (2, 2), (40, 12)])
def test_few_people_and_one_class_or_many_are_learned_from_and_travel(kind: str, people: int, classes: int) -> None:
    rng = np.random.default_rng(0)
    channel, reports = blurred(rng.random(people), 1.0)
    table = pd.DataFrame({"x": reports, "same": 0.1, "gone": np.nan})
    y = np.arange(people) % classes
    model = learner_named(kind)(channels={"x": channel})
    if kind == "Chooser" and people < 3 * classes + 1:
        with pytest.raises(ValueError, match=r"cannot be split into 3 folds .*; give more$"):
            model.fit(table, y)
        return
    answers = model.fit(table, y).predict_proba(table)
    again = type(model).from_dict(json.loads(json.dumps(model.to_dict(), allow_nan=False)))
    np.testing.assert_allclose(again.predict_proba(table), answers, atol=1e-12)
    np.testing.assert_allclose(answers.sum(axis=1), 1)


# --- where that is decided ------------------------------------------------------------------------------------------


def test_a_column_that_never_varies_has_a_unit_beside_which_its_rounding_is_nothing() -> None:
    centre, variance = np.array([5.0, 0.1, 0.0, 1e9]), np.array([4.0, 1e-34, 0.0, 1e-8])
    np.testing.assert_allclose(units(centre, variance), [2.0, 1e11, 1e12, 1e21])
    np.testing.assert_allclose(units(2.0**-40 * centre, 4.0**-40 * variance)[[0, 1]], [2.0 * 2.0**-40, 1e11 * 2.0**-40])


def test_people_of_a_class_are_no_fewer_than_blurred_labels_leave_in_doubt() -> None:
    table = np.array([[0.8, 0.3], [0.2, 0.7]])
    of_class = np.linalg.inv(table).T
    counts = np.array([90.0, 10.0])
    error = np.sqrt(counts @ of_class[:, 1] ** 2)
    assert counts @ of_class[:, 1] < 0
    np.testing.assert_allclose(likely_people(counts, of_class), [counts @ of_class[:, 0], error])
    np.testing.assert_allclose(likely_people(3 * counts, of_class, 9 * counts), 3 * likely_people(counts, of_class))
    np.testing.assert_allclose(likely_people(counts, np.eye(2)), counts)
    nobody = likely_people(np.array([5.0, 0.0]), np.eye(2))
    assert nobody[0] == 5.0 and 0 < nobody[1] < 1e-12


def test_a_class_that_nobody_can_count_has_everybodys_moments() -> None:
    rng = np.random.default_rng(0)
    values, mass = rng.normal(3, 2, 400), np.tile([1.5, -0.5], (400, 1))
    mass[:150] = [-0.5, 1.5]
    mean, variance = moments(values, mass - [[0, 0.3]])
    everybody = moments(values, np.ones((400, 1)))
    assert mean[1] == pytest.approx(everybody[0][0], abs=0.2) and variance[1] == pytest.approx(everybody[1][0], rel=0.2)


def test_variances_settle_alike_in_every_unit() -> None:
    variance, mass, noise = np.array([0.5, 2.0]), np.full((1, 2), 300.0), 10.0
    for unit in (2.0**-60, 2.0**60):
        expected = unit * shrink_variances(variance, mass, noise)
        np.testing.assert_allclose(shrink_variances(unit * variance, mass, unit * noise), expected)
