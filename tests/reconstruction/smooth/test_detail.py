"""Detail beside a smooth fit: learned where it shows, small where it would have."""

import numpy as np
import pytest

from sfumato.reconstruction.smooth.bars import Detail, Places, detail_beside, inside_intervals
from sfumato.reconstruction.smooth.simple import everywhere
from tests.reconstruction.smooth.blurred import CELLS, reports_of

TO_INTERVALS = np.kron(np.eye(10), np.ones((1, CELLS // 10)))
FLAT = np.full(CELLS, 1 / CELLS)
STRIPES = np.where(np.arange(CELLS) // 4 % 2, 1.3, 0.7) / CELLS


def beside_flat(truth: np.ndarray, total: int) -> Detail:
    reports, places = reports_of(truth, total, sd=0.05), Places(np.zeros((CELLS, 0)))
    fit = everywhere(reports)
    return detail_beside(reports, reports.table[:, []], fit, TO_INTERVALS, places.shares(fit), places.change(fit))


def test_detail_that_shows_moves_the_estimate_and_raises_the_evidence():
    detail = beside_flat(STRIPES, 100_000)
    assert detail.gain > 10
    moved = TO_INTERVALS @ (FLAT + detail.shift)
    assert np.abs(moved - TO_INTERVALS @ STRIPES).sum() < 0.3 * np.abs(TO_INTERVALS @ (FLAT - STRIPES)).sum()


def test_detail_that_is_not_there_moves_nothing_and_widens_little_as_reports_grow():
    widths = []
    for total in (1_000, 1_000_000):
        detail = beside_flat(FLAT, total)
        assert -1.0 < detail.gain < 1.0
        widths.append(np.sqrt(np.sum((TO_INTERVALS @ detail.root) ** 2)))
    assert np.abs(TO_INTERVALS @ detail.shift).sum() < 0.01
    assert widths[1] < 0.1 * widths[0]


def test_detail_keeps_the_sum():
    detail = beside_flat(STRIPES, 10_000)
    assert detail.shift.sum() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(detail.root.sum(0), 0, atol=1e-12)


def test_people_inside_an_interval_are_spread_as_in_the_fit():
    inside = inside_intervals(STRIPES, np.full(CELLS, 1 / CELLS), TO_INTERVALS)
    np.testing.assert_allclose(inside.sum(0), 1)
    np.testing.assert_allclose(TO_INTERVALS @ inside, np.eye(10))
