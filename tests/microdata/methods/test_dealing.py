"""Dealing keeps what a leaf and a class hold, exchanges classes inside windows only, and guards the cuts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.dealing import WINDOW, classes_in_windows, deal, deal_by_class, deal_categories
from sfumato.microdata.patterns.pattern import find_leaves, find_pattern
from sfumato.microdata.table.fields import read_microdata
from tests.microdata.conftest import mixed_table


@given(st.integers(0, 2**32 - 1), st.integers(1, 80), st.integers(1, 4))
def test_as_many_takers_as_values_get_each_value_once_in_the_order_of_their_wishes(seed, n, groups):
    rng = np.random.default_rng(seed)
    values, group, wish = rng.normal(size=n), rng.integers(0, groups, n), rng.normal(size=n)
    dealt = deal(values, group, wish, rng.permutation(group), Draws(seed))
    assert np.array_equal(np.sort(dealt), np.sort(values))


def test_more_takers_than_values_get_their_quantiles():
    dealt = deal(np.array([1.0, 2.0]), np.zeros(2, int), np.arange(6.0), np.zeros(6, int), Draws(0))
    assert dealt.tolist() == [1, 1, 1, 2, 2, 2]


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 60))
def test_classes_change_places_only_between_neighbouring_values(seed, n, levels):
    """Below any value of a leaf stand as many of a class as before, up to what a window holds."""
    rng = np.random.default_rng(seed)
    y, leaf, values = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, levels, n).astype(float)
    moved = classes_in_windows(y, leaf, values, np.lexsort((values, leaf)), Draws(seed))
    for one in np.unique(leaf):
        here = leaf == one
        order = np.lexsort((values[here],))
        before, after, at = y[here][order], moved[here][order], values[here][order]
        ends = (np.flatnonzero(np.diff(at)) + 1).tolist()
        off = [abs(int((before[:end] == 0).sum()) - int((after[:end] == 0).sum())) for end in ends]
        assert max(off, default=0) < 2 * WINDOW
        assert np.array_equal(np.sort(before), np.sort(after))


def test_numbers_dealt_by_class_are_the_leafs_own_and_cut_the_classes_as_before():
    data = read_microdata(mixed_table(2000), "class")
    pattern = find_pattern(None, data)
    leaves, every, place = find_leaves(pattern.tree, data), np.arange(2000), data.names.index("income")
    wish = np.random.default_rng(0).normal(size=2000)
    dealt = deal_by_class(data.X[:, place], wish, data.y, data.y, leaves, place, every, Draws(0))
    for leaf in np.unique(leaves.leaf):
        rows = leaves.leaf == leaf
        assert np.array_equal(np.sort(dealt[rows]), np.sort(data.X[rows, place]))
    released = data.X.copy()
    released[:, place] = dealt
    assert np.array_equal(pattern.tree.descend(released), pattern.tree.descend(data.X))
    for cut in np.quantile(data.X[:, place], [0.1, 0.3, 0.5, 0.7, 0.9]):
        counts = [np.bincount(data.y[column <= cut], minlength=2) for column in (data.X[:, place], dealt)]
        assert np.abs(counts[0] - counts[1]).max() <= WINDOW * len(np.unique(leaves.leaf))


def test_categories_of_leaf_and_class_are_as_many_as_before_and_most_records_keep_theirs():
    rng = np.random.default_rng(2)
    values, y, leaf = rng.integers(0, 3, 900).astype(float), rng.integers(0, 2, 900), rng.integers(0, 3, 900)
    wish = np.where(rng.random(900) < 0.1, rng.integers(0, 3, 900), values)
    dealt = deal_categories(values, wish, y, y, leaf, Draws(0))
    keys = [np.sort(leaf * 100 + y * 10 + column) for column in (values, dealt)]
    assert np.array_equal(*keys)
    assert (dealt != wish).mean() < 0.1
