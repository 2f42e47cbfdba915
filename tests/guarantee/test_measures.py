"""Widths that can be compared, and EGS03's public analysis: posteriors, information, what a breach implies."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.channels.baskets.program import read_program
from tests.guarantee.test_statement import example_1

AGE, UNIT = sf.Interval(20, 80), sf.Interval(0, 1)
FUNCTIONS = {"log2": np.log2, "scalar log": math.log, "x − 1": lambda x: x - 1, "1 − 1/x": lambda x: 1 - 1 / x}


def test_both_widths_of_gaussian_noise() -> None:
    guarantee = sf.Gaussian(AGE, privacy=1.0).guarantee()
    assert guarantee.interval() == pytest.approx(60)
    assert guarantee.credible_width() == pytest.approx(38.7, abs=0.05)
    assert "38.67 (64 % of the whole range)" in str(guarantee) and " 60" not in str(guarantee)


def test_both_widths_of_the_square_wave_have_the_same_definitions() -> None:
    wave = sf.SquareWave(AGE, gamma=19)
    guarantee, law = wave.guarantee(), wave.law()
    middle = law[:, law.shape[1] // 2]
    ends = np.flatnonzero(np.cumsum(np.sort(middle)[::-1]) >= 0.95)[0]  # as many of the likeliest reports hold 95 %
    assert guarantee.interval() == pytest.approx((ends + 1) * wave.outputs.step, abs=0.1)
    assert guarantee.credible_width() == pytest.approx(50.8, abs=0.1)


def test_the_second_phase_is_counted_and_never_narrows() -> None:
    levels = {"fine": 200, "normal": 100, "extra": 50, "paranoid": 25, "four": 4, "one": 1}
    phases = sf.TwoPhase(sf.Gaussian(UNIT, scale=0.05), levels)
    widths = [phases.guarantee(level).credible_width() or 0 for level in levels]
    assert widths[4] == pytest.approx(0.29, abs=0.005)
    assert all(wide >= narrow for narrow, wide in pairwise(widths))


@pytest.mark.parametrize("channel", [sf.Gaussian, sf.Uniform, sf.Laplace])
@pytest.mark.parametrize("privacy", [0.1, 1.0, 4.0])
def test_no_report_leaves_more_open_than_there_is(channel: type, privacy: float) -> None:
    for domain in (AGE, sf.Interval(0, 9, integer=True)):
        guarantee = channel(domain, privacy=privacy).guarantee()
        assert 0 < (guarantee.credible_width(0.95) or 0) <= 0.95 * domain.width + 1e-9


def test_a_sharper_prior_leaves_less_open() -> None:
    noise = sf.Gaussian(AGE, privacy=1.0)
    assert (noise.guarantee([0, 1, 0]).credible_width() or 0) < 20 < (noise.guarantee().credible_width() or 0)


def test_categories_have_no_width() -> None:
    assert sf.RandomizedResponse(sf.Categories(["a", "b"]), gamma=3).guarantee().credible_width() is None


# --- posteriors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "zero", "far"), [("R1", 0.7163, 0.8295), ("R2", 0.0481, 1.0), ("R3", 0.0294, 0.7077)])
def test_example_1_is_a_call_for_each_property(name: str, zero: float, far: float) -> None:
    guarantee = example_1(name)[0].guarantee([0.01] + [0.00099] * 1000)
    assert guarantee.posterior(0, 0) == pytest.approx(zero, abs=6e-5)
    assert guarantee.posterior(0, lambda x: not 200 <= x <= 800) == pytest.approx(far, abs=6e-5)


def test_properties_are_values_collections_ranges_or_functions() -> None:
    colour = sf.RandomizedResponse(sf.Categories(["red", "blue", "grey"]), keep=0.8).guarantee()
    assert colour.posterior("red", "red") == pytest.approx(0.8)
    assert colour.posterior("red", {"blue", "grey"}) == pytest.approx(0.2)
    assert colour.posterior("red", "red", prior={"red": 0.5, "blue": 0.5}) == pytest.approx(8 / 9)
    wave = sf.SquareWave(AGE, gamma=19).guarantee()
    assert wave.posterior(50, (46, 54)) == pytest.approx(wave.posterior(50, lambda x: 46 <= x <= 54))
    with pytest.raises(ValueError, match="unclear for numbers"):
        wave.posterior(50, 3)
    with pytest.raises(ValueError, match="cannot occur"):
        sf.RandomizedResponse(sf.Categories(["a", "b"]), keep=1.0).guarantee([1, 0]).posterior("b", "a")


# --- information --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
@given(data=st.data())
def test_a_breach_implies_the_information_of_statements_6_and_7(name: str, data: st.DataObject) -> None:
    f, sizes = FUNCTIONS[name], st.lists(st.floats(0.01, 1), min_size=4, max_size=4)
    table = np.array([data.draw(sizes) for _ in range(4)]).T
    guarantee = sf.Tabulated(sf.Categories(range(4)), table / table.sum(axis=0)).guarantee(data.draw(sizes))
    rho1 = data.draw(st.floats(0.05, 0.6))
    rho2 = data.draw(st.floats(rho1 + 0.02, 0.95))
    for report in range(4):
        for members in ({0}, {1, 2}, {0, 3}, {1, 2, 3}):
            before, after = float(guarantee._prior[list(members)].sum()), guarantee.posterior(report, members)
            if before <= rho1 and after >= rho2:
                assert guarantee.information(f) >= sf.breach_information(rho1, rho2, f) - 1e-9
                assert not guarantee.excludes_by_information(rho1, rho2, f)
            if before >= rho2 and after <= rho1:
                bound = sf.breach_information(rho1, rho2, f)
                assert guarantee.information(f, inverse=True) >= bound - 1e-9


def test_information_and_gamma_exclude_different_breaches() -> None:
    bit = sf.Categories([0, 1])
    coin = sf.Tabulated(bit, [[0.6, 0.4], [0.4, 0.6]]).guarantee()
    assert coin.excludes_by_information(0.05, 0.5) and coin.excludes(0.05, 0.5)
    rare = [[0.000099, 0.000001], [0.000001, 0.000099], [0.9999, 0.9999]]
    rarely = sf.Tabulated(bit, rare, reports=[0, 1, "empty"]).guarantee()
    assert not rarely.excludes_by_information(0.05, 0.5) and not rarely.excludes(0.05, 0.5)


def test_a_function_that_is_not_convex_is_refused() -> None:
    with pytest.raises(ValueError, match="convex"):
        sf.breach_information(0.05, 0.5, lambda x: -math.log(x))
    with pytest.raises(ValueError, match="convex"):
        sf.RandomizedResponse(sf.Categories(["a", "b"]), gamma=3).guarantee().information(lambda x: math.sin(x))


# --- γ ------------------------------------------------------------------------------------------------------------


def exact_gamma(channel: sf.Channel) -> Fraction | None:
    """From the product of the steps' whole numbers, with no use of what the channel says of itself."""
    table = np.eye(channel.drawing.size, dtype=object)
    for step in channel.drawing.steps:
        table = np.array(step.exact(), dtype=object) @ table
    ratios = [None if min(row) == 0 else Fraction(max(row), min(row)) for row in table.tolist() if max(row)]
    return None if None in ratios else max(ratios, default=Fraction(1))


