"""The channel of means: unbiased whatever the value is, and of less variance than the mechanisms that it grew from."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf

UNIT, AGES = sf.Interval(0, 1), sf.Interval(20, 80, integer=True)
OTHERS = [(0, 99_999), (-1 / 3, 7.125), (1e5, 1e5 + 1), (0, 1e-7)]
DOMAINS = [UNIT, AGES, *(sf.Interval(*ends) for ends in OTHERS)]
GAMMAS = [1.2, math.e, 3, 19, 1000]


def moments(channel: sf.Piecewise) -> tuple[np.ndarray, np.ndarray]:
    """E[report | x] and Var[report | x], in the unit range."""
    low, width = float(channel.domain.low), float(channel.domain.width)
    law, values = channel.law(), (channel.outputs.values - low) / width
    mean = values @ law
    return mean, values**2 @ law - mean**2


@pytest.mark.parametrize("places", [None, 2, 3, 8])
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_reports_are_right_on_average_and_keep_the_bound(domain: sf.Interval, gamma: float, places: int | None) -> None:
    channel = sf.Piecewise(domain, gamma=gamma, places=places)
    mean, _ = moments(channel)
    np.testing.assert_allclose(mean, (channel.inputs.values - domain.low) / domain.width, atol=1e-8)
    assert Fraction(gamma) * (1 - Fraction(1, 100)) <= channel.exact_gamma <= Fraction(gamma)


@pytest.mark.parametrize("places", [None, 2, 5])
@pytest.mark.parametrize("gamma", GAMMAS)
def test_the_stated_variance_is_that_of_the_law(gamma: float, places: int | None) -> None:
    channel = sf.Piecewise(UNIT, gamma=gamma, places=places)
    np.testing.assert_allclose(channel.variance(channel.inputs.values), moments(channel)[1], rtol=1e-5)


def test_two_places_are_duchis_mechanism() -> None:
    for gamma in GAMMAS:
        channel = sf.Piecewise(UNIT, gamma=gamma, places=2)
        t = 2 * channel.inputs.values - 1
        assert channel.outputs.size == 2
        np.testing.assert_allclose(4 * moments(channel)[1], ((gamma + 1) / (gamma - 1)) ** 2 - t**2, rtol=1e-5)


def piecewise_of_wang(gamma: float, t: np.ndarray) -> np.ndarray:
    root = math.sqrt(gamma)
    return t**2 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)


@pytest.mark.parametrize("gamma", [math.e, 3, 19, 100])
def test_no_mechanism_of_the_literature_has_less_variance_for_people_evenly_spread(gamma: float) -> None:
    channel = sf.Piecewise(UNIT, gamma=gamma)
    values = channel.inputs.values
    t, own = 2 * values - 1, 4 * channel.variance(values).mean()
    root = math.sqrt(gamma)
    hybrid = (root + 3) / (3 * root * (root - 1)) + (gamma + 1) ** 2 / (root * (gamma - 1) ** 2)
    duchi = (((gamma + 1) / (gamma - 1)) ** 2 - t**2).mean()
    assert own <= min(piecewise_of_wang(gamma, t).mean(), hybrid, duchi)


def test_the_window_is_wider_than_that_of_the_literature_and_better_at_every_value_but_the_middle() -> None:
    values = sf.Piecewise(UNIT, gamma=19).inputs.values
    own = 4 * sf.Piecewise(UNIT, gamma=19).variance(values)
    known = piecewise_of_wang(19, 2 * values - 1)
    assert own[0] < 0.82 * known[0] and own.mean() < 0.885 * known.mean() and (own < known).mean() > 0.6


def test_few_places_serve_a_small_gamma_and_all_a_large_one() -> None:
    assert [sf.Piecewise(UNIT, gamma=gamma).places for gamma in (1.5, 2, math.e, 3, 19)] == [2, 2, 4, 4, 1001]


def test_the_specification_says_what_was_asked() -> None:
    assert sf.Piecewise(UNIT, epsilon=1, places=2).to_spec() == {"channel": "piecewise", "epsilon": 1.0, "places": 2}
    assert sf.Piecewise(UNIT, gamma=3) == sf.Piecewise(UNIT, gamma=3, places=4)


@pytest.mark.parametrize(
    ("domain", "given", "words"),
    [
        (UNIT, {"gamma": 19, "places": 1}, "places=1 is not between 2 and 16; leave it out"),
        (UNIT, {"gamma": 19, "places": 17}, "places=17 is not between 2 and 16"),
        (UNIT, {"gamma": 19, "places": 2.0}, "places=2.0 is not a whole number"),
        (UNIT, {"gamma": 19, "places": True}, "places=True is not a whole number"),
        (UNIT, {"gamma": 19, "step": 2}, "step=2 is wider than the domain"),
        (UNIT, {"gamma": 1}, "gamma=1 is not above 1"),
        (UNIT, {}, "give either gamma= or epsilon= for piecewise"),
        (UNIT, {"gamma": 3, "epsilon": 1}, "give either gamma= or epsilon= for piecewise"),
        (sf.Interval(0, 1e-15), {"gamma": 19}, "too narrow to state reports; subtract an offset, or scale it"),
        (sf.Categories(["a", "b"]), {"gamma": 19}, "needs an Interval, not Categories; categories have no mean"),
    ],
)
def test_bad_input_is_one_line(domain: sf.Interval, given: dict[str, float], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words) as error:
        sf.Piecewise(domain, **given)
    assert "\n" not in str(error.value)
