"""The search for the terms of one block: added by score test, fitted with all others, dropped where they do not pay.

A candidate's promise is what a quadratic in its coefficient gains after *all* current parameters have been projected
out. The score and the information need one image of the candidate's field through the tables; for products of one
factor each of two columns the other columns are contracted once for all of them. With several classes each one stands
against the rest, and their promises are added. What pays is decided by the fit: a term stays if the log-likelihood of
the reports rises by more than ½·log n for each of its coefficients and knots (BIC).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations, permutations
from math import prod

import numpy as np

from sfumato.domain import Floats
from sfumato.evidence.fisher import inverse_information
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.learners.additive.block import AdditiveFit, ColumnBlock
from sfumato.learners.additive.model import KNOT_MARGIN, shares
from sfumato.learners.additive.terms import MOST_LABELS, CellPoints, Factor, Term

NEAR_END = 0.25
"""Widths of a column: a hinge that bends so near to the end where it is flat is tried as a straight line. By judgement;
a larger part only costs fits, with a smaller one hinges stay where a line says the same."""
KNOTS = (0.2, 0.4, 0.6, 0.8)
"""Quantiles of the people at which hinges are tried; the fit then moves their knots. By judgement; with fewer a bend
may be missed, more are scanned in vain."""
TRIED = 4
"""Candidates that are fitted in each round, the most promising ones. By judgement; fewer miss a term that a quadratic
misjudges, more take longer."""
TRIAL_STEPS = 4
"""Steps of Fisher scoring by which fits are compared before one is finished. By judgement; fewer confuse slow fits with
poor ones, more take longer."""
FAR = 100.0
"""Nats by which a trial fit may be below what it has to reach and still is finished. By judgement; a smaller number
gives up fits that are slow, a larger one finishes more that fail."""
FOLD_STEPS = 20
"""Steps of Fisher scoring for a term in the place of two, which starts further from its end than others. By judgement;
fewer keep two terms where one would do."""
RENEWING = 20
"""Steps of EM that fit the density to the terms each time. By judgement; EM starts near its end, and many more steps
would fit noise."""
ROUNDS = 3
"""How often density and terms are fitted in turns at the end. By judgement; each round changes less than the last."""
WEAK_EFFECT = 60.0
"""Nats that a linear term is worth below which a product is tried in its place. By judgement; more only costs fits."""
SPARE = 3
"""Terms beyond the largest number that may be there for a while, until others replace them. By judgement; without them
a product has no room beside the terms that it makes needless."""
SINGULAR = 1e-3
"""Part of a candidate's information that must be left after the current terms are projected out: with less it is nearly
a sum of theirs, and its promise is rounding and the curvature of the likelihood."""
WORTHWHILE = 2.0
"""Nats that a further term has to gain beyond its price. By judgement; with 0 searches go on for terms of no use."""
HELD_SCALE = 1e3
"""How much more is known of the common scale of β than reports tell, when terms are judged: next to everything."""


# --- candidates -----------------------------------------------------------------------------------------------------


def factors_of(block: ColumnBlock, axis: int) -> list[Factor]:
    """Return the factors that are tried of a block's column: lines and hinges both ways, or its common labels."""
    points = block.points[axis]
    marginal = block.density.sum(axis=tuple(k for k in range(block.density.ndim) if k != axis))
    if points.labels is not None:
        common = np.argsort(-marginal, kind="stable")[:MOST_LABELS].tolist()
        return [Factor(points.column, 0.0, labels=points.labels, label=code) for code in common]
    end = linear(points)
    cuts = np.interp(KNOTS, np.cumsum(marginal) - marginal / 2, points.middle)
    inner = [(cut - points.low) / points.unit for cut in np.unique(cuts).tolist()]
    knots = [points.low + points.unit * part for part in inner if KNOT_MARGIN < part < 1 - KNOT_MARGIN]
    hinges = [replace(end, knot=knot, sign=sign, hinge=True) for knot in knots for sign in (1, -1)]
    return [end, from_other_end(end), *hinges]


def linear(points: CellPoints) -> Factor:
    """Return the linear factor of a column, which rises from 0 at its low end to 1."""
    return Factor(points.column, points.low, points.unit)


def from_other_end(factor: Factor) -> Factor:
    """Return a linear factor counted from the other end of its column."""
    return replace(factor, knot=factor.knot + factor.sign * factor.unit, sign=-factor.sign)


def candidates(block: ColumnBlock, fit: AdditiveFit) -> list[Term]:
    """Return the term of each column and of each pair that promises most beyond its price, the best first."""
    scan = TermScan(block, fit)
    columns = range(len(block.points))
    sets = [*((axis,) for axis in columns), *combinations(columns, 2)]
    best = [max(scan.promises(axes), key=lambda pair: pair[0], default=(0.0, Term(()))) for axes in sets]
    return [term for promise, term in sorted(best, key=lambda pair: -pair[0]) if promise > 0]


