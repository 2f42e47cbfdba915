"""`ColumnBlock`: some columns in cells, with the counts of their reports and the density of their true values.

Additive models of the class are fitted to a block:

    joint(y, t) = g(t)·P(y | t),      g the density of true cells t whatever the class
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.evidence import Axis, Evidence, Expansion, Resolution, fit_family
from sfumato.evidence.fisher import inverse_information
from sfumato.evidence.grids import GivenClasses, fit_grid, steps_by_held_out
from sfumato.evidence.held_out import HALF
from sfumato.evidence.tables import Array
from sfumato.learners.additive.model import AdditiveFamily
from sfumato.learners.additive.terms import CellPoints, Term
from sfumato.learners.classes import likely_people
from sfumato.learners.stiff_density import StiffDensity

ENOUGH = 0.5
"""Nats that a step of a screening fit has to promise: less never decides between terms, whose price is several."""
STEPS = 8
"""Steps of a screening fit, which starts near its end. By judgement; fewer steps leave terms worse than they are, and
more take longer."""
ALONE_STEPS = 60
"""Steps of EM for a column's own density, from which the joint density starts. By judgement; fewer steps make a
smoother start."""
EM_BLOCKS = (10, 20, 30, 60, 120, 240, 480)
"""Steps of EM after which the joint density is judged on the other half of the people, each block as long as all
before it together."""
WORTH_A_BLOCK = 1.0
"""Nats about the other half that a block of steps has to gain: what one more number would gain by chance."""
LOOKED_FOR = 3.0
"""Nats that a product of columns costs for having been looked for: log 20, for about twenty that are tried."""
EDGE_SHIFT = 0.1
"""Cells by which inner edges are shifted, so that none is at a round part of the domain. By judgement; with 0 an edge
may lie on a value that many people name, and a cell may have to be cut where a rule of round numbers cuts."""
FEWEST_REPORT_CELLS = 1000
"""Combinations of report cells that are kept however few true cells there are. By judgement; fewer lose what reports
tell, and more take longer."""


@dataclass(frozen=True)
class AdditiveFit:
    """An additive model as it was fitted to one block of columns.

    terms: with their knots where the likelihood is largest.
    beta: coefficients of every class but the first, [class, intercept and then each term].
    information: Fisher's, of beta row by row and then of the knots in widths of their columns.
    worth: log-likelihood of the reports less the price of the terms, in nats.
    """

    terms: list[Term]
    beta: Floats
    information: Floats
    worth: float

    @property
    def covariance(self) -> Floats:
        """The covariance of beta and the knots: the inverse of the information."""
        return inverse_information(self.information)


@dataclass(frozen=True)
class LearnedTerms:
    """The terms of an additive model over all columns.

    beta: coefficients of every class but the first, [class, intercept and then each term].
    covariance: of beta row by row and then of the free knots, in widths of their columns.
    """

    terms: list[Term]
    beta: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class ColumnBlock:
    """Some columns in cells, with the density of their true values, as additive models are fitted to them.

    evidence: counts of the reports by class, with the table of each column.
    points: the columns' cells as terms read them.
    density: P(t), whatever the class.
    steps: of EM that the density took.
    """

    evidence: Evidence
    points: tuple[CellPoints, ...]
    density: Floats
    steps: int

    @classmethod
    def of(
        cls, reports: Reports, axes: Sequence[Axis], columns: Sequence[int], size: BlockSize, steps: int | None = None
    ) -> ColumnBlock:
        """Count the reports of some columns and fit the density of their true values.

        axes: all columns. columns: which of them. size: how finely they are cut.
        steps: of EM for the density; None: as many as held-out people ask for.
        """
        chosen = [axes[j] for j in columns]
        resolution = size.resolution(chosen)
        evidence = Evidence.of_columns(reports, chosen, resolution, dtype=np.float64)
        points = tuple(CellPoints.of(j, axes[j], cut) for j, cut in zip(columns, evidence.cells, strict=True))
        density, steps = fit_density(reports, chosen, resolution, evidence.in_cells.sum(axis=-1), steps)
        return cls(evidence, points, density, steps)

    @property
    def classes(self) -> int:
        """How many true classes there are."""
        return int(self.evidence.product.true_shape[0])

    @cached_property
    def shares(self) -> Floats:
        """The shares of the true classes."""
        return true_shares(self.evidence.product.label, self.evidence.in_cells)

    @cached_property
    def price(self) -> float:
        """The price of one fitted number in nats, ½·log(number of reports)."""
        return 0.5 * float(np.log(max(self.evidence.total, 2.0)))

    def price_of(self, term: Term) -> float:
        """Return the price of a term in nats: for its coefficients and knots, and for the search if it is a product."""
        return self.price * (self.classes - 1 + len(term.knots)) + LOOKED_FOR * (len(term.factors) - 1)

    def family(self, terms: Sequence[Term]) -> AdditiveFamily:
        """Return the additive models with these terms over the density of this block."""
        return AdditiveFamily(self.points, self.density, terms, self.classes)

    def fit(
        self, terms: Sequence[Term], beta: Floats | None = None, steps: int = STEPS, enough: float = ENOUGH
    ) -> AdditiveFit:
        """Fit the coefficients and knots of these terms to the reports.

        beta: coefficients to start from, of the intercept and of the first terms; None: none but the classes' shares.
        steps: of Fisher scoring at most. enough: nats that a step has to promise.
        """
        family = self.family(terms)
        if beta is None:
            beta = np.zeros((self.classes - 1, 0))
        start = np.zeros((self.classes - 1, family.width))
        start[:, 0] = np.log(self.shares[1:] / self.shares[0])
        start[:, : beta.shape[1]] = beta
        top = fit_family(self.evidence, family, family.theta(start), steps, enough)
        worth = top.log_likelihood - sum(self.price_of(term) for term in terms)
        return AdditiveFit(family.terms_at(top.theta), family.beta(top.theta), top.information, worth)

    def with_unsure_density(self, fit: AdditiveFit) -> AdditiveFit:
        """Return a fit with less information: what is left where the density of true values is unsure itself.

        I_θθ − I_θa (I_aa + ridge)⁻¹ I_aθ, a the coefficients of a smooth change of the density.
        """
        family = self.family(fit.terms)
        theta = family.theta(fit.beta)
        at = Expansion(self.evidence, family.joint(theta))
        change = StiffDensity(self.evidence.cells)
        basis = change.basis().reshape(change.size, 1, -1)
        unsure = at.images(at.centred((basis * at.joint.reshape(self.classes, -1)).reshape(change.size, -1)))
        shared = at.images(at.centred(family.fields(theta))) @ unsure.T
        lost = shared @ np.linalg.solve(unsure @ unsure.T + np.diag(change.ridge), shared.T)
        return replace(fit, information=fit.information - lost)

    def with_density_of(self, fit: AdditiveFit, steps: int) -> ColumnBlock:
        """Return the block with its density fitted anew, P(y | t) as in a fit: by EM on the reports with classes."""
        family = self.family(fit.terms)
        p_class = family.class_shares(family.theta(fit.beta)).reshape(self.evidence.product.true_shape)
        given = replace(self.evidence, table=GivenClasses(self.evidence.product, p_class))
        return replace(self, density=fit_grid(given, steps, self.density))


# --- cells and density ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlockSize:
    """How finely the columns of a block are cut.

    cells: true cells in all, at most. along: true cells of one column, at most. widths: of report cells, in standard
    deviations of the noise, for one column, two, three, …
    """

    cells: int
    along: int
    widths: tuple[float, ...]

    def resolution(self, axes: Sequence[Axis]) -> Resolution:
        """Return the finest resolution of these columns that the numbers of true cells allow."""
        sizes = [axis.natural_size for axis in axes]
        along = 2
        while along < self.along and prod(min(along + 1, size) for size in sizes) <= self.cells:
            along += 1
        width = self.widths[min(len(axes), len(self.widths)) - 1]
        return Resolution(along, width, EDGE_SHIFT).coarsened(axes, max(self.cells, FEWEST_REPORT_CELLS))


def fit_density(
    reports: Reports, axes: Sequence[Axis], resolution: Resolution, counts: Floats, steps: int | None
) -> tuple[Floats, int]:
    """Fit the density of true values whatever the class; return it and the number of EM steps that it took.

    EM starts from the columns' own densities as if independent. The fewer steps, the smoother the density.

    counts: reports in each report cell, whatever the class.
    steps: how many to take; None: as many as make the density of one half of the people foretell the other half best.
    """
    by_half = Evidence.of_columns(reports, axes, resolution, by_class=False)
    everybody = by_half.with_counts(counts)
    if steps is None:
        fitted, held_out = by_half.of_fold(HALF), by_half.of_fold(~HALF)
        _, taken = steps_by_held_out(fitted, held_out, EM_BLOCKS, WORTH_A_BLOCK, independent_density(fitted))
        steps = sum(EM_BLOCKS[: taken - 1])
    density = fit_grid(everybody, steps, independent_density(everybody))[0].astype(np.float64)
    return np.asarray(density / density.sum()), steps


def independent_density(evidence: Evidence) -> Array | None:
    """Fit each column's own density and return their product; None for a single column."""
    tables, counts = evidence.product.factors, evidence.in_cells
    if len(tables) < 2:
        return None
    start = np.ones(1, np.float32)
    for j, (cut, table) in enumerate(zip(evidence.cells, tables, strict=True)):
        of_column = counts.sum(axis=tuple(k for k in range(counts.ndim) if k != j))
        alone = Evidence.of_counts(type(evidence.product)([table], dtype=np.float32), of_column, cells=(cut,))
        start = np.multiply.outer(start, fit_grid(alone, ALONE_STEPS)[0])
    return start


def true_shares(label: Floats | None, counts: Floats) -> Floats:
    """Estimate the shares of the true classes.

    label: P[reported class, true class], whose inverse is applied; None where labels are clear.
    counts: of reports, the reported class along the last axis.
    """
    reported = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    people = likely_people(reported, np.eye(reported.size) if label is None else np.linalg.pinv(np.asarray(label)).T)
    return np.asarray(people / people.sum())
