"""Some columns in cells: counts of their reports, the density of their true values, and additive models over both."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from sfumato.counts import Fold, Reports
from sfumato.domain import Floats
from sfumato.learners.additive.model import AdditiveModel
from sfumato.learners.additive.terms import CellPoints, Term
from sfumato.learners.classes import likely_people
from sfumato.learners.joint.grid import RELAXATION, Array, GridProblem, Resolution
from sfumato.learners.likelihood import Density, Expansion, Fit, Observed, maximise
from sfumato.reconstruction import Axis

TOLERANCE, STEPS = 0.5, 8
ALONE_STEPS = 60
EM_STEPS = (10, 20, 30, 60, 120, 240, 480)
LOOKED_FOR = 3.0  # nats
TELLING = 1.0  # nats about held-out reports that further steps of EM have to gain


@dataclass(frozen=True)
class Fitted:
    """Terms with their knots, and what was learned about them."""

    terms: list[Term]
    beta: Floats
    fit: Fit
    worth: float
    """The log-likelihood of the reports less the price of the terms."""


@dataclass(frozen=True)
class Learned:
    """Terms, β of every class but the first (intercept first), the covariance of β and of the free knots."""

    terms: list[Term]
    beta: Floats
    covariance: Floats


class Grid:
    """Some columns in cells: counts of their reports, the density of their true values, and models over both."""

    def __init__(
        self, reports: Reports, axes: Sequence[Axis], columns: Sequence[int], size: Size, steps: int | None = None
    ) -> None:
        """`steps` of EM for the density, as a coarser grid found them; None: to be found."""
        chosen = [axes[j] for j in columns]
        resolution = size.resolution(chosen)
        problem = GridProblem.of(reports, chosen, resolution, dtype=np.float64)
        self.observed, self.cells = Observed.of(problem), problem.cells
        self.table, self.classes = problem.table, int(problem.table.true_shape[0])
        self.points = [CellPoints.of(j, axes[j], cut) for j, cut in zip(columns, problem.cells, strict=True)]
        self.counts = self.observed.counts.reshape(problem.table.report_shape)
        self.density, self.steps = class_blind(reports, chosen, resolution, self.counts.sum(axis=-1), steps)
        self.shares = true_shares(problem.table.label, self.counts)
        self.price = 0.5 * float(np.log(max(self.observed.total, 2.0)))

    def price_of(self, term: Term) -> float:
        """½·log n for each coefficient and knot, and that a product was looked for among many."""
        return self.price * (self.classes - 1 + len(term.knots)) + LOOKED_FOR * (len(term.factors) - 1)

    def fitted(
        self, terms: Sequence[Term], beta: Floats | None = None, steps: int = STEPS, tolerance: float = TOLERANCE
    ) -> Fitted:
        """The terms with the coefficients and knots that fit best."""
        model = AdditiveModel(self.points, self.density, terms, self.classes)
        if beta is None:
            beta = np.zeros((self.classes - 1, 0))
        start = np.zeros((self.classes - 1, model.width))
        start[:, 0] = np.log(self.shares[1:] / self.shares[0])
        start[:, : beta.shape[1]] = beta
        fit = maximise(self.observed, model, model.theta(start), steps, tolerance)
        worth = fit.log_likelihood - sum(self.price_of(term) for term in terms)
        return Fitted(model.terms_at(fit.theta), model.beta(fit.theta), fit, worth)

    def with_density_unknown(self, found: Fitted) -> Fitted:
        """With the information that is left where the density is known as well as the reports tell it only.

        I_θθ − I_θa (I_aa + ridge)⁻¹ I_aθ, a the coefficients of a smooth change of the density.
        """
        model = AdditiveModel(self.points, self.density, found.terms, self.classes)
        theta = model.theta(found.beta)
        at = Expansion(self.observed, model.joint(theta))
        change = Density(self.cells)
        basis = change.basis().reshape(change.size, 1, -1)
        unknown = at.images(at.centred((basis * at.joint.reshape(self.classes, -1)).reshape(change.size, -1)))
        shared = at.images(at.centred(model.fields(theta))) @ unknown.T
        lost = shared @ np.linalg.solve(unknown @ unknown.T + np.diag(change.ridge), shared.T)
        return replace(found, fit=replace(found.fit, information=found.fit.information - lost))

    def renewed(self, found: Fitted, steps: int) -> Grid:
        """With the density that goes with these terms: by EM on the reports with their classes."""
        model = AdditiveModel(self.points, self.density, found.terms, self.classes)
        given = model.class_shares(model.theta(found.beta))
        density = self.density.ravel()
        for _ in range(steps):
            told = Expansion(self.observed, (density * given).ravel()).told.reshape(self.classes, -1)
            density = density * np.sum(given * told / self.observed.total, axis=0) ** RELAXATION
            density = density / density.sum()
        other = copy(self)
        other.density = density.reshape(self.density.shape)
        return other



# --- cells and density ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """How many true cells a grid may have in all and along a column, and how wide report cells are, in deviations of
    the noise, for one column, two, three, …"""

    cells: int
    along: int
    widths: tuple[float, ...]

    def resolution(self, axes: Sequence[Axis]) -> Resolution:
        """As fine as so many true cells allow."""
        sizes = [axis.natural_size for axis in axes]
        along = 2
        while along < self.along and prod(min(along + 1, size) for size in sizes) <= self.cells:
            along += 1
        width = self.widths[min(len(axes), len(self.widths)) - 1]
        return Resolution(along, width, 0.1).coarsened(axes, max(self.cells, 1000))


def class_blind(
    reports: Reports, axes: Sequence[Axis], resolution: Resolution, counts: Floats, steps: int | None
) -> tuple[Floats, int]:
    """The density of true values whatever the class, by EM from the columns' own densities as if independent, and how
    many steps that took.

    The fewer steps, the smoother: there are as many as make one half of the reports tell most about the other.
    """
    problem = GridProblem.of(reports, axes, resolution, by_class=False)
    alone = [GridProblem.of(reports, [axis], resolution, by_class=False) for axis in axes]
    blind = counts[..., None].astype(np.float32)
    if steps is None:
        half = problem.counts(Fold(0, 2)).reshape(blind.shape)
        steps = telling_steps(problem, half, blind - half, independent(alone, half))
    found = problem.fit(blind, steps, independent(alone, blind))[0].astype(np.float64)
    return np.asarray(found / found.sum()), steps


def independent(alone: Sequence[GridProblem], counts: Array) -> Array | None:
    """Where EM starts: the product of the columns' own densities; of a single column nothing is known yet."""
    if len(alone) < 2:
        return None
    start = np.ones(1, np.float32)
    for j, problem in enumerate(alone):
        of_column = counts.sum(axis=tuple(k for k in range(counts.ndim) if k != j))
        start = np.multiply.outer(start, problem.fit(of_column[:, None], ALONE_STEPS)[0])
    return start


def telling_steps(problem: GridProblem, counts: Array, held: Array, start: Array | None) -> int:
    """How many steps of EM on some reports raise the likelihood of others."""
    people = float(held.sum(dtype=np.float64))
    found, last, joint = 0, -np.inf, start
    for steps in EM_STEPS:
        joint = problem.fit(counts, steps, joint)
        likelihood = people * problem.likelihood(joint, held)
        if likelihood < last + TELLING:
            break
        found, last = found + steps, likelihood
    return found


def true_shares(label: Floats | None, counts: Floats) -> Floats:
    """The classes' shares; of labels that went through a channel, by its inverse."""
    reported = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    people = likely_people(reported, np.eye(reported.size) if label is None else np.linalg.pinv(np.asarray(label)).T)
    return np.asarray(people / people.sum())
