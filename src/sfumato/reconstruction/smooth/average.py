"""Counts become a density whose smoothness the reports decide; it becomes interval probabilities with error bars."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from sfumato.reconstruction.diagnosis import messages_for

from .atoms import AtomSearch, Whereabouts
from .detail import CLUMPS, Detail, detail_beside, inside_intervals, stray
from .heaps import Heaps, find_heaps
from .penalised import (
    FEWEST_CELLS,
    LOG_DENSITY,
    SOFT_DENSITY,
    STEP_DENSITY,
    TINY,
    Codes,
    Fit,
    Matrix,
    PenalisedLikelihood,
    Seen,
    Vector,
    descend,
    everywhere,
    on_a_stretch,
    step_basis,
)

POSSIBLE = 25.0
HALF = 0.5
COUNTED = 1e-4  # fits with less posterior weight than this are left out of the average
SURE_ATOM = 0.005
STRAY = 1.2  # beforehand, an interval may stray from the smooth one by this many clumps
SLACK = 0.3  # and by this part of an even share, so that empty intervals have error bars too
MOST_CELLS = 300  # a finer grid is solved on a coarser one: no noise lets so much detail through


@dataclass(frozen=True)
class SmoothFit:
    """Interval probabilities with their covariance, and what stands behind them."""

    probabilities: Vector
    covariance: Matrix
    density: Vector  # probability of each fine cell, atoms excluded
    atoms: tuple[tuple[int, float], ...]  # (candidate point, probability)
    degrees_of_freedom: float
    rule: str  # the family that explains the reports best
    messages: tuple[str, ...]
    cannot_tell: bool = False


def smooth(
    counts: Vector, table: Matrix, points: Matrix, to_intervals: Matrix, points_to_intervals: Matrix,
    widths: Vector | None = None, roundings: tuple[Matrix, ...] = (),
) -> SmoothFit:
    """Average the penalised fits of every smoothness, each by how well it explains the reports.

    ``counts`` (m) reports per observation cell; ``table`` (m, k) P(cell | uniform in fine cell); ``points`` (m, q)
    P(cell | exactly this value) for candidate values; ``to_intervals`` (r, k) and ``points_to_intervals`` (r, q)
    aggregate both to the wanted intervals; ``widths`` (k) of the fine cells, equal unless given.
    """
    counts, table, points = (np.asarray(each, dtype=float) for each in (counts, table, points))
    width = np.ones(table.shape[1]) if widths is None else np.asarray(widths, dtype=float)
    rows = None if is_deterministic(table) else group_starts(table.shape[0])
    columns = None if is_deterministic(table) else group_starts(table.shape[1])
    merged = merge_rows(counts, rows), np.ascontiguousarray(merge_rows(merge_columns(table, width, columns), rows))
    share = width if columns is None else np.add.reduceat(width, columns)
    fit = _smooth(
        Seen(*merged, share / share.sum(), np.zeros((merged[0].size, 0))),
        merge_rows(points, rows),
        merge_columns(np.asarray(to_intervals, dtype=float), width, columns),
        np.asarray(points_to_intervals, dtype=float),
        roundings,
    )
    return replace(fit, density=spread_out(fit.density, width, columns))


def _smooth(
    reports: Seen, points: Matrix, to_intervals: Matrix, points_to_intervals: Matrix, roundings: tuple[Matrix, ...] = ()
) -> SmoothFit:
    if is_one_to_one(reports.table):
        return _noiseless(reports, [everywhere(reports)], to_intervals)
    problems = tuple(PenalisedLikelihood(reports, family) for family in (SOFT_DENSITY, LOG_DENSITY))
    paths = [descend(problem) for problem in problems]
    fits = [everywhere(reports), *paths[0], *paths[1]]
    steps = step_basis(to_intervals)
    if steps is not None:
        fits += descend(PenalisedLikelihood(reports, STEP_DENSITY, steps))
    if reports.widths.size >= FEWEST_CELLS:
        fits.append(on_a_stretch(reports, _parts(*_counted(fits))[0]))
    if is_deterministic(reports.table):
        return _noiseless(reports, fits, to_intervals)
    atoms_at: list[Whereabouts] = []
    if points.shape[1]:
        beside, atoms_at = _with_atoms(problems, paths[0], points, np.argmax(points_to_intervals, axis=0), roundings)
        fits += beside
    aggregation = Aggregation.of(to_intervals, points_to_intervals, atoms_at)
    return _with_error_bars(reports, points, fits, aggregation)


def _with_atoms(
    problems: tuple[PenalisedLikelihood, ...], path: list[Fit], points: Matrix, interval_of: Codes,
    roundings: tuple[Matrix, ...],
) -> tuple[list[Fit], list[Whereabouts]]:
    """Fits beside the heaps and atoms that raise the evidence, and where these may be; nothing if there are none."""
    best = max(path, key=lambda fit: fit.evidence)
    found = find_heaps(problems[0], roundings, best, points[:, []]) if roundings else None
    if found is None:
        return _beside_atoms(problems, path, points, interval_of)
    heaps = found[0]
    inner = heaps.problem(problems[0])
    search = AtomSearch(inner, points)
    path = descend(inner)
    best = max(path, key=lambda fit: fit.evidence)
    best = search.grow(path) or best
    columns = points[:, list(best.places)]
    heaps, best = find_heaps(problems[0], roundings, best, columns, Heaps(roundings, _all(heaps, roundings))) or (heaps, best)
    fits = []
    search = AtomSearch(heaps.problem(problems[0]), points)
    for problem in problems:
        fits += search.every_smoothness(heaps.problem(problem), best)
    at = [search.whereabouts(best, which, interval_of) for which in range(best.atoms.size)]
    return [heaps.fit(problems[0].reports, columns, fit) for fit in fits], at


def _all(heaps: Heaps, roundings: tuple[Matrix, ...]) -> Vector:
    return np.array([sum(h for h, r in zip(heaps.shares, heaps.roundings, strict=True) if r is each) for each in roundings])


def _beside_atoms(
    problems: tuple[PenalisedLikelihood, ...], path: list[Fit], points: Matrix, interval_of: Codes
) -> tuple[list[Fit], list[Whereabouts]]:
    search = AtomSearch(problems[0], points)
    best = search.grow(path)
    if best is None:
        return [], []
    fits = [fit for problem in problems for fit in search.every_smoothness(problem, best)]
    return fits, [search.whereabouts(best, which, interval_of) for which in range(best.atoms.size)]


def _with_error_bars(reports: Seen, points: Matrix, fits: list[Fit], aggregation: Aggregation) -> SmoothFit:
    """The average of the fits, each with its detail; its covariance, with room for detail that the noise hides."""
    top = max(fit.evidence for fit in fits)
    fits = [fit for fit in fits if fit.evidence > top - POSSIBLE]
    details = [aggregation.detail(reports, points, fit) for fit in fits]
    weights = posterior_weights(np.array([fit.evidence + detail.gain for fit, detail in zip(fits, details, strict=True)]))
    keep = np.flatnonzero(weights > COUNTED)
    fits, details, weights = [fits[i] for i in keep], [details[i] for i in keep], weights[keep] / weights[keep].sum()
    mean, covariance = averaged(fits, details, weights, aggregation)
    density, atoms = _parts(fits, weights)
    expected = reports.table @ density + points[:, [place for place, _ in atoms]] @ [mass for _, mass in atoms]
    hidden, shown = hidden_detail(reports, expected, density, aggregation.cells, mean)
    freedom = float(weights @ [fit.degrees_of_freedom for fit in fits])
    seen = np.diag(covariance)
    cannot_tell = bool(np.median(np.diag(hidden) / np.maximum(seen + np.diag(hidden), TINY)) > HALF)
    covariance = covariance + hidden
    rule = fits[int(np.argmax(weights))].family
    stderr = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    said = messages_for(reports.counts, shown, stderr, converged=True)
    return SmoothFit(mean, covariance, density, atoms, freedom, rule, said, cannot_tell)


def _noiseless(reports: Seen, fits: list[Fit], to_intervals: Matrix) -> SmoothFit:
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


def posterior_weights(evidence: Vector) -> Vector:
    """w_i ∝ exp(evidence_i)."""
    weight = np.exp(evidence - evidence.max())
    return np.asarray(weight / weight.sum())


# --- how sure the average is: each fit's posterior, the spread between fits, and detail the noise hides ---


@dataclass(frozen=True)
class Aggregation:
    """How fine cells and atoms make up the wanted intervals.

    ``cells`` (r, k); ``placement`` (r, j) the chance that atom j lies in each interval; ``misplacement`` (j, r, r) the
    covariance of that.
    """

    cells: Matrix
    placement: Matrix
    misplacement: Matrix

    @classmethod
    def of(cls, to_intervals: Matrix, points_to_intervals: Matrix, atoms: list[Whereabouts]) -> Aggregation:
        """Average each atom's interval over the places it may have."""
        r = len(to_intervals)
        placement, misplacement = np.zeros((r, len(atoms))), np.zeros((len(atoms), r, r))
        for j, atom in enumerate(atoms):
            inside = points_to_intervals[:, atom.points]
            placement[:, j] = inside @ atom.chances
            misplacement[j] = (inside * atom.chances) @ inside.T - np.outer(placement[:, j], placement[:, j])
        return cls(to_intervals, placement, misplacement)

    def probabilities(self, fit: Fit) -> Vector:
        """π = (T p + T_atoms a) / (Σp + Σa)."""
        inside = self.cells @ fit.cells + self.placement[:, : fit.atoms.size] @ fit.atoms
        return np.asarray(inside / (fit.cells.sum() + fit.atoms.sum()))

    def change(self, fit: Fit) -> Matrix:
        """J = dπ/d(u, a)."""
        seen = np.hstack([(self.cells * fit.slope) @ fit.basis, self.placement[:, : fit.atoms.size]])
        mass = np.concatenate([fit.slope @ fit.basis, np.ones(fit.atoms.size)])
        return np.asarray((seen - np.outer(self.probabilities(fit), mass)) / (fit.cells.sum() + fit.atoms.sum()))

    def detail(self, reports: Seen, points: Matrix, fit: Fit) -> Detail:
        """Detail beside one fit."""
        columns = points[:, list(fit.places)]
        return detail_beside(reports, columns, fit, self.cells, self.probabilities(fit), self.change(fit))

    def covariance(self, fit: Fit) -> Matrix:
        """J (F + S)⁻¹ J', the prior's part for waves the reports do not see, and misplaced atoms."""
        j, total = fit.atoms.size, fit.cells.sum() + fit.atoms.sum()
        shares, seen = self.probabilities(fit), self.change(fit)
        unseen = ((self.cells * fit.slope) @ fit.unseen - np.outer(shares, fit.slope @ fit.unseen)) / total
        root = solve_triangular(fit.factor, seen.T, lower=True, check_finite=False) if seen.size else seen.T
        misplaced = np.einsum("j,jrs->rs", (fit.atoms / total) ** 2, self.misplacement[:j])
        return np.asarray(root.T @ root + unseen @ unseen.T + misplaced)


