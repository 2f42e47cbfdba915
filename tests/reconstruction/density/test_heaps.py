"""People who name a round number: found where they are, and only there."""

import numpy as np
import pytest

from sfumato.reconstruction.density.atoms import AtomSearch
from sfumato.reconstruction.density.curves import SOFT_DENSITY, PenalisedCurve
from sfumato.reconstruction.density.heaps import Heaps, find_heaps
from sfumato.reconstruction.layout import integer_rounding
from tests.reconstruction.density.blurred import bump, reports_of

CELLS = 60
ROUNDINGS = (integer_rounding(np.arange(CELLS), 5), integer_rounding(np.arange(CELLS), 10))


def found(truth: np.ndarray, sd: float) -> Heaps | None:
    problem = PenalisedCurve(reports_of(truth, 200_000, sd), SOFT_DENSITY)
    best = max(problem.descend(), key=lambda fit: fit.log_evidence)
    return find_heaps(AtomSearch(problem, problem.table), ROUNDINGS, best)


def test_rounding_moves_nobody_out_and_nobody_far():
    for rounding, multiple in zip(ROUNDINGS, (5, 10), strict=True):
        np.testing.assert_allclose(rounding.sum(0), 1)
        stated, true = np.nonzero(rounding)
        inner = true < CELLS - multiple // 2
        assert (np.abs(stated - true)[inner] <= multiple / 2).all()
        assert (stated[inner] % multiple == 0).all()


def test_people_who_round_are_found_where_they_are():
    heaps = found(Heaps(ROUNDINGS, np.array([0.3, 0.0]), np.eye(CELLS)).stated @ bump(CELLS), 0.02)
    assert heaps is not None
    assert heaps.roundings[0] is ROUNDINGS[0]
    assert heaps.shares[0] == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize(("part", "sd"), [(0.0, 0.02), (0.4, 0.3)])
def test_where_nobody_rounds_or_nobody_could_see_it_there_are_no_heaps(part, sd):
    heaps = found(Heaps(ROUNDINGS, np.array([part, 0.0]), np.eye(CELLS)).stated @ bump(CELLS), sd)
    assert heaps is None or heaps.shares.sum() < 0.05


def test_a_pile_of_people_at_one_round_number_is_no_heap():
    piled = 0.7 * bump(CELLS) + 0.3 * np.eye(CELLS)[20]
    heaps = found(piled, 0.05)
    assert heaps is None or heaps.shares.sum() < 0.05