class TermScan:
    """The quadratic expansion of the likelihood about one fit, by which further terms are judged.

    Each class y but the first stands against the rest. For a change of its log-odds by φ there are

        pushes[y − 1]      ∂joint/∂(log-odds), to be multiplied by φ and seen through the tables
        weights[y − 1]     by which the images of such changes become comparable: their squares sum to the information
        surprises[y − 1]   by which images become scores: more reports than foretold, in each report cell
    """

    def __init__(self, block: ColumnBlock, fit: AdditiveFit) -> None:
        self.block = block
        hinges = [factor for term in fit.terms for factor in term.factors if factor.hinge]
        columns = [points.column for points in block.points]
        self.hinges = {column: [factor for factor in hinges if factor.column == column] for column in columns}
        family, evidence = block.family(fit.terms), block.evidence
        log_odds, softened = family.softened_log_odds(fit.beta)
        p = shares(log_odds * softened)
        joint = block.density.ravel() * p
        counts, table = evidence.in_cells, evidence.product
        reported = evidence.predict(joint.reshape(1, -1)).reshape(counts.shape)
        people = evidence.block_people.reshape(counts.shape)
        fields = family.fields(family.theta(fit.beta))
        images = table.apply(fields).reshape(len(fields), *counts.shape)
        label = np.eye(block.classes) if table.label is None else np.asarray(table.label)
        self.current = (images * np.sqrt(people / reported)).reshape(len(fields), -1)
        self.inverse = np.linalg.pinv(self.current @ self.current.T, rcond=1e-10, hermitian=True)
        self.pushes, self.weights, self.surprises = [], [], []
        for y in range(1, block.classes):
            others = np.where(np.arange(block.classes) == y, 0.0, block.shares)
            direction = label[:, y] - label @ others / max(others.sum(), LEAST_DOUBLE)
            self.pushes.append((joint[y] * (1 - p[y]) * softened[y - 1]).reshape(block.density.shape))
            self.weights.append(np.sqrt(people / reported) * direction)
            self.surprises.append(np.sum(counts / reported * direction, axis=-1).ravel())

    def promises(self, axes: tuple[int, ...]) -> list[tuple[float, Term]]:
        """Return candidate terms, and by how many nats each is expected to raise the log-likelihood beyond its price.

        axes: the columns, one or two, of which a term has a factor each; by their order in the block.
        """
        block = self.block
        sets = [[*factors_of(block, axis), *self.hinges[block.points[axis].column]] for axis in axes]
        if len(axes) == 1 and block.points[axes[0]].labels is None:
            sets = [[factor for factor in sets[0] if factor.hinge or factor.sign > 0]]
        terms = [Term((first,)) for first in sets[0]] if len(axes) == 1 else [
            Term((first, second)) for first in sets[0] for second in sets[1]
        ]
        total = np.zeros(len(terms))
        for push, weight, surprise in zip(self.pushes, self.weights, self.surprises, strict=True):
            images = self._images(push, axes, sets)
            score = images @ surprise
            information = (images**2) @ np.sum(weight**2, axis=-1).ravel()
            shared = np.einsum("ks,sy,psy->kp", images, weight.reshape(images.shape[1], -1),
                               self.current.reshape(len(self.current), images.shape[1], -1), optimize=True)
            left = information - np.einsum("kp,pq,kq->k", shared, self.inverse, shared)
            total += np.where(left > SINGULAR * information, score**2 / np.maximum(2 * left, LEAST_DOUBLE), 0.0)
        return [(gain - block.price_of(term), term) for gain, term in zip(total.tolist(), terms, strict=True)]

    def _images(self, push: Floats, axes: tuple[int, ...], sets: list[list[Factor]]) -> Floats:
        """Return C(push·φ) of every combination φ of factors, one row each, report cells in order.

        sets: the factors of each of the columns ``axes``.
        """
        array, tables = push, self.block.evidence.product.factors
        for axis in (k for k in range(push.ndim) if k not in axes):
            array = np.moveaxis(np.tensordot(tables[axis], array, (1, axis)), 0, axis)
        for at, (axis, factors) in enumerate(zip(axes, sets, strict=True)):
            means = np.stack([factor.on(self.block.points[axis]).mean for factor in factors])
            weighed_table = means[:, None, :] * tables[axis]
            array = np.tensordot(weighed_table, array, (2, axis + at))
            array = np.moveaxis(array, (0, 1), (at, axis + at + 1))
        return array.reshape(prod(array.shape[: len(axes)]), -1)