def averaged(fits: list[Fit], details: list[Detail], weights: Vector, aggregation: Aggregation) -> tuple[Vector, Matrix]:
    """Mean and covariance of the mixture of posteriors: Σw(C_i + (π_i − π)(π_i − π)')."""
    each = np.array([aggregation.probabilities(fit) + detail.shift for fit, detail in zip(fits, details, strict=True)])
    mean = weights @ each
    spread = (each - mean) * np.sqrt(weights)[:, None]
    covariance = spread.T @ spread
    for fit, detail, weight in zip(fits, details, weights, strict=True):
        covariance += weight * (aggregation.covariance(fit) + detail.covariance)
    mean = np.maximum(mean, 0.0)
    return mean / mean.sum(), covariance


def hidden_detail(
    reports: Seen, expected: Vector, density: Vector, to_intervals: Matrix, probabilities: Vector
) -> tuple[Matrix, float]:
    """Covariance of the detail that the reports would not have shown, and how many directions they do show.

    Detail z ~ N(0, diag s²), Σz = 0, s = τ·(π + floor). In a direction v of its information s·G·s, with information
    g, the reports leave detail a variance of 1/(1+g); but detail with g > 1 would have shown itself and made the fits
    rougher, so it counts with (1+g)⁻³: Σ s·v·(1+g)⁻³·v'·s. Directions shown: Σ g/(1+g).
    """
    r = probabilities.size
    spread = STRAY * stray(probabilities)
    inside = (to_intervals * (density + TINY)).T
    inside /= np.maximum(inside.sum(0), TINY)
    seen = (reports.table @ inside) * np.sqrt(reports.total / np.maximum(expected, 1e-12))[:, None] * spread
    direction = spread / np.linalg.norm(spread)
    seen -= np.outer(seen @ direction, direction)
    information, axes = np.linalg.eigh(seen.T @ seen)
    information = np.maximum(information, 0.0)
    root = (axes - np.outer(direction, direction @ axes)) * spread[:, None] / (1.0 + information) ** 1.5
    return np.asarray(root @ root.T), float(np.sum(information / (1.0 + information)))


