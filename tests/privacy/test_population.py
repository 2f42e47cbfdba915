"""The people that attacks run on are like those behind the reports."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.privacy.population import believed_people, true_covariance

UNIT = sf.Interval(0, 1)


def test_people_believed_from_reports_have_the_correlation_of_the_true_ones() -> None:
    rng = np.random.default_rng(5)
    z = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 20_000)
    truth = {"a": np.clip(0.5 + 0.12 * z[:, 0], 0, 1), "b": np.clip(0.5 + 0.12 * z[:, 1], 0, 1)}
    channels = {"a": sf.Gaussian(UNIT, scale=0.15), "b": sf.SquareWave(UNIT, gamma=50)}
    reports = {name: channel.randomize(truth[name], rng) for name, channel in channels.items()}
    people = believed_people(channels, reports, None, 3000, rng)
    drawn = np.array([target.true_numbers for target in people.numeric])
    assert np.corrcoef(drawn)[0, 1] == pytest.approx(0.8, abs=0.1)
    np.testing.assert_allclose(drawn.std(axis=1), 0.12, rtol=0.1)
    assert people.covariance == pytest.approx(np.cov(z.T) * 0.12**2, rel=0.2)


def test_the_estimated_covariance_has_no_negative_direction() -> None:
    reports = np.random.default_rng(20).normal(size=(50, 8))
    assert np.linalg.eigvalsh(true_covariance(reports, 2 * np.eye(8))).min() > -1e-12


def test_too_few_complete_people_are_refused() -> None:
    channels = {name: sf.Gaussian(UNIT, scale=0.15) for name in "ab"}
    truth = {"a": np.linspace(0, 1, 30), "b": np.where(np.arange(30) < 15, np.nan, 0.5)}
    with pytest.raises(ValueError, match="only 15 people have every value; the attacks need 20"):
        believed_people(channels, None, truth, 100, np.random.default_rng(0))
