"""Designs: the two-level tables to the printed digits, and nothing better among all corners."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.baskets.design import Goal, Readability, corners, design_law
from tests.statistics import assert_mean

MILLION = 1e6

TWO_LEVEL_TABLE = [
    # gamma, m, N, lowest discoverable support in % for k = 1, 2, 3
    (99, 5, 5, (0.228, 0.198, 0.229)),
    (49, 5, 5, (0.298, 0.298, 0.298)),
    (97 / 3, 5, 5, (0.361, 0.361, 0.361)),
    (19, 5, 5, (0.473, 0.484, 0.496)),
    (9, 5, 5, (0.650, 0.739, 0.839)),
    (4, 5, 5, (1.066, 1.357, 1.727)),
    (19, 3, 5, (0.230, 0.231, 0.232)),
    (19, 6, 5, (0.518, 0.608, 0.713)),
    (19, 8, 5, (0.598, 0.855, 1.222)),
    (19, 10, 5, (0.668, 1.102, 1.816)),
    (19, 5, 1, (1.058, 1.082, 1.108)),
    (19, 5, 10, (0.335, 0.343, 0.350)),
]


@cache
def worst(size: int, goal: Goal, form: str = "best", resolution: int = 4096) -> float:
    law = design_law(size, goal, form=form, resolution=resolution)
    return max(law.lowest_discoverable_support(k, goal.reports) for k in range(1, min(size, 3) + 1))


@pytest.mark.parametrize(("gamma", "size", "millions", "printed"), TWO_LEVEL_TABLE)
def test_two_level_supports_are_the_printed_ones(
    gamma: float, size: int, millions: int, printed: tuple[float, ...]
) -> None:
    """ρ in steps of 1/2000 that makes the largest 4 σ(0) smallest; then s = 4 σ(s) at that ρ."""
    goal = Goal(gamma, 3, millions * MILLION, criterion="threshold")
    law = design_law(size, goal, form="two-level", resolution=2000)
    found = [100 * law.lowest_discoverable_support(k, goal.reports) for k in (1, 2, 3)]
    np.testing.assert_allclose(found, printed, atol=0.000501)


@pytest.mark.parametrize("size", range(3, 16))
def test_the_best_design_is_never_above_the_two_level_one(size: int) -> None:
    """On the same levels of ρ; on a quarter of them, hardly."""
    goal = Goal(19.0, 3, 5 * MILLION)
    coarse = worst(size, goal, resolution=1024)
    assert coarse <= worst(size, goal, "two-level", resolution=1024) * (1 + 1e-9)
    assert coarse <= worst(size, goal, "two-level") * 1.001


@pytest.mark.parametrize("size", [3, 9, 15])
def test_the_best_of_many_designs_is_never_above_the_two_level_one(size: int) -> None:
    goal = Goal(19.0, 3, 5 * MILLION)
    assert worst(size, goal) <= worst(size, goal, "two-level") * (1 + 1e-9)


def test_baskets_of_ten_reach_the_known_optimum() -> None:
    """4 σ(0) = 1.576 %; s = 4 σ(s) is a little larger, 1.587 %, and two-level's 1.816 %."""
    threshold = design_law(10, Goal(19.0, 3, 5 * MILLION, "threshold"), resolution=4096)
    assert max(4 * np.sqrt(threshold.noise_power(k) / (5 * MILLION)) for k in (1, 2, 3)) <= 0.015765
    assert worst(10, Goal(19.0, 3, 5 * MILLION)) <= 0.01587


@pytest.mark.parametrize("size", [9, 10])
def test_no_corner_of_the_whole_polytope_beats_runs_of_boosted_counts(size: int) -> None:
    goal = Goal(19.0, 3, 5 * MILLION)
    every = ((np.arange(1, 2 ** (size + 1) - 1)[:, None] >> np.arange(size + 1)) & 1).astype(bool)
    best = worst(size, goal)
    for rho in np.linspace(0.02, 0.8, 27):
        readable = Readability.at(size, float(rho), goal)
        runs = readable.worst(np.where(corners(size), 19.0, 1.0), goal).min()
        assert readable.worst(np.where(every, 19.0, 1.0), goal).min() >= min(runs, best) * (1 - 1e-9)


