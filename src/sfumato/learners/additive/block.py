"""Some columns in cells: the evidence of their reports, the density of their true values, additive models over both."""

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
"""Steps of a screening fit, which starts near its end."""
ALONE_STEPS = 60
"""Steps of EM for a column's own density, from which the joint density starts."""
EM_BLOCKS = (10, 20, 30, 60, 120, 240, 480)
"""Steps of EM after which the joint density is judged on the other half of the people, each block as long as all
before it together."""
WORTH_A_BLOCK = 1.0
"""Nats about the other half that a block of steps has to gain: what one more number would gain by chance."""
LOOKED_FOR = 3.0
"""Nats that a product of columns costs for having been looked for among about twenty."""
EDGE_SHIFT = 0.1
"""Cells by which inner edges are shifted, so that none is at a round part of the domain."""
FEWEST_REPORT_CELLS = 1000
"""Combinations of report cells that are kept however few true cells there are."""


@dataclass(frozen=True)
class AdditiveFit:
    """Terms with their knots, β of every class but the first (intercept first), and how well they are known.

    information: of β, row by row, and the knots. worth: the log-likelihood of the reports less the price of the terms.
    """

    terms: list[Term]
    beta: Floats
    information: Floats
    worth: float

    @property
    def covariance(self) -> Floats:
        """The inverse of the information."""
        return inverse_information(self.information)


@dataclass(frozen=True)
class Learned:
    """Terms, β of every class but the first (intercept first), the covariance of β and of the free knots."""

    terms: list[Term]
    beta: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class ColumnBlock:
    """Some columns in cells, with the density of their true values, as additive models are fitted to them.

    points: the columns' cells as terms see them. density: P(t), whatever the class. steps: of EM that it took.
    """

    evidence: Evidence
    points: tuple[CellPoints, ...]
    density: Floats
    steps: int

    @classmethod
    def of(
        cls, reports: Reports, axes: Sequence[Axis], columns: Sequence[int], size: Size, steps: int | None = None
    ) -> ColumnBlock:
        """Count some columns and fit their density; ``steps`` of EM, as coarser cells found them; None: to be found."""
        chosen = [axes[j] for j in columns]
        resolution = size.resolution(chosen)
        evidence = Evidence.of_columns(reports, chosen, resolution, dtype=np.float64)
        points = tuple(CellPoints.of(j, axes[j], cut) for j, cut in zip(columns, evidence.cells, strict=True))
        density, steps = class_blind(reports, chosen, resolution, evidence.in_cells.sum(axis=-1), steps)
        return cls(evidence, points, density, steps)

    @property
    def classes(self) -> int:
        """How many true classes there are."""
        return int(self.evidence.product.true_shape[0])

    @cached_property
    def shares(self) -> Floats:
        """The true classes' shares."""
        return true_shares(self.evidence.product.label, self.evidence.in_cells)

    @cached_property
    def price(self) -> float:
        """½·log n, the price of one number."""
        return 0.5 * float(np.log(max(self.evidence.total, 2.0)))

    def price_of(self, term: Term) -> float:
        """Return the price of a term: for each coefficient and knot, and that a product was looked for among many."""
        return self.price * (self.classes - 1 + len(term.knots)) + LOOKED_FOR * (len(term.factors) - 1)

    def family(self, terms: Sequence[Term]) -> AdditiveFamily:
        """Return the models with these terms over this density."""
        return AdditiveFamily(self.points, self.density, terms, self.classes)

    def fitted(
        self, terms: Sequence[Term], beta: Floats | None = None, steps: int = STEPS, enough: float = ENOUGH
    ) -> AdditiveFit:
        """Fit coefficients and knots of these terms; ``beta``: those of the first of them, to start from."""
        family = self.family(terms)
        if beta is None:
            beta = np.zeros((self.classes - 1, 0))
        start = np.zeros((self.classes - 1, family.width))
        start[:, 0] = np.log(self.shares[1:] / self.shares[0])
        start[:, : beta.shape[1]] = beta
        top = fit_family(self.evidence, family, family.theta(start), steps, enough)
        worth = top.log_likelihood - sum(self.price_of(term) for term in terms)
        return AdditiveFit(family.terms_at(top.theta), family.beta(top.theta), top.information, worth)

    def with_density_unknown(self, fit: AdditiveFit) -> AdditiveFit:
        """Return the fit with the information that is left where the density is known only as the reports tell it.

        I_θθ − I_θa (I_aa + ridge)⁻¹ I_aθ, a the coefficients of a smooth change of the density.
        """
        family = self.family(fit.terms)
        theta = family.theta(fit.beta)
        at = Expansion(self.evidence, family.joint(theta))
        change = StiffDensity(self.evidence.cells)
        basis = change.basis().reshape(change.size, 1, -1)
        unknown = at.images(at.centred((basis * at.joint.reshape(self.classes, -1)).reshape(change.size, -1)))
        shared = at.images(at.centred(family.fields(theta))) @ unknown.T
        lost = shared @ np.linalg.solve(unknown @ unknown.T + np.diag(change.ridge), shared.T)
        return replace(fit, information=fit.information - lost)

    def renewed(self, fit: AdditiveFit, steps: int) -> ColumnBlock:
        """Return the block with the density that goes with these terms: by EM on the reports with their classes."""
        family = self.family(fit.terms)
        p_class = family.class_shares(family.theta(fit.beta)).reshape(self.evidence.product.true_shape)
        given = replace(self.evidence, table=GivenClasses(self.evidence.product, p_class))
        return replace(self, density=fit_grid(given, steps, self.density))


