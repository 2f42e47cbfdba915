"""GADP keeps means, variances and correlations; SADP does not."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.microdata import Gadp, Swap
from sfumato.microdata.draws import Draws
from sfumato.microdata.kept.measures import find_biases
from sfumato.microdata.methods.gadp import gadp, usable_correlation
from tests.statistics import assert_mean, assert_probability

COVARIANCE = np.array([[4.0, 1.2, 0.5], [1.2, 1.0, -0.3], [0.5, -0.3, 2.0]])
MEAN = np.array([1.0, -2.0, 5.0])


@pytest.mark.parametrize("kappa", [0.0, 0.5, 0.95])
def test_the_formula_keeps_the_joint_moments_and_what_is_non_confidential(kappa):
    n = 100_000
    X = np.random.default_rng(1).multivariate_normal(MEAN, COVARIANCE, n)
    kept = np.array([False, False, True])
    Y = gadp(X, kept, kappa, MEAN, COVARIANCE, Draws(2))
    assert np.array_equal(Y[:, 2], X[:, 2])
    for i in range(3):
        for j in range(i + 1):
            assert_mean((Y[:, i] - MEAN[i]) * (Y[:, j] - MEAN[j]), COVARIANCE[i, j])
    slope = COVARIANCE[:2, 2] / COVARIANCE[2, 2]
    rest = COVARIANCE[:2, :2] - np.outer(slope, COVARIANCE[2, :2])
    wanted = np.outer(slope, COVARIANCE[2, :2]) + kappa * rest
    assert_mean((Y[:, 0] - MEAN[0]) * (X[:, 1] - MEAN[1]), wanted[0, 1])


def test_the_share_outside_the_99_percent_interval_is_one_percent():
    """The interval itself: released records drawn without bias from the same law as the original ones."""
    outside = total = 0
    for run in range(40):
        X = np.random.default_rng(run).multivariate_normal(MEAN, COVARIANCE, 1000)
        data = sf.release({"a": X[:, 0], "b": X[:, 1], "class": (X[:, 2] > 5) * 1}, "class", Swap(), rng=0).original
        Y = gadp(X, np.zeros(3, bool), 0.5, MEAN, COVARIANCE, Draws(run))
        found = [one for one in find_biases(data, data.with_values(Y[:, :2], data.y)) if one.type in "AB"]
        outside, total = outside + sum(not one.within for one in found), total + len(found)
    assert_probability(outside, total, 0.01)


def test_small_and_singular_leaves_are_shrunk_and_said_so():
    rng = np.random.default_rng(3)
    pooled = np.eye(3)
    few = usable_correlation(rng.normal(size=(12, 3)), pooled, 7)[1]
    assert (few.leaf, few.records) == (7, 12)
    assert few.shrinkage == pytest.approx(3 / 15)
    column = rng.normal(size=(500, 1))
    matrix, twins = usable_correlation(np.hstack([column, column, rng.normal(size=(500, 1))]), pooled, 0)
    assert "singular" in twins.reason
    assert np.linalg.eigvalsh(matrix)[0] > 0
    assert usable_correlation(rng.normal(size=(500, 3)), pooled, 0)[1].reason == ""


def test_the_report_lists_shrunken_leaves():
    X = np.random.default_rng(0).multivariate_normal(MEAN, COVARIANCE, 40)
    done = sf.release({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "group": X[:, 0] > 1}, "group", Gadp(), rng=0)
    assert done.report.to_dict()["shrunk_leaves"]
    assert "shrunk_leaves" not in done.report.to_dict(public=True)
