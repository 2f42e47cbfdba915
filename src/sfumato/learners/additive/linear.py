"""Straight lines for the columns outside the blocks of an additive model, where there are many.

With normal values of one covariance Σ within classes, the log-odds of all columns are those of the columns B in a block
and, of the others given these, a straight line more:

    log P(y | x)/P(0 | x) = F_y(x_B) + (ℓ_y(x) − ℓ_y(x_B)),      ℓ_y(x) = x'b_y,    b_y = Σ⁻¹(μ_y − μ_0),

ℓ(x_B) the discriminant of B alone. Means are those of the reports, Σ is their covariance with the noise taken off;
both from all reports or a fixed sample of them, drawn by hash. F keeps the bends that the terms of the block have.

    Cov(b_y) ≈ Σ⁻¹·Cov(w | y)·Σ⁻¹·(1/n_y + 1/n_0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.evidence import Axis
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.learners.additive.block import LearnedTerms, true_shares
from sfumato.learners.additive.terms import CellPoints, Factor, Term
from sfumato.learners.classes import class_codes_in
from sfumato.learners.moments import mean_noise, numbers_of, subtract_noise, units

SAMPLED = 200_000
"""Records from which means and covariances are computed, at most. By judgement; with fewer the errors of slopes grow as
1/√n, and more take longer."""
MUCH = 0.05
"""Part of the nats that all columns tell about the class: where those outside the block tell more, they get lines. By
judgement; with less, lines of little use make formulas long."""
DOUBTFUL = 2.0
"""Standard errors from zero that the slope of a line has to be in some class: about 95 % confidence."""


@dataclass(frozen=True)
class ColumnMoments:
    """Means and covariances of the numeric columns within classes.

    Numbers are counted from the ``centre`` of their column in its ``unit``. columns: their indices among all columns.
    shares: of the true classes. means: within classes, [class, column].
    reported: covariance of the reports within classes. true: the same with the noise taken off.
    people: how many there are.
    """

    columns: list[int]
    centre: Floats
    unit: Floats
    shares: Floats
    means: Floats
    reported: Floats
    true: Floats
    people: float

    @classmethod
    def of(cls, reports: Reports, axes: Sequence[Axis]) -> ColumnMoments:
        """Compute means and covariances within classes from reports, or from a sample of them. axes: all columns."""
        columns = [j for j, axis in enumerate(axes) if axis.labels is None]
        noise = np.array([mean_noise(axes[j].column) for j in columns])
        part = reports.sampled(SAMPLED)
        values = np.column_stack([np.empty((len(part), 0)), *(numbers_of(part, reports.names[j]) for j in columns)])
        weight = np.ones(len(part)) if part.weights is None else part.weights
        present = np.where(np.isnan(values), 0.0, weight[:, None])
        people = np.maximum(present.sum(axis=0), LEAST_DOUBLE)
        centre = (np.nan_to_num(values) * present).sum(axis=0) / people
        variance = (np.nan_to_num(values - centre) ** 2 * present).sum(axis=0) / people
        unit = units(centre, variance)
        values, noise = np.nan_to_num((values - centre) / unit), noise / unit**2
        label = None if reports.label_channel is None else reports.label_channel.matrix()
        mass = np.eye(len(reports.classes or ()))[class_codes_in(part)] * weight[:, None]
        shares = true_shares(label, mass)
        sums = mass.T @ values / weight.sum()
        means = (sums if label is None else np.linalg.pinv(label) @ sums) / shares[:, None]
        reported = (values * weight[:, None]).T @ values / weight.sum() - (means * shares[:, None]).T @ means
        true = subtract_noise(reported, noise)
        return cls(columns, centre, unit, shares, means, reported, true, float(reports.people))

    def only(self, columns: Sequence[int]) -> ColumnMoments:
        """Return the moments of some of the columns, by their indices among all."""
        at = [self.columns.index(j) for j in columns]
        square = np.ix_(at, at)
        return replace(self, columns=list(columns), centre=self.centre[at], unit=self.unit[at], means=self.means[:, at],
                       reported=self.reported[square], true=self.true[square])

    def slopes(self) -> Floats:
        """Return b_y of every class but the first in the columns' own units, [class, column]."""
        slopes = np.linalg.lstsq(self.true, (self.means[1:] - self.means[0]).T, rcond=None)[0].T
        return np.asarray(slopes / self.unit)

    def offsets(self) -> Floats:
        """Return what the discriminant adds at the centre to every class but the first: −½(μ_y + μ_0)'b_y."""
        return np.asarray(-0.5 * np.sum((self.means[1:] + self.means[0]) * self.unit * self.slopes(), axis=1))

    def stderr(self) -> Floats:
        """Return the standard errors of the discriminant's slopes, [class, column]."""
        inverse = np.linalg.pinv(self.true, hermitian=True)
        deviation = np.sqrt(np.maximum(np.diag(inverse @ self.reported @ inverse), 0.0)) / self.unit
        people = self.people * self.shares
        return np.asarray(np.sqrt(1 / people[1:, None] + 1 / people[0]) * deviation)

    def information(self) -> float:
        """Return about how many nats the reports tell about the class, less ½·log n for each coefficient."""
        between = self.means - self.shares @ self.means
        shift = (between * self.shares[:, None]).T @ between
        explained = float(np.trace(np.linalg.lstsq(self.reported + shift, shift, rcond=None)[0]))
        freedom = (self.shares.size - 1) * len(self.columns)
        return self.people * explained / 2 - freedom * float(np.log(max(self.people, 2.0))) / 2

    def clear_slopes(self) -> ColumnMoments:
        """Return the moments without the columns whose slopes may be zero in all classes."""
        sure = np.any(np.abs(self.slopes()) > DOUBTFUL * self.stderr(), axis=0)
        return self.only([self.columns[k] for k in np.flatnonzero(sure)])