def roughness_factor(freedom: float, atoms: int, shown: float) -> float:
    """By how much to widen a posterior that assumes smoothness: more, the less smooth the density turned out to be.

    q compares the degrees of freedom that the fit uses (an atom counts as three: place, mass and a jump) with those the
    reports show. Near q = 1 the fit is as rough as it can be, and the truth is likely rougher. Calibrated by coverage.
    """
    q = (freedom + 3.0 * atoms) / (1.0 + shown)
    return 0.4 + 0.6 * min(q, 1.5) ** 2


def class_covariance(reports: Seen, cells: Vector, fits: list[Fit], weights: Vector, to_intervals: Matrix) -> Matrix:
    """The multinomial covariance of the classes, plus what the fits do not know of the shape inside a class."""
    inside = cells / np.maximum(reports.table.T @ (reports.table @ cells), 1e-300)
    split = (to_intervals * inside) @ reports.table.T
    share = reports.counts / reports.total
    covariance = split @ ((np.diag(share) - np.outer(share, share)) / reports.total) @ split.T
    shape_only = Aggregation.of(to_intervals - split @ reports.table, np.zeros((len(split), 0)), [])
    for fit, weight in zip(fits, weights, strict=True):
        covariance += weight * shape_only.covariance(fit)
    return np.asarray(covariance)


