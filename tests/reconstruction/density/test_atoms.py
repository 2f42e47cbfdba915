"""People at exactly one value: found only where they are, and how surely."""

import numpy as np
import pytest

from sfumato.reconstruction.density.atoms import AtomSearch
from sfumato.reconstruction.density.curves import (
    SOFT_DENSITY,
    PenalisedCurve,
)
from tests.reconstruction.density.blurred import CELLS, reports_of


def test_an_atom_is_found_only_where_there_is_one():
    flat = np.full(CELLS, 1 / CELLS)
    spiked = 0.8 * flat + 0.2 * np.eye(CELLS)[12]
    for truth, expected in ((flat, None), (spiked, (12,))):
        reports = reports_of(truth, 200_000)
        problem = PenalisedCurve(reports, SOFT_DENSITY)
        best = AtomSearch(problem, problem.table).grow(problem.descend())
        assert (best and best.atom_indices) == expected


def test_a_position_is_surer_with_more_reports():
    spiked = 0.6 / CELLS + 0.4 * np.eye(CELLS)[12]
    spread = []
    for total in (20_000, 2_000_000):
        reports = reports_of(spiked, total, sd=0.2)
        problem = PenalisedCurve(reports, SOFT_DENSITY)
        search = AtomSearch(problem, problem.table)
        where = search.position_of(search.grow(problem.descend()), 0, np.arange(CELLS) // 4)
        assert where.chances.sum() == pytest.approx(1)
        spread.append(float(where.chances @ (where.points - where.chances @ where.points) ** 2))
    assert spread[1] < spread[0]
