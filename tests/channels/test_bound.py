"""γ and ε: asked for in either spelling, never exceeded, refused in one line."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.bound import gamma_of_epsilon

UNIT, AGES = sf.Interval(0, 1), sf.Interval(20, 80, integer=True)
COLOURS = sf.Categories(["red", "green", "blue"])
BOUNDED = [
    (sf.Laplace, UNIT), (sf.Laplace, AGES), (sf.SquareWave, UNIT), (sf.SquareWave, AGES),
    (sf.RandomizedResponse, COLOURS),
]  # fmt: skip


@pytest.mark.parametrize("gamma", [1.1, 2, math.e, 3, 19, 1e3, 1e6])
@pytest.mark.parametrize(("kind", "domain"), BOUNDED)
def test_the_program_keeps_the_gamma_that_was_asked_for(kind: type, domain: sf.Interval, gamma: float) -> None:
    found = kind(domain, gamma=gamma).exact_gamma
    assert found <= Fraction(gamma)
    assert found >= Fraction(gamma) * (1 - Fraction(1, 10**5))


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2.0, math.pi])
@pytest.mark.parametrize(("kind", "domain"), BOUNDED)
def test_the_statement_keeps_the_epsilon_that_was_asked_for(kind: type, domain: sf.Interval, epsilon: float) -> None:
    stated = kind(domain, epsilon=epsilon).guarantee()
    assert stated.epsilon <= epsilon
    assert stated.epsilon == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize(("kind", "domain"), BOUNDED)
def test_a_channel_is_the_same_however_its_bound_is_spelt(kind: type, domain: sf.Interval) -> None:
    by_gamma, by_epsilon = kind(domain, gamma=19), kind(domain, epsilon=math.log(19))
    assert by_gamma == by_epsilon and by_gamma.identity == by_epsilon.identity
    assert by_epsilon.to_spec()["epsilon"] == math.log(19)


@pytest.mark.parametrize("gamma", [1.01, 1.5, 2, 3, 5, 7, 9, 10, 19, 20, 99, 100, 1234.5, 1e6])
def test_a_short_gamma_is_recognised_by_its_logarithm(gamma: float) -> None:
    assert gamma_of_epsilon(math.log(gamma)) == gamma


@pytest.mark.parametrize("epsilon", np.linspace(0.01, 30, 57))
def test_any_other_epsilon_is_rounded_down(epsilon: float) -> None:
    from decimal import Decimal, localcontext

    with localcontext() as digits:
        digits.prec = 50
        exact = Decimal(float(epsilon)).exp()
        found = gamma_of_epsilon(float(epsilon))
        assert Decimal(found) <= exact < Decimal(math.nextafter(found, math.inf))


def test_baskets_take_epsilon_too() -> None:
    items = sf.Items(50)
    by_gamma = sf.SelectASize.design(items, [3], gamma=19, up_to=2)
    assert sf.SelectASize.design(items, [3], epsilon=math.log(19), up_to=2) == by_gamma


@pytest.mark.parametrize(("kind", "domain"), BOUNDED)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "give .*gamma= or epsilon= for .*, one of them"),
        ({"gamma": 19, "epsilon": 1}, "one of them and no other"),
        ({"gamma": 1}, "gamma=1 is not above 1"),
        ({"gamma": 0.5}, "gamma=0.5 is not above 1"),
        ({"gamma": math.nan}, "gamma=nan is not above 1"),
        ({"gamma": math.inf}, "gamma=inf is not above 1 and finite"),
        ({"gamma": 1e300}, "gamma=1e[+]300 is not above 1 and below 1e[+]290"),
        ({"epsilon": 0}, "epsilon=0 is not above 0"),
        ({"epsilon": -1}, "epsilon=-1 is not above 0"),
        ({"epsilon": math.nan}, "epsilon=nan is not above 0"),
        ({"epsilon": 1e-30}, "epsilon=1e-30 is not above 0"),
        ({"epsilon": 10**30}, "epsilon=a huge number is not above 0"),
    ],
)
def test_a_bad_bound_is_one_line(kind: type, domain: sf.Interval, given: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        kind(domain, **given)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["gamma", "epsilon"])
@pytest.mark.parametrize(("kind", "domain"), BOUNDED)
def test_a_bound_that_is_no_number_is_one_line(kind: type, domain: sf.Interval, name: str) -> None:
    for value in ("19", True, [19]):
        with pytest.raises(TypeError, match=f"{name}=.* is not a number; give a number above"):
            kind(domain, **{name: value})


@pytest.mark.parametrize("name", ["gamma", "epsilon"])
@pytest.mark.parametrize("kind", [sf.Gaussian, sf.Uniform])
def test_noise_without_a_bound_says_why_and_what_to_use(kind: type, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} cannot be asked of .*; use laplace or square-wave"):
        kind(UNIT, **{name: 3})


def test_noise_takes_no_other_parameter() -> None:
    with pytest.raises(TypeError, match="gaussian takes no parameter 'colour'"):
        sf.Gaussian(UNIT, scale=1, colour="red")  # type: ignore[arg-type]


@pytest.mark.parametrize(("gamma", "words"), [(1.001, "too wide to read any crowd"), (1e20, "use square-wave")])
def test_laplace_noise_says_which_bounds_it_cannot_keep(gamma: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sf.Laplace(UNIT, gamma=gamma)


# --- in plans -----------------------------------------------------------------------------------------------------


def plan_with(**attribute: object) -> sf.Plan:
    return sf.Plan.from_dict({"attributes": {"x": attribute}})


def test_plans_take_either_spelling_and_are_one_plan() -> None:
    number, category = {"low": 0, "high": 1}, {"categories": ["a", "b"]}
    for domain, kind in ((number, "laplace"), (number, "square-wave"), (category, "randomized-response")):
        by_gamma, by_epsilon = (
            plan_with(**domain, channel=kind, **bound) for bound in ({"gamma": 3}, {"epsilon": math.log(3)})
        )
        assert by_gamma.identity == by_epsilon.identity
        assert sf.Plan.from_dict(by_epsilon.to_dict()).identity == by_gamma.identity


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ({"channel": "gaussian", "gamma": 19}, "attributes.x: gamma cannot be asked of gaussian: .*use laplace"),
        ({"channel": "uniform", "epsilon": 1}, "attributes.x: epsilon cannot be asked of uniform: .*use laplace"),
        ({"channel": "discretize", "width": 0.1, "gamma": 19}, "gamma cannot be asked of discretize"),
        ({"channel": "laplace"}, "attributes.x: give either scale=, privacy=, snr=, gamma= or epsilon= for"),
        ({"channel": "square-wave", "gamma": 19, "epsilon": 1}, "attributes.x: give either gamma= or epsilon="),
        ({"channel": "square-wave", "epsilon": "one"}, "attributes.x: epsilon='one' is not a number"),
    ],
)
def test_a_bad_bound_in_a_plan_names_the_attribute(attribute: dict[str, object], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        plan_with(low=0, high=1, **attribute)
