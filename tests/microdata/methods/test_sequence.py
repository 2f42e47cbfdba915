"""Columns drawn one after the other depend on each other as before, and no value comes from the record itself."""

from itertools import product

import numpy as np

from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.sequence import (
    add_line,
    deal_classes,
    draw_in_turn,
    grow_cells,
    means_by,
    take_from_donors,
)
from sfumato.microdata.patterns.pattern import find_leaves, find_pattern
from sfumato.microdata.table.fields import Field, read_microdata
from tests.statistics import assert_fits, assert_mean


def drawn(table, target="class", **still):
    data = read_microdata(table, target)
    leaves = find_leaves(find_pattern(None, data).tree, data)
    held = np.array([name in still for name in data.names])
    return data, draw_in_turn(data, data.y, leaves, np.full(len(data.fields), 10.0), held, [], Draws(1))


def test_a_donor_comes_from_the_wanted_cell_and_interval_each_with_the_same_chance():
    values, cell = np.array([1.0, 2, 3, 4, 11, 12, 13, 14]), np.repeat([5, 9], 4)
    n = 40_000
    wanted = np.repeat([9], n)
    found = take_from_donors(
        np.tile(values, n // 8), np.tile(cell, n // 8), wanted, np.full(n, 12.0), np.full(n, 20.0), Draws(0)
    )
    assert_fits([(found == value).sum() for value in (12, 13, 14)], [1 / 3, 1 / 3, 1 / 3])


def test_as_many_takers_as_donors_get_each_value_once():
    values, cell = np.random.default_rng(0).normal(size=60), np.repeat([3, 8, 9], 20)
    low, high = np.full(60, -9.0), np.full(60, 9.0)
    found = take_from_donors(values, cell, cell[::-1].copy(), low, high, Draws(0))
    assert np.array_equal(np.sort(found), np.sort(values))
    assert not np.array_equal(found, take_from_donors(values, cell, cell[::-1].copy(), low, high, Draws(1)))


def test_without_a_donor_in_the_interval_the_whole_column_gives_one():
    values = np.arange(10.0)
    cell = np.repeat([1, 2], 5)
    found = take_from_donors(values, cell, np.full(10, 1), np.full(10, 7.0), np.full(10, 8.0), Draws(0))
    assert set(found.tolist()) <= {7.0, 8.0}


def test_cells_hold_at_least_the_donors_asked_for():
    rng = np.random.default_rng(0)
    seen, values = rng.normal(size=(500, 3)), rng.normal(size=500)
    cells = grow_cells(seen, values, 20, Field("x", "float", -4, 4, 0.0))
    assert np.unique(cells.apply(seen), return_counts=True)[1].min() >= 20


def test_means_of_groups_leave_gaps_out():
    assert means_by(np.array([1.0, 3, np.nan, 5]), np.array([0, 0, 1, 1])).tolist() == [2, 5]


def test_a_correlation_inside_a_class_survives_and_records_do_not():
    rng = np.random.default_rng(3)
    x = rng.normal(size=4000)
    table = {"x": x, "y": x + 0.5 * rng.normal(size=4000), "class": rng.integers(0, 2, 4000)}
    data, released = drawn(table)
    assert abs(np.corrcoef(released.T)[0, 1] - np.corrcoef(data.X.T)[0, 1]) < 0.05
    assert_mean((released[:, 0] - data.X[:, 0]) * data.X[:, 0] + data.X[:, 0] ** 2, 0.0)  # independent of one's own
    assert (released == data.X).all(axis=1).mean() < 0.01


def test_columns_that_stay_are_what_the_others_are_drawn_from():
    rng = np.random.default_rng(4)
    x = rng.normal(size=2000)
    table = {"y": x + 0.2 * rng.normal(size=2000), "x": x, "class": rng.integers(0, 2, 2000)}
    data, released = drawn(table, x=True)
    assert np.array_equal(released[:, 1], data.X[:, 1])
    assert np.corrcoef(released.T)[0, 1] > 0.9


def test_classes_dealt_by_their_odds_keep_the_leafs_counts_and_what_two_columns_decide_together():
    rng = np.random.default_rng(5)
    a, b, leaf = rng.integers(0, 2, 3000), rng.integers(0, 2, 3000), rng.integers(0, 3, 3000)
    data = read_microdata({"a": a, "b": b, "class": a ^ b}, "class")
    shuffled = np.concatenate([rng.permutation(np.flatnonzero(leaf == one)) for one in range(3)])
    y = data.y.copy()
    y[np.argsort(leaf, kind="stable")] = data.y[shuffled]
    dealt = deal_classes(data, data.X, y, leaf, Draws(0))
    for one in range(3):
        assert np.array_equal(np.bincount(dealt[leaf == one]), np.bincount(y[leaf == one]))
    assert (y == data.y).mean() < 0.6
    assert (dealt == data.y).mean() > 0.99


def test_a_class_of_two_records_does_not_spoil_how_the_others_are_dealt():
    grid = np.array(list(product(range(3), range(5), range(4), range(4), range(3), range(2), range(3), range(3))))
    X = np.random.default_rng(1).permutation(grid)[:6000]
    y = np.where(X[:, 7] == 0, 0, 1 + (X[:, :7] @ [2, 2, 1, 1, 1, 1, 1] > 11))
    y[np.flatnonzero(y == 1)[:2]] = 3
    data = read_microdata({**{f"x{place}": column for place, column in enumerate(X.T)}, "class": y}, "class")
    shuffled = np.random.default_rng(0).permutation(data.y)
    dealt = deal_classes(data, data.X, shuffled, np.zeros(6000, dtype=np.int64), Draws(0))
    assert (dealt == data.y).mean() > 0.95


def test_a_straight_line_of_the_others_is_one_more_thing_to_look_at():
    rng = np.random.default_rng(6)
    seen = rng.normal(size=(500, 3))
    values = seen @ [1.0, -2.0, 0.5]
    before = np.column_stack([np.zeros(500), seen]).astype(np.float32)
    after = before[::-1].copy()
    add_line(before, after, values, np.arange(500))
    assert np.corrcoef(before[:, 0], values)[0, 1] > 0.999
    assert np.allclose(before[::-1], after)
