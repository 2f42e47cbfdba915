"""Counts become a density whose smoothness the reports decide; it becomes interval probabilities with error bars."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import lapack

from sfumato.reconstruction.cells import Roundings
from sfumato.reconstruction.diagnosis import messages_for

from .bars import (
    Places,
    averaged,
    hidden_detail,
    interval_variances,
    roughness_factor,
    stray,
)
from .penalised import (
    FEW_NUMBERS,
    LOG_DENSITY,
    SOFT_DENSITY,
    Codes,
    Fit,
    Matrix,
    PenalisedLikelihood,
    Seen,
    Vector,
    descend,
    few_basis,
)
from .simple import FEWEST_CELLS, everywhere, gaussians, on_a_stretch
from .single_values import AtomSearch, Heaps, Whereabouts, find_heaps, padded, told_table, unseen_rounding

BROAD = 1e3  # smoothing weight at which people who round are looked for
DECIDED = 15.0  # log likelihood that rounding promises, beyond which rough densities and atoms alone are not tried
NEARLY_ALL = 0.8  # unless so many round that they may as well be at a few values
COUNTED = 1e-4  # fits with less posterior weight than this are left out of the average
STRAY = 1.3  # amplitude of detail that may hide behind the noise
SELDOM = -6.0  # log odds beforehand that people round numbers that are not whole
HEAP_STRAY = 0.4  # the people at each round number may be more or fewer than rounding says, by this part of them
MOSTLY = 0.7  # the reports cannot tell where hidden detail is more than this part of a variance,
NOTABLE = 1e-4  # and is at least this part of what it was before there were reports
KEPT = 1e-4  # directions of the fine covariance with less than this part of its largest variance are left out
NOBODY_ROUNDS = Roundings()
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
    root: Matrix | None = None  # (k', ·) of the covariance of the cells it was solved on; None without noise
    starts: Codes | None = None  # the first fine cell of each of these, where they are fewer
    unseen_rounding: Vector | None = None  # by way to round, which share of people may do so and is not in the picture


def smooth(
    counts: Vector, table: Matrix, points: Matrix, cell_of: Codes, to_intervals: Matrix, widths: Vector | None = None,
    roundings: Roundings = NOBODY_ROUNDS,
) -> SmoothFit:
    """Average the penalised fits of every smoothness, each by how well it explains the reports.

    ``counts`` (m) reports per observation cell; ``table`` (m, k) P(cell | uniform in fine cell); ``points`` (m, q)
    P(cell | exactly this value) for candidate values, ``cell_of`` (q) their fine cells; ``to_intervals`` (r, k)
    aggregates cells to the wanted intervals; ``widths`` (k) of the fine cells, equal unless given; ``roundings``: ways
    in which people may round.
    """
    counts, table, points = (np.asarray(each, dtype=float) for each in (counts, table, points))
    width = np.ones(table.shape[1]) if widths is None else np.asarray(widths, dtype=float)
    rows = None if is_deterministic(table) else group_starts(table.shape[0])
    columns = None if is_deterministic(table) else group_starts(table.shape[1])
    merged = merge_rows(counts, rows), np.ascontiguousarray(merge_rows(merge_columns(table, width, columns), rows))
    share = width if columns is None else np.add.reduceat(width, columns)
    fine = columns is None and points.shape[1] > 0
    fit = _smooth(
        Seen(*merged, share / share.sum(), np.zeros((merged[0].size, 0))),
        Candidates(merge_rows(points, rows), merge_codes(cell_of, columns), roundings if fine else NOBODY_ROUNDS),
        merge_columns(np.asarray(to_intervals, dtype=float), width, columns),
    )
    return replace(fit, density=spread_out(fit.density, width, columns), starts=columns)


@dataclass(frozen=True)
class Candidates:
    """Single values at which many people may be, their cells, and ways to round."""

    points: Matrix
    cell_of: Codes
    roundings: Roundings


@dataclass(frozen=True)
class Beside:
    """Fits beside atoms and heaps, where the atoms may be, and how many people in each cell rounded."""

    fits: list[Fit]
    whereabouts: list[Whereabouts] = field(default_factory=list)
    heaped: Vector | None = None


def _smooth(reports: Seen, candidates: Candidates, to_intervals: Matrix) -> SmoothFit:
    if is_one_to_one(reports.table):
        return _noiseless(reports, [everywhere(reports)], to_intervals)
    problems = tuple(PenalisedLikelihood(reports, family) for family in (SOFT_DENSITY, LOG_DENSITY))
    path = descend(problems[0], down_to=BROAD)
    ways, told = candidates.roundings.tables, told_table(reports, candidates.points, candidates.roundings.places)
    heaps = find_heaps(AtomSearch(problems[0], candidates.points), ways, path[-1], told)
    sure = heaps is not None and heaps.promise > DECIDED and heaps.shares.sum() < NEARLY_ALL
    decided = sure and not candidates.roundings.places.size  # whole numbers are named oftener than others are rounded
    if not decided:
        path += descend(problems[0], path[-1], below=path[-1].weight)
    fits = [everywhere(reports), *path, *(() if decided else descend(problems[1]))]
    if reports.widths.size >= FEWEST_CELLS and not decided:
        fits += descend(PenalisedLikelihood(reports, FEW_NUMBERS, few_basis(reports.widths)))
        near, _ = _parts(*_counted(fits))
        fits.append(on_a_stretch(reports, near))
        fits += gaussians(reports, near, max(map(_evidence, fits)))
    if is_deterministic(reports.table):
        return _noiseless(reports, fits, to_intervals)
    found = [] if heaps is None else [_heaped(problems, heaps, candidates, to_intervals)]
    if found and candidates.roundings.places.size and max(map(_evidence, found[0].fits)) < max(map(_evidence, fits)):
        found = []
    if candidates.points.shape[1] and not decided:
        found.append(_with_atoms(problems, path, candidates, to_intervals))
    beside = max(found, key=lambda each: max(map(_evidence, each.fits), default=-np.inf), default=Beside([]))
    if beside.heaped is not None:
        return _with_round_numbers(replace(reports, table=told), candidates, fits, to_intervals, beside)
    estimate = _with_error_bars(reports, candidates, fits, to_intervals, beside)
    plain = max([*path, *beside.fits], key=_evidence)
    seen = replace(reports, columns=candidates.points[:, list(plain.places)])
    return replace(estimate, unseen_rounding=unseen_rounding(seen, ways, told, plain) if ways else None)


def _with_round_numbers(
    reports: Seen, candidates: Candidates, fits: list[Fit], to_intervals: Matrix, beside: Beside
) -> SmoothFit:
    """The same of cells and round numbers after them; people at these are then counted as atoms, in their cells."""
    k, places = to_intervals.shape[1], candidates.roundings.places
    if not places.size:
        return _with_error_bars(reports, candidates, fits, to_intervals, beside)
    to_cells = np.hstack([np.eye(k), np.eye(k)[:, candidates.cell_of[places]]])
    reports = replace(reports, widths=np.append(reports.widths, np.zeros(places.size)))
    fits = [padded(fit, reports.widths.size) for fit in fits]
    found = _with_error_bars(reports, candidates, fits, to_intervals @ to_cells, beside)
    atoms = dict(found.atoms)
    for place, mass in zip(places.tolist(), found.density[k:].tolist(), strict=True):
        atoms[place] = atoms.get(place, 0.0) + mass
    root = None if found.root is None else to_cells @ found.root
    return replace(found, density=found.density[:k], atoms=tuple(sorted(atoms.items())), root=root)


def _heaped(
    problems: tuple[PenalisedLikelihood, ...], heaps: Heaps, candidates: Candidates, to_intervals: Matrix
) -> Beside:
    """Fits of people some of whom round, beside the atoms that raise the evidence."""
    inner = tuple(heaps.problem(problem) for problem in problems)
    first, search = heaps.first, AtomSearch(inner[0], candidates.points)
    path = descend(inner[0]) if first is None or not first.places else [search.tuned(first.places, first)]
    beside = _with_atoms(inner, path, candidates, to_intervals)
    fits = beside.fits or [*path, *descend(inner[1])]
    best = max(fits, key=_evidence)
    columns = candidates.points[:, list(best.places)]
    told = [heaps.told_fit(problems[0].reports.total, columns, fit) for fit in fits]
    if candidates.roundings.places.size:
        told = [replace(fit, evidence=fit.evidence + SELDOM) for fit in told]
    return Beside(told, beside.whereabouts, heaps.heaped(best.cells))


def _with_atoms(
    problems: tuple[PenalisedLikelihood, ...], path: list[Fit], candidates: Candidates, to_intervals: Matrix
) -> Beside:
    """Fits beside the atoms that raise the evidence, and where these may be; nothing if there are none."""
    search = AtomSearch(problems[0], candidates.points)
    best = search.grow(path)
    if best is None:
        return Beside([])
    fits = [fit for problem in problems for fit in search.every_smoothness(problem, best)]
    interval_of = np.argmax(to_intervals, axis=0)[candidates.cell_of]
    return Beside(fits, [search.whereabouts(best, which, interval_of) for which in range(best.atoms.size)])


def _evidence(fit: Fit) -> float:
    return fit.evidence


def _with_error_bars(
    reports: Seen, candidates: Candidates, fits: list[Fit], to_intervals: Matrix, beside: Beside
) -> SmoothFit:
    """The average of the fits; its covariance, with room for detail that the noise hides."""
    places = Places.of(reports.widths.size, candidates.cell_of, beside.whereabouts)
    fits, weights = _counted(fits + beside.fits)
    freedom = np.array([fit.degrees_of_freedom for fit in fits])
    factors = [roughness_factor(fit, own, len(to_intervals)) for fit, own in zip(fits, freedom, strict=True)]
    mean, covariance = averaged(fits, weights, places, factors)
    density, atoms = _parts(fits, weights)
    expected = reports.table @ mean
    hidden, shown = hidden_detail(reports, expected, density, to_intervals, STRAY * stray(to_intervals @ mean), 2)
    if beside.heaped is not None:
        spread = HEAP_STRAY * (to_intervals @ beside.heaped) + 1e-6
        uneven, _ = hidden_detail(reports, expected, density, to_intervals, spread, 1)
        covariance += uneven @ uneven.T
    seen = np.einsum("rk,kl,rl->r", to_intervals, covariance, to_intervals)
    unseen = interval_variances(hidden, to_intervals)
    covariance += hidden @ hidden.T
    between = to_intervals @ covariance @ to_intervals.T
    beforehand = (STRAY * stray(to_intervals @ mean)) ** 2
    cannot_tell = bool(np.median(np.minimum(unseen / (seen + unseen) / MOSTLY, unseen / beforehand / NOTABLE)) > 1)
    said = messages_for(reports.counts, shown, np.sqrt(np.maximum(np.diag(between), 0.0)), True, cannot_tell)
    rule = fits[int(np.argmax(weights))].family
    alone = np.maximum(mean - weights @ [places.atoms(fit) for fit in fits], 0.0)
    numbers = float(weights @ freedom)
    return SmoothFit(
        to_intervals @ mean, between, alone, atoms, numbers, rule, said, cannot_tell, root_of(covariance)
    )


def root_of(covariance: Matrix) -> Matrix:
    """R of few columns with R·R' about the covariance: Cholesky's factor with pivots."""
    factor, pivots, rank, _ = lapack.dpstrf(covariance, tol=KEPT * float(np.diag(covariance).max()), lower=1)
    root = np.zeros((len(covariance), rank), dtype=np.float32)
    root[pivots - 1] = np.tril(factor)[:, :rank]
    return root


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


def class_covariance(reports: Seen, cells: Vector, fits: list[Fit], weights: Vector, to_intervals: Matrix) -> Matrix:
    """The multinomial covariance of the classes, plus what the fits do not know of the shape inside a class."""
    inside = cells / np.maximum(reports.table.T @ (reports.table @ cells), 1e-300)
    split = (to_intervals * inside) @ reports.table.T
    share = reports.counts / reports.total
    covariance = split @ ((np.diag(share) - np.outer(share, share)) / reports.total) @ split.T
    shape_only, nowhere = to_intervals - split @ reports.table, Places(np.zeros((cells.size, 0)))
    for fit, weight in zip(fits, weights, strict=True):
        covariance += weight * shape_only @ nowhere.covariance(fit) @ shape_only.T
    return np.asarray(covariance)


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


def merge_codes(codes: Codes, starts: Codes | None) -> Codes:
    """The merged cell of each cell."""
    return codes if starts is None else np.searchsorted(starts, codes, side="right") - 1


def spread_out(cells: Vector, widths: Vector, starts: Codes | None) -> Vector:
    """Probabilities of merged cells back on the fine ones, even inside."""
    if starts is None:
        return cells
    merged = np.add.reduceat(widths, starts)
    group = np.searchsorted(starts, np.arange(widths.size), side="right") - 1
    return np.asarray(cells[group] * widths / merged[group])
