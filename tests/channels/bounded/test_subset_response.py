"""Subsets of thousands of categories: known answers of the geometry, the law against its definition, bad input."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.bounded.subset_response import Slices, best_grid, is_prime
from sfumato.channels.program import Program
from tests.statistics import assert_fits

SIXTY = sf.SubsetResponse(sf.Categories(range(60)), gamma=5)
ON_A_GRID = sf.SubsetResponse(sf.Categories(range(200)), gamma=19)
ARCS_ON_A_GRID = sf.SubsetResponse(sf.Categories(range(200)), gamma=5)


def members(channel: sf.SubsetResponse) -> np.ndarray:
    """Which report's set holds which category, set by set."""
    sets = [channel.members(report) for report in range(channel.outputs.size)]
    return np.array([[label in held for label in channel.domain.labels] for held in sets])


def test_directions_are_the_lines_through_the_origin() -> None:
    slices = Slices(0, 3, 2, 9)
    assert slices.directions == 4 and slices.outputs == 12
    places = [slices.place_of(code) for code in range(9)]
    assert places == [0, 4, 5, 3, 7, 8, 6, 1, 2]
    axes = [places.index(1), places.index(3)]
    lines = [[slices.slice_of(code, direction) for code in axes] for direction in range(4)]
    assert lines == [[1, 0], [0, 1], [1, 1], [2, 1]]


@pytest.mark.parametrize(("prime", "digits"), [(2, 9), (3, 5), (19, 3), (23, 2), (101, 1)])
def test_no_two_codes_share_a_place(prime: int, digits: int) -> None:
    slices = Slices(0, prime, digits, prime**digits)
    assert sorted(slices.place_of(np.arange(prime**digits)).tolist()) == list(range(prime**digits))


def test_neighbours_lie_on_no_line() -> None:
    """The variance of a sum of neighbours is that of independent categories, where on a line it is several times."""
    channel = sf.SubsetResponse(sf.Categories(range(1024)), gamma=19)
    law = channel.balanced()
    shares = 1 / np.arange(1, 1025)
    reports, weights = law.reports(shares / shares.sum()), (np.arange(1024) < 20) - 20 / 1024
    added = law.weights_by_report(weights) / (law.kept - law.stray)
    variance = reports @ added**2 - (reports @ added) ** 2
    assert variance < 1.5 * 20 * 4 * 19 / 18**2


def test_arcs_on_a_grid_step_around_the_slices_of_every_line() -> None:
    slices = Slices(0, 5, 2, 25, width=2)
    assert (slices.lines, slices.steps, slices.directions, slices.outputs) == (6, 2, 12, 60)
    single = Slices(0, 5, 2, 25)
    own = [[single.slice_of(code, line) for code in range(25)] for line in range(6)]
    stepped = [[slices.slice_of(code, direction) for code in range(25)] for direction in range(12)]
    assert stepped == [[step * each % 5 for each in line] for line in own for step in (1, 2)]


@pytest.mark.parametrize(
    ("channel", "of_one", "of_two"), [(SIXTY, 30 * 10, 5 * 9), (ON_A_GRID, 18, 1), (ARCS_ON_A_GRID, 144 * 3, 75)]
)
def test_every_two_categories_share_as_many_sets(channel: sf.SubsetResponse, of_one: int, of_two: int) -> None:
    """Of k directions w·k sets hold a category, w·k·(w·q^(m−1) − 1)/(q^m − 1) both of two."""
    held = members(channel).astype(int)
    together = held.T @ held
    apart = ~np.eye(channel.domain.size, dtype=bool)
    assert np.unique(np.diag(together)).tolist() == [of_one]
    assert np.unique(together[apart]).tolist() == [of_two]


