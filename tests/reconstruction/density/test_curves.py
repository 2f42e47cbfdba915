"""Penalised likelihood: the climb, the curves, the basis, the path from smooth to rough."""

from itertools import pairwise

import numpy as np
import pytest

from sfumato.reconstruction.density.curves import (
    LOG_DENSITY,
    SOFT_DENSITY,
    CurvePoint,
    PenalisedCurve,
    exponential,
    softplus,
    wave_basis,
)
from sfumato.reconstruction.density.fit import likelihood_with_mass
from tests.reconstruction.density.blurred import CELLS, bump, reports_of


@pytest.mark.parametrize("curve", [exponential, softplus])
def test_slopes_and_bends_are_derivatives(curve):
    theta = np.linspace(-2, 3, 50)
    step = 1e-5
    _, slope, bend = curve(theta)
    np.testing.assert_allclose((curve(theta + step)[0] - curve(theta - step)[0]) / (2 * step), slope, rtol=1e-6)
    np.testing.assert_allclose((curve(theta + step)[1] - curve(theta - step)[1]) / (2 * step), bend, rtol=1e-5)


@pytest.mark.parametrize("cells", [2, 3, 10, 100, 350])
def test_waves_are_orthonormal_and_diagonalise_the_differences(cells):
    waves, roughness = wave_basis(cells)
    np.testing.assert_allclose(waves.T @ waves, np.eye(waves.shape[1]), atol=1e-7)
    differences = np.diff(waves, min(2, cells - 1), axis=0)
    np.testing.assert_allclose(differences.T @ differences, np.diag(roughness), atol=1e-9)
    assert (np.diff(roughness) >= -1e-12).all()


@pytest.mark.parametrize("family", [LOG_DENSITY, SOFT_DENSITY], ids=lambda family: family.name)
@pytest.mark.parametrize("total", [10, 10_000, 1_000_000])
def test_the_penalised_likelihood_never_falls_while_a_curve_climbs(family, total, monkeypatch):
    climbed: list[list[float]] = []
    moved = CurvePoint.moved

    def watched(point, step):
        ahead = moved(point, step)
        climbed[-1].append(max(point.value, ahead.value) - point.value)
        return ahead

    monkeypatch.setattr(CurvePoint, "moved", watched)
    problem = PenalisedCurve(reports_of(bump(), total), family)
    for weight in (1e6, 1e3, 1.0):
        climbed.append([])
        fit = problem.fit(weight)
        flat = CurvePoint(problem, fit.basis, np.zeros(fit.basis.shape[1]), np.zeros(0))
        assert fit.value >= flat.value
    assert any(climbed)


def test_the_gradient_vanishes_at_the_fit():
    problem = PenalisedCurve(reports_of(bump(), 100_000), SOFT_DENSITY)
    fit = problem.fit(100.0)
    waves = wave_basis(CELLS)[0]
    u = np.linalg.lstsq(fit.basis, waves[:, : fit.waves.size] @ fit.waves, rcond=None)[0]
    points = [CurvePoint(problem, fit.basis, u + shift * np.eye(u.size)[1], fit.atoms) for shift in (-0.5, 0, 0.5)]
    assert points[1].value > max(points[0].value, points[2].value)


def test_smaller_weights_fit_closer_and_use_more_degrees_of_freedom():
    reports = reports_of(bump(), 100_000)
    problem = PenalisedCurve(reports, SOFT_DENSITY)
    fits = [problem.fit(weight) for weight in (1e6, 1e3, 1.0)]
    likelihoods = [likelihood_with_mass(reports, problem.table @ fit.cells, fit.cells.sum()) for fit in fits]
    assert all(rougher > smoother for smoother, rougher in pairwise(likelihoods))
    assert all(rougher.degrees_of_freedom > smoother.degrees_of_freedom for smoother, rougher in pairwise(fits))