# --- reports without noise: a table whose every column is a single 1 must give the data back ---


def is_deterministic(table: Matrix) -> bool:
    """Whether each true cell leads to one observation cell, as without noise or with value classes."""
    return bool(np.all(table.max(0) > 1.0 - 1e-9))


def is_one_to_one(table: Matrix) -> bool:
    """Whether, besides, no two true cells share an observation cell, so that there is no shape left to guess."""
    return is_deterministic(table) and bool(np.all(np.count_nonzero(table > 1e-9, axis=1) <= 1))


def class_shares(reports: Seen, cells: Vector) -> Vector:
    """Scale the density inside each class to the class's share of the reports: one step of EM, exact here."""
    expected = np.maximum(reports.table @ cells, 1e-300)
    return np.asarray(cells * (reports.table.T @ (reports.counts / expected)) / reports.total)


# --- very fine grids ---


def group_starts(size: int) -> Codes | None:
    """The first member of each run of neighbours that become one; None where there are few enough."""
    if size <= MOST_CELLS:
        return None
    run = -(-size // MOST_CELLS)
    return np.arange(0, size, run)


def merge_rows(matrix: Matrix, starts: Codes | None) -> Matrix:
    """Reports of neighbouring observation cells counted together."""
    return matrix if starts is None else np.add.reduceat(matrix, starts, axis=0)


def merge_columns(matrix: Matrix, widths: Vector, starts: Codes | None) -> Matrix:
    """People even over neighbouring fine cells: the columns' mean, weighted by width."""
    if starts is None:
        return matrix
    return np.asarray(np.add.reduceat(matrix * widths, starts, axis=1) / np.add.reduceat(widths, starts))


def spread_out(cells: Vector, widths: Vector, starts: Codes | None) -> Vector:
    """Probabilities of merged cells back on the fine ones, even inside."""
    if starts is None:
        return cells
    merged = np.add.reduceat(widths, starts)
    group = np.searchsorted(starts, np.arange(widths.size), side="right") - 1
    return np.asarray(cells[group] * widths / merged[group])
