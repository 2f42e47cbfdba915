import numpy as np
import pytest
from sfumato.mining.columns import ClearCategory, ClearNumber, axis_of, interval_edges
from tests.statistics import assert_fits

import sfumato as sf


@pytest.mark.parametrize(
    "channel",
    [
        sf.Gaussian(sf.Interval(0, 10), scale=3),
        sf.Uniform(sf.Interval(0, 10), halfwidth=4),
        sf.Laplace(sf.Interval(0, 10), scale=2),
        sf.SquareWave(sf.Interval(0, 10), gamma=19),
        sf.Gaussian(sf.Interval(0, 4, integer=True), scale=1),
        sf.Discretize(sf.Interval(0, 10), width=2),
        sf.RandomizedResponse(sf.Categories(["a", "b", "c"]), keep=0.6),
    ],
    ids=lambda channel: channel.kind,
)
def test_columns_of_the_table_sum_to_one_and_describe_the_reports(channel):
    rng = np.random.default_rng(0)
    if isinstance(channel.domain, sf.Categories):
        values = np.array(["b"] * 20_000)
    else:
        cells = axis_of("x", channel, np.array([0.0])).at(5)
        low, high = cells.edges[2], cells.edges[3]
        values = rng.uniform(low, high, 20_000) if not channel.domain.integer else np.full(20_000, 2)
    attribute = axis_of("x", channel, channel.randomize(values, rng))
    cells = attribute.at(5, 0.2)
    np.testing.assert_allclose(cells.table.sum(axis=0), 1, atol=1e-5)
    place = int(cells.true_cells(values[:1])[0])
    reports = np.bincount(cells.cell_of_code[attribute.codes], minlength=cells.table.shape[0])
    assert_fits(reports, cells.table[:, place].astype(float) / cells.table[:, place].sum(dtype=float))


def test_integer_cells_lie_between_whole_numbers():
    np.testing.assert_array_equal(interval_edges(sf.Interval(1, 5, integer=True), 5), [0.5, 1.5, 2.5, 3.5, 4.5, 5.5])
    edges = interval_edges(sf.Interval(1, 100, integer=True), 7, 0.2)
    np.testing.assert_array_equal(edges % 1, 0.5)


def test_drawn_values_fall_back_into_their_cells():
    rng = np.random.default_rng(1)
    for channel in (sf.Gaussian(sf.Interval(0, 1), scale=1), sf.Gaussian(sf.Interval(1, 50, integer=True), scale=9)):
        cells = axis_of("x", channel, np.zeros(1)).at(7, 0.2, 0.3)
        places = rng.integers(0, cells.size, 500)
        values = cells.draw(places, rng)
        np.testing.assert_array_equal(cells.true_cells(values), places)
        assert (values.dtype.kind == "i") == channel.domain.integer


def test_clear_numbers_are_cut_between_quantiles():
    attribute = ClearNumber("x", np.array([1.0, 2, 2, 3, 10, np.nan]))
    cells = attribute.at(100)
    np.testing.assert_array_equal(cells.edges, [1, 1.5, 2.5, 6.5, 10])
    np.testing.assert_array_equal(attribute.codes, [0, 1, 1, 2, 3, -1])
    assert cells.integer and cells.identity


def test_labels_that_were_never_seen_are_missing():
    cells = ClearCategory("x", np.array(["a", "b", None], dtype=object)).at(3)
    np.testing.assert_array_equal(cells.true_cells(np.array(["b", "z", None], dtype=object)), [1, -1, -1])


def test_something_else_than_a_channel_is_named():
    with pytest.raises(TypeError, match="column 'x'"):
        axis_of("x", "gaussian", np.zeros(3))
