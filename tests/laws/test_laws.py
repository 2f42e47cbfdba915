"""Every kind of mechanism that is registered, present and future, is found here and must obey the laws."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels import Blur, Mechanism
from tests.laws.chance_channels import MAKERS, random_channel, random_numeric, random_second, random_values
from tests.laws.laws import (
    CHANNEL_LAWS,
    MECHANISM_LAWS,
    channels_of,
    check_mechanism,
    the_audit_agrees_with_the_law,
)

UNIT, AGES = sf.Interval(0, 1), sf.Interval(20, 80, integer=True)
COLOURS = sf.Categories(["red", "green", "blue"])

EXAMPLES: dict[str, list[Mechanism]] = {
    "gaussian": [
        sf.Gaussian(UNIT, scale=0.25),
        sf.Gaussian(AGES, privacy=1.0),
        sf.Gaussian(UNIT, privacy=0.1, step=0.003),
    ],
    "uniform": [sf.Uniform(UNIT, halfwidth=0.5), sf.Uniform(AGES, privacy=0.5, confidence=0.999)],
    "laplace": [sf.Laplace(UNIT, scale=0.5, step=0.01), sf.Laplace(AGES, privacy=1.0)],
    "discretize": [sf.Discretize(UNIT, width=0.25), sf.Discretize(AGES, edges=[20, 30, 35, 80])],
    "clear": [sf.Clear(COLOURS), sf.Clear(AGES), sf.Clear(UNIT, step=0.03)],
    "randomized-response": [
        sf.RandomizedResponse(COLOURS, keep=0.6),
        sf.RandomizedResponse(COLOURS, gamma=19),
        sf.RandomizedResponse(sf.Categories(range(40)), keep=0.01),
        sf.RandomizedResponse(COLOURS, keep=1.0),
    ],
    "subset-response": [
        sf.SubsetResponse(COLOURS, gamma=3),
        sf.SubsetResponse(sf.Categories(range(60)), gamma=5),
        sf.SubsetResponse(sf.Categories([f"word {i}" for i in range(300)]), gamma=19),
    ],
    "square-wave": [
        sf.SquareWave(UNIT, gamma=19),
        sf.SquareWave(AGES, gamma=np.e),
        sf.SquareWave(UNIT, 3, halfwidth=0.1),
    ],
    "piecewise": [
        sf.Piecewise(UNIT, gamma=19),
        sf.Piecewise(AGES, epsilon=1),
        sf.Piecewise(sf.Interval(0, 99_999), gamma=3, places=2, step=1000),
    ],
    "tabulated": [
        sf.Tabulated(COLOURS, [[0.5, 0.1, 0], [0.5, 0.9, 0.5], [0, 0, 0.5]], reports=["warm", "cold", "none"])
    ],
    "chain": [
        sf.Gaussian(AGES, scale=5) >> sf.Discretize(sf.Interval(-100, 200), width=10),
        sf.RandomizedResponse(COLOURS, keep=0.6) >> sf.RandomizedResponse(COLOURS, keep=0.7),
        sf.Discretize(UNIT, width=0.1) >> sf.SquareWave(UNIT, gamma=9, step=0.05),
    ],
    "longitudinal": [
        sf.Longitudinal(sf.RandomizedResponse(COLOURS, gamma=19), sf.RandomizedResponse(COLOURS, gamma=3)),
        sf.Longitudinal(sf.SquareWave(UNIT, gamma=9, step=0.05), sf.Laplace(sf.Interval(-1, 2), scale=1, step=0.05)),
    ],
    "two-phase-level": [
        Blur(sf.Gaussian(AGES, privacy=1.0), 20),
        Blur(sf.Uniform(UNIT, halfwidth=0.2), 7),
        Blur(sf.SquareWave(UNIT, gamma=9), 50),
    ],
    "choice": [
        sf.Choice({"open": sf.RandomizedResponse(COLOURS, gamma=99), "shy": sf.RandomizedResponse(COLOURS, gamma=3)}),
        sf.Choice({"far": sf.Laplace(UNIT, scale=1, step=0.02), "near": sf.SquareWave(UNIT, gamma=9)}, default="near"),
    ],
    "two-phase": [sf.TwoPhase(sf.Gaussian(UNIT, privacy=1.0), {"normal": 200, "paranoid": 25}, default="paranoid")],
    "correlated-gaussian": [
        sf.CorrelatedNoise({"a": UNIT, "b": AGES}, [[0.04, 0.5], [0.5, 100.0]], ratio=1.5),
        sf.CorrelatedNoise({"a": UNIT, "b": UNIT, "c": AGES}, np.diag([0.04, 0.09, 90.0]) + 0.02, privacy=0.8),
    ],
    "select-a-size": [
        sf.SelectASize.design(sf.Items(5), sizes=[0], gamma=5, up_to=2),
        sf.SelectASize.design(sf.Items(6), sizes=[3], gamma=5, up_to=2),
        sf.SelectASize.design(sf.Items(["tea", "milk", "rice"]), sizes=[2], gamma=19, up_to=2),
    ],
}

CASES = [
    pytest.param(mechanism, id=f"{kind}-{i}") for kind, found in EXAMPLES.items() for i, mechanism in enumerate(found)
]
CHANNELS = [
    pytest.param(channel, id=f"{kind}-{i}-{level}")
    for kind, found in EXAMPLES.items()
    for i, mechanism in enumerate(found)
    for level, channel in enumerate(channels_of(mechanism))
]


def test_every_registered_kind_has_an_example() -> None:
    assert set(EXAMPLES) == set(Mechanism.registry)
    assert all(EXAMPLES.values())


@pytest.mark.parametrize("law", MECHANISM_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("mechanism", CASES)
def test_law_of_mechanisms(mechanism: Mechanism, law: object) -> None:
    law(mechanism)  # type: ignore[operator]


@pytest.mark.parametrize("law", CHANNEL_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("channel", CHANNELS)
def test_law_of_channels(channel: sf.Channel, law: object) -> None:
    law(channel)  # type: ignore[operator]


@pytest.mark.parametrize("chain", EXAMPLES["chain"], ids=repr)
def test_a_chain_multiplies_the_tables(chain: sf.Chain) -> None:
    between = chain.second.encode(chain.first.outputs.decode(np.arange(chain.first.outputs.size)))
    np.testing.assert_allclose(chain.law(), chain.second.law()[:, between] @ chain.first.law(), atol=1e-14)


# --- of random ones -------------------------------------------------------------------------------------------------

OFTEN = {"chain": 30, "tabulated": 20, "longitudinal": 8, "discretize": 6, "two-phase-level": 6}
LARGE = ("correlated-gaussian", "select-a-size")
"""Kinds whose statement is slow, or which have no table of their own: those listed above."""
RANDOM = [(kind, seed) for kind in sorted(MAKERS) if kind not in LARGE for seed in range(OFTEN.get(kind, 2))]


def test_every_registered_kind_can_be_random() -> None:
    assert set(MAKERS) == set(Mechanism.registry)


@pytest.mark.parametrize(("kind", "seed"), RANDOM)
def test_random_mechanisms_obey_every_law(kind: str, seed: int) -> None:
    mechanism = MAKERS[kind](np.random.default_rng([seed, 2]))
    check_mechanism(mechanism)
    for channel in channels_of(mechanism):
        the_audit_agrees_with_the_law(channel)


@pytest.mark.parametrize("seed", range(40))
def test_two_channels_fit_in_every_verb_or_are_refused_when_chained(seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    first = random_channel(rng)
    seconds = [random_channel(rng), random_second(rng, first)]
    seconds += [random_numeric(rng, first.domain)] if isinstance(first.domain, sf.Interval) else []
    for second in seconds:
        try:
            chain = first >> second
        except (ValueError, TypeError) as error:
            assert ">>" in str(error) and ";" in str(error) and "\n" not in str(error)
            continue
        assert str(chain.guarantee()) and chain.gamma >= 1
        np.testing.assert_allclose(chain.law().sum(axis=0), 1, atol=1e-9)
        reports = chain.randomize(random_values(rng, chain, 200), rng)
        numbers = isinstance(chain.domain, sf.Interval)
        assert sf.reconstruct(reports, chain, [chain.domain.low, chain.domain.high] if numbers else None)
        if numbers:
            np.testing.assert_allclose(chain.matrix(true=[chain.domain.low, chain.domain.high]).sum(), 1, atol=1e-9)
