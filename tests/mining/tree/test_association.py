import numpy as np

import sfumato as sf
from sfumato.counts import Reports
from sfumato.mining.tree.association import STOP, Intervals, by_rank, by_share, counts_by_code, reconstruct_groups
from sfumato.reconstruction import Axis, ChiSquare, DenseTable, Steps, maximise_likelihood


def test_the_lowest_reports_go_to_the_first_interval():
    codes = np.array([3, 1, 2, 0, 1, -1], np.int32)
    group, weight = np.zeros(6, np.int64), np.ones(6)
    by_code = counts_by_code(codes, group, weight, 1, 4)
    np.testing.assert_array_equal(by_code, [[1, 2, 1, 1]])
    found = by_rank(codes, group, weight, by_code, np.array([[2.0, 4.0, 5.0]]), 3)
    np.testing.assert_array_equal(found, [2, 0, 1, 0, 1, 3])


def test_intervals_receive_as_many_records_as_were_reconstructed_within_each_group():
    rng = np.random.default_rng(0)
    codes, group = rng.integers(0, 50, 1000).astype(np.int32), rng.integers(0, 2, 1000)
    by_code = counts_by_code(codes, group, np.ones(1000), 2, 50)
    shares = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
    bounds = np.cumsum(shares, axis=1) * by_code.sum(axis=1, keepdims=True)
    found = by_rank(codes, group, np.ones(1000), by_code, bounds, 3)
    for g in (0, 1):
        np.testing.assert_allclose(np.bincount(found[group == g], minlength=3), shares[g] * np.sum(group == g), atol=1)


def test_categories_are_shared_out_by_their_posteriors():
    codes, group = np.zeros(1000, np.int32), np.zeros(1000, np.int64)
    found = by_share(codes, group, np.cumsum([[[0.5, 0.3, 0.2]]], axis=2), 3)
    np.testing.assert_allclose(np.bincount(found), [500, 300, 200], atol=3)


def test_byclass_takes_equation_3s_steps_until_the_chi_square_stop():
    """The classes of a column one by one, through the same table, in float64: the same answer as step by step."""
    rng = np.random.default_rng(1)
    channel = sf.Gaussian(sf.Interval(0, 10), scale=2)
    y = rng.integers(0, 2, 3_000)
    reports = Reports({"x": channel.randomize(np.clip(rng.normal(3 + 4 * y, 1), 0, 10), rng)}, [channel], target=y)
    cells = Axis(reports.column("x")).at(20, 0.1)
    counts, table = reports.counts(["x"], [cells]).T, DenseTable(cells.table)
    for group, found in zip(counts, reconstruct_groups(table, counts), strict=True):
        p = np.full((1, cells.size), 1 / cells.size)
        for _ in range(STOP.limit):
            before, p = p, maximise_likelihood(table, group, start=p, stop=Steps(1)).probabilities
            if group.sum() * np.sum((p - before) ** 2 / before) < STOP.threshold(cells.size):
                break
        np.testing.assert_allclose(found, p[0], rtol=0, atol=1e-9)


def test_single_precision_is_enough():
    rng = np.random.default_rng(1)
    table = rng.dirichlet(np.full(8, 0.3), 4).T
    truth = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.4, 0.1, 0.1]])
    found = reconstruct_groups(DenseTable(table, np.float32), truth @ table.T * 1e7)
    np.testing.assert_allclose(found, truth, atol=0.01)


def test_the_stop_lies_between_the_papers_and_a_tenth_of_it():
    assert ChiSquare().share / 10 < STOP.share < ChiSquare().share


def test_people_of_different_levels_are_ranked_apart():
    rng = np.random.default_rng(5)
    domain = sf.Interval(0, 10)
    choice = sf.Choice({"open": sf.Gaussian(domain, scale=0.1), "shy": sf.Gaussian(domain, scale=5)})
    level = rng.choice(["open", "shy"], 4_000)
    x = rng.uniform(0, 10, 4_000)
    reports = Reports({"x": choice.randomize(x, rng, level=level), "x.level": level}, {"x": choice})
    axis = Axis(reports.column("x"))
    cut = Intervals(axis, axis.at(10, 0.1))
    found = cut.associate(np.arange(4_000), np.zeros(4_000, np.int64), 1, np.ones(4_000))
    near = np.abs(found[level == "open"] - np.floor(x[level == "open"])) <= 1
    assert near.mean() > 0.97
    for name in ("open", "shy"):
        np.testing.assert_allclose(
            np.bincount(found[level == name], minlength=10) / np.sum(level == name), 0.1, atol=0.03
        )
