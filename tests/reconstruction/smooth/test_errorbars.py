"""Error bars: detail that the noise hides, and roughness."""

import numpy as np
import pytest
from tests.reconstruction.smooth.blurred import bump, reports_of

from sfumato.reconstruction.smooth.errorbars import hidden_detail, roughness_factor


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
