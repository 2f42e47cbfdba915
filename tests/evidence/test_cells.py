"""Columns cut into cells: tables that describe the reports, whatever the column is."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Reports
from sfumato.evidence import Axis, ColumnCells
from sfumato.evidence.cells import equal_cells
from tests.statistics import assert_fits

UNIT = sf.Interval(0, 10)
CHANNELS = [
    sf.Gaussian(UNIT, scale=3),
    sf.Uniform(UNIT, halfwidth=4),
    sf.Laplace(UNIT, scale=2),
    sf.SquareWave(UNIT, gamma=19),
    sf.Gaussian(sf.Interval(0, 4, integer=True), scale=1),
    sf.Discretize(UNIT, width=2),
    sf.RandomizedResponse(sf.Categories(["a", "b", "c"]), keep=0.6),
]


def axis_of(channel, column, level=None) -> Axis:
    levels = None if level is None else {"x": level}
    return Axis(Reports({"x": column}, {"x": channel}, levels=levels).column("x"))


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.kind)
def test_columns_of_the_table_sum_to_one_and_describe_the_reports(channel):
    rng = np.random.default_rng(0)
    if isinstance(channel.domain, sf.Categories):
        values = np.array(["b"] * 20_000)
    else:
        low, high = axis_of(channel, np.array([0.0])).at(5).edges[2:4]
        values = rng.uniform(low, high, 20_000) if not channel.domain.integer else np.full(20_000, 2)
    axis = axis_of(channel, channel.randomize(values, rng))
    cells = axis.at(5, 0.2)
    assert np.allclose(cells.table.sum(axis=0), 1, atol=1e-9)
    place = int(cells.true_cells(values[:1])[0])
    reports = np.bincount(cells.cell_of_code[axis.column.codes], minlength=cells.reported)
    assert_fits(reports, cells.table[:, place] / cells.table[:, place].sum())


def test_integer_cells_lie_between_whole_numbers():
    assert equal_cells(sf.Interval(1, 5, integer=True), 5).tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert (equal_cells(sf.Interval(1, 100, integer=True), 7, 0.2) % 1 == 0.5).all()


def test_drawn_values_fall_back_into_their_cells():
    rng = np.random.default_rng(1)
    for channel in (sf.Gaussian(sf.Interval(0, 1), scale=1), sf.Gaussian(sf.Interval(1, 50, integer=True), scale=9)):
        cells = axis_of(channel, np.zeros(1)).at(7, 0.2, 0.3)
        places = rng.integers(0, cells.size, 500)
        values = cells.draw(places, rng)
        assert np.array_equal(cells.true_cells(values), places)
        assert (values.dtype.kind == "i") == channel.domain.integer


def test_clear_numbers_are_cut_between_quantiles():
    axis = axis_of(None, np.array([1.0, 2, 2, 3, 10, np.nan]))
    cells = axis.at(100)
    assert cells.edges.tolist() == [1, 1.5, 2.5, 6.5, 10]
    assert axis.column.codes.tolist() == [0, 1, 1, 2, 3, -1]
    assert cells.integer and cells.identity and not axis.noisy
    assert np.array_equal(cells.table, np.eye(4))


def test_labels_that_were_never_seen_are_missing():
    cells = axis_of(None, np.array(["a", "b", None], dtype=object)).at(3)
    assert cells.true_cells(np.array(["b", "z", None], dtype=object)).tolist() == [1, -1, -1]


def test_a_capped_axis_has_few_cells():
    axis = axis_of(CHANNELS[0], np.zeros(3))
    capped = Axis(axis.column, most_cells=4)
    assert capped.natural_size == capped.at(20).size == 4
    assert axis.at(20).size == 20


def test_a_missing_report_integrates_out():
    cells = axis_of(CHANNELS[-1], np.array(["a", None], dtype=object)).at(3)
    assert cells.table_with_missing(True)[-1].tolist() == [1, 1, 1]
    assert cells.table_with_missing(False) is cells.table


def test_cells_travel_as_plain_data():
    for channel in (CHANNELS[0], CHANNELS[-1]):
        cells = axis_of(channel, np.array([CHANNELS[0].domain.low] if channel is CHANNELS[0] else ["a"])).at(4)
        again = ColumnCells.from_dict(cells.to_dict())
        assert (again.size, again.labels, again.name) == (cells.size, cells.labels, cells.name)
        assert cells.edges is None or np.array_equal(again.edges, cells.edges)


LEVELS = sf.Choice({"open": sf.Gaussian(UNIT, privacy=0.1), "shy": sf.Gaussian(UNIT, privacy=2.0)}, default="shy")
TWO_PHASE = sf.TwoPhase(sf.Gaussian(UNIT, privacy=1.0), {"normal": 200, "cautious": 100, "coarse": 2})


def test_the_tables_of_levels_stand_on_top_of_each_other():
    rng = np.random.default_rng(2)
    level = rng.choice(["open", "shy"], 500)
    axis = axis_of(LEVELS, LEVELS.randomize(rng.uniform(0, 10, 500), rng, level=level), level)
    cells = axis.at(8, 0.2)
    parts = [axis_of(LEVELS.levels[name], np.zeros(1)).at(8, 0.2) for name in ("open", "shy")]
    assert np.allclose(cells.table, np.vstack([part.table for part in parts]))
    assert cells.blocks == (0, parts[0].reported)
    reported = cells.cell_of_code[axis.column.codes]
    assert ((reported >= parts[0].reported) == (level == "shy")).all()


def test_levels_that_nobody_chose_are_not_in_the_table():
    axis = axis_of(LEVELS, np.full(5, 3.0), "shy")
    alone = axis_of(LEVELS.levels["shy"], np.full(5, 3.0))
    assert axis.levels == 1
    assert np.array_equal(axis.at(8).table, alone.at(8).table)
    assert np.array_equal(axis.at(8).cell_of_code[axis.column.codes], alone.at(8).cell_of_code[alone.column.codes])


def test_levels_with_nearly_the_same_law_are_read_together():
    rng = np.random.default_rng(4)
    level = rng.choice(["normal", "cautious", "coarse"], 900)
    reports = TWO_PHASE.randomize(rng.uniform(0, 10, 900), rng, level=level)
    axis = axis_of(TWO_PHASE, reports, level)
    assert axis.levels == 2
    cells, edges = axis.at(6, 0.3), axis.at(6, 0.3).edges
    reported = cells.cell_of_code[axis.column.codes]
    assert np.array_equal(np.searchsorted(cells.blocks, reported, side="right") - 1, level == "coarse")
    people = np.array([(level == name).sum() for name in ("normal", "cautious")])
    first = sum(
        share * TWO_PHASE.levels[name].matrix(true=edges).sum(axis=0)
        for share, name in zip(people / people.sum(), ("normal", "cautious"), strict=True)
    )
    assert np.allclose(cells.table.sum(axis=0), first + 1)


def test_levels_that_are_all_read_together_have_a_cell_for_the_codes_of_each():
    fine = sf.TwoPhase(sf.Gaussian(UNIT, scale=3), {"normal": 200, "cautious": 100})
    rng = np.random.default_rng(5)
    level = rng.choice(["normal", "cautious"], 400)
    axis = axis_of(fine, fine.randomize(rng.uniform(0, 10, 400), rng, level=level), level)
    assert axis.levels == 1
    assert axis.at(6).cell_of_code.size == axis.column.size
    assert np.array_equal(*axis.at(6).cell_of_code.reshape(2, -1))


def test_a_column_whose_reports_are_all_the_first_code_tells_nothing():
    narrow = sf.Interval(0, 1)
    channel = sf.Longitudinal(
        sf.Discretize(narrow, width=0.1), sf.Discretize(sf.Interval(-1, 40), edges=[-1, 20, 30, 35, 40])
    )
    axis = axis_of(channel, channel.randomize(np.full(50, 0.5), 1))
    np.testing.assert_allclose(axis.at(10, 0.1).table[0], 1.0)
