"""Chains: what is drawn and what is stated come from the same codes, and parts that do not fit are refused."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels import Blur, Channel
from tests.laws.laws import coarse_tables_agree_with_the_fine_one, samples_fit_the_table

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


AGES = sf.Interval(20, 80, integer=True)
COLOURS = sf.Categories(["red", "blue"])
UNFIT: dict[str, tuple[object, object, str]] = {
    "midpoints between whole numbers": (
        sf.Discretize(AGES, edges=[20, 35, 50, 80]), sf.SquareWave(AGES, gamma=9),
        "Discretize >> SquareWave: the first one's reports are not whole, for example 27.5, and the second takes "
        "integers from 20 to 80; drop integer=True there",
    ),
    "noise of half steps": (
        sf.Gaussian(AGES, scale=5, step=0.5), sf.Discretize(sf.Interval(-99, 199, integer=True), width=10),
        "Gaussian >> Discretize: the first one's reports are not whole, for example ",
    ),
    "levels": (
        sf.RandomizedResponse(COLOURS, keep=0.6), sf.Choice({"a": sf.RandomizedResponse(COLOURS, keep=0.7)}),
        "RandomizedResponse >> Choice: a chain is of two channels without levels; put the chain into each level",
    ),
    "baskets": (
        sf.SelectASize.design(sf.Items(4), [2], 9, 1), sf.RandomizedResponse(COLOURS, keep=0.6),
        "SelectASize >> RandomizedResponse: reports of baskets are sets of items, which no other channel takes",
    ),
    "numbers into categories": (
        sf.Gaussian(UNIT, scale=1), sf.RandomizedResponse(COLOURS, keep=0.6), "the first reports numbers, the second",
    ),
    "categories into numbers": (
        sf.RandomizedResponse(COLOURS, keep=0.6), NOISE, "does not take the first one's categories",
    ),
    "too far": (NOISE, sf.Gaussian(UNIT, scale=1), "widen its domain or give it outside='clamp'"),
    "no channel": (NOISE, 5, "Gaussian >> int: a chain is of two channels"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNFIT)
def test_parts_that_do_not_fit_are_refused_when_a_chain_is_built(name: str) -> None:
    first, second, message = UNFIT[name]
    with pytest.raises((ValueError, TypeError)) as error:
        first >> second  # type: ignore[operator]
    assert message in str(error.value) and "\n" not in str(error.value)


def test_whole_midpoints_go_on_as_whole_numbers() -> None:
    chain = sf.Discretize(AGES, edges=[20, 30, 80]) >> sf.SquareWave(AGES, gamma=9)
    assert chain.law().shape[1] == 61 and chain.gamma <= 9
