"""Counts become a density whose smoothness the reports decide, and the density becomes interval probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .atoms import AtomSearch, Whereabouts
from .errorbars import Aggregation, averaged
from .evidence import descend, posterior_weights, uniform_fit
from .exactly import class_covariance, class_shares, is_deterministic
from .families import LOG_DENSITY, SOFT_DENSITY, Matrix, Vector
from .hidden import hidden_detail
from .penalised import Fit, PenalisedLikelihood, Reports

OVERLAP = 0.8  # of the posterior covariance; the covariance of hidden detail repeats the rest
COUNTED = 1e-4  # fits with less posterior weight than this are left out of the average


@dataclass(frozen=True)
class SmoothFit:
    """Interval probabilities with their covariance, and what stands behind them."""

    probabilities: Vector
    covariance: Matrix
    density: Vector  # probability of each fine cell, atoms excluded
    atoms: tuple[tuple[int, float], ...]  # (candidate point, probability)
    degrees_of_freedom: float
    rule: str
    messages: tuple[str, ...]

    @property
    def stderr(self) -> Vector:
        """Standard error of each interval probability."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def smooth(
    counts: Vector,
    table: Matrix,
    points: Matrix,
    to_intervals: Matrix,
    points_to_intervals: Matrix,
) -> SmoothFit:
    """Average the penalised fits of every smoothness, each by how well it explains the reports.

    ``counts`` (m) reports per observation cell; ``table`` (m, k) P(cell | uniform in fine cell); ``points`` (m, q)
    P(cell | exactly this value) for candidate values; ``to_intervals`` (r, k) and ``points_to_intervals`` (r, q)
    aggregate both to the wanted intervals.
    """
    counts, table, points = (np.asarray(each, dtype=float) for each in (counts, table, points))
    reached = np.flatnonzero((table.sum(1) > 0) | (counts > 0))
    reports = Reports(counts[reached], np.ascontiguousarray(table[reached]), np.zeros((reached.size, 0)))
    log_density, soft_density = (PenalisedLikelihood(reports, family) for family in (LOG_DENSITY, SOFT_DENSITY))
    path = descend(soft_density)
    fits = [uniform_fit(reports), *descend(log_density), *path]
    if is_deterministic(reports.table):
        return _noiseless(reports, fits, np.asarray(to_intervals, dtype=float))
    search = AtomSearch(soft_density, points[reached]) if points.shape[1] else None
    best = search.grow(path) if search else None
    atoms_at: list[Whereabouts] = []
    if search and best:
        fits += search.every_smoothness(log_density, best) + search.every_smoothness(soft_density, best)
        interval_of = np.argmax(points_to_intervals, axis=0)
        atoms_at = [search.whereabouts(best, which, interval_of) for which in range(best.atoms.size)]
    fits, weights = _counted(fits)
    mean, covariance = averaged(fits, weights, Aggregation.of(to_intervals, points_to_intervals, atoms_at))
    density, atoms = _parts(fits, weights)
    expected = reports.table @ density + points[reached][:, [place for place, _ in atoms]] @ [mass for _, mass in atoms]
    hidden, shown = hidden_detail(reports, expected, density, to_intervals, mean)
    covariance = OVERLAP * covariance + hidden
    freedom = float(weights @ [fit.degrees_of_freedom for fit in fits])
    messages = _in_words(reports.total, shown, mean, covariance)
    return SmoothFit(mean, covariance, density, atoms, freedom, fits[int(np.argmax(weights))].family, messages)


def _noiseless(reports: Reports, fits: list[Fit], to_intervals: Matrix) -> SmoothFit:
    """Each class keeps its share of the reports; only the shape inside a class is smoothed."""
    fits, weights = _counted(fits)
    shape, _ = _parts(fits, weights)
    density = class_shares(reports, shape)
    covariance = class_covariance(reports, shape, fits, weights, to_intervals)
    return SmoothFit(to_intervals @ density, covariance, density, (), float(len(reports.counts)), "direct", ())


def _counted(fits: list[Fit]) -> tuple[list[Fit], Vector]:
    """The fits that carry weight, and their weights."""
    weights = posterior_weights(np.array([fit.evidence for fit in fits]))
    keep = np.flatnonzero(weights > COUNTED)
    return [fits[i] for i in keep], weights[keep] / weights[keep].sum()


def _parts(fits: list[Fit], weights: Vector) -> tuple[Vector, tuple[tuple[int, float], ...]]:
    """The averaged density and atoms, together of mass 1."""
    density = np.zeros_like(fits[0].cells)
    atoms: dict[int, float] = {}
    for fit, weight in zip(fits, weights, strict=True):
        share = weight / (fit.cells.sum() + fit.atoms.sum())
        density += share * fit.cells
        for place, mass in zip(fit.places, fit.atoms, strict=True):
            atoms[place] = atoms.get(place, 0.0) + float(share * mass)
    return density, tuple(sorted((place, mass) for place, mass in atoms.items() if mass > 1e-6))


def _in_words(total: float, freedom: float, mean: Vector, covariance: Matrix) -> tuple[str, ...]:
    """What a reader must know before trusting the estimate."""
    messages = []
    if freedom < 0.5 * (mean.size - 1):
        messages.append(
            f"the noise leaves about {freedom:.0f} degrees of freedom for {mean.size} intervals; "
            "trust only broad features"
        )
    doubt = 0.8 * float(np.sqrt(np.maximum(np.diag(covariance), 0.0)).sum())
    if doubt > 0.5 or total < 30:
        messages.append(
            f"too few reports for this noise: with {total:.0f} of them, about {100 * min(doubt / 2, 1.0):.0f} % of the "
            "people may be placed in a wrong interval"
        )
    return tuple(messages)
