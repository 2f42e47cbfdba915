"""The linear discriminant of true values, from reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import sfumato as sf
from sfumato.mining.discriminant import LinearDiscriminant
from sfumato.mining.moments import less_noise


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


def test_labels_are_refused() -> None:
    answer = sf.RandomizedResponse(sf.Categories(["a", "b"]), keep=0.8)
    with pytest.raises(TypeError, match="column 'x' holds categories"):
        LinearDiscriminant({"x": answer}).fit(pd.DataFrame({"x": ["a", "b", "a"]}), [0, 1, 0])
