"""Counts become a density whose smoothness the reports decide; it becomes interval probabilities with error bars.

Every hypothesis in `HYPOTHESES` is fitted, and the fits are averaged by how well they explain the reports. One family
alone has 1.6 times, maximum likelihood 3.4 times the error of the average (decision 31).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.evidence import DenseTable, Evidence
from sfumato.reconstruction.density.atoms import AtomPlace, AtomSearch
from sfumato.reconstruction.density.curves import FEW_NUMBERS, LOG_DENSITY, SOFT_DENSITY, Curves, PenalisedCurve
from sfumato.reconstruction.density.errors import (
    AtomCells,
    averaged,
    hidden_detail,
    interval_variances,
    root_of,
    roughness_factor,
    stray,
)
from sfumato.reconstruction.density.even import Everywhere, Stretch
from sfumato.reconstruction.density.fit import (
    Codes,
    DensityFit,
    Hypothesis,
    Matrix,
    Vector,
    best,
    posterior_weights,
    widths_of,
)
from sfumato.reconstruction.density.heaps import Heaps, find_heaps, padded, told_table, unseen_rounding
from sfumato.reconstruction.density.peaks import Peaks
from sfumato.reconstruction.diagnosis import messages_for
from sfumato.reconstruction.layout import Roundings

HYPOTHESES: tuple[Hypothesis, ...] = (
    Curves(SOFT_DENSITY), Curves(LOG_DENSITY), Curves(FEW_NUMBERS), Stretch(), Peaks()
)  # fmt: skip
"""The families of densities that are averaged, in the order in which they are fitted."""
BROAD = 1e3  # smoothing weight down to which curves are fitted before people who round are looked for
DECIDED = 15.0  # nats that rounding promises, beyond which rough densities and atoms alone are not tried
NEARLY_ALL = 0.8  # share of people who round, above which they may as well be at a few values
COUNTED = 1e-4  # fits with less posterior weight than this are left out of the average
STRAY = 1.3  # amplitude of detail that may hide behind the noise, in units of `stray`; decision 20
SELDOM = -6.0  # log odds beforehand that people round numbers that are not whole
HEAP_STRAY = 0.4  # the people at each round number may be more or fewer than rounding says, by this part of them
MOSTLY = 0.7  # the reports cannot tell where hidden detail is more than this part of a variance,
NOTABLE = 1e-4  # and is at least this part of what it was before there were reports
LEAST_ATOM = 1e-6  # share of people: a smaller atom is not shown
NOBODY_ROUNDS = Roundings()


@dataclass(frozen=True)
class SmoothFit:
    """Interval probabilities with their covariance, and what stands behind them.

    density: probability of each true cell, atoms excluded. atoms: (candidate value, probability). rule: the family
    that explains the reports best. cannot_tell: most of each error is room for detail that the noise hides. root: of
    the covariance of the true cells; None without noise. unseen_rounding: by way to round, which share of people may
    do so and is not in the picture.
    """

    probabilities: Vector
    covariance: Matrix
    density: Vector
    atoms: tuple[tuple[int, float], ...]
    degrees_of_freedom: float
    rule: str
    messages: tuple[str, ...]
    cannot_tell: bool = False
    root: Matrix | None = None
    unseen_rounding: Vector | None = None


@dataclass(frozen=True)
class Candidates:
    """Values at which many people may be, and ways to round.

    points: P[report cell, value]. cell_of: the true cell of each value.
    """

    points: Matrix
    cell_of: Codes
    roundings: Roundings = NOBODY_ROUNDS


@dataclass(frozen=True)
class Beside:
    """Fits beside atoms and heaps, where the atoms may be, and how many people in each cell rounded."""

    fits: list[DensityFit]
    atoms: tuple[AtomPlace, ...] = ()
    heaped: Vector | None = None

    @property
    def log_evidence(self) -> float:
        """That of the best fit."""
        return max((fit.log_evidence for fit in self.fits), default=-np.inf)


def smooth(evidence: Evidence, candidates: Candidates, to_intervals: Matrix) -> SmoothFit:
    """Average the fits of every hypothesis, each by how well it explains the reports.

    evidence: one problem about the true cells of a numeric column, through noise.
    to_intervals: (intervals × cells) aggregates cells to the wanted intervals.
    """
    curves = tuple(PenalisedCurve(evidence, family) for family in (SOFT_DENSITY, LOG_DENSITY))
    table, roundings = curves[0].table, candidates.roundings
    broad = curves[0].descend(down_to=BROAD)
    told = told_table(table, candidates.points, roundings.values)
    heaps = find_heaps(AtomSearch(curves[0], candidates.points), roundings.tables, broad[-1], told)
    sure = heaps is not None and heaps.promise > DECIDED and heaps.shares.sum() < NEARLY_ALL
    decided = sure and not roundings.values.size  # whole numbers are named oftener than others are rounded
    fits = fit_hypotheses(evidence, broad, () if decided else HYPOTHESES)
    path = [fit for fit in fits if fit.family == SOFT_DENSITY.name]
    beside = Beside([])
    if heaps is not None:
        beside = _heaped(curves, heaps, candidates, to_intervals)
        if roundings.values.size and beside.log_evidence < best(fits).log_evidence:
            beside = Beside([])
    if candidates.points.shape[1] and not decided:
        with_atoms = _with_atoms(curves, path, candidates, to_intervals)
        beside = max(beside, with_atoms, key=lambda either: either.log_evidence)
    if beside.heaped is not None:
        told_evidence = replace(evidence, table=DenseTable(told))
        return _with_round_numbers(told_evidence, widths_of(evidence), candidates, fits, to_intervals, beside)
    estimate = _with_error_bars(evidence, widths_of(evidence), candidates, fits, to_intervals, beside)
    plain = best([*path, *beside.fits])
    atom_table = candidates.points[:, list(plain.places)]
    unseen = unseen_rounding(evidence, atom_table, roundings.tables, told, plain) if roundings.tables else None
    return replace(estimate, unseen_rounding=unseen)


def fit_hypotheses(
    evidence: Evidence, start: Sequence[DensityFit], hypotheses: Sequence[Hypothesis]
) -> list[DensityFit]:
    """Fit every hypothesis, and that everyone is anywhere with equal chance; each may start from those before it."""
    fits = [*Everywhere().fits(evidence, ()), *start]
    for hypothesis in hypotheses:
        fits += hypothesis.fits(evidence, fits)
    return fits


def _with_round_numbers(
    evidence: Evidence, widths: Vector, candidates: Candidates, fits: list[DensityFit], to_intervals: Matrix,
    beside: Beside,
) -> SmoothFit:
    """Average fits of cells and of round numbers after them; people at these are counted as atoms, in their cells."""
    k, places = to_intervals.shape[1], candidates.roundings.values
    if not places.size:
        return _with_error_bars(evidence, widths, candidates, fits, to_intervals, beside)
    to_cells = np.hstack([np.eye(k), np.eye(k)[:, candidates.cell_of[places]]])
    widths = np.append(widths, np.zeros(places.size))
    fits = [padded(fit, widths.size) for fit in fits]
    estimate = _with_error_bars(evidence, widths, candidates, fits, to_intervals @ to_cells, beside)
    atoms = dict(estimate.atoms)
    for place, mass in zip(places.tolist(), estimate.density[k:].tolist(), strict=True):
        atoms[place] = atoms.get(place, 0.0) + mass
    root = None if estimate.root is None else to_cells @ estimate.root
    return replace(estimate, density=estimate.density[:k], atoms=tuple(sorted(atoms.items())), root=root)


def _heaped(
    curves: tuple[PenalisedCurve, ...], heaps: Heaps, candidates: Candidates, to_intervals: Matrix
) -> Beside:
    """Fit people some of whom round, beside the atoms that raise the log evidence."""
    inner = tuple(heaps.on(curve) for curve in curves)
    first, search = heaps.first, AtomSearch(inner[0], candidates.points)
    path = inner[0].descend() if first is None or not first.places else [search.tuned(first.places, first)]
    beside = _with_atoms(inner, path, candidates, to_intervals)
    fits = beside.fits or [*path, *inner[1].descend()]
    top = best(fits)
    atom_table = candidates.points[:, list(top.places)]
    told = [heaps.told_fit(curves[0].evidence.total, atom_table, fit) for fit in fits]
    if candidates.roundings.values.size:
        told = [replace(fit, log_evidence=fit.log_evidence + SELDOM) for fit in told]
    return Beside(told, beside.atoms, heaps.heaped(top.cells))


def _with_atoms(
    curves: tuple[PenalisedCurve, ...], path: Sequence[DensityFit], candidates: Candidates, to_intervals: Matrix
) -> Beside:
    """Fit curves beside the atoms that raise the log evidence; nothing if there are none."""
    search = AtomSearch(curves[0], candidates.points)
    top = search.grow(path)
    if top is None:
        return Beside([])
    fits = [fit for curve in curves for fit in search.every_smoothness(curve, top)]
    interval_of = np.argmax(to_intervals, axis=0)[candidates.cell_of]
    return Beside(fits, tuple(search.place_of(top, which, interval_of) for which in range(top.atoms.size)))


def _with_error_bars(
    evidence: Evidence, widths: Vector, candidates: Candidates, fits: list[DensityFit], to_intervals: Matrix,
    beside: Beside,
) -> SmoothFit:
    """Average the fits; their covariance has room for detail that the noise hides."""
    atom_cells = AtomCells.of(widths.size, candidates.cell_of, beside.atoms)
    fits, weights = counted(fits + beside.fits)
    freedom = np.array([fit.degrees_of_freedom for fit in fits])
    factors = [roughness_factor(fit, own, len(to_intervals)) for fit, own in zip(fits, freedom, strict=True)]
    mean, covariance = averaged(fits, weights, atom_cells, factors)
    density, atoms = density_and_atoms(fits, weights)
    expected = evidence.table.dense() @ mean
    spread = STRAY * stray(to_intervals @ mean)
    hidden, shown = hidden_detail(evidence, widths, expected, density, to_intervals, spread, 2)
    if beside.heaped is not None:
        of_heaps = HEAP_STRAY * (to_intervals @ beside.heaped) + 1e-6
        uneven, _ = hidden_detail(evidence, widths, expected, density, to_intervals, of_heaps, 1)
        covariance += uneven @ uneven.T
    seen = np.einsum("rk,kl,rl->r", to_intervals, covariance, to_intervals)
    unseen = interval_variances(hidden, to_intervals)
    covariance += hidden @ hidden.T
    between = to_intervals @ covariance @ to_intervals.T
    cannot_tell = bool(np.median(np.minimum(unseen / (seen + unseen) / MOSTLY, unseen / spread**2 / NOTABLE)) > 1)
    stderr = np.sqrt(np.maximum(np.diag(between), 0.0))
    messages = messages_for(evidence.counts[0], shown, stderr, True, cannot_tell)
    alone = np.maximum(mean - weights @ [atom_cells.at_atoms(fit) for fit in fits], 0.0)
    rule = fits[int(np.argmax(weights))].family
    return SmoothFit(
        to_intervals @ mean, between, alone, atoms, float(weights @ freedom), rule, messages, cannot_tell,
        root_of(covariance),
    )  # fmt: skip


def counted(fits: Sequence[DensityFit]) -> tuple[list[DensityFit], Vector]:
    """Return the fits that carry weight, and their weights."""
    weights = posterior_weights(np.array([fit.log_evidence for fit in fits]))
    keep = np.flatnonzero(weights > COUNTED)
    return [fits[i] for i in keep.tolist()], weights[keep] / weights[keep].sum()


def density_and_atoms(fits: Sequence[DensityFit], weights: Vector) -> tuple[Vector, tuple[tuple[int, float], ...]]:
    """Return the averaged density and atoms, together of mass 1."""
    density = np.zeros_like(fits[0].cells)
    atoms: dict[int, float] = {}
    for fit, weight in zip(fits, weights, strict=True):
        share = weight / (fit.cells.sum() + fit.atoms.sum())
        density += share * fit.cells
        for place, mass in zip(fit.places, fit.atoms, strict=True):
            atoms[place] = atoms.get(place, 0.0) + float(share * mass)
    return density, tuple(sorted((place, mass) for place, mass in atoms.items() if mass > LEAST_ATOM))
