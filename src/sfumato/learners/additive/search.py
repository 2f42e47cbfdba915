"""Which terms: forward by score test, fitted with all others, and dropped again where they do not pay.

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
from sfumato.learners.additive.block import AdditiveFit, ColumnBlock
from sfumato.learners.additive.model import shares
from sfumato.learners.additive.terms import CellPoints, Factor, Term

NEAR_END = 0.25
KNOTS = (0.2, 0.4, 0.6, 0.8)
MOST_LABELS = 30
TRIED, TRIAL_STEPS = 4, 4  # terms that are fitted in each round, and how far
FAR = 100.0  # nats
FOLD_STEPS = 20
RENEWING, ROUNDS = 20, 3  # steps of EM that fit the density to the terms, and how often before the end
WEAK = 60.0  # nats
SPARE = 3  # terms that may be there until others replace them
SINGULAR = 1e-3  # a candidate whose information is mostly that of the current terms is none
WORTHWHILE = 2.0  # nats that a change of terms has to gain beyond its price
HELD = 1e3
TINY = 1e-300


# --- candidates -----------------------------------------------------------------------------------------------------


def factors_of(block: ColumnBlock, axis: int) -> list[Factor]:
    """The factors of a column that are tried."""
    points = block.points[axis]
    marginal = block.density.sum(axis=tuple(k for k in range(block.density.ndim) if k != axis))
    if points.labels is not None:
        common = np.argsort(-marginal, kind="stable")[:MOST_LABELS].tolist()
        return [Factor(points.column, 0.0, labels=points.labels, label=code) for code in common]
    end = linear(points)
    cuts = np.interp(KNOTS, np.cumsum(marginal) - marginal / 2, points.middle)
    inner = [(cut - points.low) / points.unit for cut in np.unique(cuts).tolist()]
    knots = [points.low + points.unit * place for place in inner if 0.02 < place < 0.98]
    hinges = [replace(end, knot=knot, sign=sign, hinge=True) for knot in knots for sign in (1, -1)]
    return [end, turned(end), *hinges]


def linear(points: CellPoints) -> Factor:
    return Factor(points.column, points.low, points.unit)


def turned(factor: Factor) -> Factor:
    """A linear factor counted from the other end of its column."""
    return replace(factor, knot=factor.knot + factor.sign * factor.unit, sign=-factor.sign)


def candidates(block: ColumnBlock, fitted: AdditiveFit) -> list[Term]:
    """The term of each column and of each two that promises most beyond its price; the best first."""
    scan = Scan(block, fitted)
    columns = range(len(block.points))
    sets = [*((axis,) for axis in columns), *combinations(columns, 2)]
    best = [max(scan.promises(axes), key=lambda pair: pair[0], default=(0.0, Term(()))) for axes in sets]
    return [term for promise, term in sorted(best, key=lambda pair: -pair[0]) if promise > 0]


class Scan:
    """The likelihood about one fit, as candidates see it."""

    def __init__(self, block: ColumnBlock, fitted: AdditiveFit) -> None:
        self.block = block
        bent = [factor for term in fitted.terms for factor in term.factors if factor.hinge]
        self.bent = {points.column: [each for each in bent if each.column == points.column] for points in block.points}
        family, evidence = block.family(fitted.terms), block.evidence
        log_odds, softened = family.softened_log_odds(fitted.beta)
        p = shares(log_odds * softened)
        joint = block.density.ravel() * p
        counts, table = evidence.in_cells, evidence.product
        reported = evidence.predict(joint.reshape(1, -1)).reshape(counts.shape)
        people = evidence.block_people.reshape(counts.shape)
        fields = family.fields(family.theta(fitted.beta))
        images = table.apply(fields).reshape(len(fields), *counts.shape)
        label = np.eye(block.classes) if table.label is None else np.asarray(table.label)
        self.current = (images * np.sqrt(people / reported)).reshape(len(fields), -1)
        self.solved = np.linalg.pinv(self.current @ self.current.T, rcond=1e-10, hermitian=True)
        self.pushed, self.weights, self.told = [], [], []
        for y in range(1, block.classes):
            rest = np.where(np.arange(block.classes) == y, 0.0, block.shares)
            direction = label[:, y] - label @ rest / max(rest.sum(), TINY)
            self.pushed.append((joint[y] * (1 - p[y]) * softened[y - 1]).reshape(block.density.shape))
            self.weights.append(np.sqrt(people / reported) * direction)
            self.told.append(np.sum(counts / reported * direction, axis=-1).ravel())

    def promises(self, axes: tuple[int, ...]) -> list[tuple[float, Term]]:
        """What terms of one factor of each of these columns promise."""
        block = self.block
        sets = [[*factors_of(block, axis), *self.bent[block.points[axis].column]] for axis in axes]
        if len(axes) == 1 and block.points[axes[0]].labels is None:
            sets = [[each for each in sets[0] if each.hinge or each.sign > 0]]
        terms = [Term((first,)) for first in sets[0]] if len(axes) == 1 else [
            Term((first, second)) for first in sets[0] for second in sets[1]
        ]
        total = np.zeros(len(terms))
        for pushed, weight, told in zip(self.pushed, self.weights, self.told, strict=True):
            images = self._images(pushed, axes, sets)
            score = images @ told
            own = (images**2) @ np.sum(weight**2, axis=-1).ravel()
            shared = np.einsum("ks,sy,psy->kp", images, weight.reshape(images.shape[1], -1),
                               self.current.reshape(len(self.current), images.shape[1], -1), optimize=True)
            left = own - np.einsum("kp,pq,kq->k", shared, self.solved, shared)
            total += np.where(left > SINGULAR * own, score**2 / np.maximum(2 * left, TINY), 0.0)
        return [(gain - block.price_of(term), term) for gain, term in zip(total.tolist(), terms, strict=True)]

    def _images(self, pushed: Floats, axes: tuple[int, ...], sets: list[list[Factor]]) -> Floats:
        """C(pushed·φ) of every combination of factors, one row each, report cells in order."""
        array, tables = pushed, self.block.evidence.product.factors
        for axis in (k for k in range(pushed.ndim) if k not in axes):
            array = np.moveaxis(np.tensordot(tables[axis], array, (1, axis)), 0, axis)
        for at, (axis, factors) in enumerate(zip(axes, sets, strict=True)):
            means = np.stack([factor.on(self.block.points[axis]).mean for factor in factors])
            spread = means[:, None, :] * tables[axis]
            array = np.tensordot(spread, array, (2, axis + at))
            array = np.moveaxis(array, (0, 1), (at, axis + at + 1))
        return array.reshape(prod(array.shape[: len(axes)]), -1)


# --- the search -----------------------------------------------------------------------------------------------------


def search(block: ColumnBlock, most_terms: int, known: AdditiveFit | None = None) -> AdditiveFit:
    """Terms that pay, at most so many: from a linear one for every column of numbers on."""
    terms, beta = ([], None) if known is None else (known.terms, known.beta)
    met = {column for term in terms for column in term.columns}
    fresh = [linear(points) for points in block.points if points.labels is None and points.column not in met]
    found = pruned(block, block.fitted([*terms, *(Term((factor,)) for factor in fresh)], beta))
    for _ in range(most_terms + 2 * SPARE):
        better = grown(block, found) if len(found.terms) < most_terms + SPARE else None
        if better is None:
            break
        found = better
    found = folded(block, found)
    while len(found.terms) > most_terms:
        found = without(block, found, [int(np.argmin(wald(found)))])
    return simplified(*renewed(block, found))


def simplified(block: ColumnBlock, found: AdditiveFit) -> AdditiveFit:
    """With simpler terms wherever they say the same."""
    found = folded(block, pruned(block, found))
    for k in range(len(found.terms)):
        lines = {term.columns for i, term in enumerate(found.terms) if i != k and not term.knots}
        for plain in (each for each in simpler(block, found.terms[k]) if each.knots or each.columns not in lines):
            less = tried(block, [*found.terms[:k], plain, *found.terms[k + 1 :]], found.beta, found.worth)
            found = less if less.worth > found.worth else found
    return found


def settled(block: ColumnBlock, found: AdditiveFit) -> AdditiveFit:
    """The terms on a finer block, without those that do not pay there."""
    block, found = renewed(block, block.fitted(found.terms, found.beta))
    return block.with_density_unknown(pruned(block, found))


def renewed(block: ColumnBlock, found: AdditiveFit) -> tuple[ColumnBlock, AdditiveFit]:
    """Density and terms fitted in turns."""
    for _ in range(ROUNDS):
        block = block.renewed(found, RENEWING)
        found = block.fitted(found.terms, found.beta)
    return block, found


def simpler(block: ColumnBlock, term: Term) -> Iterator[Term]:
    """Terms that may say the same: hinges close to the end of their column made linear, one factor of a product."""
    plain = Term(tuple(straightened(factor, block) for factor in term.factors))
    if plain != term:
        yield plain
    if len(term.factors) > 1:
        yield from (Term((factor,)) for factor in plain.factors)


def straightened(factor: Factor, block: ColumnBlock) -> Factor:
    points = next(each for each in block.points if each.column == factor.column)
    end = points.low if factor.sign > 0 else points.low + points.unit
    near = factor.hinge and abs(factor.knot - end) < NEAR_END * points.unit
    return replace(factor, knot=end, hinge=False) if near else factor


def grown(block: ColumnBlock, found: AdditiveFit) -> AdditiveFit | None:
    """With a further term that pays once others are dropped that it replaces; None if none of the best does."""
    promising = candidates(block, found)[:TRIED]
    ahead = [block.fitted([*found.terms, term], found.beta, TRIAL_STEPS) for term in promising]
    for each in sorted(ahead, key=lambda each: -each.worth - spared(block, each)):
        better = pruned(block, each)
        if better.worth > found.worth + WORTHWHILE:
            return better
    return None


def spared(block: ColumnBlock, found: AdditiveFit) -> float:
    """About what is gained by dropping terms that do not pay."""
    return sum(max(block.price_of(term) - cost, 0.0) for cost, term in zip(wald(found), found.terms, strict=True))


def pruned(block: ColumnBlock, found: AdditiveFit) -> AdditiveFit:
    """Without terms that do not pay beside the others: first all that are clearly worth nothing, then one by one."""
    nothing = [k for k, cost in enumerate(wald(found)) if cost < block.price_of(found.terms[k]) / 4]
    if len(nothing) > 1:
        less = without(block, found, nothing, found.worth)
        found = less if less.worth > found.worth else found
    while found.terms:
        left = [cost - block.price_of(term) for cost, term in zip(wald(found), found.terms, strict=True)]
        weakest = int(np.argmin(left))
        if left[weakest] > 0:
            return found
        less = without(block, found, [weakest], found.worth)
        if less.worth < found.worth:
            return found
        found = less
    return found


def without(block: ColumnBlock, found: AdditiveFit, places: list[int], least: float = -np.inf) -> AdditiveFit:
    terms = [term for k, term in enumerate(found.terms) if k not in places]
    return tried(block, terms, np.delete(found.beta, [1 + k for k in places], axis=1), least)


def tried(block: ColumnBlock, terms: list[Term], beta: Floats, least: float) -> AdditiveFit:
    """The terms fitted, only a little where that shows that they will not be worth `least`."""
    first = block.fitted(terms, beta, TRIAL_STEPS)
    return first if first.worth < least - FAR else block.fitted(first.terms, first.beta)


def folded(block: ColumnBlock, found: AdditiveFit) -> AdditiveFit:
    """With one term in the place of two, wherever that pays."""
    for first, second in permutations(found.terms, 2):
        if first not in found.terms or second not in found.terms:
            continue
        for one, start in joined(block, found, first, second):
            kept = [k for k, term in enumerate(found.terms) if term not in (first, second)]
            beta = np.column_stack([found.beta[:, [0, *(1 + k for k in kept)]], start])
            less = block.fitted([*(found.terms[k] for k in kept), one], beta, FOLD_STEPS)
            if less.worth > found.worth:
                found = less
                break
    return found


def joined(block: ColumnBlock, found: AdditiveFit, plain: Term, bent: Term) -> Iterator[tuple[Term, Floats]]:
    """Terms that may do for these two, with coefficients to start from: r·max(c − x, 0) for r·x and r·max(x − c, 0)
    whose sum is flat beyond c, r·(x − a) for r and r·(b − x), and x·max(z − c, 0) for a weak effect of x and
    max(z − c, 0)."""
    place, bend = found.terms.index(plain), found.terms.index(bent)
    of_plain, of_bent = found.beta[:, 1 + place], found.beta[:, 1 + bend]
    single = len(plain.factors) == len(bent.factors) == 1 and plain.columns != bent.columns
    if single and bent.knots and wald(found)[place] < WEAK:
        yield Term((*bent.factors, *plain.factors)), 2 * of_bent
    for factor in bent.factors:
        rest = tuple(each for each in bent.factors if each is not factor)
        others = tuple(each for each in plain.factors if each.column != factor.column)
        straight = [each for each in plain.factors if each.column == factor.column and not each.hinge]
        if factor.labels is not None or form_of(rest) != form_of(others):
            continue
        if straight and factor.hinge:
            slope = straight[0].sign * of_plain
            if np.linalg.norm(slope + factor.sign * of_bent) < np.linalg.norm(slope) / 2:
                yield Term((*rest, replace(factor, sign=-factor.sign))), -factor.sign * slope
        if rest and others == plain.factors:
            up = linear(next(each for each in block.points if each.column == factor.column))
            yield Term((*rest, up if factor.sign < 0 else turned(up))), -of_bent


def form_of(factors: Iterable[Factor]) -> set[tuple[int, int, bool, int]]:
    """Factors whatever their knots."""
    return {(each.column, each.sign, each.hinge, each.label) for each in factors}


def wald(found: AdditiveFit) -> list[float]:
    """About how many nats each term is worth, from its coefficients and their covariance.

    A rule without any noise of its own leaves the common scale of β open, so that no coefficient would seem to be worth
    anything: the scale is held fixed.
    """
    rows, width = found.beta.shape
    information = found.information
    scaling = np.zeros(len(information))
    scaling[: rows * width] = found.beta.ravel()
    pull = scaling * np.diag(information)
    fixed = information + HELD * np.outer(pull, pull) / max(float(scaling @ pull), TINY)
    covariance = inverse_information(fixed)
    costs = []
    for k in range(1, width):
        at = np.arange(rows) * width + k
        inverse = np.linalg.pinv(covariance[np.ix_(at, at)], hermitian=True)
        costs.append(0.5 * float(found.beta[:, k] @ inverse @ found.beta[:, k]))
    return costs