# --- the search -----------------------------------------------------------------------------------------------------


def search(block: ColumnBlock, most_terms: int, start: AdditiveFit | None = None) -> AdditiveFit:
    """Find the terms of a block that pay, beginning with a linear one for every numeric column.

    most_terms: how many there may be. start: a fit whose terms are there already, of this block or one like it.
    """
    terms, beta = ([], None) if start is None else (start.terms, start.beta)
    used = {column for term in terms for column in term.columns}
    fresh = [linear(points) for points in block.points if points.labels is None and points.column not in used]
    fit = pruned(block, block.fit([*terms, *(Term((factor,)) for factor in fresh)], beta))
    for _ in range(most_terms + 2 * SPARE):
        better = extended(block, fit) if len(fit.terms) < most_terms + SPARE else None
        if better is None:
            break
        fit = better
    fit = folded(block, fit)
    while len(fit.terms) > most_terms:
        fit = without(block, fit, [int(np.argmin(wald_gains(fit)))])
    return simplified(*fitted_in_turns(block, fit))


def simplified(block: ColumnBlock, fit: AdditiveFit) -> AdditiveFit:
    """Return a fit with simpler terms wherever these are worth more."""
    fit = folded(block, pruned(block, fit))
    for k in range(len(fit.terms)):
        lines = {term.columns for i, term in enumerate(fit.terms) if i != k and not term.knots}
        for plain in (each for each in simpler(block, fit.terms[k]) if each.knots or each.columns not in lines):
            less = fitted_if_close(block, [*fit.terms[:k], plain, *fit.terms[k + 1 :]], fit.beta, fit.worth)
            fit = less if less.worth > fit.worth else fit
    return fit


def settled(block: ColumnBlock, fit: AdditiveFit) -> AdditiveFit:
    """Fit the terms of another fit to a finer block, and drop those that do not pay there.

    The information of the result allows for the error of the density.
    """
    block, fit = fitted_in_turns(block, block.fit(fit.terms, fit.beta))
    return block.with_unsure_density(pruned(block, fit))


def fitted_in_turns(block: ColumnBlock, fit: AdditiveFit) -> tuple[ColumnBlock, AdditiveFit]:
    """Fit the density and the terms in turns; return both."""
    for _ in range(ROUNDS):
        block = block.with_density_of(fit, RENEWING)
        fit = block.fit(fit.terms, fit.beta)
    return block, fit


def simpler(block: ColumnBlock, term: Term) -> Iterator[Term]:
    """Yield simpler terms that may do as well: hinges near the end of their column made linear, single factors."""
    plain = Term(tuple(straightened(factor, block) for factor in term.factors))
    if plain != term:
        yield plain
    if len(term.factors) > 1:
        yield from (Term((factor,)) for factor in plain.factors)


def straightened(factor: Factor, block: ColumnBlock) -> Factor:
    """Return a linear factor for a hinge that bends close to the end of its column, else the factor itself."""
    points = next(each for each in block.points if each.column == factor.column)
    end = points.low if factor.sign > 0 else points.low + points.unit
    near = factor.hinge and abs(factor.knot - end) < NEAR_END * points.unit
    return replace(factor, knot=end, hinge=False) if near else factor


def extended(block: ColumnBlock, fit: AdditiveFit) -> AdditiveFit | None:
    """Return the fit with a further term that pays, once terms that it replaces are dropped; None if no term does."""
    promising = candidates(block, fit)[:TRIED]
    trials = [block.fit([*fit.terms, term], fit.beta, TRIAL_STEPS) for term in promising]
    for trial in sorted(trials, key=lambda trial: -trial.worth - savings(block, trial)):
        better = pruned(block, trial)
        if better.worth > fit.worth + WORTHWHILE:
            return better
    return None


def savings(block: ColumnBlock, fit: AdditiveFit) -> float:
    """Return about how many nats dropping the terms that do not pay would gain."""
    return sum(max(block.price_of(term) - gain, 0.0) for gain, term in zip(wald_gains(fit), fit.terms, strict=True))


def pruned(block: ColumnBlock, fit: AdditiveFit) -> AdditiveFit:
    """Return the fit without the terms that are not worth their price beside the others.

    First all that are clearly worth nothing are dropped, a quarter of their price or less, then one by one.
    """
    nothing = [k for k, gain in enumerate(wald_gains(fit)) if gain < block.price_of(fit.terms[k]) / 4]
    if len(nothing) > 1:
        less = without(block, fit, nothing, fit.worth)
        fit = less if less.worth > fit.worth else fit
    while fit.terms:
        left = [gain - block.price_of(term) for gain, term in zip(wald_gains(fit), fit.terms, strict=True)]
        weakest = int(np.argmin(left))
        if left[weakest] > 0:
            return fit
        less = without(block, fit, [weakest], fit.worth)
        if less.worth < fit.worth:
            return fit
        fit = less
    return fit


