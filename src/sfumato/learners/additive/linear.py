"""Many columns: what those outside the grid add, as straight lines.

With normal values of one covariance Σ within classes, the log-odds of all columns are those of the columns B in the
grid and, of the others given these, a straight line more:

    log P(y | x)/P(0 | x) = F_y(x_B) + (ℓ_y(x) − ℓ_y(x_B)),      ℓ_y(x) = x'b_y,    b_y = Σ⁻¹(μ_y − μ_0),

ℓ(x_B) the discriminant of B alone. Means are those of the reports, Σ is their covariance with the noise taken off;
both from all reports or a fixed sample of them, drawn by hash. F keeps the bends that the grid found.

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
from sfumato.learners.additive.block import Learned, true_shares
from sfumato.learners.additive.terms import CellPoints, Factor, Term
from sfumato.learners.classes import class_codes_in
from sfumato.learners.moments import mean_noise, numbers_of, subtract_noise, units

SAMPLED = 200_000
MUCH = 0.05  # of what all columns tell: where those outside the grid tell more, they are added
DOUBTFUL = 2.0  # errors from zero that a straight line has to be in some class


@dataclass(frozen=True)
class Moments:
    """Of some columns of reports: classes' shares, means within classes [class, column], the covariance within classes
    with the noise and without; ``people``: how many there are. Numbers are counted from the ``centre`` in the ``unit``
    of their column."""

    columns: list[int]
    centre: Floats
    unit: Floats
    shares: Floats
    means: Floats
    reported: Floats
    true: Floats
    people: float

    @classmethod
    def of(cls, reports: Reports, axes: Sequence[Axis]) -> Moments:
        columns = [j for j, axis in enumerate(axes) if axis.labels is None]
        noise = np.array([mean_noise(axes[j].column) for j in columns])
        part = reports.sampled(SAMPLED)
        values = np.column_stack([np.empty((len(part), 0)), *(numbers_of(part, reports.names[j]) for j in columns)])
        weight = np.ones(len(part)) if part.weights is None else part.weights
        known = np.where(np.isnan(values), 0.0, weight[:, None])
        centre = (np.nan_to_num(values) * known).sum(axis=0) / np.maximum(known.sum(axis=0), LEAST_DOUBLE)
        spread = (np.nan_to_num(values - centre) ** 2 * known).sum(axis=0) / np.maximum(known.sum(axis=0), LEAST_DOUBLE)
        unit = units(centre, spread)
        values, noise = np.nan_to_num((values - centre) / unit), noise / unit**2
        label = None if reports.label_channel is None else reports.label_channel.matrix()
        mass = np.eye(len(reports.classes or ()))[class_codes_in(part)] * weight[:, None]
        shares = true_shares(label, mass)
        sums = mass.T @ values / weight.sum()
        means = (sums if label is None else np.linalg.pinv(label) @ sums) / shares[:, None]
        reported = (values * weight[:, None]).T @ values / weight.sum() - (means * shares[:, None]).T @ means
        true = subtract_noise(reported, noise)
        return cls(columns, centre, unit, shares, means, reported, true, float(reports.people))

    def only(self, columns: Sequence[int]) -> Moments:
        at = [self.columns.index(j) for j in columns]
        square = np.ix_(at, at)
        return replace(self, columns=list(columns), centre=self.centre[at], unit=self.unit[at], means=self.means[:, at],
                       reported=self.reported[square], true=self.true[square])

    def slopes(self) -> Floats:
        """b_y of every class but the first, [class, column]."""
        slopes = np.linalg.lstsq(self.true, (self.means[1:] - self.means[0]).T, rcond=None)[0].T
        return np.asarray(slopes / self.unit)

    def offsets(self) -> Floats:
        """What a straight line adds at the centre: −½(μ_y + μ_0)'b_y."""
        return np.asarray(-0.5 * np.sum((self.means[1:] + self.means[0]) * self.unit * self.slopes(), axis=1))

    def stderr(self) -> Floats:
        inverse = np.linalg.pinv(self.true, hermitian=True)
        spread = np.sqrt(np.maximum(np.diag(inverse @ self.reported @ inverse), 0.0)) / self.unit
        people = self.people * self.shares
        return np.asarray(np.sqrt(1 / people[1:, None] + 1 / people[0]) * spread)

    def told(self) -> float:
        """About how many nats the reports tell about the class, less ½·log n for each coefficient."""
        between = self.means - self.shares @ self.means
        shift = (between * self.shares[:, None]).T @ between
        explained = float(np.trace(np.linalg.lstsq(self.reported + shift, shift, rcond=None)[0]))
        freedom = (self.shares.size - 1) * len(self.columns)
        return self.people * explained / 2 - freedom * float(np.log(max(self.people, 2.0))) / 2

    def lines(self) -> Moments:
        """Without columns whose slopes may all be zero."""
        sure = np.any(np.abs(self.slopes()) > DOUBTFUL * self.stderr(), axis=0)
        return self.only([self.columns[k] for k in np.flatnonzero(sure)])


