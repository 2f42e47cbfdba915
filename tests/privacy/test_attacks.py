"""What attacks recover: against the error that theory predicts, and against noise that withstands them."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.privacy.attacks import (
    Finding,
    alone_error,
    averaging,
    bayes_error,
    bayes_estimate,
    best_guess,
    distances,
    item_guess,
    linkage,
    outliers,
    principal_components,
    spectral_filter,
)
from sfumato.privacy.population import Attacked, Population, believed_people

UNIT = sf.Interval(0, 1)
PEOPLE, ATTRIBUTES = 4000, 16
RNG = np.random.default_rng(20)
LOADINGS = RNG.normal(size=(ATTRIBUTES, 3)) * 3
SIGMA = LOADINGS @ LOADINGS.T + 0.1 * np.eye(ATTRIBUTES)
X = RNG.multivariate_normal(np.zeros(ATTRIBUTES), SIGMA, PEOPLE)
WHITE = np.diag(np.linspace(3, 6, ATTRIBUTES))
FOLLOWING = SIGMA * (np.trace(WHITE) / np.trace(SIGMA))


def test_a_finding_says_how_far_below_the_stated_privacy_it_is() -> None:
    width = Finding("a", "x", "width", 60, 15, 60)
    hits = Finding("a", "x", "hits", 0.2, 0.9, 0.6)
    assert width.below_stated == 0.75 and hits.below_stated == pytest.approx(0.75)
    assert "75 % below what is stated" in str(width)
    assert "(19 % by knowing the crowd alone)" in str(Finding("a", "x", "width", 48.87, 34.94, 60))
    assert Finding("a", "x", "width", 60, 70, 60).below_stated == 0 == Finding("a", "x", "hits", 0.1, 0.2).below_stated


# --- one answer -------------------------------------------------------------------------------------------------------


def attacked(channel: sf.Channel, people: int = 4000, seed: int = 0) -> Attacked:
    """People spread evenly, and an adversary who knows that."""
    rng = np.random.default_rng(seed)
    return believed_people({"x": channel}, None, None, people, rng).targets["x"]


def test_without_noise_the_best_guess_is_the_truth() -> None:
    found = best_guess(attacked(sf.RandomizedResponse(sf.Categories("abcd"[i] for i in range(4)), keep=1.0)))
    assert found.recovered == pytest.approx(1) and found.without_report == pytest.approx(0.25, abs=0.03)


def test_randomized_response_is_guessed_right_as_often_as_the_truth_is_kept() -> None:
    found = best_guess(attacked(sf.RandomizedResponse(sf.Categories(range(4)), keep=0.6)))
    assert found.stated == pytest.approx(0.6) and found.recovered == pytest.approx(0.6, abs=0.04)
    assert not found.noticeable


def test_small_gaussian_noise_leaves_just_the_width_that_is_stated() -> None:
    found = best_guess(attacked(sf.Gaussian(UNIT, scale=0.02)))
    assert 0.95 * 3.92 * 0.02 < found.stated < 3.92 * 0.02  # at the ends of the domain less is left open
    assert found.recovered == pytest.approx(found.stated, rel=0.1)
    assert found.without_report == pytest.approx(0.95, rel=0.05)


@pytest.mark.parametrize("times", [4, 16])
def test_averaging_narrows_the_width_by_the_root_of_the_number_of_answers(times: int) -> None:
    target = attacked(sf.Gaussian(UNIT, scale=0.05))
    found = averaging(target, times, np.random.default_rng(1))
    assert found.recovered == pytest.approx(3.92 * 0.05 / np.sqrt(times), rel=0.2)
    assert found.noticeable and "below what is stated" in str(found)


def test_the_belief_in_an_item_stays_within_the_stated_bound() -> None:
    channel = sf.SelectASize.design(sf.Items(200), sizes=[5], gamma=19)
    (found,) = item_guess("basket", channel)
    assert found.without_report == 0.025 < found.recovered < found.stated <= 19 * 0.025 / (19 * 0.025 + 0.975) + 1e-12


# --- all numbers of a person at once ----------------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", ["spectral", "principal"])
def test_white_noise_loses_the_directions_that_are_dropped_and_nothing_else(name: str) -> None:
    attack, theory = ATTACKS[name]
    white = 4.0 * np.eye(ATTRIBUTES)
    expected = (4.0 * 3 + np.linalg.eigvalsh(SIGMA)[:-3].sum()) / ATTRIBUTES
    assert theory(white).mean() == pytest.approx(expected)
    assert squared_error(attack, white).mean() == pytest.approx(expected, rel=0.05)


# --- the record as a whole --------------------------------------------------------------------------------------------


def test_everybody_is_found_when_nothing_is_blurred_and_nobody_when_everything_is() -> None:
    names = sf.Categories(range(50))
    shares = {}
    for keep in (1.0, 1 / 50):
        channel = sf.RandomizedResponse(names, keep=keep)
        (found,) = linkage(believed_people({"x": channel}, None, None, 40, np.random.default_rng(2)))
        shares[keep] = found.recovered
    target = believed_people({"x": sf.RandomizedResponse(names, keep=1.0)}, None, None, 40, np.random.default_rng(2))
    sizes = np.bincount(target.targets["x"].true_cells, minlength=50)[target.targets["x"].true_cells]
    assert shares[1.0] == pytest.approx((1 / sizes).mean())
    assert shares[1 / 50] == pytest.approx(1 / 40)


def test_clear_attributes_narrow_the_search_to_their_group() -> None:
    silent = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.5)
    people = believed_people({"x": silent}, None, None, 12, np.random.default_rng(0))
    known = Population(people.targets, {"town": np.repeat(["A", "B", "C"], [1, 1, 10])}, "test")
    (found,) = linkage(known)
    assert found.without_report == found.recovered == pytest.approx((1 + 1 + 10 / 10) / 12)
    assert "16.7 % of 12 people are the only ones" in found.note


def test_unusual_people_stand_out_without_noise() -> None:
    rng = np.random.default_rng(4)
    truth = {name: np.clip(rng.normal(0.5, 0.1, 3000), 0, 1) for name in "ab"}
    shares = []
    for scale in (0.002, 2.0):
        channels = {name: sf.Gaussian(UNIT, scale=scale, step=0.002) for name in "ab"}
        (found,) = outliers(believed_people(channels, None, truth, 1000, rng))
        shares.append(found.recovered)
    assert shares[0] > 0.9 and shares[1] < 0.2


def test_the_distance_is_that_of_mahalanobis() -> None:
    rows = np.random.default_rng(0).multivariate_normal([1, 2], [[2, 1], [1, 3]], 500)
    one = rows[7] - rows.mean(axis=0)
    assert distances(rows)[7] == pytest.approx(one @ np.linalg.inv(np.cov(rows.T)) @ one)
