"""Attacks on several attributes at once, against the error that theory predicts, and noise that withstands them."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.privacy.attacks.covariance import (
    alone_error,
    bayes_error,
    bayes_estimate,
    principal_components,
    spectral_filter,
)

PEOPLE, ATTRIBUTES = 4000, 16
RNG = np.random.default_rng(20)
LOADINGS = RNG.normal(size=(ATTRIBUTES, 3)) * 3
SIGMA = LOADINGS @ LOADINGS.T + 0.1 * np.eye(ATTRIBUTES)
X = RNG.multivariate_normal(np.zeros(ATTRIBUTES), SIGMA, PEOPLE)
WHITE = np.diag(np.linspace(3, 6, ATTRIBUTES))
FOLLOWING = SIGMA * (np.trace(WHITE) / np.trace(SIGMA))


def left_by(kept: np.ndarray, noise: np.ndarray, covariance: np.ndarray = SIGMA) -> np.ndarray:
    """ΠNΠ + (I − Π)Σ(I − Π): the noise in the directions that are kept, the people in those that are lost."""
    lost = np.eye(len(kept)) - kept
    return kept @ noise @ kept + lost @ covariance @ lost


def projector(covariance: np.ndarray, beyond) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    signal = vectors[:, values > beyond(vectors)]
    return signal @ signal.T


def principal_error(noise: np.ndarray) -> np.ndarray:
    return np.diag(left_by(projector(SIGMA, lambda v: np.einsum("ij,ik,kj->j", v, noise, v)), noise))


def spectral_error(noise: np.ndarray) -> np.ndarray:
    factor = np.linalg.cholesky(noise)
    people = np.linalg.solve(factor, np.linalg.solve(factor, SIGMA).T)
    kept = projector(people + np.eye(ATTRIBUTES), lambda _: (1 + np.sqrt(ATTRIBUTES / PEOPLE)) ** 2)
    return np.diag(factor @ left_by(kept, np.eye(ATTRIBUTES), people) @ factor.T)


ATTACKS = {
    "spectral": (spectral_filter, spectral_error),
    "principal": (principal_components, principal_error),
    "bayes": (bayes_estimate, lambda noise: bayes_error(SIGMA, noise)),
}


def squared_error(attack, noise: np.ndarray) -> np.ndarray:
    reports = X + np.random.default_rng(5).multivariate_normal(np.zeros(ATTRIBUTES), noise, PEOPLE)
    return ((attack(reports, noise) - X) ** 2).mean(axis=0)


@pytest.mark.parametrize("noise", [WHITE, FOLLOWING], ids=["independent", "following"])
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_errs_as_much_as_theory_predicts_in_every_attribute(name: str, noise: np.ndarray) -> None:
    attack, theory = ATTACKS[name]
    np.testing.assert_allclose(squared_error(attack, noise), theory(noise), rtol=0.1)


@pytest.mark.parametrize("name", ["spectral", "principal"])
def test_independent_noise_is_mostly_filtered_out(name: str) -> None:
    attack, _ = ATTACKS[name]
    assert squared_error(attack, WHITE).mean() < 0.3 * np.trace(WHITE) / ATTRIBUTES


@pytest.mark.parametrize("name", ["spectral", "principal"])
def test_noise_that_follows_the_data_keeps_its_stated_size(name: str) -> None:
    attack, _ = ATTACKS[name]
    np.testing.assert_allclose(squared_error(attack, FOLLOWING), np.diag(FOLLOWING), rtol=0.1)


def test_noise_that_follows_the_data_makes_the_other_reports_worthless() -> None:
    np.testing.assert_allclose(bayes_error(SIGMA, FOLLOWING), alone_error(SIGMA, FOLLOWING), rtol=1e-9)
    np.testing.assert_allclose(squared_error(bayes_estimate, FOLLOWING), alone_error(SIGMA, FOLLOWING), rtol=0.1)
    assert bayes_error(SIGMA, WHITE).mean() < 0.5 * alone_error(SIGMA, WHITE).mean()


def test_noise_of_the_wrong_shape_is_named() -> None:
    with pytest.raises(ValueError, match=r"shape \(2, 2\) for 16 attributes"):
        spectral_filter(X, np.eye(2))


@pytest.mark.parametrize("name", ["spectral", "principal"])
def test_white_noise_loses_the_directions_that_are_dropped_and_nothing_else(name: str) -> None:
    attack, theory = ATTACKS[name]
    white = 4.0 * np.eye(ATTRIBUTES)
    expected = (4.0 * 3 + np.linalg.eigvalsh(SIGMA)[:-3].sum()) / ATTRIBUTES
    assert theory(white).mean() == pytest.approx(expected)
    assert squared_error(attack, white).mean() == pytest.approx(expected, rel=0.05)
