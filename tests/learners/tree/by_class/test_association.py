import numpy as np

import sfumato as sf
from sfumato.counts import Reports
from sfumato.evidence import (
    WITHIN_CLASSES,
    Axis,
    ChiSquare,
    ColumnCells,
    DenseTable,
    Evidence,
    Steps,
    maximise_likelihood,
)
from sfumato.learners.tree.by_class.association import associated, by_rank
from sfumato.learners.tree.by_class.routes import Association, Readings, Routes, Splits, bins_at


def reconstructed(table, counts):
    evidence = Evidence.of_counts(table, counts)
    return maximise_likelihood(evidence, stop=WITHIN_CLASSES).probabilities.astype(float)


def test_the_lowest_reports_go_to_the_first_interval():
    counts, shares = np.array([[1.0, 2.0, 0.0, 1.0, 1.0]]), np.array([[[0.4, 0.4, 0.2]]])  # 2, 2 and 1 of 5 people
    first, start, thresholds = by_rank(counts, np.array([0, 5]), shares)
    np.testing.assert_array_equal(first, [[0, 0, 1, 1, 2]])  # of the second cell, one half is each interval's
    np.testing.assert_array_equal(start, [0, 0, 1, 1, 1, 1])
    np.testing.assert_allclose(thresholds, [2**31], rtol=1e-9)


def test_intervals_receive_as_many_records_as_were_reconstructed_within_each_group():
    rng = np.random.default_rng(0)
    counts, shares = rng.integers(0, 40, (2, 50)).astype(float), np.array([[0.2, 0.5, 0.3], [0.6, 0.0, 0.4]])
    cells = ColumnCells("x", np.zeros((50, 3)), np.arange(50, dtype=np.int32), np.arange(4.0))
    found = associated(cells, counts, shares).spread(np.ascontiguousarray(counts.T))
    np.testing.assert_allclose(found, (shares * counts.sum(axis=1, keepdims=True)).T, rtol=1e-5)


def test_categories_are_shared_out_by_their_posteriors():
    coin = sf.RandomizedResponse(sf.Categories(["a", "b", "c"]), keep=0.7)
    cells = ColumnCells("x", coin.matrix(), np.arange(3, dtype=np.int32), labels=("a", "b", "c"))
    p = np.array([[0.5, 0.3, 0.2]])
    found = associated(cells, np.array([[1e6, 0.0, 0.0]]), p).spread(np.array([[1e6], [0.0], [0.0]]))
    np.testing.assert_allclose(found[:, 0] / 1e6, (p * coin.matrix()[0])[0] / (p @ coin.matrix()[0]), rtol=1e-6)


def test_a_boundary_at_the_edge_of_a_cell_splits_no_cell():
    """A table without noise returns the data: single precision must not move one record."""
    counts = np.random.default_rng(2).integers(1, 1_000, (1, 40)).astype(float)
    p = reconstructed(DenseTable(np.eye(40), np.float32), counts)
    first, _, thresholds = by_rank(counts, np.array([0, 40]), p[:, None, :])
    assert thresholds.size == 0
    np.testing.assert_array_equal(first[0], np.arange(40))


def test_records_are_read_as_the_counts_were_spread():
    rng = np.random.default_rng(6)
    n, channel = 20_000, sf.Gaussian(sf.Interval(0, 10), scale=2)
    y = rng.integers(0, 2, n)
    reports = Reports({"x": channel.randomize(rng.uniform(0, 5 + 5 * y), rng)}, [channel], target=y)
    cells = Axis(reports.column("x")).at(20, 0.1)
    counts = reports.counts(["x"], [cells]).astype(float)
    association = associated(cells, counts.T, reconstructed(DenseTable(cells.table), counts.T))
    bins = bins_of(reports, cells, association)
    found = np.array([np.bincount(bins[y == group], minlength=20) for group in (0, 1)])
    expected = association.spread(counts).T
    assert np.sum((found - expected) ** 2 / np.maximum(expected, 1)) < 100  # χ² of 38, were every report shared out


def test_byclass_takes_equation_3s_steps_until_the_chi_square_stop():
    """The classes of a column one by one, through the same table, in float64: the same answer as step by step."""
    rng = np.random.default_rng(1)
    channel = sf.Gaussian(sf.Interval(0, 10), scale=2)
    y = rng.integers(0, 2, 3_000)
    reports = Reports({"x": channel.randomize(np.clip(rng.normal(3 + 4 * y, 1), 0, 10), rng)}, [channel], target=y)
    cells = Axis(reports.column("x")).at(20, 0.1)
    counts, table = reports.counts(["x"], [cells]).T, DenseTable(cells.table)
    for group, found in zip(counts, reconstructed(table, counts), strict=True):
        p = np.full((1, cells.size), 1 / cells.size)
        for _ in range(WITHIN_CLASSES.limit):
            before, p = p, maximise_likelihood(Evidence.of_counts(table, group), start=p, stop=Steps(1)).probabilities
            if group.sum() * np.sum((p - before) ** 2 / before) < WITHIN_CLASSES.threshold(cells.size):
                break
        np.testing.assert_allclose(found, p[0], rtol=0, atol=1e-9)


def test_single_precision_is_enough():
    rng = np.random.default_rng(1)
    table = rng.dirichlet(np.full(8, 0.3), 4).T
    truth = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.4, 0.1, 0.1]])
    found = reconstructed(DenseTable(table, np.float32), truth @ table.T * 1e7)
    np.testing.assert_allclose(found, truth, atol=0.01)


def test_the_stop_lies_between_the_papers_and_a_tenth_of_it():
    assert ChiSquare().share / 10 < WITHIN_CLASSES.share < ChiSquare().share


def test_people_of_different_levels_are_ranked_apart():
    rng = np.random.default_rng(5)
    domain = sf.Interval(0, 10)
    choice = sf.Choice({"open": sf.Gaussian(domain, scale=0.1), "shy": sf.Gaussian(domain, scale=5)})
    level = rng.choice(["open", "shy"], 4_000)
    x = rng.uniform(0, 10, 4_000)
    reports = Reports({"x": choice.randomize(x, rng, level=level), "x.level": level}, {"x": choice})
    cells = Axis(reports.column("x")).at(10, 0.1)
    counts = reports.counts(["x"], [cells])[None].astype(float)
    found = bins_of(reports, cells, associated(cells, counts, reconstructed(DenseTable(cells.table), counts)))
    near = np.abs(found[level == "open"] - np.floor(x[level == "open"])) <= 1
    assert near.mean() > 0.97
    for name in ("open", "shy"):
        np.testing.assert_allclose(
            np.bincount(found[level == name], minlength=10) / np.sum(level == name), 0.1, atol=0.03
        )


def bins_of(reports: Reports, cells: ColumnCells, association: Association):
    """The interval of every record."""
    leaf, never = np.full(1, -1), np.zeros(1, bool)
    nowhere = Splits(leaf, leaf, np.full(1, np.nan), leaf, leaf, never, never[:, None])
    readings = Readings.of([association], [0])
    everybody = reports if reports.classes is not None else reports.aimed(np.zeros(len(reports), int), classes=[0])
    found = Routes({cells.name: cells.cell_of_code}, readings, nowhere).follow(everybody, [cells.name])
    return bins_at(found, np.arange(len(reports), dtype=np.int32), readings, np.zeros(1, int), np.zeros(1, int))
