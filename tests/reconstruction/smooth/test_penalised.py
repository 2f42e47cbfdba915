"""Penalised likelihood: the climb, the curves, the basis, the path from smooth to rough."""

from itertools import pairwise

import numpy as np
import pytest

from sfumato.reconstruction.smooth.penalised import (
    LOG_DENSITY,
    SOFT_DENSITY,
    PenalisedLikelihood,
    exponential,
    softplus,
    wave_basis,
)
from tests.reconstruction.smooth.blurred import bump, reports_of


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
