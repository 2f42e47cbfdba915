"""Single answers: what a report teaches, what repeating it teaches."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.privacy.attacks.guesses import averaging, best_guess, item_guess
from sfumato.privacy.population import Attacked, believed_people

UNIT = sf.Interval(0, 1)


def attacked(channel: sf.Channel, people: int = 4000, seed: int = 0) -> Attacked:
    """People spread evenly, and an adversary who knows that."""
    rng = np.random.default_rng(seed)
    return believed_people({"x": channel}, None, None, people, rng).targets["x"]


def test_without_noise_the_best_guess_is_the_truth() -> None:
    found = best_guess(attacked(sf.RandomizedResponse(sf.Categories("abcd"[i] for i in range(4)), keep=1.0)))
    assert found.recovered == 1 and found.without_report == pytest.approx(0.25, abs=0.03)


def test_randomized_response_is_guessed_right_as_often_as_the_truth_is_kept() -> None:
    found = best_guess(attacked(sf.RandomizedResponse(sf.Categories(range(4)), keep=0.6)))
    assert found.stated == pytest.approx(0.6) and found.recovered == pytest.approx(0.6, abs=0.04)
    assert not found.noticeable


def test_small_gaussian_noise_leaves_just_the_width_that_is_stated() -> None:
    found = best_guess(attacked(sf.Gaussian(UNIT, scale=0.02)))
    assert found.stated == pytest.approx(3.92 * 0.02, rel=1e-3)
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
