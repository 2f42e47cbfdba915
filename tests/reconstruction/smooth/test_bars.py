"""How sure the average is: hidden detail, rough fits, atoms between two cells."""

import numpy as np
import pytest

from sfumato.reconstruction.smooth.bars import Places, hidden_detail, inside_intervals, roughness_factor, stray
from sfumato.reconstruction.smooth.penalised import SOFT_DENSITY, PenalisedLikelihood
from sfumato.reconstruction.smooth.simple import everywhere
from sfumato.reconstruction.smooth.single_values import Whereabouts
from tests.reconstruction.smooth.blurred import CELLS, bump, reports_of

TO_INTERVALS = np.kron(np.eye(10), np.ones((1, CELLS // 10)))


def test_hidden_detail_vanishes_as_reports_grow_and_keeps_the_sum():
    sizes = []
    for total in (100, 10**9):
        reports = reports_of(bump(), total, sd=0.03)
        spread = stray(TO_INTERVALS @ bump())
        root, shown = hidden_detail(reports, reports.table @ bump(), bump(), TO_INTERVALS, spread, 2)
        np.testing.assert_allclose(root.sum(0), 0, atol=1e-12)
        sizes.append((np.sum(root**2), shown))
    assert sizes[1][0] < 1e-3 * sizes[0][0]
    assert sizes[1][1] == pytest.approx(9, abs=0.1)


def test_rougher_fits_get_wider_bars():
    reports = reports_of(0.9 * bump() + 0.1 * np.eye(CELLS)[30], 10**5)
    problem = PenalisedLikelihood(reports, SOFT_DENSITY)
    smooth, rough = problem.fit(1e4), problem.fit(1e-2)
    beside = problem.beside(reports.table[:, [30]], (0,)).fit(1e4, atoms=np.array([0.1]))
    factors = [roughness_factor(fit, fit.degrees_of_freedom, 20) for fit in (smooth, rough, beside)]
    assert factors == sorted(factors)
    assert roughness_factor(everywhere(reports), 0.0, 20) == 1


def test_an_atom_between_two_cells_counts_in_both_and_makes_neither_sure():
    atom = Whereabouts(np.array([0, 1]), np.array([0.25, 0.75]))
    reports = reports_of(0.5 * bump() + 0.5 * np.eye(CELLS)[7], 10**6)
    sure, unsure = (Places.of(CELLS, np.array(cells), [atom]) for cells in ([7, 7], [7, 8]))
    fit = PenalisedLikelihood(reports, SOFT_DENSITY).beside(reports.table[:, [7]], (0,)).fit(1e3, atoms=np.array([0.5]))
    share = fit.atoms[0] / (fit.cells.sum() + fit.atoms[0])
    np.testing.assert_allclose(unsure.atoms(fit)[[7, 8]], [0.25 * share, 0.75 * share])
    assert unsure.shares(fit).sum() == pytest.approx(1)
    added = unsure.covariance(fit) - sure.covariance(fit)
    assert added[7, 7] == pytest.approx(0.1875 * share**2, rel=0.1)
    np.testing.assert_allclose(unsure.covariance(fit).sum(0), 0, atol=1e-9)


def test_people_inside_an_interval_are_spread_as_in_the_fit():
    stripes = np.where(np.arange(CELLS) // 4 % 2, 1.3, 0.7) / CELLS
    inside = inside_intervals(stripes, np.full(CELLS, 1 / CELLS), TO_INTERVALS)
    np.testing.assert_allclose(inside.sum(0), 1)
    np.testing.assert_allclose(TO_INTERVALS @ inside, np.eye(10))
