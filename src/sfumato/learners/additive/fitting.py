"""From reports to terms: columns, terms on a coarse grid, and the same terms on a finer one.

At most `columns_at_once` columns are in one grid. Where more tell about the class, further ones form further blocks,
each with terms of its own; blocks are taken as independent within classes, so that what they say about the log-odds
beyond the classes' shares adds up.

Where all columns that were chosen are clear, and the labels too, the coefficients are those of maximum likelihood on
the records themselves, whatever the blocks: scikit-learn's LogisticRegression without a penalty on the same terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from sfumato.counts import Question, Reports
from sfumato.domain import Floats
from sfumato.evidence import Axis, climb
from sfumato.learners.additive.block import AdditiveFit, ColumnBlock, Learned, Size, true_shares
from sfumato.learners.additive.linear import Moments, tell_more, with_lines
from sfumato.learners.additive.model import shares
from sfumato.learners.additive.screening import Screen
from sfumato.learners.additive.search import search, settled, wald
from sfumato.learners.additive.terms import Factor, Term

COARSE = Size(8_000, 18, (0.2, 0.3, 0.5, 0.6, 0.85, 1.1))
FINE = Size(33_000, 40, (0.1, 0.2, 0.35, 0.6, 0.85, 1.1))
LEAST_CELLS = 400
RELATED = 0.5  # a correlation from which on a column may stand for another
MOST_BLOCKS = 5
NEWTON_STEPS = 50  # on clear records at most; separable classes would take for ever
SETTLED = 1e-10  # nats that a step on clear records has to promise: to the digits that scikit-learn's solver gives


def columns_at_once(classes: int) -> int:
    return 5 if classes <= 2 else 4 if classes <= 4 else 3 if classes <= 12 else 2


def size_for(classes: int, size: Size) -> Size:
    """As many true cells as cost the same for more classes than two."""
    return replace(size, cells=max(LEAST_CELLS, int(size.cells * 4 / max(classes, 2) ** 2)))


def learn(reports: Reports, most_terms: int) -> Learned:
    axes = [Axis(reports.column(name)) for name in reports.names]
    classes = len(reports.classes or ())
    screen = Screen(reports, axes) if classes > 1 else None
    chosen = screen.columns() if screen is not None else []
    blocks: list[AdditiveFit] = []
    width = columns_at_once(classes)
    moments = Moments.of(reports, axes) if chosen else None
    many = moments is not None and tell_more(moments, chosen[:width])
    if many:
        chosen = chosen[:width]
    while screen is not None and chosen and len(blocks) < MOST_BLOCKS:
        block, chosen = chosen[:width], chosen[width:]
        found, chosen = learn_block(reports, axes, screen, block, chosen, most_terms)
        blocks += [found] if found.terms else []
    counted = reports.counts().astype(np.float64).reshape(-1, max(classes, 1))
    label = None if reports.label_channel is None else reports.label_channel.matrix()
    learned = together(blocks, true_shares(label, counted))
    if many and moments is not None:
        learned = with_lines(learned, moments, axes)
    if learned.terms and label is None and not any(axes[j].noisy for term in learned.terms for j in term.columns):
        return on_records(reports, learned)
    return learned


def learn_block(
    reports: Reports, axes: Sequence[Axis], screen: Screen, block: list[int], others: list[int], most_terms: int
) -> tuple[AdditiveFit, list[int]]:
    """The terms of some columns, and the columns left for further blocks: none that stands for one of these.

    A column that no term needs gives its seat to one that goes with it.
    """
    classes = len(reports.classes or ())
    grid = ColumnBlock.of(reports, axes, block, size_for(classes, COARSE))
    found = search(grid, most_terms)
    left = []
    for other in others:
        near = max(block, key=lambda j: screen.correlation(j, other))
        if screen.correlation(near, other) < RELATED:
            left.append(other)
        elif near not in columns_of(found):
            block = [other if j == near else j for j in block]
            grid = ColumnBlock.of(reports, axes, block, size_for(classes, COARSE))
            found = search(grid, most_terms, found)
        elif axes[near].labels is None and axes[other].labels is None:
            found = swapped(reports, axes, found, near, other)
            block = [other if j == near and near not in columns_of(found) else j for j in block]
    used = [j for j in block if j in columns_of(found)]
    if not used:
        return found, left
    known = used == [points.column for points in grid.points]
    fine = ColumnBlock.of(reports, axes, used, size_for(classes, FINE), grid.steps if known else None)
    return filled(fine, settled(fine, found)), left


def columns_of(found: AdditiveFit) -> set[int]:
    return {j for term in found.terms for j in term.columns}


def swapped(reports: Reports, axes: Sequence[Axis], found: AdditiveFit, near: int, other: int) -> AdditiveFit:
    """With another column in the place of one that goes with it, if that fits better: judged where both are seen.

    The grid has room for both if the column whose terms are worth least, and that has no term with it, stays outside.
    """
    classes = len(found.beta) + 1
    terms, costs = list(found.terms), dict(zip(found.terms, wald(found), strict=True))
    while True:
        columns = sorted({j for term in terms for j in term.columns} | {near, other})
        loose = [term for term in terms if near not in term.columns]
        if len(columns) <= columns_at_once(classes) or not loose:
            break
        terms.remove(min(loose, key=lambda term: costs[term]))
    grid = ColumnBlock.of(reports, axes, columns, size_for(classes, COARSE))
    points = {each.column: each for each in grid.points}

    def moved(factor: Factor) -> Factor:
        if factor.column != near:
            return factor
        place = (factor.knot - points[near].low) / points[near].unit
        unit = points[other].unit
        return replace(factor, column=other, knot=points[other].low + place * unit, unit=unit)

    def standing(given: Sequence[Term]) -> list[Term]:
        return [Term(tuple(moved(factor) for factor in term.factors)) for term in given]

    kept = [0, *(1 + found.terms.index(term) for term in terms)]
    as_is, instead = (grid.fitted(each, found.beta[:, kept]) for each in (terms, standing(terms)))
    return replace(found, terms=standing(found.terms)) if instead.worth > as_is.worth else found


def filled(grid: ColumnBlock, found: AdditiveFit) -> AdditiveFit:
    """With the mean of each factor for records whose value is missing."""
    place = {points.column: axis for axis, points in enumerate(grid.points)}

    def mean(factor: Factor) -> float:
        axis = place[factor.column]
        marginal = grid.density.sum(axis=tuple(k for k in range(grid.density.ndim) if k != axis))
        return float(factor.on(grid.points[axis]).mean @ marginal)

    terms = [Term(tuple(replace(factor, fill=mean(factor)) for factor in term.factors)) for term in found.terms]
    return replace(found, terms=terms)


def together(blocks: list[AdditiveFit], share: Floats) -> Learned:
    """Blocks as one sum: their log-odds beyond those of the classes' shares, added up."""
    classes = share.size
    prior = np.log(share[1:] / share[0])
    intercept = prior + sum((block.beta[:, 0] - prior for block in blocks), np.zeros(classes - 1))
    beta = np.column_stack([intercept, *(block.beta[:, 1:] for block in blocks)])
    terms = [term for block in blocks for term in block.terms]
    knots = sum(len(term.knots) for term in terms)
    covariance = np.zeros((beta.size + knots, beta.size + knots))
    first_term, first_knot, width = 1, beta.size, beta.shape[1]
    for block in blocks:
        own = len(block.terms)
        free = sum(len(term.knots) for term in block.terms)
        rows = [y * width + at for y in range(classes - 1) for at in (0, *range(first_term, first_term + own))]
        at = np.array([*rows, *range(first_knot, first_knot + free)], int)
        covariance[np.ix_(at, at)] += block.covariance
        first_term, first_knot = first_term + own, first_knot + free
    return Learned(terms, beta, covariance)


