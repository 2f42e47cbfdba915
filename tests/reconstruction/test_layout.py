"""Intervals as asked, the fine cells inside them, and the cells of reports, which lose nobody."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.evidence.laws import POINTS, candidates, observe, observe_points
from sfumato.reconstruction.layout import FINE_CELLS, half_integers, interval_edges, layout_for

UNIT = sf.Interval(0, 1)
AGES = sf.Interval(20, 80, integer=True)


def test_a_number_of_intervals_means_equal_ones_over_the_domain():
    assert np.allclose(interval_edges(sf.Interval(20, 80), 3), [20, 40, 60, 80])


def test_few_whole_numbers_get_an_interval_each():
    edges = interval_edges(AGES, None)
    assert edges.size == 62
    assert (edges[0], edges[-1]) == (19.5, 80.5)


def test_many_whole_numbers_and_numbers_get_twenty_intervals():
    assert interval_edges(sf.Interval(0, 150_000, integer=True), None).size == 21
    assert interval_edges(UNIT, None).size == 21


def test_cells_of_whole_numbers_are_the_numbers():
    layout = layout_for(AGES, 20, 1.0)
    assert np.array_equal(np.diff(layout.cells), np.ones(61))
    assert np.array_equal(layout.membership.sum(axis=1), [3.0] * 19 + [4.0])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=30, unique=True), st.booleans())
def test_every_cell_lies_in_one_interval_or_outside_all(cuts, integer):
    domain = sf.Interval(0, 1000, integer=integer)
    edges = np.sort(np.array(cuts, dtype=float))
    layout = layout_for(domain, edges, 1.0)
    assert (np.diff(layout.cells) > 0).all()
    assert (layout.membership.sum(axis=0) <= 1).all()
    assert (layout.membership.sum(axis=1) >= 1).all()
    bounds = half_integers(edges) if integer else edges
    covered = layout.membership @ np.diff(layout.cells)
    assert np.allclose(covered, np.diff(bounds))
    assert layout.cells[0] == (-0.5 if integer else 0)
    assert layout.cells[-1] == (1000.5 if integer else 1000)


def test_numbers_are_solved_on_a_hundred_cells_unless_the_grid_is_coarser():
    assert layout_for(UNIT, 20, 0.001).cells.size == FINE_CELLS + 1
    assert layout_for(UNIT, 20, 0.04).cells.size == 21


def test_single_values_belong_to_the_cell_above_and_the_last_to_the_one_below():
    layout = layout_for(UNIT, [0.0, 0.5, 1.0], 0.001)
    assert layout.cell_of(np.array([0.0, 0.5, 1.0])).tolist() == [0, 50, 99]


@pytest.mark.parametrize(
    ("domain", "intervals", "words"),
    [
        (UNIT, 0, "intervals=0"),
        (UNIT, -3, "intervals=-3"),
        (UNIT, 2.5, "intervals=2.5"),
        (UNIT, 10**6, "at most"),
        (UNIT, "many", "neither a number nor edges"),
        (UNIT, True, "neither a number nor edges"),
        (UNIT, [0.5], "at least two edges"),
        (UNIT, [0.9, 0.1], "sort them"),
        (UNIT, [0.1, 0.1, 0.5], "drop repeats"),
        (UNIT, [0.1, np.nan], "finite"),
        (UNIT, [-1, 0.5], "reach outside"),
        (sf.Interval(0, 9, integer=True), [0, 0.2, 0.4, 9], "no whole number"),
    ],
)
def test_bad_intervals_are_refused_in_one_line(domain, intervals, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        interval_edges(domain, intervals)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


CHANNELS = {
    "gaussian": sf.Gaussian(sf.Interval(0, 1), scale=0.25),
    "uniform": sf.Uniform(sf.Interval(0, 1), halfwidth=0.3),
    "laplace": sf.Laplace(sf.Interval(-5, 5), scale=2),
    "square wave": sf.SquareWave(sf.Interval(0, 1), gamma=19),
    "ages": sf.Gaussian(sf.Interval(20, 80, integer=True), scale=10),
    "odd step": sf.Gaussian(sf.Interval(0, 1), scale=0.2, step=0.03),
    "grid that ends before the domain": sf.Gaussian(sf.Interval(0, 1), scale=0.3, step=0.06),
    "many integers": sf.Gaussian(sf.Interval(0, 150_000, integer=True), scale=20_000),
    "classes": sf.Discretize(sf.Interval(0, 1), width=0.1),
}


def test_more_intervals_than_whole_numbers_become_one_each():
    stairs = sf.Interval(0, 9, integer=True)
    for many in (11, 5000):
        assert interval_edges(stairs, many).tolist() == interval_edges(stairs, None).tolist()
        assert "10 values" in layout_for(stairs, many, 1.0).note
    assert layout_for(stairs, 10, 1.0).note is None


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("intervals", [7, 20])
def test_the_table_is_the_channels_own_and_loses_nobody(name, intervals):
    channel = CHANNELS[name]
    layout = layout_for(channel.domain, intervals, channel.inputs.step)
    seen = observe(channel, layout.cells)
    table = seen.table.dense()
    assert np.allclose(table.sum(axis=0), 1)
    assert np.abs(table - channel.matrix(true=layout.cells, reported=seen.reports.edges)).max() < 1e-12
    histogram = np.random.default_rng(0).integers(0, 9, channel.outputs.size)
    assert seen.reports.gather(histogram).sum() == histogram.sum()


@pytest.mark.parametrize("name", CHANNELS)
def test_points_are_columns_of_single_values(name):
    channel = CHANNELS[name]
    cells = layout_for(channel.domain, 20, channel.inputs.step).cells
    values, table = observe_points(channel, cells)
    assert np.allclose(table.sum(axis=0), 1)
    codes = channel.encode(values)
    assert np.allclose(table, channel.matrix(reported=observe(channel, cells).reports.edges)[:, codes])


def test_many_values_are_thinned_to_round_numbers():
    values = 7.0 + np.arange(150_001)
    chosen = values[candidates(values)]
    assert chosen.size <= POINTS
    assert (chosen % 200 == 0).all()


def test_points_of_a_large_domain_are_found_without_its_full_table():
    channel = sf.Gaussian(sf.Interval(0, 20_000, integer=True), scale=500)
    values, table = observe_points(channel, layout_for(channel.domain, 20, 1.0).cells)
    assert values.size <= POINTS
    assert np.allclose(table.sum(axis=0), 1)
    middle = np.argmax(table[:, values.size // 2])
    edges = observe(channel, layout_for(channel.domain, 20, 1.0).cells).reports.edges
    assert edges[middle] <= values[values.size // 2] <= edges[middle + 1]
