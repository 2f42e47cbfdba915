"""The smooth reconstruction: fits of every hypothesis about the density, averaged by how well they explain the reports.

The average becomes interval probabilities with error bars. The reports decide how smooth it is: rough hypotheses have
weight only where the reports show detail (decision 20).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.evidence import DenseTable, Evidence
from sfumato.reconstruction.density.atoms import AtomPosition, AtomSearch
from sfumato.reconstruction.density.curves import FEW_NUMBERS, LOG_DENSITY, SOFT_DENSITY, Curves, PenalisedCurve
from sfumato.reconstruction.density.errors import (
    AtomCells,
    averaged,
    hidden_detail,
    interval_variances,
    prior_deviations,
    root_of,
    roughness_factor,
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
from sfumato.reconstruction.density.heaps import Heaps, find_heaps, padded, stated_table, unseen_rounding
from sfumato.reconstruction.density.peaks import Peaks
from sfumato.reconstruction.diagnosis import messages_for
from sfumato.reconstruction.layout import Roundings

HYPOTHESES: tuple[Hypothesis, ...] = (
    Curves(SOFT_DENSITY), Curves(LOG_DENSITY), Curves(FEW_NUMBERS), Stretch(), Peaks()
)  # fmt: skip
"""The families of densities that are averaged, in the order in which they are fitted."""
BROAD = 1e3
"""Smoothing weight down to which curves are fitted before people who round are looked for. By judgement: rougher curves
follow the heaps themselves, so that rounding would explain nothing more."""
DECIDED = 15.0
"""Nats that rounding must promise for rough densities and atoms alone not to be tried, where numbers are whole. By
judgement: e^15 to 1; larger costs time on heaped data, smaller may leave out a better explanation."""
NEARLY_ALL = 0.8
"""Share of people who round, above which atoms alone are tried all the same. By judgement: nearly all at round numbers
may as well be at a few values; smaller costs time on heaped data."""
COUNTED = 1e-4
"""Posterior weight of a fit below which it is left out of the average. By judgement: all that are left out together
move a share by some thousandths of it at most; smaller costs time."""
HIDDEN_DETAIL = 1.3
"""τ, the prior standard deviation of detail that the noise may hide, in units of `prior_deviations`. Chosen by coverage
(decision 20, bench/reconstruction_coverage.py): smaller covers less than 86 % more often, larger makes bars wider."""
ROUNDING_PRIOR = -6.0
"""Prior log odds that people round numbers that are not whole. By judgement: only where nothing else explains the
reports; decision 20 measures the reconstruction with it."""
HEAP_DETAIL = 0.4
"""Prior standard deviation of the people at each round number, as a part of those that rounding predicts. Chosen with
HIDDEN_DETAIL; smaller leaves out that some round numbers are favoured, larger makes bars wider."""
HIDDEN_PART = 0.7
"""Part of a variance above which hidden detail makes the diagnosis say that the reports cannot tell (decision 20):
larger, fewer estimates are flagged, and more of the others have bars far too wide."""
NOT_DECIDED = 1e-4
"""Part of its prior variance that hidden detail must keep besides. By judgement: where a million reports decide all but
a trace, that trace may still be most of a tiny error, and no warning is due."""
NOBODY_ROUNDS = Roundings()


@dataclass(frozen=True)
class SmoothFit:
    """Interval probabilities with their covariance, and the density behind them.

    density: probability of each true cell, atoms excluded. atoms: (index of a candidate value, probability). rule: the
    family that explains the reports best. messages: warnings. cannot_tell: whether most of each error is room for
    detail that the noise hides. root: R with R Rᵀ the covariance of the true cells; None without noise.
    unseen_rounding: for each multiple √E h² of the share h of people who may round to it unseen; None where nobody may,
    or where they are in the fit.
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
    """The candidate values at which many people may be, and the multiples to which they may round.

    points: P[report cell, value]. cell_of: the true cell of each value. roundings: the tables of people who round.
    """

    points: Matrix
    cell_of: Codes
    roundings: Roundings = NOBODY_ROUNDS


@dataclass(frozen=True)
class SpikedFits:
    """Fits of smooth densities with atoms or heaps; none where neither raises the log evidence.

    atoms: the position of each. heaped: the share of people who round and state each value; None without heaps.
    """

    fits: list[DensityFit]
    atoms: tuple[AtomPosition, ...] = ()
    heaped: Vector | None = None

    @property
    def log_evidence(self) -> float:
        """The log evidence of the best fit; −∞ without fits."""
        return max((fit.log_evidence for fit in self.fits), default=-np.inf)