def tell_more(moments: Moments, block: Sequence[int]) -> bool:
    """Whether columns outside a block tell so much that its terms alone would be a poor model."""
    numbers = [j for j in block if j in moments.columns]
    whole = moments.told()
    return len(moments.columns) > len(numbers) and whole - moments.only(numbers).told() > MUCH * max(whole, 0.0)


def with_lines(learned: Learned, moments: Moments, axes: Sequence[Axis]) -> Learned:
    """A block's terms, and straight lines for all other columns given these."""
    inside = sorted({j for term in learned.terms for j in term.columns} & set(moments.columns))
    part = moments.only(inside)
    whole = moments.only([*inside, *(j for j in moments.lines().columns if j not in inside)])
    change = whole.slopes()
    change[:, : len(inside)] -= part.slopes()
    factors = [line_of(CellPoints.of(j, axes[j], axes[j].at(2)), whole.centre[i]) for i, j in enumerate(whole.columns)]
    unit, start = np.array([[each.unit, each.knot] for each in factors]).reshape(-1, 2).T
    found = widened(learned, [Term((each,)) for each in factors])
    at = [1 + place_of(found.terms, factor) for factor in factors]
    found.beta[:, 0] += change @ (start - whole.centre) + whole.offsets() - part.offsets()
    found.beta[:, at] += change * unit
    for y, error in enumerate(whole.stderr() * unit):
        spread = y * found.beta.shape[1] + np.array(at, int)
        found.covariance[spread, spread] += np.where(np.arange(error.size) < len(inside), 0.0, error**2)
    return found


def line_of(points: CellPoints, mean: float) -> Factor:
    return Factor(points.column, points.low, points.unit, fill=(mean - points.low) / points.unit)


def place_of(terms: Sequence[Term], line: Factor) -> int:
    """Where the straight line of a column is among the terms, −1 if nowhere."""
    alone = [term.factors[0] if len(term.factors) == 1 else None for term in terms]
    return next((k for k, each in enumerate(alone) if each is not None and replace(each, fill=line.fill) == line), -1)


def widened(learned: Learned, terms: Sequence[Term]) -> Learned:
    """With room for further terms, their coefficients still zero."""
    added = [term for term in terms if place_of(learned.terms, term.factors[0]) < 0]
    rows, width = learned.beta.shape
    wider = width + len(added)
    beta = np.column_stack([learned.beta, np.zeros((rows, len(added)))])
    knots = len(learned.covariance) - rows * width
    size = rows * wider + knots
    at = np.array([*(y * wider + k for y in range(rows) for k in range(width)), *range(rows * wider, size)], int)
    covariance = np.zeros((size, size))
    covariance[np.ix_(at, at)] = learned.covariance
    return Learned([*learned.terms, *added], beta, covariance)
