"""The pieces of the smooth reconstruction: the climb, the basis, evidence, atoms' places, hidden detail."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm

from sfumato.reconstruction.smooth.atoms import AtomSearch
from sfumato.reconstruction.smooth.average import group_starts, merge_columns, merge_rows, posterior_weights, spread_out
from sfumato.reconstruction.smooth.errorbars import hidden_detail, roughness_factor
from sfumato.reconstruction.smooth.penalised import (
    LOG_DENSITY,
    SOFT_DENSITY,
    PenalisedLikelihood,
    Seen,
    descend,
    exponential,
    softplus,
    step_basis,
    wave_basis,
)
from sfumato.reconstruction.smooth.stretch import everywhere, on_a_stretch

CELLS = 40


def blurred(sd: float, cells: int = CELLS) -> np.ndarray:
    middle = (np.arange(cells) + 0.5) / cells
    edges = np.arange(-cells, 2 * cells + 1) / cells
    cumulative = norm.cdf((edges[:, None] - middle) / sd)
    cumulative[0], cumulative[-1] = 0, 1
    return np.diff(cumulative, axis=0)


def reports_of(truth: np.ndarray, total: int, sd: float = 0.1, seed: int = 3) -> Seen:
    table = blurred(sd, truth.size)
    counts = np.random.default_rng(seed).multinomial(total, table @ truth).astype(float)
    return Seen(counts, table, np.full(truth.size, 1 / truth.size), np.zeros((len(table), 0)))


def bump(cells: int = CELLS) -> np.ndarray:
    density = np.exp(-0.5 * ((np.arange(cells) / cells - 0.4) / 0.1) ** 2)
    return density / density.sum()


@pytest.mark.parametrize("curve", [exponential, softplus])
def test_slopes_and_bends_are_derivatives(curve):
    theta = np.linspace(-2, 3, 50)
    step = 1e-5
    _, slope, bend = curve(theta)
    np.testing.assert_allclose((curve(theta + step)[0] - curve(theta - step)[0]) / (2 * step), slope, rtol=1e-6)
    np.testing.assert_allclose((curve(theta + step)[1] - curve(theta - step)[1]) / (2 * step), bend, rtol=1e-5)


@pytest.mark.parametrize("cells", [2, 3, 10, 100, 350])
@pytest.mark.parametrize("order", [1, 2])
def test_waves_are_orthonormal_and_diagonalise_the_differences(cells, order):
    waves, roughness = wave_basis(cells, order)
    np.testing.assert_allclose(waves.T @ waves, np.eye(waves.shape[1]), atol=1e-7)
    differences = np.diff(waves, min(order, cells - 1), axis=0)
    np.testing.assert_allclose(differences.T @ differences, np.diag(roughness), atol=1e-9)
    assert (np.diff(roughness) >= -1e-12).all()


def test_steps_are_orthonormal_and_constant_in_each_interval():
    to_intervals = np.kron(np.eye(5), np.ones((1, 4)))
    steps, roughness = step_basis(to_intervals)
    np.testing.assert_allclose(steps.T @ steps, np.eye(5), atol=1e-12)
    assert np.ptp(steps.reshape(5, 4, 5), axis=1).max() < 1e-12
    assert np.ptp(steps[:, 0]) < 1e-12 and roughness[0] == 0
    assert step_basis(0.5 * to_intervals) is None


@pytest.mark.parametrize("family", [LOG_DENSITY, SOFT_DENSITY], ids=lambda family: family.name)
@pytest.mark.parametrize("total", [10, 10_000, 1_000_000])
def test_the_penalised_likelihood_never_falls(family, total):
    class Watched(PenalisedLikelihood):
        def _line_search(self, state, *rest):
            better = super()._line_search(state, *rest)
            values.append((state.value, state.value if better is None else better.value))
            return better

    values: list[tuple[float, float]] = []
    problem = Watched(reports_of(bump(), total), family)
    for weight in (1e6, 1e3, 1.0):
        problem.fit(weight)
    assert values
    assert all(after >= before for before, after in values)


def test_the_gradient_vanishes_at_the_fit():
    problem = PenalisedLikelihood(reports_of(bump(), 100_000), SOFT_DENSITY)
    fit = problem.fit(100.0)
    u = np.linalg.lstsq(fit.basis, problem.waves[:, : fit.waves.size] @ fit.waves, rcond=None)[0]
    value = [problem._state(u + shift * np.eye(u.size)[1], fit.atoms, fit.basis).value for shift in (-0.5, 0, 0.5)]
    assert value[1] > max(value[0], value[2])


def test_smaller_weights_fit_closer_and_use_more_degrees_of_freedom():
    problem = PenalisedLikelihood(reports_of(bump(), 100_000), SOFT_DENSITY)
    fits = [problem.fit(weight) for weight in (1e6, 1e3, 1.0)]
    likelihoods = [problem.reports.log_likelihood(problem.reports.table @ fit.cells, fit.cells.sum()) for fit in fits]
    assert all(rougher > smoother for smoother, rougher in pairwise(likelihoods))
    assert all(rougher.degrees_of_freedom > smoother.degrees_of_freedom for smoother, rougher in pairwise(fits))


def test_flat_reports_weigh_for_the_uniform_density():
    flat = np.full(CELLS, 1 / CELLS)
    reports = reports_of(flat, 100_000)
    fits = [everywhere(reports), *descend(PenalisedLikelihood(reports, SOFT_DENSITY)), on_a_stretch(reports, flat)]
    assert posterior_weights(np.array([fit.evidence for fit in fits]))[0] > 0.5


def test_a_stretch_is_found_between_its_ends():
    truth = np.where((np.arange(CELLS) >= 10) & (np.arange(CELLS) < 30), 0.05, 0)
    fit = on_a_stretch(reports_of(truth, 1_000_000, sd=0.05), np.full(CELLS, 1 / CELLS))
    np.testing.assert_allclose(fit.cells, truth, atol=0.005)


def test_posterior_weights_survive_huge_evidences():
    np.testing.assert_allclose(posterior_weights(np.array([-1e9, -1e9 + np.log(3.0)])), [0.25, 0.75])


def test_an_atom_is_found_only_where_there_is_one():
    flat = np.full(CELLS, 1 / CELLS)
    spiked = 0.8 * flat + 0.2 * np.eye(CELLS)[12]
    for truth, expected in ((flat, None), (spiked, (12,))):
        reports = reports_of(truth, 200_000)
        problem = PenalisedLikelihood(reports, SOFT_DENSITY)
        best = AtomSearch(problem, reports.table).grow(descend(problem))
        assert (best and best.places) == expected


def test_a_place_is_surer_with_more_reports():
    spiked = 0.6 / CELLS + 0.4 * np.eye(CELLS)[12]
    spread = []
    for total in (20_000, 2_000_000):
        reports = reports_of(spiked, total, sd=0.2)
        problem = PenalisedLikelihood(reports, SOFT_DENSITY)
        search = AtomSearch(problem, reports.table)
        where = search.whereabouts(search.grow(descend(problem)), 0, np.arange(CELLS) // 4)
        assert where.chances.sum() == pytest.approx(1)
        spread.append(float(where.chances @ (where.points - where.chances @ where.points) ** 2))
    assert spread[1] < spread[0]


def test_hidden_detail_vanishes_as_reports_grow_and_keeps_the_sum():
    to_intervals = np.kron(np.eye(10), np.ones((1, 4)))
    sizes = []
    for total in (100, 10**9):
        reports = reports_of(bump(), total, sd=0.03)
        hidden, shown = hidden_detail(reports, reports.table @ bump(), bump(), to_intervals, to_intervals @ bump())
        np.testing.assert_allclose(hidden.sum(1), 0, atol=1e-12)
        sizes.append((np.trace(hidden), shown))
    assert sizes[1][0] < 1e-3 * sizes[0][0]
    assert sizes[1][1] == pytest.approx(9, abs=0.1)


def test_rougher_fits_get_wider_bars():
    assert roughness_factor(2, 0, 19) < roughness_factor(15, 0, 19) < roughness_factor(15, 3, 19)


def test_merging_and_spreading_keep_the_mass():
    widths = np.random.default_rng(0).uniform(1, 2, 700)
    starts = group_starts(700)
    cells = np.random.default_rng(1).dirichlet(np.ones(starts.size))
    assert spread_out(cells, widths, starts).sum() == pytest.approx(1)
    np.testing.assert_allclose(np.add.reduceat(spread_out(cells, widths, starts), starts), cells)
    table = np.random.default_rng(2).dirichlet(np.ones(30), 700).T
    np.testing.assert_allclose(merge_columns(table, widths, starts).sum(0), 1)
    np.testing.assert_allclose(merge_rows(np.ones((700, 3)), starts).sum(0), 700)
    assert group_starts(300) is None
