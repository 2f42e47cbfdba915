"""People at exactly one value: point masses beside the smooth density, found by a score test."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import solve_triangular

from .evidence import descend
from .families import LOG_DENSITY, SOFT_DENSITY, Family, Matrix, Vector
from .penalised import TINY, Fit, PenalisedLikelihood, Reports

MOST_ATOMS = 12
FAMILIES = {family.name: family for family in (LOG_DENSITY, SOFT_DENSITY)}


def fits_with_atoms(reports: Reports, points: Matrix, fits: list[Fit]) -> list[Fit]:
    """All fits again beside the atoms that raise the evidence; nothing if there are none.

    An atom's mass is uniform on [0, 1] beforehand and its place uniform over the candidates, so each one costs log q.
    """
    best = max((fit for fit in fits if fit.family == SOFT_DENSITY.name), key=lambda fit: fit.evidence)
    reports, best = _grow(reports, points, best, SOFT_DENSITY)
    if not best.places:
        return []
    return [
        _priced(fit, points.shape[1])
        for each in FAMILIES.values()
        for fit in descend(PenalisedLikelihood(reports, each), best.atoms)
    ]


def _priced(fit: Fit, candidates: int) -> Fit:
    return replace(fit, evidence=fit.evidence - len(fit.places) * float(np.log(candidates)))


def _grow(reports: Reports, points: Matrix, best: Fit, family: Family) -> tuple[Reports, Fit]:
    """Add the most promising place while the evidence, its price paid, rises."""
    for _ in range(MOST_ATOMS):
        place, mass, promise = _score_test(reports, points, best)
        if promise < -6.0 or place in best.places:
            break
        wider = _with(reports, points, place)
        trial = _smoother(wider, replace(best, atoms=np.append(best.atoms, mass)), family, points.shape[1])
        wider, trial = _settle(wider, points, trial, family)
        if trial.evidence <= best.evidence:
            break
        reports, best = wider, trial
    return reports, best


def _settle(reports: Reports, points: Matrix, fit: Fit, family: Family) -> tuple[Reports, Fit]:
    """Move the newest atom while another place explains more, now that the density beside it is smoother."""
    for _ in range(4):
        without = Reports(reports.counts, reports.table, reports.columns[:, :-1], reports.places[:-1])
        others = replace(fit, atoms=fit.atoms[:-1], factor=fit.factor[:-1, :-1])
        place, _, _ = _score_test(without, points, others)
        if place in reports.places:
            break
        moved = _with(without, points, place)
        trial = _smoother(moved, fit, family, points.shape[1])
        if trial.evidence <= fit.evidence:
            break
        reports, fit = moved, trial
    return reports, fit


def _with(reports: Reports, points: Matrix, place: int) -> Reports:
    columns = np.column_stack([reports.columns, points[:, place]])
    return Reports(reports.counts, reports.table, columns, (*reports.places, place))


def _smoother(reports: Reports, start: Fit, family: Family, candidates: int) -> Fit:
    """Refit; with its spike explained the rest may be smoother, so larger weights are tried while they help."""
    problem = PenalisedLikelihood(reports, family)
    best = _priced(problem.fit(start.weight, start), candidates)
    while best.weight < family.weights[0]:
        trial = _priced(problem.fit(best.weight * 10.0, best), candidates)
        if trial.evidence <= best.evidence:
            break
        best = trial
    return best


def _score_test(reports: Reports, points: Matrix, fit: Fit) -> tuple[int, float, float]:
    """The best place, the mass a Newton step would give it, and the evidence it promises.

    With g the score of a mass at the place and I its information after the smooth part has adapted, the promise is
    g²/2I − ½·log(I/2π) − log q.
    """
    expected = reports.table @ fit.cells + reports.columns @ fit.atoms
    inverse = 1.0 / np.maximum(expected, TINY)
    score = points.T @ (reports.counts * inverse - reports.total)
    scaled = points * np.sqrt(reports.total * inverse)[:, None]
    design = np.hstack([reports.table @ (fit.slope[:, None] * fit.basis), reports.columns])
    design *= np.sqrt(reports.total * inverse)[:, None]
    explained = solve_triangular(fit.factor, design.T @ scaled, lower=True, check_finite=False)
    information = _squares(scaled) - _squares(explained)
    information = np.maximum(information, 1e-9 * _squares(scaled) + TINY)
    promise = 0.5 * np.maximum(score, 0.0) ** 2 / information - 0.5 * np.log(information / (2 * np.pi))
    promise -= np.log(points.shape[1])
    place = int(np.argmax(promise))
    mass = float(np.clip(score[place] / information[place], 1e-6, 0.5))
    return place, mass, float(promise[place])


def _squares(matrix: Matrix) -> Vector:
    return np.asarray(np.einsum("ij,ij->j", matrix, matrix))