def smooth(evidence: Evidence, candidates: Candidates, to_intervals: Matrix) -> SmoothFit:
    """Return the average of the fits of every hypothesis, each weighted by how well it explains the reports.

    evidence: one problem about the true cells of a numeric column, through noise. candidates: of atoms and rounding.
    to_intervals: (intervals × cells) sums cells to the wanted intervals.
    """
    curves = tuple(PenalisedCurve(evidence, family) for family in (SOFT_DENSITY, LOG_DENSITY))
    table, roundings = curves[0].table, candidates.roundings
    broad = curves[0].descend(down_to=BROAD)
    stated = stated_table(table, candidates.points, roundings.values)
    heaps = find_heaps(AtomSearch(curves[0], candidates.points), roundings.tables, broad[-1], stated)
    sure = heaps is not None and heaps.promise > DECIDED and heaps.shares.sum() < NEARLY_ALL
    decided = sure and not roundings.values.size  # whole numbers are named oftener than others are rounded
    fits = fit_hypotheses(evidence, broad, () if decided else HYPOTHESES)
    path = [fit for fit in fits if fit.family == SOFT_DENSITY.name]
    spiked = SpikedFits([])
    if heaps is not None:
        spiked = _fit_heaps(curves, heaps, candidates, to_intervals)
        if roundings.values.size and spiked.log_evidence < best(fits).log_evidence:
            spiked = SpikedFits([])
    if candidates.points.shape[1] and not decided:
        with_atoms = _fit_atoms(curves, path, candidates, to_intervals)
        spiked = max(spiked, with_atoms, key=lambda either: either.log_evidence)
    if spiked.heaped is not None:
        stated_evidence = replace(evidence, table=DenseTable(stated))
        return _average_stated(stated_evidence, widths_of(evidence), candidates, fits, to_intervals, spiked)
    estimate = _average(evidence, widths_of(evidence), candidates, fits, to_intervals, spiked)
    plain = best([*path, *spiked.fits])
    atom_table = candidates.points[:, list(plain.atom_indices)]
    unseen = unseen_rounding(evidence, atom_table, roundings.tables, stated, plain) if roundings.tables else None
    return replace(estimate, unseen_rounding=unseen)


def fit_hypotheses(
    evidence: Evidence, start: Sequence[DensityFit], hypotheses: Sequence[Hypothesis]
) -> list[DensityFit]:
    """Return the fits of every hypothesis, and before them that of everyone anywhere with equal chance.

    start: fits that are made already. Each hypothesis may start from the fits before it.
    """
    fits = [*Everywhere().fits(evidence, ()), *start]
    for hypothesis in hypotheses:
        fits += hypothesis.fits(evidence, fits)
    return fits


def _average_stated(
    evidence: Evidence, widths: Vector, candidates: Candidates, fits: list[DensityFit], to_intervals: Matrix,
    spiked: SpikedFits,
) -> SmoothFit:
    """Return the average of fits over stated values (see `heaps`); people at round numbers become atoms in their cells.

    evidence: through the table of the stated values. widths, fits: of the cells.
    """
    k, round_numbers = to_intervals.shape[1], candidates.roundings.values
    if not round_numbers.size:
        return _average(evidence, widths, candidates, fits, to_intervals, spiked)
    to_cells = np.hstack([np.eye(k), np.eye(k)[:, candidates.cell_of[round_numbers]]])
    widths = np.append(widths, np.zeros(round_numbers.size))
    fits = [padded(fit, widths.size) for fit in fits]
    estimate = _average(evidence, widths, candidates, fits, to_intervals @ to_cells, spiked)
    atoms = dict(estimate.atoms)
    for index, mass in zip(round_numbers.tolist(), estimate.density[k:].tolist(), strict=True):
        atoms[index] = atoms.get(index, 0.0) + mass
    root = None if estimate.root is None else to_cells @ estimate.root
    return replace(estimate, density=estimate.density[:k], atoms=tuple(sorted(atoms.items())), root=root)


def _fit_heaps(
    curves: tuple[PenalisedCurve, ...], heaps: Heaps, candidates: Candidates, to_intervals: Matrix
) -> SpikedFits:
    """Return fits in which some people round, with the atoms that raise the log evidence."""
    inner = tuple(heaps.before_rounding(curve) for curve in curves)
    first, search = heaps.first, AtomSearch(inner[0], candidates.points)
    path = inner[0].descend() if first is None or not first.atom_indices else [search.tune(first.atom_indices, first)]
    with_atoms = _fit_atoms(inner, path, candidates, to_intervals)
    fits = with_atoms.fits or [*path, *inner[1].descend()]
    top = best(fits)
    atom_table = candidates.points[:, list(top.atom_indices)]
    stated = [heaps.stated_fit(curves[0].evidence.total, atom_table, fit) for fit in fits]
    if candidates.roundings.values.size:
        stated = [replace(fit, log_evidence=fit.log_evidence + ROUNDING_PRIOR) for fit in stated]
    return SpikedFits(stated, with_atoms.atoms, heaps.heaped(top.cells))


