"""A few normal distributions: found where they are, preferred where they explain more."""

import numpy as np
import pytest

from sfumato.reconstruction.density.curves import FEW_NUMBERS, SOFT_DENSITY, Curves, PenalisedCurve, few_basis
from sfumato.reconstruction.density.fit import best
from sfumato.reconstruction.density.peaks import Peaks, PeaksPoint
from tests.reconstruction.density.blurred import reports_of

CELLS = 60
EDGES = np.linspace(0, 1, CELLS + 1)


def two_peaks() -> np.ndarray:
    reports = reports_of(np.full(CELLS, 1 / CELLS), 1)
    return PeaksPoint(reports, EDGES, np.array([0.3, 0.7]), np.array([0.05, 0.04]), np.array([0.4])).cells


def test_slopes_are_derivatives_and_keep_the_sum():
    reports = reports_of(two_peaks(), 1000)
    peaks = PeaksPoint(reports, EDGES, np.array([0.3, 0.7]), np.array([0.1, 0.05]), np.array([0.4]))
    np.testing.assert_allclose(peaks.change.sum(0), 0, atol=1e-12)
    for i in range(5):
        step = 1e-6 * np.eye(5)[i]
        difference = (peaks.moved(step).cells - peaks.moved(-step).cells) / 2e-6
        np.testing.assert_allclose(difference, peaks.change[:, i], atol=1e-6)


def test_peaks_are_found_and_explain_more_than_a_smooth_density():
    reports = reports_of(two_peaks(), 300_000, sd=0.1)
    path = Curves(SOFT_DENSITY).fits(reports, [])
    smooth, peaks = best(path), best(Peaks().fits(reports, path))
    assert peaks.log_evidence > smooth.log_evidence
    assert np.abs(peaks.cells - two_peaks()).sum() < 0.5 * np.abs(smooth.cells - two_peaks()).sum()


def test_where_there_are_no_peaks_they_explain_less():
    reports = reports_of(np.full(CELLS, 1 / CELLS), 300_000, sd=0.1)
    path = Curves(SOFT_DENSITY).fits(reports, [])
    assert all(fit.log_evidence < best(path).log_evidence for fit in Peaks().fits(reports, path))


@pytest.mark.parametrize(
    "density",
    [
        lambda x: np.exp(-0.5 * ((x - 0.4) / 0.15) ** 2),
        lambda x: x**0.6 * (1 - x) ** 5,
        lambda x: np.exp(-3 * x),
    ],
    ids=["normal", "beta", "exponential"],
)
def test_a_few_numbers_are_enough_for_the_textbook_densities(density):
    truth = density((np.arange(CELLS) + 0.5) / CELLS)
    truth /= truth.sum()
    reports = reports_of(truth, 1_000_000, sd=0.1)
    top = best(PenalisedCurve(reports, FEW_NUMBERS).descend())
    assert np.abs(top.cells / top.cells.sum() - truth).sum() < 0.02


def test_the_few_functions_are_orthonormal_and_begin_with_the_constant():
    functions, roughness = few_basis(np.full(CELLS, 1 / CELLS))
    np.testing.assert_allclose(functions.T @ functions, np.eye(5), atol=1e-10)
    assert np.ptp(functions[:, 0]) < 1e-12 and roughness[0] == 0
