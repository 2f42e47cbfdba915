"""Correlated noise: its law, its reports, its statement, and the joint distribution read back from it."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.additive.correlated_noise import CorrelatedNoise
from sfumato.reconstruction.joint import reconstruct_correlated
from tests.statistics import assert_fits, critical_z

SMALL = {"a": sf.Interval(0, 4, integer=True), "b": sf.Interval(0, 4, integer=True)}
COARSE = CorrelatedNoise(SMALL, [[2.0, 1.5], [1.5, 2.0]], ratio=1)
AGES = {"age": sf.Interval(20, 80), "years": sf.Interval(0, 60)}


def test_the_law_sums_to_one_and_reports_follow_it() -> None:
    side = np.arange(-14, 18)
    reports = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    law = COARSE.probability(reports, np.full((len(reports), 2), [1, 3]))
    assert law.sum() == pytest.approx(1, abs=1e-9)
    drawn = COARSE.randomize(np.full((20_000, 2), [1, 3]), rng=3).astype(int) + 14
    assert_fits(np.bincount(drawn[:, 0] * 32 + drawn[:, 1], minlength=1024), law)


def test_the_noise_has_the_covariance_that_is_stated() -> None:
    noise = COARSE.randomize(np.full((40_000, 2), 2), rng=1) - 2
    stated = COARSE.noise_covariance
    assert (np.abs(noise.mean(axis=0)) < critical_z() * np.sqrt(np.diag(stated) / len(noise))).all()
    bound = critical_z() * np.sqrt((stated**2 + np.outer(np.diag(stated), np.diag(stated))) / len(noise))
    assert (np.abs(np.cov(noise.T) - stated) < bound).all()
    fine = CorrelatedNoise(AGES, [[100, 80], [80, 100]], ratio=2)
    np.testing.assert_allclose(fine.noise_covariance, 2 * fine.covariance, rtol=1e-4)


def test_reports_lie_on_the_grid_and_missing_rows_stay_missing() -> None:
    channel = CorrelatedNoise(AGES, [[100, 80], [80, 100]], privacy=0.5)
    reports = channel.randomize({"age": [33.123456, np.nan], "years": [10.98765, 4.0]}, rng=2)
    assert list(reports) == ["age", "years"] and np.isnan([reports["age"][1], reports["years"][1]]).all()
    for grid, name in zip(channel.inputs, reports, strict=True):
        steps = (reports[name][0] - grid.origin) / grid.step
        assert grid.number(np.rint(steps)) == reports[name][0]


@pytest.mark.parametrize("correlation", [-0.99, 0.0, 0.9])
def test_no_noise_is_beyond_its_reach(correlation: float) -> None:
    spread = np.array([[100.0, 60.0 * correlation], [60.0 * correlation, 36.0]])
    pair = CorrelatedNoise({"a": sf.Interval(0, 60), "b": sf.Interval(0, 30)}, spread, ratio=1)
    words = np.random.default_rng(1).integers(0, 2**64, (100_000, 4), dtype=np.uint64)
    drawn = np.abs(pair.noise_of(words)).max(axis=0)
    assert (drawn <= pair.reach).all() and (drawn > 0.3 * np.array(pair.reach)).all()


def test_privacy_gives_every_attribute_at_least_the_wanted_share() -> None:
    channel = CorrelatedNoise(AGES, [[100, 30], [30, 50]], privacy=0.7)
    widths = channel.guarantee().interval(0.95)
    assert min(widths.values()) == pytest.approx(0.7 * 60) and max(widths.values()) > 0.7 * 60
    assert "no answer more closely" in str(channel.guarantee())


def test_the_same_device_answers_the_same() -> None:
    answers = [COARSE.randomize(np.array([[1, 2]]), key=b"k" * 16, question="q").tolist() for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]


def test_the_joint_distribution_is_read_back() -> None:
    rng, n = np.random.default_rng(0), 20_000
    first = rng.random(n)[:, None] < 0.4
    spread = [[25, 20], [20, 25]]
    x = np.where(first, rng.multivariate_normal([35, 20], spread, n), rng.multivariate_normal([60, 45], spread, n))
    x = np.clip(x, [20, 0], [80, 60])
    channel = CorrelatedNoise(AGES, np.cov(x.T), ratio=0.5)
    reports = channel.randomize(x, rng=7)
    found = reconstruct_correlated(reports, channel, 10)
    truth = np.histogram2d(*x.T, bins=found.edges)[0] / n
    naive = np.histogram2d(*np.clip(reports, [20, 0], [80, 60]).T, bins=found.edges)[0] / n
    error = np.abs(found.probabilities - truth).sum()
    assert found.probabilities.sum() == pytest.approx(1)
    assert error < 0.25 and error < 0.5 * np.abs(naive - truth).sum()
    np.testing.assert_allclose(channel.moments(reports)[1], np.cov(x.T), rtol=0.05)
    np.testing.assert_allclose(found.marginal(0).probabilities, found.probabilities.sum(axis=1))


@pytest.mark.parametrize(
    ("covariance", "arguments", "words"),
    [
        ([[1, 2], [2, 1]], {"ratio": 1}, "positive eigenvalues"),
        ([[1.0]], {"ratio": 1}, r"shape \(1, 1\) for 2"),
        ([[1, 0], [0, 1]], {}, "either ratio= or privacy="),
        ([[1, 0], [0, 1]], {"ratio": -1}, "not above 0"),
    ],
)
def test_bad_arguments_are_named(covariance: list, arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CorrelatedNoise(AGES, covariance, **arguments)


def test_columns_may_be_in_units_of_their_own() -> None:
    """Ages beside revenues: the eigenvalues of their covariance are far apart, those of their correlation are not."""
    domains = {"age": sf.Interval(20, 80), "revenue": sf.Interval(0, 1e12)}
    spread = np.array([[100.0, 0.5 * 10 * 1e11], [0.5 * 10 * 1e11, 1e22]])
    noise = sf.CorrelatedNoise(domains, spread, ratio=1)
    drawn = noise.randomize(np.tile([[50.0, 5e11]], (20_000, 1)), rng=3)
    np.testing.assert_allclose(np.corrcoef(drawn.T)[0, 1], 0.5, atol=0.03)
    with pytest.raises(ValueError, match="positive eigenvalues"):
        sf.CorrelatedNoise(domains, [[100.0, 1e12], [1e12, 1e22]], ratio=1)
