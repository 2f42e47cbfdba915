"""A few normal distributions: found where they are, preferred where they explain more."""

import numpy as np
import pytest

from sfumato.reconstruction.smooth.penalised import FEW_NUMBERS, SOFT_DENSITY, PenalisedLikelihood, descend, few_basis
from sfumato.reconstruction.smooth.simple import _Peaks, gaussians
from tests.reconstruction.smooth.blurred import reports_of

CELLS = 60


def two_peaks() -> np.ndarray:
    reports = reports_of(np.full(CELLS, 1 / CELLS), 1)
    return _Peaks(reports, np.array([0.3, 0.7]), np.array([0.05, 0.04]), np.array([0.4])).cells


def test_slopes_are_derivatives_and_keep_the_sum():
    reports = reports_of(two_peaks(), 1000)
    peaks = _Peaks(reports, np.array([0.3, 0.7]), np.array([0.1, 0.05]), np.array([0.4]))
    np.testing.assert_allclose(peaks.change.sum(0), 0, atol=1e-12)
    for i in range(5):
        step = 1e-6 * np.eye(5)[i]
        difference = (peaks.moved(step).cells - peaks.moved(-step).cells) / 2e-6
        np.testing.assert_allclose(difference, peaks.change[:, i], atol=1e-6)


def test_peaks_are_found_and_explain_more_than_a_smooth_density():
    reports = reports_of(two_peaks(), 300_000, sd=0.1)
    path = descend(PenalisedLikelihood(reports, SOFT_DENSITY))
    best = max(path, key=lambda fit: fit.evidence)
    fits = gaussians(reports, best.cells, best.evidence)
    assert max(fit.evidence for fit in fits) > best.evidence
    nearest = max(fits, key=lambda fit: fit.evidence)
    assert np.abs(nearest.cells - two_peaks()).sum() < 0.5 * np.abs(best.cells - two_peaks()).sum()


def test_where_there_are_no_peaks_they_explain_less():
    reports = reports_of(np.full(CELLS, 1 / CELLS), 300_000, sd=0.1)
    path = descend(PenalisedLikelihood(reports, SOFT_DENSITY))
    best = max(path, key=lambda fit: fit.evidence)
    assert all(fit.evidence < best.evidence for fit in gaussians(reports, best.cells, best.evidence))


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
    fits = descend(PenalisedLikelihood(reports, FEW_NUMBERS, few_basis(reports.widths)))
    best = max(fits, key=lambda fit: fit.evidence)
    assert np.abs(best.cells / best.cells.sum() - truth).sum() < 0.02


def test_the_few_functions_are_orthonormal_and_begin_with_the_constant():
    functions, roughness = few_basis(np.full(CELLS, 1 / CELLS))
    np.testing.assert_allclose(functions.T @ functions, np.eye(5), atol=1e-10)
    assert np.ptp(functions[:, 0]) < 1e-12 and roughness[0] == 0
