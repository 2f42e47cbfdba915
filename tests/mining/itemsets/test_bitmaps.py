"""Counts from column bitmaps equal counts from the rows, with and without a compiler."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.baskets import BasketReports, Baskets, pack_bits
from sfumato.mining.itemsets import bitmaps
from sfumato.mining.itemsets.bitmaps import ColumnBitmaps

SIZES = np.random.default_rng(1).integers(2, 5, size=1000).astype(np.uint16)
SHOWN = np.random.default_rng(2).random((1000, 71)) < 0.4


@pytest.fixture(params=["compiled", "numpy"])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ColumnBitmaps:
    if request.param == "numpy":
        monkeypatch.setattr(bitmaps, "_kernels", lambda: None)
    return ColumnBitmaps.of_reports(BasketReports(sf.Items(71), SIZES, pack_bits(SHOWN)), None)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_itemsets_are_counted_by_size_of_basket(columns: ColumnBitmaps, length: int) -> None:
    rng = np.random.default_rng(3)
    itemsets = np.sort([rng.choice(71, length, replace=False) for _ in range(20)], axis=1)
    expected = [[SHOWN[size == SIZES][:, row].all(axis=1).sum() for size in (2, 3, 4)] for row in itemsets]
    assert columns.groups == (2, 3, 4)
    assert columns.people.tolist() == [(size == SIZES).sum() for size in (2, 3, 4)]
    assert columns.counts(itemsets).tolist() == expected


def test_all_pairs_are_counted_at_once(columns: ColumnBitmaps) -> None:
    found = columns.all_pair_counts()
    for group, size in enumerate((2, 3, 4)):
        rows = SHOWN[size == SIZES].astype(int)
        assert np.array_equal(found[group], rows.T @ rows)


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
