"""Chains: what is drawn and what is stated come from the same codes, and parts that do not fit are refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.laws.laws import coarse_tables_agree_with_the_fine_one, samples_fit_the_table

import sfumato as sf
from sfumato.channels import Blur, Channel

UNIT = sf.Interval(0, 1)
NOISE = sf.Gaussian(UNIT, privacy=0.081)
WIDE = sf.Interval(-6, 7)
BETWEEN = sf.Discretize(WIDE, width=0.25) >> sf.SquareWave(sf.Interval(-9, 9), gamma=5, step=0.5)

UNALIGNED: dict[str, Channel] = {
    "noise, then classes": NOISE >> sf.Discretize(WIDE, width=0.25),
    "noise, then a chain that begins with classes": NOISE >> BETWEEN,
    "two blurs, then classes": NOISE >> sf.Laplace(WIDE, scale=1, step=0.1) >> sf.Discretize(
        sf.Interval(-20, 20), edges=[-20, 0.05, 0.51, 20]),
    "noise remembered, then its classes": sf.Longitudinal(NOISE, sf.Discretize(WIDE, width=0.25)),
    "classes through noise, spread": NOISE >> Blur(BETWEEN, 7),
}  # fmt: skip


@pytest.mark.parametrize("name", UNALIGNED)
def test_a_chain_draws_its_stated_law_where_edges_lie_between_reports(name: str) -> None:
    samples_fit_the_table(UNALIGNED[name])
    coarse_tables_agree_with_the_fine_one(UNALIGNED[name])


@pytest.mark.parametrize("name", UNALIGNED)
def test_the_law_of_a_chain_is_that_of_its_program(name: str) -> None:
    channel = UNALIGNED[name]
    np.testing.assert_allclose(channel.law(), channel.drawing.law(), atol=1e-12)


def test_classes_before_noise_have_exact_shares_of_true_intervals() -> None:
    edges = [0, 0.3141, 1]
    chain = sf.Discretize(UNIT, edges=edges) >> sf.SquareWave(UNIT, gamma=9, step=0.05)
    by_class = chain.drawing.law()
    np.testing.assert_allclose(chain.matrix(true=edges), by_class, atol=1e-12)
    halves = by_class @ np.array([[0.6282, 0.0], [0.3718, 1.0]])
    np.testing.assert_allclose(chain.matrix(true=[0, 0.5, 1]), halves, atol=1e-12)
