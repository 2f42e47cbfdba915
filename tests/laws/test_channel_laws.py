"""Every kind of channel that is registered, present and future, is found here and must obey the laws."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest
from tests.laws.channel_laws import LAWS

import sfumato as sf
import sfumato.channels
from sfumato.channels.base import Channel
from sfumato.channels.choice import Blur

for module in pkgutil.iter_modules(sfumato.channels.__path__):
    importlib.import_module(f"sfumato.channels.{module.name}")

UNIT, AGES = sf.Interval(0, 1), sf.Interval(20, 80, integer=True)
COLOURS = sf.Categories(["red", "green", "blue"])

EXAMPLES: dict[str, list[Channel]] = {
    "gaussian": [
        sf.Gaussian(UNIT, scale=0.25),
        sf.Gaussian(AGES, privacy=1.0),
        sf.Gaussian(UNIT, privacy=0.1, step=0.003),
    ],
    "uniform": [sf.Uniform(UNIT, halfwidth=0.5), sf.Uniform(AGES, privacy=0.5, confidence=0.999)],
    "laplace": [sf.Laplace(UNIT, scale=0.5, step=0.01), sf.Laplace(AGES, privacy=1.0)],
    "discretize": [sf.Discretize(UNIT, width=0.25), sf.Discretize(AGES, edges=[20, 30, 35, 80])],
    "randomized-response": [
        sf.RandomizedResponse(COLOURS, keep=0.6),
        sf.RandomizedResponse(COLOURS, gamma=19),
        sf.RandomizedResponse(sf.Categories(range(40)), keep=0.01),
        sf.RandomizedResponse(COLOURS, keep=1.0),
    ],
    "square-wave": [
        sf.SquareWave(UNIT, gamma=19),
        sf.SquareWave(AGES, gamma=np.e),
        sf.SquareWave(UNIT, 3, halfwidth=0.1),
    ],
    "tabulated": [
        sf.Tabulated(COLOURS, [[0.5, 0.1, 0], [0.5, 0.9, 0.5], [0, 0, 0.5]], reports=["warm", "cold", "none"])
    ],
    "chain": [
        sf.Gaussian(AGES, scale=5) >> sf.Discretize(sf.Interval(-100, 200), width=10),
        sf.RandomizedResponse(COLOURS, keep=0.6) >> sf.RandomizedResponse(COLOURS, keep=0.7),
        sf.Discretize(UNIT, width=0.1) >> sf.SquareWave(UNIT, gamma=9, step=0.05),
    ],
    "two-phase-level": [
        Blur(sf.Gaussian(AGES, privacy=1.0), 20),
        Blur(sf.Uniform(UNIT, halfwidth=0.2), 7),
        Blur(sf.SquareWave(UNIT, gamma=9), 50),
    ],
    "select-a-size": [sf.SelectASize.design(sf.Items(6), sizes=[3], gamma=5, up_to=2)],
}

CASES = [pytest.param(channel, id=f"{kind}-{i}") for kind, found in EXAMPLES.items() for i, channel in enumerate(found)]


def test_every_registered_kind_has_an_example() -> None:
    assert set(EXAMPLES) == set(Channel.registry)
    assert all(EXAMPLES.values())


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("channel", CASES)
def test_law(channel: Channel, law: object) -> None:
    law(channel)  # type: ignore[operator]


@pytest.mark.parametrize("chain", EXAMPLES["chain"], ids=repr)
def test_a_chain_multiplies_the_tables(chain: sf.Chain) -> None:
    between = chain.second.encode(chain.first.outputs.decode(np.arange(chain.first.outputs.size)))
    np.testing.assert_allclose(chain.law(), chain.second.law()[:, between] @ chain.first.law(), atol=1e-14)
