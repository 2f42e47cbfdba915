"""The simplest densities: even everywhere, or on one stretch."""

import numpy as np

from sfumato.reconstruction.smooth.average import posterior_weights
from sfumato.reconstruction.smooth.penalised import (
    SOFT_DENSITY,
    PenalisedLikelihood,
    descend,
)
from sfumato.reconstruction.smooth.simple import everywhere, on_a_stretch
from tests.reconstruction.smooth.blurred import CELLS, reports_of


def test_flat_reports_weigh_for_the_uniform_density():
    flat = np.full(CELLS, 1 / CELLS)
    reports = reports_of(flat, 100_000)
    fits = [everywhere(reports), *descend(PenalisedLikelihood(reports, SOFT_DENSITY)), on_a_stretch(reports, flat)]
    assert posterior_weights(np.array([fit.evidence for fit in fits]))[0] > 0.5


def test_a_stretch_is_found_between_its_ends():
    truth = np.where((np.arange(CELLS) >= 10) & (np.arange(CELLS) < 30), 0.05, 0)
    fit = on_a_stretch(reports_of(truth, 1_000_000, sd=0.05), np.full(CELLS, 1 / CELLS))
    np.testing.assert_allclose(fit.cells, truth, atol=0.005)
