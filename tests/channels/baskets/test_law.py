"""The law of one size: closed forms against brute force, and EGS03's numbers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sfumato.channels.baskets import SelectASize
from sfumato.channels.baskets.law import SizeLaw, bit_flips, cut_and_paste, dyadic, table
from sfumato.domain import Items
from tests.channels.baskets.examples import boosted, two_level


def law_of_four() -> SizeLaw:
    return SizeLaw(4, 0.25, (0.1, 0.15, 0.2, 0.25, 0.3))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_estimator_is_unbiased_for_every_overlap(k: int) -> None:
    """E[g | t] = 1 if the itemset is in the basket and 0 for any smaller overlap, from the whole table."""
    law, items = law_of_four(), 7
    reported = (np.arange(1 << items)[:, None] >> np.arange(items)) & 1
    baskets = [set(c) for c in combinations(range(items), 4)]
    baskets.sort(key=lambda basket: sum(1 << i for i in basket))
    g = law.estimator(k)[reported[:, :k].sum(axis=1)]
    expected = [float(set(range(k)) <= basket) for basket in baskets]
    np.testing.assert_allclose(g @ table(law, items), expected, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_second_moments_equal_those_of_the_whole_table(k: int) -> None:
    law, items = law_of_four(), 8
    shown = ((np.arange(1 << items)[:, None] >> np.arange(items)) & 1)[:, :k].sum(axis=1)
    square = law.estimator(k)[shown] ** 2 @ table(law, items)
    true = [pattern for pattern in range(1 << items) if pattern.bit_count() == 4]
    overlap = np.array([(pattern & ((1 << k) - 1)).bit_count() for pattern in true])
    np.testing.assert_allclose(square[overlap == 0], law.noise_power(k), rtol=1e-12)
    np.testing.assert_allclose(square[overlap == k], law.own_power(k), rtol=1e-12)


def test_gamma_is_the_largest_ratio_of_the_table() -> None:
    law = two_level(4, 0.25, 19.0, 3)
    ratios = table(law, 7)
    assert law.gamma == pytest.approx(19.0)
    assert (ratios.max(axis=1) / ratios.min(axis=1)).max() == pytest.approx(19.0)


def test_two_level_lambda_two_vanishes_where_the_theory_says() -> None:
    """λ_2 = 0 at ρ = (j*-1)/(m-1): m = 5, j* = 2, ρ = 1/4."""
    law = two_level(5, 0.25, 19.0, 2)
    assert law.signal(2) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match="λ_2 vanishes"):
        law.estimator(2)


def test_lowest_discoverable_support_is_four_of_its_own_deviations() -> None:
    law, n = two_level(5, 0.5, 19.0, 5), 1e6
    for k in (1, 2, 3):
        s = law.lowest_discoverable_support(k, n)
        variance = ((1 - s) * law.noise_power(k) + s * law.own_power(k) - s) / n
        assert s == pytest.approx(4 * np.sqrt(variance), rel=1e-9)
        assert SelectASize(Items(10), [law]).reports_needed(s, k) == pytest.approx(n, abs=2)


def test_lowest_discoverable_support_falls_with_the_root_of_the_reports() -> None:
    law = two_level(5, 0.5, 19.0, 5)
    ratio = law.lowest_discoverable_support(2, 1e6) / law.lowest_discoverable_support(2, 4e6)
    assert ratio == pytest.approx(2.0, rel=2e-3)


def test_parts_of_an_itemset_cost_more_where_few_items_are_inserted() -> None:
    sparse, dense = boosted(10, 0.035, 19.0, np.arange(11) == 2), two_level(10, 0.73, 19.0, 10)
    assert sparse.noise_power(3) < dense.noise_power(3)
    assert sparse.noise_power(3, prevalence=0.15) > dense.noise_power(3, prevalence=0.15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 0.5, ()), "sizes start at 0"),
        ((2, 0.0, (0.2, 0.3, 0.5)), "strictly between 0 and 1"),
        ((2, 0.5, (0.5, 0.5)), "3 numbers"),
        ((2, 0.5, (0.2, 0.2, 0.2)), "sum to 1"),
    ],
)
def test_impossible_laws_are_refused(arguments: tuple[int, float, tuple[float, ...]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SizeLaw(*arguments)


def test_columns_are_distributions_and_equal_a_direct_reading_of_the_operator() -> None:
    """One column by the definition: choose j, keep j of m, insert the others independently."""
    law = two_level(2, 0.25, 5.0, 1)
    found = table(law, 4)
    np.testing.assert_allclose(found.sum(axis=0), 1.0)
    p0, p1, p2 = law.kept
    kept = {0b00: p0, 0b01: p1 / 2, 0b10: p1 / 2, 0b11: p2}
    inserted = {0b00: 0.75**2, 0b01: 0.25 * 0.75, 0b10: 0.25 * 0.75, 0b11: 0.25**2}
    direct = [kept[report & 3] * inserted[report >> 2] for report in range(16)]
    np.testing.assert_allclose(found[:, 0], direct)


def test_a_rho_that_is_no_dyadic_number_is_refused_with_a_neighbour() -> None:
    assert dyadic(0.625) == (5, 3)
    with pytest.raises(ValueError, match=r"take a nearby one such as 0\.300781"):
        dyadic(0.3)


def test_bit_flips_are_independent_of_each_other() -> None:
    """P[t'|t] = keep^(bits that stay) (1-keep)^(bits that flip), over all sets and all baskets of three."""
    law, items = bit_flips(3, 0.75), 5
    baskets = [number for number in range(1 << items) if number.bit_count() == 3]
    flipped = np.array([[(shown ^ true).bit_count() for true in baskets] for shown in range(1 << items)])
    assert table(law, items) == pytest.approx(0.75 ** (items - flipped) * 0.25**flipped)
    assert law.gamma == pytest.approx(3.0**6)


@pytest.mark.parametrize("cutoff", [0, 1, 3, 6])
def test_cut_and_paste_is_its_own_description_step_by_step(cutoff: int) -> None:
    """Draw i, keep i random items of the basket, insert every item that is not there with chance ρ."""
    size, rho, items = 3, 0.25, 5
    law, basket = cut_and_paste(size, cutoff, rho), 0b00111
    chances = np.zeros(1 << items)
    for drawn in range(cutoff + 1):
        pasted = list(combinations(range(size), min(drawn, size)))
        for chosen in pasted:
            first = sum(1 << place for place in chosen)
            for shown in range(1 << items):
                if shown & first == first:
                    more = (shown ^ first).bit_count()
                    chance = rho**more * (1 - rho) ** (items - len(chosen) - more)
                    chances[shown] += chance / len(pasted) / (cutoff + 1)
    of_basket = [number for number in range(1 << items) if number.bit_count() == size].index(basket)
    assert table(law, items)[:, of_basket] == pytest.approx(chances)
    assert sum(law.kept) == pytest.approx(1)


def test_cut_and_paste_without_a_paste_tells_nothing_and_a_negative_one_is_refused() -> None:
    assert cut_and_paste(4, 0, 0.25).gamma == pytest.approx(1)
    with pytest.raises(ValueError, match="cutoff -1 is no number of items"):
        cut_and_paste(4, -1, 0.25)


@pytest.mark.parametrize("law", [cut_and_paste(5, 3, 0.25), bit_flips(5, 0.75)])
def test_both_are_mined_as_any_other_design(law: SizeLaw) -> None:
    channel = SelectASize(Items(20), [law])
    assert channel.gamma == pytest.approx(law.gamma, rel=1e-6)
