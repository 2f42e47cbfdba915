"""Supports from reports: counts from column bitmaps equal those from rows, with and without a compiler; the closed form
against a direct mean, and Monte Carlo calibration."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.baskets import BasketReports, Baskets, SelectASize, SizeLaw, pack_bits, unpack_bits
from sfumato.evidence import DenseTable
from sfumato.itemsets import supports
from sfumato.itemsets.supports import ColumnBitmaps, MemoryHolder, SupportCounter
from tests.statistics import assert_mean_zero

ITEMS = 12
SIZES = np.random.default_rng(1).integers(2, 5, size=1000).astype(np.uint16)
SHOWN = np.random.default_rng(2).random((1000, 71)) < 0.4



@pytest.fixture(scope="module")
def channel() -> SelectASize:
    return sf.SelectASize.design(sf.Items(ITEMS), sizes=[2, 3, 4], gamma=19, up_to=3, prevalence=0.1)


def levels(reports: BasketReports, channel: SelectASize) -> list:
    counter = SupportCounter(MemoryHolder.of_reports([(reports, channel)]))
    singles = np.arange(ITEMS)[:, None]
    pairs = np.column_stack(np.triu_indices(ITEMS, 1))
    triples = np.array([[a, b, c] for a in range(4) for b in range(a + 1, 4) for c in range(b + 1, 4)])
    return [counter.count(itemsets) for itemsets in (singles, pairs, triples)]


def population(people: int) -> list[list[int]]:
    rng = np.random.default_rng(7)
    habits = [[0, 1], [0, 1, 2], [0, 1, 2, 3], [4, 5, 6], [7, 8]]
    return [habits[i] if i < 5 else rng.choice(ITEMS, rng.integers(2, 5), replace=False).tolist()
            for i in rng.integers(0, 10, size=people)]  # fmt: skip


def test_estimates_equal_the_mean_of_g_over_all_reports(channel: SelectASize) -> None:
    reports = channel.randomize(population(3000), rng=1)
    shown = unpack_bits(reports.words, ITEMS)
    level = levels(reports, channel)[2]
    for row, itemset in enumerate(level.itemsets):
        means, variances = [], []
        for size in (3, 4):
            law, mine = channel.laws[size], shown[reports.sizes == size][:, itemset]
            g = law.estimator(3)[mine.sum(axis=1)]
            means.append(g.sum() / len(reports))
            variances.append((g**2 - g).sum() / len(reports) ** 2)
        assert level.support[row] == pytest.approx(sum(means))
        assert level.stderr[row] == pytest.approx(np.sqrt(sum(variances)))


@pytest.mark.parametrize("size", [3, 4])
def test_the_closed_form_inverts_the_table_of_all_subsets(channel: SelectASize, size: int) -> None:
    """1/λ_k in the place of the inverse of P[which of A are shown | which of A are held], 2^k by 2^k."""
    law, k = channel.laws[size], 3
    held = [frozenset(part) for length in range(k + 1) for part in combinations(range(k), length)]
    table = np.array([[chance_of(shown, true, law, k) for true in held] for shown in held])
    np.testing.assert_allclose(table.sum(axis=0), 1)
    reports = channel.randomize([basket for basket in population(3000) if len(basket) == size], rng=2)
    shown = unpack_bits(reports.words, ITEMS)[:, :k]
    counts = [np.sum([set(np.flatnonzero(row)) == part for row in shown]) for part in held]
    support = np.linalg.solve(DenseTable(table).dense(), np.array(counts) / len(reports))[-1]
    assert levels(reports, channel)[2].support[0] == pytest.approx(support, abs=1e-9)


def chance_of(shown: frozenset[int], true: frozenset[int], law: SizeLaw, k: int) -> float:
    """Of A, exactly the held items that are shown were kept, and exactly the others that are shown were inserted."""
    kept, inserted = len(shown & true), len(shown - true)
    ways = [comb(law.size - len(true), j - kept) / comb(law.size, j) if j >= kept else 0.0 for j in range(law.size + 1)]
    return float(np.dot(law.kept, ways)) * law.rho**inserted * (1 - law.rho) ** (k - len(true) - inserted)


@pytest.mark.parametrize("compress", [False, True], ids=["bitmaps", "seeds"])
def test_estimates_are_unbiased_and_their_errors_calibrated(channel: SelectASize, compress: bool) -> None:
    """One population of mixed sizes, reported 500 times: z-scores have mean 0 and standard deviation 1."""
    people = population(4000)
    baskets = channel.read(people)
    held = np.zeros((len(people), ITEMS), dtype=bool)
    held[np.repeat(np.arange(len(people)), baskets.sizes), baskets.codes] = True
    rng = np.random.default_rng(11)
    scores: list[list[float]] = [[], [], []]
    for _ in range(500):
        reports = channel.randomize(baskets, rng=rng, compress=compress)
        for k, level in enumerate(levels(reports, channel)):
            chosen = [0, 5, 11] if k == 0 else [0, 1, 20] if k == 1 else [0, 3]
            for row in chosen:
                truth = held[:, level.itemsets[row]].all(axis=1).mean()
                scores[k].append((level.support[row] - truth) / level.stderr[row])
    for z in scores:
        assert_mean_zero(np.array(z) / np.sqrt(3))  # itemsets that overlap share their noise
        assert abs(np.mean(z)) < 0.1
        assert 0.94 < np.std(z) < 1.06


@pytest.mark.filterwarnings("ignore:min_support")
def test_itemsets_of_mixed_levels_weigh_the_levels_by_their_precision() -> None:
    items = sf.Items(8)
    designs = {name: sf.SelectASize.design(items, sizes=[3], gamma=gamma, up_to=2) for name, gamma in LEVELS.items()}
    choice = sf.Choice(designs)
    rng = np.random.default_rng(2)
    baskets = [sorted(rng.choice(8, 3, replace=False, p=POPULAR).tolist()) for _ in range(6_000)]
    reports = {
        name: designs[name].randomize(part, rng)
        for name, part in zip(LEVELS, (baskets[:3_000], baskets[3_000:]), strict=True)
    }
    both = by_itemset(sf.frequent_itemsets(reports, choice, 0.3, max_len=1))
    alone = {
        name: by_itemset(sf.frequent_itemsets(part, designs[name], 0.01, max_len=1)) for name, part in reports.items()
    }
    exact = by_itemset(sf.frequent_itemsets(baskets, None, 0.01, max_len=1))
    for itemset, (support, stderr) in both.items():
        errors = [alone[name][itemset][1] for name in LEVELS]
        assert stderr < 1.02 * min(errors)
        assert abs(support - exact[itemset][0]) < 6 * np.hypot(stderr, 0.01)


LEVELS = {"careful": 9.0, "open": 99.0}
POPULAR = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05])


def by_itemset(table: Any) -> dict[frozenset[Any], tuple[float, float]]:
    return {row.itemsets: (row.support, row.stderr) for row in table.itertuples()}


def test_itemsets_of_a_choice_come_by_level() -> None:
    choice = sf.Choice({"one": sf.SelectASize.design(sf.Items(5), sizes=[2], gamma=9, up_to=1)})
    with pytest.raises(TypeError, match="mapping from each level"):
        sf.frequent_itemsets([[1, 2]], choice, 0.1)


# --- column bitmaps ---------------------------------------------------------------------------------------------------


@pytest.fixture(params=["compiled", "numpy"])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ColumnBitmaps:
    if request.param == "numpy":
        monkeypatch.setattr(supports, "_kernels", lambda: None)
    return ColumnBitmaps.of_reports(BasketReports(sf.Items(71), SIZES, pack_bits(SHOWN)), None)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_itemsets_are_counted_by_size_of_basket(columns: ColumnBitmaps, length: int) -> None:
    rng = np.random.default_rng(3)
    itemsets = np.sort([rng.choice(71, length, replace=False) for _ in range(20)], axis=1)
    expected = [[SHOWN[size == SIZES][:, row].all(axis=1).sum() for size in (2, 3, 4)] for row in itemsets]
    assert columns.groups == (2, 3, 4)
    assert columns.people.tolist() == [(size == SIZES).sum() for size in (2, 3, 4)]
    assert columns.counts(itemsets).tolist() == expected


def test_all_pairs_are_counted(columns: ColumnBitmaps) -> None:
    """In long runs that share their first item: by four, and what is left one by one."""
    a, b = np.triu_indices(71, 1)
    found = columns.counts(np.column_stack([a, b]))
    for group, size in enumerate((2, 3, 4)):
        rows = SHOWN[size == SIZES].astype(int)
        assert np.array_equal(found[:, group], (rows.T @ rows)[a, b])
    assert columns.counts(np.empty((0, 2), dtype=np.int64)).shape == (0, 3)


def test_clean_baskets_are_one_group() -> None:
    baskets = Baskets.read([[0, 1], [1], [0, 1, 2], []] * 9000, sf.Items(3))
    columns = ColumnBitmaps.of_baskets(baskets)
    assert columns.counts(np.array([[0, 1], [1, 2]])).tolist() == [[18000], [9000]]


def test_seeds_are_expanded_while_counting() -> None:
    channel = sf.SelectASize.design(sf.Items(71), sizes=[2, 3], gamma=19, up_to=2)
    seeds = channel.randomize([[1, 2], [3, 4, 5]] * 300, rng=1, compress=True)
    itemsets = np.array([[1, 2], [3, 69]])
    direct = ColumnBitmaps.of_reports(channel.expand(seeds), channel)
    assert np.array_equal(ColumnBitmaps.of_reports(seeds, channel).counts(itemsets), direct.counts(itemsets))