def _fit_atoms(
    curves: tuple[PenalisedCurve, ...], path: Sequence[DensityFit], candidates: Candidates, to_intervals: Matrix
) -> SpikedFits:
    """Return fits of curves with the atoms that raise the log evidence; none if no atom does.

    path: fits without atoms, from smooth to rough.
    """
    search = AtomSearch(curves[0], candidates.points)
    top = search.grow(path)
    if top is None:
        return SpikedFits([])
    fits = [fit for curve in curves for fit in search.every_smoothness(curve, top)]
    interval_of = np.argmax(to_intervals, axis=0)[candidates.cell_of]
    return SpikedFits(fits, tuple(search.position_of(top, atom, interval_of) for atom in range(top.atoms.size)))


def _average(
    evidence: Evidence, widths: Vector, candidates: Candidates, fits: list[DensityFit], to_intervals: Matrix,
    spiked: SpikedFits,
) -> SmoothFit:
    """Return the average of the fits, with a covariance that has room for detail that the noise hides.

    widths: of the cells. fits: without atoms and heaps. spiked: with them.
    """
    atom_cells = AtomCells.of(widths.size, candidates.cell_of, spiked.atoms)
    fits, weights = leading(fits + spiked.fits)
    freedom = np.array([fit.degrees_of_freedom for fit in fits])
    factors = [roughness_factor(fit, own, len(to_intervals)) for fit, own in zip(fits, freedom, strict=True)]
    mean, covariance = averaged(fits, weights, atom_cells, factors)
    density, atoms = density_and_atoms(fits, weights)
    expected = evidence.table.dense() @ mean
    spread = HIDDEN_DETAIL * prior_deviations(to_intervals @ mean)
    hidden, shown = hidden_detail(evidence, widths, expected, density, to_intervals, spread, 2)
    if spiked.heaped is not None:
        of_heaps = HEAP_DETAIL * (to_intervals @ spiked.heaped) + 1e-6
        uneven, _ = hidden_detail(evidence, widths, expected, density, to_intervals, of_heaps, 1)
        covariance += uneven @ uneven.T
    seen = np.einsum("rk,kl,rl->r", to_intervals, covariance, to_intervals)
    unseen = interval_variances(hidden, to_intervals)
    covariance += hidden @ hidden.T
    between = to_intervals @ covariance @ to_intervals.T
    part, kept = unseen / (seen + unseen), unseen / spread**2
    cannot_tell = bool(np.median(np.minimum(part / HIDDEN_PART, kept / NOT_DECIDED)) > 1)
    stderr = np.sqrt(np.maximum(np.diag(between), 0.0))
    messages = messages_for(evidence.counts[0], shown, stderr, True, cannot_tell)
    alone = np.maximum(mean - weights @ [atom_cells.at_atoms(fit) for fit in fits], 0.0)
    rule = fits[int(np.argmax(weights))].family
    return SmoothFit(
        to_intervals @ mean, between, alone, atoms, float(weights @ freedom), rule, messages, cannot_tell,
        root_of(covariance),
    )  # fmt: skip


def leading(fits: Sequence[DensityFit]) -> tuple[list[DensityFit], Vector]:
    """Return the fits with a posterior weight above COUNTED, and their weights, of sum 1."""
    weights = posterior_weights(np.array([fit.log_evidence for fit in fits]))
    keep = np.flatnonzero(weights > COUNTED)
    return [fits[i] for i in keep.tolist()], weights[keep] / weights[keep].sum()


def density_and_atoms(fits: Sequence[DensityFit], weights: Vector) -> tuple[Vector, tuple[tuple[int, float], ...]]:
    """Return the weighted averages of the fits' densities and atoms, together of mass 1.

    The atoms are (index of the candidate value, share of people).
    """
    density = np.zeros_like(fits[0].cells)
    atoms: dict[int, float] = {}
    for fit, weight in zip(fits, weights, strict=True):
        share = weight / (fit.cells.sum() + fit.atoms.sum())
        density += share * fit.cells
        for index, mass in zip(fit.atom_indices, fit.atoms, strict=True):
            atoms[index] = atoms.get(index, 0.0) + float(share * mass)
    return density, tuple(sorted(atoms.items()))
