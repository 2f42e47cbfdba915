"""The smooth reconstruction on problems whose answer is known."""

import numpy as np
import pytest
from scipy.stats import norm

from sfumato.reconstruction.density import Candidates, SmoothFit, smooth_merged
from sfumato.reconstruction.density.errors import root_of
from sfumato.reconstruction.density.fit import posterior_weights
from sfumato.reconstruction.density.merging import merged_columns, run_starts, spread_out
from tests.reconstruction.density.blurred import evidence_of

CELLS = 60
INTERVALS = 20
NOWHERE = np.zeros(0, dtype=int)


def smooth(counts, table, points, cell_of, to_intervals, widths=None) -> SmoothFit:
    candidates = Candidates(np.asarray(points, dtype=float), cell_of)
    return smooth_merged(evidence_of(counts, table, widths), candidates, to_intervals).fit


def gaussian_problem(sd: float):
    """Exact tables for x in [0, 1] plus N(0, sd²), observed in cells of 1/50."""
    reach = int(np.ceil(4 * sd * 50))
    observed = np.arange(-reach, 51 + reach) / 50
    inner = np.linspace(0, 1, CELLS * 8 + 1)
    middles = (inner[:-1] + inner[1:]) / 2
    cumulative = norm.cdf((observed[:, None] - middles) / sd)
    cumulative[0], cumulative[-1] = 0.0, 1.0
    points = np.diff(cumulative, axis=0)
    table = points.reshape(len(points), CELLS, 8).mean(2)
    to_intervals = np.kron(np.eye(INTERVALS), np.ones((1, CELLS // INTERVALS)))
    return table, points, np.repeat(np.arange(CELLS), 8), to_intervals, middles


def counts_of(table, truth, total, seed=0):
    return np.random.default_rng(seed).multinomial(total, table @ truth).astype(float)


def stderr(fit: SmoothFit) -> np.ndarray:
    return np.sqrt(np.maximum(np.diag(fit.covariance), 0.0))


def test_a_diagonal_table_returns_the_data():
    counts = np.array([5.0, 0, 3, 17, 2, 9, 0, 1, 40, 8])
    fit = smooth(counts, np.eye(10), np.eye(10), np.arange(10), np.eye(10))
    np.testing.assert_allclose(fit.probabilities, counts / counts.sum(), atol=1e-12)


def test_a_large_diagonal_table_returns_the_data_too():
    counts = np.random.default_rng(5).poisson(3, 500).astype(float)
    fit = smooth(counts, np.eye(500), np.zeros((500, 0)), NOWHERE, np.eye(500))
    np.testing.assert_allclose(fit.probabilities, counts / counts.sum(), atol=1e-12)


def test_without_noise_the_bars_are_those_of_counting():
    counts = np.array([5.0, 0, 3, 17, 2, 9, 0, 1, 40, 8])
    fit = smooth(counts, np.eye(10), np.eye(10), np.arange(10), np.eye(10))
    share = counts / counts.sum()
    np.testing.assert_allclose(stderr(fit), np.sqrt(share * (1 - share) / counts.sum()), atol=1e-12)


def test_value_classes_keep_their_shares_whatever_the_shape_inside():
    table = np.kron(np.eye(5), np.ones((1, 8)))
    counts = np.array([10.0, 40, 25, 20, 5])
    fit = smooth(counts, table, np.zeros((5, 0)), NOWHERE, table)
    np.testing.assert_allclose(fit.probabilities, counts / 100, atol=1e-12)


def test_flat_reports_give_a_flat_estimate():
    table, points, cell_of, to, _ = gaussian_problem(0.25)
    counts = 1e5 * table @ np.full(CELLS, 1 / CELLS)
    fit = smooth(counts, table, points, cell_of, to)
    np.testing.assert_allclose(fit.probabilities, 0.05, atol=5e-4)
    assert any("trust only broad features" in message for message in fit.messages)


@pytest.mark.parametrize("place", [0.32, 0.77])  # not at an edge, where chance decides on which side
def test_people_at_one_value_are_found_there(place):
    table, points, cell_of, to, middles = gaussian_problem(0.1)
    spike = int(np.argmin(np.abs(middles - place)))
    expected = 0.7 * table @ np.full(CELLS, 1 / CELLS) + 0.3 * points[:, spike]
    counts = np.random.default_rng(7).multinomial(200_000, expected).astype(float)
    fit = smooth(counts, table, points, cell_of, to)
    near = sum(mass for where, mass in fit.atoms if abs(middles[where] - place) < 0.02)
    assert near == pytest.approx(0.3, abs=0.03)
    truth = 0.7 * np.full(INTERVALS, 0.05) + 0.3 * to[:, cell_of[spike]]
    assert np.abs(fit.probabilities - truth).sum() < 0.05


def test_more_reports_bring_the_estimate_nearer_and_the_bars_closer():
    table, points, cell_of, to, _ = gaussian_problem(0.1)
    middle = (np.arange(CELLS) + 0.5) / CELLS
    truth = middle * (1 - middle) ** 4
    truth /= truth.sum()
    few, many = (smooth(counts_of(table, truth, n), table, points, cell_of, to) for n in (1_000, 1_000_000))
    assert np.abs(many.probabilities - to @ truth).sum() < 0.03
    assert np.abs(many.probabilities - to @ truth).sum() < np.abs(few.probabilities - to @ truth).sum()
    assert stderr(many).mean() < stderr(few).mean()


@pytest.mark.parametrize("total", [1, 2, 10])
def test_a_handful_of_reports_gives_a_sane_answer_and_says_so(total):
    table, points, cell_of, to, _ = gaussian_problem(0.25)
    counts = counts_of(table, np.full(CELLS, 1 / CELLS), total)
    fit = smooth(counts, table, points, cell_of, to)
    assert np.isfinite(fit.covariance).all()
    assert (fit.probabilities >= 0).all()
    assert fit.probabilities.sum() == pytest.approx(1)
    assert any("too few reports" in message for message in fit.messages)


@pytest.mark.parametrize("cell", [0, 40, -1])
@pytest.mark.parametrize("total", [1.0, 1e3, 1e6])
def test_all_reports_in_one_cell_is_survived(cell, total):
    table, points, cell_of, to, _ = gaussian_problem(0.1)
    counts = np.zeros(len(table))
    counts[cell] = total
    fit = smooth(counts, table, points, cell_of, to)
    assert np.isfinite(fit.probabilities).all()
    assert fit.probabilities.sum() == pytest.approx(1)
    assert np.isfinite(stderr(fit)).all()


def test_the_covariance_knows_that_probabilities_sum_to_one():
    table, points, cell_of, to, _ = gaussian_problem(0.1)
    counts = counts_of(table, np.full(CELLS, 1 / CELLS), 10_000)
    fit = smooth(counts, table, points, cell_of, to)
    np.testing.assert_allclose(fit.covariance.sum(1), 0, atol=1e-9)
    assert np.linalg.eigvalsh(fit.covariance).min() > -1e-10


def test_intervals_may_cut_through_fine_cells():
    table, points, cell_of, *_ = gaussian_problem(0.1)
    halves = np.zeros((2, CELLS))
    halves[0, :30], halves[1, 30:] = 1, 1
    halves[:, 20] = 0.25, 0.75
    fit = smooth(counts_of(table, np.full(CELLS, 1 / CELLS), 100_000), table, points, cell_of, halves)
    assert fit.probabilities[0] == pytest.approx(0.5 - 0.75 / CELLS, abs=5 * stderr(fit)[0] + 1e-3)


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 7])
def test_few_cells_are_enough(cells):
    noise = 0.7 * np.eye(cells) + 0.3 / cells
    counts = 1000 * noise @ np.full(cells, 1 / cells)
    fit = smooth(counts, noise, np.zeros((cells, 0)), NOWHERE, np.eye(cells))
    np.testing.assert_allclose(fit.probabilities, 1 / cells, atol=1e-6)


def test_a_stretch_of_the_domain_is_recognised():
    table, points, cell_of, to, _ = gaussian_problem(0.1)
    truth = np.where((np.arange(CELLS) >= 15) & (np.arange(CELLS) < 45), 1 / 30, 0.0)
    fit = smooth(counts_of(table, truth, 100_000), table, points, cell_of, to)
    assert fit.rule == "uniform on a stretch"
    assert np.abs(fit.probabilities - to @ truth).sum() < 0.02


def test_cells_of_unequal_width_are_even_when_reports_are():
    table, *_ = gaussian_problem(0.1)
    width = np.concatenate([np.full(20, 2.0), np.full(20, 1.0)])
    merge = np.concatenate([np.repeat(np.arange(20), 2), np.arange(20, 40)])
    uneven = np.zeros((len(table), 40))
    np.add.at(uneven.T, merge, table.T)
    uneven /= width
    halves = np.zeros((2, 40))
    halves[0, :15], halves[1, 15:] = 1, 1
    counts = 1e5 * table @ np.full(CELLS, 1 / CELLS)
    fit = smooth(counts, uneven, np.zeros((len(table), 0)), NOWHERE, halves, widths=width)
    np.testing.assert_allclose(fit.probabilities, [0.5, 0.5], atol=2e-3)
    np.testing.assert_allclose(fit.density, width / width.sum(), rtol=0.02)


def test_a_very_fine_grid_gives_the_answer_of_a_coarser_one():
    table, points, cell_of, to, middles = gaussian_problem(0.1)
    truth = np.exp(-0.5 * ((np.arange(CELLS) / CELLS - 0.4) / 0.15) ** 2)
    counts = counts_of(table, truth / truth.sum(), 100_000)
    coarse = smooth(counts, table, np.zeros((len(table), 0)), NOWHERE, to)
    fine = smooth(counts, points, np.zeros((len(table), 0)), NOWHERE, to[:, cell_of])
    assert fine.density.size == middles.size
    np.testing.assert_allclose(fine.probabilities, coarse.probabilities, atol=2e-3)


def test_posterior_weights_survive_huge_evidences():
    np.testing.assert_allclose(posterior_weights(np.array([-1e9, -1e9 + np.log(3.0)])), [0.25, 0.75])


def test_merging_and_spreading_keep_the_mass():
    widths = np.random.default_rng(0).uniform(1, 2, 700)
    starts = run_starts(700)
    cells = np.random.default_rng(1).dirichlet(np.ones(starts.size))
    assert spread_out(cells, widths, starts).sum() == pytest.approx(1)
    np.testing.assert_allclose(np.add.reduceat(spread_out(cells, widths, starts), starts), cells)
    table = np.random.default_rng(2).dirichlet(np.ones(30), 700).T
    np.testing.assert_allclose(merged_columns(table, widths, starts).sum(0), 1)
    assert run_starts(300).size == 300


def test_the_root_of_the_fine_covariance_keeps_what_matters():
    table, points, cell_of, to, _ = gaussian_problem(0.1)
    fit = smooth(counts_of(table, np.full(CELLS, 1 / CELLS), 10_000), table, points, cell_of, to)
    root = to @ fit.root
    np.testing.assert_allclose(root @ root.T, fit.covariance, atol=1e-3 * fit.covariance.max())
    factor = np.random.default_rng(4).normal(size=(30, 3))
    assert root_of(factor @ factor.T).shape == (30, 3)


def test_where_the_noise_hides_what_was_asked_for_it_is_said():
    for sd, hidden in ((0.3, True), (0.01, False)):
        table, points, cell_of, to, _ = gaussian_problem(sd)
        fit = smooth(counts_of(table, np.full(CELLS, 1 / CELLS), 1_000_000), table, points, cell_of, to)
        assert fit.cannot_tell == hidden
        assert any("cannot tell" in message for message in fit.messages) == hidden