def some(kind: str, rng: np.random.Generator) -> sf.Channel:
    span = sf.Interval(0, int(rng.integers(2, 12)), integer=bool(rng.integers(2)))
    gamma, privacy, size = 1 + rng.lognormal(1, 1), rng.uniform(0.2, 4), int(rng.integers(2, 9))
    step = 1 if span.integer else 0.5
    made = {
        "gaussian": lambda: sf.Gaussian(span, privacy=privacy, step=step),
        "laplace": lambda: sf.Laplace(span, scale=float(rng.uniform(0.5, 20)), step=step),
        "uniform": lambda: sf.Uniform(span, privacy=privacy, step=step),
        "discretize": lambda: sf.Discretize(span, width=float(rng.integers(1, 4))),
        "square wave": lambda: sf.SquareWave(span, gamma=gamma, step=step),
        "randomized response": lambda: sf.RandomizedResponse(sf.Categories(range(size)), gamma=gamma),
        "kept": lambda: sf.RandomizedResponse(sf.Categories(range(size)), keep=float(rng.random())),
        "tabulated": lambda: sf.Tabulated(sf.Categories(range(size)), rng.dirichlet(np.ones(size), size).T),
        "chain": lambda: sf.RandomizedResponse(sf.Categories(range(size)), gamma=gamma)
        >> sf.Tabulated(sf.Categories(range(size)), rng.dirichlet(np.ones(size), size).T),
        "longitudinal": lambda: sf.Longitudinal(
            sf.RandomizedResponse(sf.Categories(range(size)), gamma=gamma),
            sf.RandomizedResponse(sf.Categories(range(size)), gamma=1 + rng.lognormal(1, 1)),
        ),
        "two-phase": lambda: sf.TwoPhase(sf.Laplace(span, scale=1.0, step=step), {"a": 2}).level("a"),
    }
    return made[kind]()


KINDS = ("gaussian", "laplace", "uniform", "discretize", "square wave", "randomized response", "kept", "tabulated",
         "chain", "longitudinal", "two-phase")  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_stated_gamma_is_never_below_the_true_one(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for _ in range(200):
        channel = some(kind, rng)
        true, guarantee = exact_gamma(channel), channel.guarantee()
        if true is None:
            assert math.isinf(guarantee.gamma)
            continue
        assert true <= Fraction(guarantee.gamma)
        said = re.search(r"γ = ([\d.,e+]+), ε", str(guarantee))
        assert math.isinf(guarantee.gamma) or (said and Fraction(said[1].replace(",", "")) >= true)


def test_baskets_state_no_less_than_their_program_has() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        size = int(rng.integers(1, 6))
        rho, kept = int(rng.integers(10, 150)) / 256, rng.dirichlet(np.ones(size + 1))
        try:
            baskets = sf.SelectASize(sf.Items(40), [{"size": size, "rho": rho, "kept": kept.tolist()}], up_to=1)
        except ValueError:  # a design from which nothing can be recovered is refused
            continue
        ratios = [each / math.comb(size, j) / Fraction(rho) ** j / (1 - Fraction(rho)) ** (size - j)
                  for j, each in enumerate(read_program(baskets.program())[size].kept)]  # fmt: skip
        assert max(ratios) / min(ratios) <= Fraction(baskets.guarantee().gamma)
