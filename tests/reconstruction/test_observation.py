"""Tables from running sums equal the channel's own, and cells of reports lose nobody."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.reconstruction.cells import POINTS, candidates, layout_for, observe, observe_points

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