# --- cells and density ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """How finely a block is cut.

    cells: true cells in all, at most. along: true cells of one column, at most. widths: of report cells, in deviations
    of the noise, for one column, two, three, …
    """

    cells: int
    along: int
    widths: tuple[float, ...]

    def resolution(self, axes: Sequence[Axis]) -> Resolution:
        """Return as fine cells as so many true cells allow."""
        sizes = [axis.natural_size for axis in axes]
        along = 2
        while along < self.along and prod(min(along + 1, size) for size in sizes) <= self.cells:
            along += 1
        width = self.widths[min(len(axes), len(self.widths)) - 1]
        return Resolution(along, width, EDGE_SHIFT).coarsened(axes, max(self.cells, FEWEST_REPORT_CELLS))


def class_blind(
    reports: Reports, axes: Sequence[Axis], resolution: Resolution, counts: Floats, steps: int | None
) -> tuple[Floats, int]:
    """Fit the density of true values whatever the class, by EM from the columns' own densities as if independent.

    Return it and how many steps that took. The fewer steps, the smoother: there are as many as make one half of the
    reports tell most about the other. counts: of report cells, whatever the class.
    """
    asked = Evidence.of_columns(reports, axes, resolution, by_class=False)
    everybody = asked.with_counts(counts)
    if steps is None:
        fitted, held = asked.of_fold(HALF), asked.of_fold(~HALF)
        _, taken = steps_by_held_out(fitted, held, EM_BLOCKS, WORTH_A_BLOCK, independent(fitted))
        steps = sum(EM_BLOCKS[: taken - 1])
    density = fit_grid(everybody, steps, independent(everybody))[0].astype(np.float64)
    return np.asarray(density / density.sum()), steps


def independent(evidence: Evidence) -> Array | None:
    """Return the product of the columns' own densities, from which EM starts; None for a single column."""
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
    """Return the classes' shares; of labels that went through a channel, by its inverse.

    counts: of reported classes along the last axis.
    """
    reported = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    people = likely_people(reported, np.eye(reported.size) if label is None else np.linalg.pinv(np.asarray(label)).T)
    return np.asarray(people / people.sum())
