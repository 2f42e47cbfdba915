"""How sure the average is: hidden detail, rough fits, atoms between two cells."""

from dataclasses import replace

import numpy as np
import pytest

from sfumato.reconstruction.density.atoms import AtomPosition
from sfumato.reconstruction.density.curves import SOFT_DENSITY, AtomColumns, PenalisedCurve
from sfumato.reconstruction.density.errors import (
    AtomCells,
    hidden_detail,
    inside_intervals,
    prior_deviations,
    roughness_factor,
)
from sfumato.reconstruction.density.even import Everywhere
from tests.reconstruction.density.blurred import CELLS, bump, reports_of

TO_INTERVALS = np.kron(np.eye(10), np.ones((1, CELLS // 10)))


def beside_atom(problem, cell, weight, mass):
    start = replace(problem.fit(weight), atoms=np.array([mass]))
    return problem.with_atoms(AtomColumns((0,), problem.table[:, [cell]])).fit(weight, start)


def test_hidden_detail_vanishes_as_reports_grow_and_keeps_the_sum():
    sizes = []
    for total in (100, 10**9):
        reports = reports_of(bump(), total, sd=0.03)
        spread = prior_deviations(TO_INTERVALS @ bump())
        expected, widths = reports.table.dense() @ bump(), np.full(CELLS, 1 / CELLS)
        root, shown = hidden_detail(reports, widths, expected, bump(), TO_INTERVALS, spread, 2)
        np.testing.assert_allclose(root.sum(0), 0, atol=1e-12)
        sizes.append((np.sum(root**2), shown))
    assert sizes[1][0] < 1e-3 * sizes[0][0]
    assert sizes[1][1] == pytest.approx(9, abs=0.1)


def test_rougher_fits_get_wider_bars():
    reports = reports_of(0.9 * bump() + 0.1 * np.eye(CELLS)[30], 10**5)
    problem = PenalisedCurve(reports, SOFT_DENSITY)
    smooth, rough = problem.fit(1e4), problem.fit(1e-2)
    beside = beside_atom(problem, 30, 1e4, 0.1)
    factors = [roughness_factor(fit, fit.degrees_of_freedom, 20) for fit in (smooth, rough, beside)]
    assert factors == sorted(factors)
    assert roughness_factor(Everywhere().fits(reports, [])[0], 0.0, 20) == 1


def test_an_atom_between_two_cells_counts_in_both_and_makes_neither_sure():
    atom = AtomPosition(np.array([0, 1]), np.array([0.25, 0.75]))
    reports = reports_of(0.5 * bump() + 0.5 * np.eye(CELLS)[7], 10**6)
    sure, unsure = (AtomCells.of(CELLS, np.array(cells), [atom]) for cells in ([7, 7], [7, 8]))
    fit = beside_atom(PenalisedCurve(reports, SOFT_DENSITY), 7, 1e3, 0.5)
    share = fit.atoms[0] / (fit.cells.sum() + fit.atoms[0])
    np.testing.assert_allclose(unsure.at_atoms(fit)[[7, 8]], [0.25 * share, 0.75 * share])
    assert unsure.shares(fit).sum() == pytest.approx(1)
    added = unsure.covariance(fit) - sure.covariance(fit)
    assert added[7, 7] == pytest.approx(0.1875 * share**2, rel=0.1)
    np.testing.assert_allclose(unsure.covariance(fit).sum(0), 0, atol=1e-9)


def test_people_inside_an_interval_are_spread_as_in_the_fit():
    stripes = np.where(np.arange(CELLS) // 4 % 2, 1.3, 0.7) / CELLS
    inside = inside_intervals(stripes, np.full(CELLS, 1 / CELLS), TO_INTERVALS)
    np.testing.assert_allclose(inside.sum(0), 1)
    np.testing.assert_allclose(TO_INTERVALS @ inside, np.eye(10))