def without(block: ColumnBlock, fit: AdditiveFit, dropped: list[int], least: float = -np.inf) -> AdditiveFit:
    """Fit the terms of a fit again with some of them left out.

    dropped: their indices. least: nats that the result has to be worth to be fitted to the end.
    """
    terms = [term for k, term in enumerate(fit.terms) if k not in dropped]
    return fitted_if_close(block, terms, np.delete(fit.beta, [1 + k for k in dropped], axis=1), least)


def fitted_if_close(block: ColumnBlock, terms: list[Term], beta: Floats, least: float) -> AdditiveFit:
    """Fit terms; only a few steps where these show that the fit will not be worth ``least`` nats.

    beta: coefficients to start from.
    """
    first = block.fit(terms, beta, TRIAL_STEPS)
    return first if first.worth < least - FAR else block.fit(first.terms, first.beta)


def folded(block: ColumnBlock, fit: AdditiveFit) -> AdditiveFit:
    """Return the fit with single terms in the place of pairs of terms, wherever the fit is then worth more."""
    for first, second in permutations(fit.terms, 2):
        if first not in fit.terms or second not in fit.terms:
            continue
        for single, start in joined(block, fit, first, second):
            kept = [k for k, term in enumerate(fit.terms) if term not in (first, second)]
            beta = np.column_stack([fit.beta[:, [0, *(1 + k for k in kept)]], start])
            less = block.fit([*(fit.terms[k] for k in kept), single], beta, FOLD_STEPS)
            if less.worth > fit.worth:
                fit = less
                break
    return fit


def joined(block: ColumnBlock, fit: AdditiveFit, plain: Term, bent: Term) -> Iterator[tuple[Term, Floats]]:
    """Yield terms that may do for two terms of a fit, each with coefficients to start from.

    r·max(c − x, 0)      for r·x and r·max(x − c, 0), whose sum is flat beyond c
    r·(x − a)            for r and r·(b − x)
    x·max(z − c, 0)      for a weak effect of x and max(z − c, 0)

    plain, bent: the two terms, in this order.
    """
    first, second = fit.terms.index(plain), fit.terms.index(bent)
    of_plain, of_bent = fit.beta[:, 1 + first], fit.beta[:, 1 + second]
    single = len(plain.factors) == len(bent.factors) == 1 and plain.columns != bent.columns
    if single and bent.knots and wald_gains(fit)[first] < WEAK_EFFECT:
        yield Term((*bent.factors, *plain.factors)), 2 * of_bent
    for factor in bent.factors:
        rest = tuple(each for each in bent.factors if each is not factor)
        others = tuple(each for each in plain.factors if each.column != factor.column)
        straight = [each for each in plain.factors if each.column == factor.column and not each.hinge]
        if factor.labels is not None or forms_of(rest) != forms_of(others):
            continue
        if straight and factor.hinge:
            slope = straight[0].sign * of_plain
            if np.linalg.norm(slope + factor.sign * of_bent) < np.linalg.norm(slope) / 2:
                yield Term((*rest, replace(factor, sign=-factor.sign))), -factor.sign * slope
        if rest and others == plain.factors:
            up = linear(next(each for each in block.points if each.column == factor.column))
            yield Term((*rest, up if factor.sign < 0 else from_other_end(up))), -of_bent


def forms_of(factors: Iterable[Factor]) -> set[tuple[int, int, bool, int]]:
    """Return the column, sign, kind and label of each factor: equal for factors that differ in their knots alone."""
    return {(each.column, each.sign, each.hinge, each.label) for each in factors}


def wald_gains(fit: AdditiveFit) -> list[float]:
    """Return about how many nats each term gains: ½·β_k'·Cov(β_k)⁻¹·β_k, half of Wald's statistic.

    A rule without any noise of its own leaves the common scale of β open, so that no coefficient would seem to be worth
    anything: the scale is held fixed.
    """
    rows, width = fit.beta.shape
    information = fit.information
    scaling = np.zeros(len(information))
    scaling[: rows * width] = fit.beta.ravel()
    pull = scaling * np.diag(information)
    fixed = information + HELD_SCALE * np.outer(pull, pull) / max(float(scaling @ pull), LEAST_DOUBLE)
    covariance = inverse_information(fixed)
    gains = []
    for k in range(1, width):
        at = np.arange(rows) * width + k
        inverse = np.linalg.pinv(covariance[np.ix_(at, at)], hermitian=True)
        gains.append(0.5 * float(fit.beta[:, k] @ inverse @ fit.beta[:, k]))
    return gains