def others_tell_much(moments: ColumnMoments, block: Sequence[int]) -> bool:
    """Say whether columns outside a block tell so much that its terms alone would be a poor model."""
    numbers = [j for j in block if j in moments.columns]
    whole = moments.information()
    return len(moments.columns) > len(numbers) and whole - moments.only(numbers).information() > MUCH * max(whole, 0.0)


def with_lines(learned: LearnedTerms, moments: ColumnMoments, axes: Sequence[Axis]) -> LearnedTerms:
    """Add straight lines for further numeric columns to the terms of a block.

    The coefficients of the block change by what they told about the further columns.
    """
    inside = sorted({j for term in learned.terms for j in term.columns} & set(moments.columns))
    part = moments.only(inside)
    whole = moments.only([*inside, *(j for j in moments.clear_slopes().columns if j not in inside)])
    change = whole.slopes()
    change[:, : len(inside)] -= part.slopes()
    factors = [line_of(CellPoints.of(j, axes[j], axes[j].at(2)), whole.centre[i]) for i, j in enumerate(whole.columns)]
    unit, start = np.array([[factor.unit, factor.knot] for factor in factors]).reshape(-1, 2).T
    wider = widened(learned, [Term((factor,)) for factor in factors])
    at = [1 + index_of_line(wider.terms, factor) for factor in factors]
    wider.beta[:, 0] += change @ (start - whole.centre) + whole.offsets() - part.offsets()
    wider.beta[:, at] += change * unit
    for y, error in enumerate(whole.stderr() * unit):
        rows = y * wider.beta.shape[1] + np.array(at, int)
        wider.covariance[rows, rows] += np.where(np.arange(error.size) < len(inside), 0.0, error**2)
    return wider


def line_of(points: CellPoints, mean: float) -> Factor:
    """Return the linear factor of a column, its mean in the place of missing values."""
    return Factor(points.column, points.low, points.unit, fill=(mean - points.low) / points.unit)


def index_of_line(terms: Sequence[Term], line: Factor) -> int:
    """Return the index of a straight line among terms, whatever stands for its missing values; −1 if it is none."""
    alone = [term.factors[0] if len(term.factors) == 1 else None for term in terms]
    return next((k for k, each in enumerate(alone) if each is not None and replace(each, fill=line.fill) == line), -1)


def widened(learned: LearnedTerms, terms: Sequence[Term]) -> LearnedTerms:
    """Add terms of one factor that are not there yet, with coefficients and covariances of zero."""
    added = [term for term in terms if index_of_line(learned.terms, term.factors[0]) < 0]
    rows, width = learned.beta.shape
    wider = width + len(added)
    beta = np.column_stack([learned.beta, np.zeros((rows, len(added)))])
    knots = len(learned.covariance) - rows * width
    size = rows * wider + knots
    at = np.array([*(y * wider + k for y in range(rows) for k in range(width)), *range(rows * wider, size)], int)
    covariance = np.zeros((size, size))
    covariance[np.ix_(at, at)] = learned.covariance
    return LearnedTerms([*learned.terms, *added], beta, covariance)
