"""The simplest densities: even everywhere, or on one stretch."""

import numpy as np

from sfumato.reconstruction.density.curves import SOFT_DENSITY, Curves
from sfumato.reconstruction.density.even import Everywhere, Stretch
from sfumato.reconstruction.density.fit import posterior_weights
from tests.reconstruction.density.blurred import CELLS, reports_of


def test_flat_reports_weigh_for_the_uniform_density():
    reports = reports_of(np.full(CELLS, 1 / CELLS), 100_000)
    fits = [*Everywhere().fits(reports, []), *Curves(SOFT_DENSITY).fits(reports, [])]
    fits += Stretch().fits(reports, fits[:1])
    assert posterior_weights(np.array([fit.log_evidence for fit in fits]))[0] > 0.5


def test_a_stretch_is_found_between_its_ends():
    truth = np.where((np.arange(CELLS) >= 10) & (np.arange(CELLS) < 30), 0.05, 0)
    reports = reports_of(truth, 1_000_000, sd=0.05)
    fit = Stretch().fits(reports, Everywhere().fits(reports, []))[0]
    np.testing.assert_allclose(fit.cells, truth, atol=0.005)