# --- clear columns --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LogisticSums(Question):
    """The log-likelihood of clear records, its score and its information: all sums over records."""

    names: tuple[str, ...]
    terms: tuple[Term, ...]
    beta: Floats

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(sorted({self.names[j] for term in self.terms for j in term.columns}))

    def of(self, part: Reports) -> Floats:
        values = [part.values(name) if name in self.columns else np.empty(0) for name in self.names]
        design = np.column_stack([np.ones(len(part)), *(term.values(values) for term in self.terms)])
        weight = np.ones(len(part)) if part.weights is None else part.weights
        assert part.class_codes is not None
        p = shares(self.beta @ design.T)
        likelihood = float(weight @ np.log(np.maximum(p[part.class_codes, np.arange(len(part))], 1e-300)))
        surprise = np.eye(len(p))[part.class_codes].T - p
        score = (surprise[1:] * weight) @ design
        rows = range(1, len(p))
        information = np.block([
            [(design * (weight * p[a] * ((a == b) - p[b]))[:, None]).T @ design for b in rows] for a in rows
        ])
        return np.concatenate([[likelihood], score.ravel(), information.ravel()])


@dataclass(frozen=True, eq=False)
class RecordPoint:
    """Coefficients of a logistic regression on clear records, as `climb` moves them."""

    reports: Reports
    terms: tuple[Term, ...]
    beta: Floats

    @cached_property
    def _sums(self) -> Floats:
        question = LogisticSums(tuple(self.reports.names), self.terms, self.beta)
        return np.asarray(self.reports.ask([question])[0])

    @property
    def value(self) -> float:
        """The log-likelihood."""
        return float(self._sums[0])

    @property
    def slopes(self) -> tuple[Floats, Floats]:
        """Score and information."""
        size = self.beta.size
        return self._sums[1 : 1 + size], self._sums[1 + size :].reshape(size, size)

    def moved(self, step: Floats) -> Self:
        """Return the coefficients a step further."""
        return replace(self, beta=self.beta + step.reshape(self.beta.shape))


def on_records(reports: Reports, learned: Learned) -> Learned:
    """Return the coefficients of maximum likelihood on clear records, knots as they are."""
    start = RecordPoint(reports, tuple(learned.terms), learned.beta)
    top = climb(start, steps=NEWTON_STEPS, enough=SETTLED)
    size = top.beta.size
    covariance = np.zeros_like(learned.covariance)
    covariance[:size, :size] = np.linalg.pinv(top.slopes[1], hermitian=True)
    covariance[size:, size:] = learned.covariance[size:, size:]
    return Learned(learned.terms, top.beta, covariance)
