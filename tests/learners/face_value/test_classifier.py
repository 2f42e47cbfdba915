"""Direct mining: a scikit-learn classifier on the reports as they are."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import sfumato as sf
from sfumato.learners.face_value import FaceValueClassifier


def test_on_numbers_it_is_the_classifier_itself() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    found = FaceValueClassifier(LogisticRegression()).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(found, LogisticRegression().fit(X, y).predict_proba(X))


def test_missing_numbers_stand_at_the_mean_and_labels_get_a_column_each() -> None:
    frame = pd.DataFrame({"age": [1.0, np.nan, 3.0, 4.0], "sex": ["f", "m", "f", None]})
    y = np.array([0, 1, 0, 1])
    model = FaceValueClassifier(GaussianNB()).fit(frame, y)
    expected = np.array([[1, 1, 0], [8 / 3, 0, 1], [3, 1, 0], [4, 0, 0]])
    np.testing.assert_allclose(model.predict_proba(frame), GaussianNB().fit(expected, y).predict_proba(expected))


def test_levels_are_left_out() -> None:
    choice = sf.Choice({"a": sf.Gaussian(sf.Interval(0, 1), scale=0.1), "b": sf.Gaussian(sf.Interval(0, 1), scale=0.2)})
    frame = pd.DataFrame({"x": [0.1, 0.9, 0.2, 0.8], "x.level": ["a", "b", "b", "a"]})
    model = FaceValueClassifier(channels={"x": choice}).fit(frame, [0, 1, 0, 1])
    assert model.n_features_in_ == 1
    assert model.predict(frame[["x"]]).tolist() == [0, 1, 0, 1]


def test_the_class_means_of_naive_bayes_survive_noise() -> None:
    """E[w | y] = E[x | y]: what makes direct naive Bayes honest (LKT08 §6.1)."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 40_000)
    x = np.clip(rng.normal(3 + 4 * y, 1.0), 0, 10)
    reports = sf.Gaussian(sf.Interval(0, 10), scale=2.0).randomize(x, rng)
    means = FaceValueClassifier(GaussianNB()).fit(reports[:, None], y).estimator_.theta_[:, 0]
    np.testing.assert_allclose(means, [x[y == 0].mean(), x[y == 1].mean()], atol=6 * 2.3 / np.sqrt(20_000))


def test_records_and_classes_must_be_equally_many() -> None:
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        FaceValueClassifier().fit(np.zeros((3, 1)), [0, 1])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scaled", [False, True])
def test_logistic_regression_travels_as_numbers(classes: int, scaled: bool) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(3, 2, size=(300, 2)), rng.integers(0, classes, 300)
    estimator = make_pipeline(StandardScaler(), LogisticRegression()) if scaled else LogisticRegression()
    assert_travels(FaceValueClassifier(estimator).fit(X, y), X)


def test_naive_bayes_and_trees_travel_as_numbers_and_others_say_that_they_cannot() -> None:
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=400), rng.choice(["a", "b"], 400)]).astype(object)
    frame = pd.DataFrame({"x": X[:, 0].astype(float), "sex": X[:, 1]})
    y = (frame["x"] > 0) ^ (frame["sex"] == "a")
    assert_travels(FaceValueClassifier().fit(frame, y), frame)
    assert_travels(FaceValueClassifier(DecisionTreeClassifier(max_depth=5, random_state=0)).fit(frame, y), frame)
    with pytest.raises(TypeError, match="KNeighborsClassifier cannot be shipped; use a decision tree"):
        FaceValueClassifier(KNeighborsClassifier()).fit(frame, y).to_dict()


def assert_travels(model: FaceValueClassifier, X: object) -> None:
    again = FaceValueClassifier.from_dict(json.loads(json.dumps(model.to_dict())))
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_classifier_without_weights_says_so() -> None:
    with pytest.raises(TypeError, match="KNeighborsClassifier takes no sample_weight"):
        FaceValueClassifier(KNeighborsClassifier()).fit(np.zeros((9, 1)), [0, 1, 2] * 3, sample_weight=np.ones(9))


@pytest.mark.parametrize("kind", [GaussianNB, LogisticRegression, DecisionTreeClassifier])
def test_a_classifier_that_was_read_is_written_as_it_was(kind: type) -> None:
    x = np.random.default_rng(0).random((200, 2))
    model = FaceValueClassifier(kind()).fit(x, x[:, 0] > 0.5)
    assert FaceValueClassifier.from_dict(model.to_dict()).to_dict() == model.to_dict()