@pytest.mark.parametrize("size", [1, 2, 5, 9, 20])
def test_designs_keep_to_gamma(size: int) -> None:
    law = design_law(size, Goal(19.0, 3, MILLION))
    assert 18.9 < law.gamma <= 19.0


def test_a_prevalence_leads_to_denser_insertion() -> None:
    assert design_law(10, Goal(19.0, 3, MILLION)).rho < 0.1
    assert design_law(10, Goal(19.0, 3, MILLION, prevalence=0.15)).rho > 0.6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0, 3, 1e6), "γ = 1.0"),
        ((0.5, 3, 1e6), "γ = 0.5"),
        ((np.inf, 3, 1e6), "γ = inf"),
        ((19.0, 0, 1e6), "up_to = 0"),
        ((19.0, 3, 0), "n = 0"),
        ((19.0, 3, 1e6, "luck"), "criterion 'luck'"),
        ((19.0, 3, 1e6, "support", 1.0), "prevalence = 1.0"),
    ],
)
def test_impossible_goals_are_refused(arguments: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Goal(*arguments)


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="form 'three-level'"):
        design_law(3, Goal(19.0, 3, 1e6), form="three-level")


# --- empty baskets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[0], [0, 1], [0, 1, 3]])
def test_empty_baskets_are_an_answer_like_any_other(sizes: list[int]) -> None:
    channel = sf.SelectASize.design(sf.Items(9), sizes=sizes, gamma=19, up_to=2)
    people = [list(range(size)) for size in sizes] * 3000
    for how in ({"rng": 5}, {"rng": 5, "compress": True}, {"key": b"secret of one device", "question": "basket"}):
        reports = channel.randomize(people, **how)
        assert reports.sizes.tolist() == [len(basket) for basket in people]
    one = channel.randomize([[]], key=b"secret of one device", question="basket")
    many = channel.randomize([[], []], key=b"secret of one device", question="basket")
    assert one.to_lists()[0] == many.to_lists()[0] == many.to_lists()[1]
    assert channel.gamma <= 19 and f"{len(sizes)}" and "size" in channel.guarantee().visible
    assert sf.SelectASize(channel.items, channel.parameters()["designs"], channel.up_to).identity == channel.identity


def test_reports_of_empty_baskets_show_every_item_as_often() -> None:
    channel = sf.SelectASize.design(sf.Items(70), sizes=[0], gamma=19, up_to=2)
    assert channel.exact_gamma == 1 and channel.lowest_discoverable_support() == {}
    for compress in (False, True):
        reports = channel.expand(channel.randomize([[]] * 4000, rng=3, compress=compress))
        shown = np.array([len(basket) for basket in reports.to_lists()])
        assert_mean(shown, 35, np.sqrt(70 / 4))


def test_supports_are_read_among_empty_baskets() -> None:
    channel = sf.SelectASize.design(sf.Items(12), sizes=[0, 1, 2], gamma=99, up_to=2)
    assert set(channel.lowest_discoverable_support()) == {1, 2}
    people = [[], [3], [3, 4], [4]] * 20_000
    found = sf.frequent_itemsets(channel.randomize(people, rng=8), channel, min_support=0.2, max_len=2)
    supports = dict(zip(found["itemsets"], found["support"], strict=True))
    assert supports.keys() == {frozenset({3}), frozenset({4}), frozenset({3, 4})}
    assert supports[frozenset({3})] == pytest.approx(0.5, abs=0.05)
    assert supports[frozenset({3, 4})] == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("size", [-1, 1.5, "a"])
def test_a_size_that_is_no_number_of_items_is_refused(size: object) -> None:
    with pytest.raises((ValueError, TypeError), match=r"size"):
        sf.SelectASize.design(sf.Items(9), sizes=[size], gamma=19)  # type: ignore[list-item]
