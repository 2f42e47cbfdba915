"""From reports to the terms of an additive model: its columns, terms on coarse cells, and the same terms on finer ones.

At most `columns_at_once` columns are in one block. Where more tell about the class, further ones form further blocks,
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
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.learners.additive.block import AdditiveFit, BlockSize, ColumnBlock, LearnedTerms, true_shares
from sfumato.learners.additive.linear import ColumnMoments, others_tell_much, with_lines
from sfumato.learners.additive.model import shares
from sfumato.learners.additive.screening import Screen
from sfumato.learners.additive.search import search, settled, wald_gains
from sfumato.learners.additive.terms import Factor, Term

COARSE = BlockSize(8_000, 18, (0.2, 0.3, 0.5, 0.6, 0.85, 1.1))
"""Cells on which terms are searched, for two classes. By judgement; finer cells make every one of the many fits take
longer, coarser ones hide a bend."""
FINE = BlockSize(33_000, 40, (0.1, 0.2, 0.35, 0.6, 0.85, 1.1))
"""Cells on which the terms are fitted in the end, for two classes. By judgement; finer cells take longer and show more
than noise lets through."""
LEAST_CELLS = 400
"""True cells of a block that are left however many classes there are: 20 by 20 for two columns. By judgement; fewer
hide a bend, more take long where classes are many."""
RELATED = 0.5
"""Correlation of true values from which on a column may stand for another of a block. By judgement; with a larger one
columns that say the same get terms in several blocks, with a smaller one columns that tell more are left out."""
MOST_BLOCKS = 5
"""Blocks of columns, at most. By judgement; a formula of more terms than these have is no longer read."""
NEWTON_STEPS = 50
"""Steps on clear records, at most: classes that terms separate would take for ever."""
SETTLED = 1e-10
"""Nats that a step on clear records has to promise: to the digits that scikit-learn's solver gives."""


def columns_at_once(classes: int) -> int:
    """Return how many columns a block has at most: the cells of a joint distribution multiply with the classes."""
    return 5 if classes <= 2 else 4 if classes <= 4 else 3 if classes <= 12 else 2


def size_for(classes: int, size: BlockSize) -> BlockSize:
    """Return a size with fewer cells for more classes, so that a fit takes about as long as with two."""
    return replace(size, cells=max(LEAST_CELLS, int(size.cells * 4 / max(classes, 2) ** 2)))


def learn(reports: Reports, most_terms: int) -> LearnedTerms:
    """Learn the terms of an additive model from reports. most_terms: of each block of columns."""
    axes = [Axis(reports.column(name)) for name in reports.names]
    classes = len(reports.classes or ())
    screen = Screen(reports, axes) if classes > 1 else None
    chosen = screen.columns() if screen is not None else []
    fits: list[AdditiveFit] = []
    width = columns_at_once(classes)
    moments = ColumnMoments.of(reports, axes) if chosen else None
    many = moments is not None and others_tell_much(moments, chosen[:width])
    if many:
        chosen = chosen[:width]
    while screen is not None and chosen and len(fits) < MOST_BLOCKS:
        columns, chosen = chosen[:width], chosen[width:]
        fit, chosen = learn_block(reports, axes, screen, columns, chosen, most_terms)
        fits += [fit] if fit.terms else []
    counts = reports.counts().astype(np.float64).reshape(-1, max(classes, 1))
    label = None if reports.label_channel is None else reports.label_channel.matrix()
    learned = combined(fits, true_shares(label, counts))
    if many and moments is not None:
        learned = with_lines(learned, moments, axes)
    if learned.terms and label is None and not any(axes[j].noisy for term in learned.terms for j in term.columns):
        return fit_on_records(reports, learned)
    return learned


def learn_block(
    reports: Reports, axes: Sequence[Axis], screen: Screen, columns: list[int], others: list[int], most_terms: int
) -> tuple[AdditiveFit, list[int]]:
    """Find the terms of a block of columns; return their fit and the columns left for further blocks.

    A column that goes with one of the block is not left: it takes the place of that one if no term needs it, or if the
    terms fit better with it.

    columns: of the block. others: columns that tell about the class besides.
    """
    classes = len(reports.classes or ())
    block = ColumnBlock.of(reports, axes, columns, size_for(classes, COARSE))
    fit = search(block, most_terms)
    left = []
    for other in others:
        near = max(columns, key=lambda j: screen.correlation(j, other))
        if screen.correlation(near, other) < RELATED:
            left.append(other)
        elif near not in columns_of(fit):
            columns = [other if j == near else j for j in columns]
            block = ColumnBlock.of(reports, axes, columns, size_for(classes, COARSE))
            fit = search(block, most_terms, fit)
        elif axes[near].labels is None and axes[other].labels is None:
            fit = with_better(reports, axes, fit, near, other)
            columns = [other if j == near and near not in columns_of(fit) else j for j in columns]
    used = [j for j in columns if j in columns_of(fit)]
    if not used:
        return fit, left
    same = used == [points.column for points in block.points]
    fine = ColumnBlock.of(reports, axes, used, size_for(classes, FINE), block.steps if same else None)
    return with_fills(fine, settled(fine, fit)), left


def columns_of(fit: AdditiveFit) -> set[int]:
    """Return the columns that have terms."""
    return {j for term in fit.terms for j in term.columns}


