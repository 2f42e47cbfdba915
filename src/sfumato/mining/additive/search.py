"""Which terms: forward by score test, fitted with all others, and dropped again where they do not pay.

A candidate's promise is what a quadratic in its coefficient gains after *all* current parameters have been projected
out. The score and the information need one image of the candidate's field through the tables; for products of one
factor each of two columns the other columns are contracted once for all of them. With several classes each one stands
against the rest, and their promises are added. What pays is decided by the fit: a term stays if the log-likelihood of
the reports rises by more than ½·log n for each of its coefficients and knots (BIC).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

import numpy as np

from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.mining.additive.model import AdditiveModel, shares
from sfumato.mining.additive.terms import CellPoints, Factor, Term
from sfumato.mining.joint.grid import GridProblem, Resolution
from sfumato.mining.likelihood import Fit, Observed, maximise
from sfumato.reconstruction import Axis

NEAR_END = 0.25
KNOTS = (0.2, 0.4, 0.6, 0.8)
MOST_LABELS = 30
ALONE_STEPS = 60
TRIED = 4  # products that are fitted in each round
SPARE = 3  # terms that may be there until others replace them
TOLERANCE, STEPS = 0.5, 8
SINGULAR = 1e-3  # a candidate whose information is mostly that of the current terms is none
WORTHWHILE = 2.0  # nats that a change of terms has to gain beyond its price
HELD = 1e3
TINY = 1e-300


@dataclass(frozen=True)
class Fitted:
    """Terms with their knots, and what was learned about them."""

    terms: list[Term]
    beta: Floats
    fit: Fit
    worth: float
    """The log-likelihood of the reports less the price of the terms."""


class Grid:
    """Some columns in cells: counts of their reports, the density of their true values, and models over both."""

    def __init__(self, reports: Reports, axes: Sequence[Axis], columns: Sequence[int], cells: int, steps: int) -> None:
        """`cells`: how many true cells there may be; `steps` of EM for the density, which are the less smoothing."""
        chosen = [axes[j] for j in columns]
        resolution = resolution_within(chosen, cells)
        problem = GridProblem.of(reports, chosen, resolution, dtype=np.float64)
        self.observed = Observed.of(problem)
        self.table, self.classes = problem.table, int(problem.table.true_shape[0])
        self.points = [CellPoints.of(j, axes[j], cut) for j, cut in zip(columns, problem.cells, strict=True)]
        self.counts = self.observed.counts.reshape(problem.table.report_shape)
        self.density = class_blind(reports, chosen, resolution, self.counts.sum(axis=-1), steps)
        self.shares = true_shares(problem.table.label, self.counts)
        self.price = 0.5 * float(np.log(max(self.observed.total, 2.0)))

    def price_of(self, term: Term) -> float:
        return self.price * (self.classes - 1 + len(term.knots))

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

    # --- candidates -----------------------------------------------------------------------------------------------

    def factors(self, axis: int) -> list[Factor]:
        """The factors of a column that are tried."""
        points = self.points[axis]
        marginal = self.density.sum(axis=tuple(k for k in range(self.density.ndim) if k != axis))
        if points.labels is not None:
            common = np.argsort(-marginal, kind="stable")[:MOST_LABELS].tolist()
            return [Factor(points.column, 0.0, labels=points.labels, label=code) for code in common]
        end = Factor(points.column, points.low, points.unit)
        cuts = np.interp(KNOTS, np.cumsum(marginal) - marginal / 2, points.middle)
        inner = [(cut - points.low) / points.unit for cut in np.unique(cuts).tolist()]
        knots = [points.low + points.unit * place for place in inner if 0.02 < place < 0.98]
        hinges = [replace(end, knot=knot, sign=sign, hinge=True) for knot in knots for sign in (1, -1)]
        return [end, replace(end, knot=points.low + points.unit, sign=-1), *hinges]

    def candidates(self, fitted: Fitted, products: bool) -> list[tuple[float, Term]]:
        """What every further term promises less its price, those that promise most first."""
        scan = Scan(self, fitted)
        columns = range(len(self.points))
        found = [each for axis in columns for each in scan.promises((axis,))]
        if products:
            found += [each for pair in combinations(columns, 2) for each in scan.promises(pair)]
        return sorted(found, key=lambda pair: -pair[0])


class Scan:
    """The likelihood about one fit, as candidates see it."""

    def __init__(self, grid: Grid, fitted: Fitted) -> None:
        self.grid = grid
        model = AdditiveModel(grid.points, grid.density, fitted.terms, grid.classes)
        theta = model.theta(fitted.beta)
        log_odds, _, softened = model._log_odds(fitted.beta, [model._over(term) for term in model.terms])
        p = shares(log_odds * softened)
        joint = grid.density.ravel() * p
        reported = np.maximum(grid.table.apply(joint.ravel()).reshape(grid.counts.shape), TINY)
        people = grid.observed.people.reshape(grid.counts.shape)
        fields = model.fields(theta)
        images = grid.table.apply(fields).reshape(len(fields), *grid.counts.shape)
        label = np.eye(grid.classes) if grid.table.label is None else np.asarray(grid.table.label)
        self.current = (images * np.sqrt(people / reported)).reshape(len(fields), -1)
        self.solved = np.linalg.pinv(self.current @ self.current.T, rcond=1e-10, hermitian=True)
        self.pushed, self.weights, self.told = [], [], []
        for y in range(1, grid.classes):
            rest = np.where(np.arange(grid.classes) == y, 0.0, grid.shares)
            direction = label[:, y] - label @ rest / max(rest.sum(), TINY)
            self.pushed.append((joint[y] * (1 - p[y]) * softened[y - 1]).reshape(grid.density.shape))
            self.weights.append(np.sqrt(people / reported) * direction)
            self.told.append(np.sum(grid.counts / reported * direction, axis=-1).ravel())

    def promises(self, axes: tuple[int, ...]) -> list[tuple[float, Term]]:
        """What terms of one factor of each of these columns promise."""
        grid = self.grid
        sets = [grid.factors(axis) for axis in axes]
        if len(axes) == 1 and grid.points[axes[0]].labels is None:
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
        return [(gain - grid.price_of(term), term) for gain, term in zip(total.tolist(), terms, strict=True)]

    def _images(self, pushed: Floats, axes: tuple[int, ...], sets: list[list[Factor]]) -> Floats:
        """C(pushed·φ) of every combination of factors, one row each, report cells in order."""
        array, tables = pushed, self.grid.table.factors
        for axis in (k for k in range(pushed.ndim) if k not in axes):
            array = np.moveaxis(np.tensordot(tables[axis], array, (1, axis)), 0, axis)
        for at, (axis, factors) in enumerate(zip(axes, sets, strict=True)):
            means = np.stack([factor.on(self.grid.points[axis]).mean for factor in factors])
            spread = means[:, None, :] * tables[axis]
            array = np.tensordot(spread, array, (2, axis + at))
            array = np.moveaxis(array, (0, 1), (at, axis + at + 1))
        return array.reshape(prod(array.shape[: len(axes)]), -1)


# --- the search -----------------------------------------------------------------------------------------------------


def search(grid: Grid, most_terms: int) -> Fitted:
    """Terms that pay, at most so many: from a linear one for every column of numbers on, products last."""
    numbers = [axis for axis, points in enumerate(grid.points) if points.labels is None]
    found = pruned(grid, grid.fitted([Term((grid.factors(axis)[0],)) for axis in numbers]))
    for products, tried in ((False, 1), (True, TRIED)):
        while len(found.terms) < most_terms + SPARE:
            better = grown(grid, found, products, tried)
            if better is None:
                break
            found = better
    while len(found.terms) > most_terms:
        found = without(grid, found, [int(np.argmin(wald(found)))])
    return found


def settled(grid: Grid, found: Fitted) -> Fitted:
    """The terms on a finer grid: hinges that may as well be linear made so, and those dropped that do not pay."""
    found = pruned(grid, grid.fitted(found.terms, found.beta))
    for k, term in enumerate(found.terms):
        plain = Term(tuple(straightened(factor, grid) for factor in term.factors))
        if plain != term:
            less = grid.fitted([*found.terms[:k], plain, *found.terms[k + 1 :]], found.beta)
            found = less if less.worth > found.worth else found
    return found


def straightened(factor: Factor, grid: Grid) -> Factor:
    """A hinge whose knot is close to the end of its column, as a linear factor."""
    points = next(each for each in grid.points if each.column == factor.column)
    end = points.low if factor.sign > 0 else points.low + points.unit
    near = factor.hinge and abs(factor.knot - end) < NEAR_END * points.unit
    return replace(factor, knot=end, hinge=False) if near else factor


def grown(grid: Grid, found: Fitted, products: bool, tried: int) -> Fitted | None:
    """With the further term that pays most once others are dropped that it replaces; None if none pays."""
    promising = [term for promise, term in grid.candidates(found, products)[:tried] if promise > 0]
    ahead = [pruned(grid, grid.fitted([*found.terms, term], found.beta)) for term in promising]
    better = [each for each in ahead if each.worth > found.worth + WORTHWHILE]
    return max(better, key=lambda each: each.worth, default=None)


def pruned(grid: Grid, found: Fitted) -> Fitted:
    """Without terms that do not pay beside the others: first all that are clearly worth nothing, then one by one."""
    nothing = [k for k, cost in enumerate(wald(found)) if cost < grid.price_of(found.terms[k]) / 4]
    if len(nothing) > 1:
        less = without(grid, found, nothing)
        found = less if less.worth > found.worth else found
    while found.terms:
        left = [cost - grid.price_of(term) for cost, term in zip(wald(found), found.terms, strict=True)]
        weakest = int(np.argmin(left))
        if left[weakest] > 0:
            return found
        less = without(grid, found, [weakest])
        if less.worth < found.worth:
            return found
        found = less
    return found


def without(grid: Grid, found: Fitted, places: list[int]) -> Fitted:
    terms = [term for k, term in enumerate(found.terms) if k not in places]
    return grid.fitted(terms, np.delete(found.beta, [1 + k for k in places], axis=1))


def wald(found: Fitted) -> list[float]:
    """About how many nats each term is worth, from its coefficients and their covariance.

    A rule without any noise of its own leaves the common scale of β open, so that no coefficient would seem to be worth
    anything: the scale is held fixed.
    """
    rows, width = found.beta.shape
    information = found.fit.information
    scaling = np.zeros(len(information))
    scaling[: rows * width] = found.beta.ravel()
    pull = scaling * np.diag(information)
    fixed = information + HELD * np.outer(pull, pull) / max(float(scaling @ pull), TINY)
    covariance = replace(found.fit, information=fixed).covariance
    costs = []
    for k in range(1, width):
        at = np.arange(rows) * width + k
        inverse = np.linalg.pinv(covariance[np.ix_(at, at)], hermitian=True)
        costs.append(0.5 * float(found.beta[:, k] @ inverse @ found.beta[:, k]))
    return costs


# --- cells and density ----------------------------------------------------------------------------------------------


def resolution_within(axes: Sequence[Axis], most: int) -> Resolution:
    """As fine as so many true cells allow, report cells fine for few columns and about as many for more."""
    sizes = [axis.natural_size for axis in axes]
    cells = 2
    while cells < 60 and prod(min(cells + 1, size) for size in sizes) <= most:
        cells += 1
    coarseness = (0.1, 0.2, 0.35, 0.6, 0.85, 1.1)[min(len(axes), 6) - 1]
    return Resolution(cells, coarseness, 0.1).coarsened(axes, max(most, 1000))


def class_blind(
    reports: Reports, axes: Sequence[Axis], resolution: Resolution, counts: Floats, steps: int
) -> Floats:
    """The density of true values whatever the class: by EM, from the columns' own densities as if independent."""
    start = np.ones(())
    for j, axis in enumerate(axes):
        alone = GridProblem.of(reports, [axis], resolution, by_class=False)
        of_column = counts.sum(axis=tuple(k for k in range(counts.ndim) if k != j))
        start = np.multiply.outer(start, alone.fit(of_column[:, None].astype(np.float32), ALONE_STEPS)[0])
    together = GridProblem.of(reports, axes, resolution, by_class=False)
    blind = counts[..., None].astype(np.float32)
    found = together.fit(blind, steps, start[None].astype(np.float32)) if len(axes) > 1 else start[None]
    density = np.maximum(found[0].astype(np.float64), 0.0)
    return np.asarray(density / density.sum())


def true_shares(label: Floats | None, counts: Floats) -> Floats:
    """The classes' shares; of labels that went through a channel, by its inverse."""
    reported = counts.reshape(-1, counts.shape[-1]).sum(axis=0)
    true = reported if label is None else np.linalg.pinv(np.asarray(label)) @ reported
    kept = np.maximum(true, 0.5)
    return np.asarray(kept / kept.sum())