@pytest.mark.parametrize("categories", [8, 10, 16, 24, 40, 64, 100])
@pytest.mark.parametrize("gamma", [np.e, 3, 19])
def test_few_categories_get_sets_of_about_the_best_size(categories: int, gamma: float) -> None:
    """Exactly, for the weighted least squares of ``method="inverse"``, wherever sets serve better than single ones."""
    if categories < 3 * gamma + 2:
        return
    table, even = sf.SubsetResponse(sf.Categories(range(categories)), gamma=gamma).law(), 1 / categories
    weighted = table.T / (table.sum(axis=1) * even)
    estimator = np.linalg.solve(weighted @ table, weighted)
    variance = ((estimator**2 @ table).sum() * even - even) / categories
    size = np.arange(1, categories // 2 + 1)
    p = gamma * size / (gamma * size + categories - size)
    stray = (p * (size - 1) + (1 - p) * size) / (categories - 1)
    held = even * p + (1 - even) * stray
    assert variance <= 1.02 * (held * (1 - held) / (p - stray) ** 2).min()


@pytest.mark.parametrize(
    ("categories", "gamma"), [(2, 3), (16, 19), (60, 5), (200, np.e), (150, 19), (300, 2), (400, 19)]
)
def test_the_law_is_two_values_and_its_balance_holds(categories: int, gamma: float) -> None:
    channel = sf.SubsetResponse(sf.Categories(range(categories)), gamma=gamma)
    law, held, balanced = channel.law(), members(channel), channel.balanced()
    np.testing.assert_allclose(law, np.where(held, balanced.inside, balanced.outside), rtol=1e-12)
    chances = held.T.astype(float) @ law
    np.testing.assert_allclose(np.diag(chances), balanced.kept, rtol=1e-12)
    np.testing.assert_allclose(chances[~np.eye(categories, dtype=bool)], balanced.stray, rtol=1e-12)
    seen, weights = np.arange(channel.outputs.size) % 7.0, np.arange(categories) % 5.0
    np.testing.assert_allclose(balanced.counts_by_code(seen), held.T @ seen, atol=1e-9)
    np.testing.assert_allclose(balanced.weights_by_report(weights), held @ weights, atol=1e-9)
    np.testing.assert_allclose(balanced.reports(weights), law @ weights, rtol=1e-9)


@pytest.mark.parametrize("gamma", [1.001, np.e, 3, 19, 1000])
@pytest.mark.parametrize("categories", [2, 7, 60, 1000])
def test_gamma_is_that_of_the_whole_numbers_and_never_above_the_one_asked_for(categories: int, gamma: float) -> None:
    channel = sf.SubsetResponse(sf.Categories(range(categories)), gamma=gamma)
    assert channel.exact_gamma <= Fraction(gamma)
    assert channel.exact_gamma > Fraction(gamma) * (1 - Fraction(1, 10**9))
    if categories < 61:
        rows = channel.slices.exact()
        assert max(Fraction(max(row), min(row)) for row in rows) <= channel.exact_gamma
        total = {sum(column) for column in zip(*rows, strict=True)}
        assert total == {1 << 191}


@pytest.mark.parametrize("gamma", [np.e, 3, 19])
@pytest.mark.parametrize("categories", [16, 128, 1024, 10_000])
def test_the_variance_is_within_a_twentieth_of_subset_selection(categories: int, gamma: float) -> None:
    """Of estimates that sum to 1, as those of subset selection do: v·(1 − 1/d) where reports tell d shares alike."""

    def variance(p: float, stray: float) -> float:
        return ((p * (1 - p) + (categories - 1) * stray * (1 - stray)) / categories) / (p - stray) ** 2

    def selection(size: int) -> float:
        p = gamma * size / (gamma * size + categories - size)
        return variance(p, (p * (size - 1) + (1 - p) * size) / (categories - 1))

    best = min(selection(size) for size in range(1, categories // 2 + 1))
    law = sf.SubsetResponse(sf.Categories(range(categories)), gamma=gamma).balanced()
    ours = variance(law.kept, law.stray) * (1 - 1 / categories)
    assert ours <= 1.05 * best
    assert ours <= 1.0015 * variance(0.5, 1 / (gamma + 1))  # a bit for every category, optimal unary encoding


def test_reports_are_also_given_as_sets_that_hold_the_truth_as_often_as_the_law_says() -> None:
    reports = SIXTY.randomize(np.full(4000, 7), rng=5)
    sets = SIXTY.members(reports)
    assert sets[0] == SIXTY.members(int(reports[0])) and SIXTY.members([None, reports[0]]) == [None, sets[0]]
    held = sum(7 in each for each in sets)
    assert_fits([held, 4000 - held], [SIXTY.slices.chance, 1 - SIXTY.slices.chance])
    law = SIXTY.balanced()
    from_sets = (held / 4000 - law.stray) / (law.kept - law.stray)
    estimate = sf.reconstruct(reports, SIXTY, method="inverse")
    assert from_sets == pytest.approx(estimate.probabilities[7], abs=3 * estimate.stderr[7])


def test_reports_are_a_few_bytes() -> None:
    for categories, bits in [(1000, 13), (10_000, 18), (100_000, 18), (500_000, 20)]:
        assert sf.SubsetResponse(sf.Categories(range(categories)), gamma=19).report_bits == bits


def test_the_grid_is_chosen_in_whole_numbers() -> None:
    assert best_grid(10_000, 19.0) == (19, 4, 1)
    assert best_grid(10_000, 3.0) == (23, 3, 6)
    assert best_grid(1024, float(np.e)) == (11, 3, 3)
    assert best_grid(2, 19.0) == (2, 1, 1)
    assert best_grid(16, 3.0) == (17, 1, 4)
    assert [number for number in range(20) if is_prime(number)] == [2, 3, 5, 7, 11, 13, 17, 19]


def test_samples_of_ten_thousand_categories_fit_without_a_table() -> None:
    channel = sf.SubsetResponse(sf.Categories(range(10_000)), gamma=3)
    reports = channel.randomize(np.full(200_000, 4711), rng=3)
    held = channel.slices.holds(4711, reports)
    assert_fits([held.sum(), (~held).sum()], [channel.slices.chance, 1 - channel.slices.chance])
    assert_fits(np.bincount(reports // 23, minlength=6083), np.full(6083, 1 / 6083))
    further = (reports - channel.slices.slice_of(4711, reports // 23)) % 23
    assert_fits(np.bincount(further[held], minlength=6), np.full(6, 1 / 6))
    assert_fits(np.bincount(further[~held], minlength=23)[6:], np.full(17, 1 / 17))


def test_bad_input_is_one_line_that_says_what_to_do() -> None:
    few = sf.Categories(["a", "b"])
    for gamma in (1, 0.5, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="not above 1 and finite; 19 is a common choice"):
            sf.SubsetResponse(few, gamma=gamma)
    with pytest.raises(ValueError, match="one category reveals nothing"):
        sf.SubsetResponse(sf.Categories(["a"]), gamma=3)
    with pytest.raises(ValueError, match="group some of them"):
        sf.SubsetResponse(sf.Categories(range(600_000)), gamma=3)
    with pytest.raises(ValueError, match="listed twice"):
        sf.SubsetResponse(sf.Categories(["a", "a"]), gamma=3)
    with pytest.raises(ValueError, match="categories is empty"):
        sf.SubsetResponse(sf.Categories([]), gamma=3)
    with pytest.raises(TypeError, match="needs Categories"):
        sf.SubsetResponse(sf.Interval(0, 1), gamma=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown category 1830"):
        SIXTY.encode_reports([1830])
    with pytest.raises(ValueError, match="give all levels subset response or none"):
        sf.Choice({"a": sf.SubsetResponse(few, gamma=3), "b": sf.RandomizedResponse(few, gamma=3)})
    with pytest.raises(ValueError, match="no meaning for categories"):
        sf.SubsetResponse(few, gamma=3, outside="clamp")


@pytest.mark.parametrize("change", [{"width": 0}, {"width": 31}, {"prime": 59}, {"digits": 2}])
def test_a_broken_arc_is_refused(change: dict[str, object]) -> None:
    program = SIXTY.program()
    program["steps"] = [{**program["steps"][0], **change}]
    with pytest.raises(ValueError, match=r"write the program again|from 1 to"):
        Program.from_dict(program)


@pytest.mark.parametrize(
    "change", [{"prime": 4}, {"digits": 1}, {"digits": 30}, {"inside": "f" * 16}, {"prime": 2.5}, {"width": 2}]
)
def test_a_broken_program_is_refused(change: dict[str, object]) -> None:
    program = ON_A_GRID.program()
    program["steps"] = [{**program["steps"][0], **change}]
    with pytest.raises(ValueError, match=r"write the program again|whole number|from"):
        Program.from_dict(program)


def test_a_bare_list_is_told_how_to_be_categories() -> None:
    with pytest.raises(TypeError, match=r"needs Categories, not list; write sf.Categories\(\[…\]\)"):
        sf.SubsetResponse(["a", "b"], gamma=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"needs Categories, not list; write sf.Categories\(\[…\]\)"):
        sf.RandomizedResponse(["a", "b"], gamma=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs Categories, not Interval; try SquareWave"):
        sf.RandomizedResponse(sf.Interval(0, 1), gamma=3)  # type: ignore[arg-type]