def with_better(reports: Reports, axes: Sequence[Axis], fit: AdditiveFit, near: int, other: int) -> AdditiveFit:
    """Return the fit with column ``other`` in the place of ``near`` if the terms are then worth more, else as it is.

    Both are judged on a block that has both columns. There is room for both if the terms worth least that do not have
    ``near`` stay outside.
    """
    classes = len(fit.beta) + 1
    terms, gains = list(fit.terms), dict(zip(fit.terms, wald_gains(fit), strict=True))
    while True:
        columns = sorted({j for term in terms for j in term.columns} | {near, other})
        loose = [term for term in terms if near not in term.columns]
        if len(columns) <= columns_at_once(classes) or not loose:
            break
        terms.remove(min(loose, key=lambda term: gains[term]))
    block = ColumnBlock.of(reports, axes, columns, size_for(classes, COARSE))
    points = {column.column: column for column in block.points}

    def moved(factor: Factor) -> Factor:
        """Return a factor of ``near`` as one of ``other``, its knot at the same part of the column."""
        if factor.column != near:
            return factor
        part = (factor.knot - points[near].low) / points[near].unit
        unit = points[other].unit
        return replace(factor, column=other, knot=points[other].low + part * unit, unit=unit)

    def with_other(given: Sequence[Term]) -> list[Term]:
        """Return terms with ``other`` in the place of ``near``."""
        return [Term(tuple(moved(factor) for factor in term.factors)) for term in given]

    kept = [0, *(1 + fit.terms.index(term) for term in terms)]
    as_is, instead = (block.fit(each, fit.beta[:, kept]) for each in (terms, with_other(terms)))
    return replace(fit, terms=with_other(fit.terms)) if instead.worth > as_is.worth else fit


def with_fills(block: ColumnBlock, fit: AdditiveFit) -> AdditiveFit:
    """Return the fit with the mean of each factor in the place of missing values."""
    axis_of = {points.column: axis for axis, points in enumerate(block.points)}

    def mean(factor: Factor) -> float:
        """Return the mean of a factor over the people."""
        axis = axis_of[factor.column]
        marginal = block.density.sum(axis=tuple(k for k in range(block.density.ndim) if k != axis))
        return float(factor.on(block.points[axis]).mean @ marginal)

    terms = [Term(tuple(replace(factor, fill=mean(factor)) for factor in term.factors)) for term in fit.terms]
    return replace(fit, terms=terms)


def combined(fits: list[AdditiveFit], share: Floats) -> LearnedTerms:
    """Add up the fits of several blocks: their log-odds beyond those of the classes' shares.

    share: of each class.
    """
    classes = share.size
    prior = np.log(share[1:] / share[0])
    intercept = prior + sum((fit.beta[:, 0] - prior for fit in fits), np.zeros(classes - 1))
    beta = np.column_stack([intercept, *(fit.beta[:, 1:] for fit in fits)])
    terms = [term for fit in fits for term in fit.terms]
    knots = sum(len(term.knots) for term in terms)
    covariance = np.zeros((beta.size + knots, beta.size + knots))
    first_term, first_knot, width = 1, beta.size, beta.shape[1]
    for fit in fits:
        own = len(fit.terms)
        free = sum(len(term.knots) for term in fit.terms)
        rows = [y * width + at for y in range(classes - 1) for at in (0, *range(first_term, first_term + own))]
        at = np.array([*rows, *range(first_knot, first_knot + free)], int)
        covariance[np.ix_(at, at)] += fit.covariance
        first_term, first_knot = first_term + own, first_knot + free
    return LearnedTerms(terms, beta, covariance)


# --- clear columns --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LogisticSums(Question):
    """The log-likelihood of clear records, its score and its information: all sums over records.

    names: of all columns. terms: of the model. beta: coefficients of every class but the first, the intercept first.
    """

    names: tuple[str, ...]
    terms: tuple[Term, ...]
    beta: Floats

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that have terms."""
        return tuple(sorted({self.names[j] for term in self.terms for j in term.columns}))

    def of(self, part: Reports) -> Floats:
        """Return the sums over some records, flat: log-likelihood, score, information."""
        values = [part.values(name) if name in self.columns else np.empty(0) for name in self.names]
        design = np.column_stack([np.ones(len(part)), *(term.values(values) for term in self.terms)])
        weight = np.ones(len(part)) if part.weights is None else part.weights
        assert part.class_codes is not None
        p = shares(self.beta @ design.T)
        likelihood = float(weight @ np.log(np.maximum(p[part.class_codes, np.arange(len(part))], LEAST_DOUBLE)))
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
        """Log-likelihood, score and information at these coefficients, flat."""
        question = LogisticSums(tuple(self.reports.names), self.terms, self.beta)
        return np.asarray(self.reports.ask([question])[0])

    @property
    def value(self) -> float:
        """The log-likelihood."""
        return float(self._sums[0])

    @property
    def slopes(self) -> tuple[Floats, Floats]:
        """Score and information of the log-likelihood by the coefficients."""
        size = self.beta.size
        return self._sums[1 : 1 + size], self._sums[1 + size :].reshape(size, size)

    def moved(self, step: Floats) -> Self:
        """Return the coefficients a step further."""
        return replace(self, beta=self.beta + step.reshape(self.beta.shape))


def fit_on_records(reports: Reports, learned: LearnedTerms) -> LearnedTerms:
    """Fit the coefficients to clear records by maximum likelihood; knots and their covariance stay as they are."""
    start = RecordPoint(reports, tuple(learned.terms), learned.beta)
    top = climb(start, steps=NEWTON_STEPS, enough=SETTLED)
    size = top.beta.size
    covariance = np.zeros_like(learned.covariance)
    covariance[:size, :size] = np.linalg.pinv(top.slopes[1], hermitian=True)
    covariance[size:, size:] = learned.covariance[size:, size:]
    return LearnedTerms(learned.terms, top.beta, covariance)
