"""The additive model over true cells, as Fisher scoring fits it.

    joint(y, t) = g(t)·P(y | t),      P(y | t) = softmax_y F_y(t)·κ_y(t),      F_0 = 0,
    F_y = β_y0 + Σ_k β_yk·φ_k(t),     κ_y = 1/√(1 + π/8·V_y),      V_y = Σ_j (Σ_k β_yk·deviation_kj)²

φ_k(t) is the mean of a term over the cell, V_y the variance of the log-odds within the cell: the mean of σ(F) over a
normal F of mean m and variance V is σ(m/√(1 + πV/8)) within 2 %. One point a cell does what many would, and a rule
without any noise of its own (β → ∞) still has a smooth likelihood: the share of the cell on either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from sfumato.domain import Floats
from sfumato.learners.additive.terms import CellPoints, Term

SOFTENING = np.pi / 8
"""π/8 in κ: the slope of a logistic curve and of a normal distribution function at 0 are then the same."""
LONGEST_STEP = 3.0
"""Change of the log-odds in one step of Fisher scoring, at one standard deviation of a term: e³ times the odds. By
judgement; longer steps overshoot and are taken back, shorter ones are more."""
LONGEST_MOVE = 0.08
"""Widths of its column by which a knot moves in one step at most. By judgement; a longer move leaves the cells from
which its slope was read."""
WEAK = 1e-3
"""Ridge: a term that shifts the log-odds by one standard deviation costs half of this in nats, next to nothing. It only
keeps coefficients of rules without noise finite. By judgement."""
KNOT_MARGIN = 0.02
"""Widths of a column that lie between its ends and any knot. By judgement; without it a hinge could leave the column,
where its slope by the knot is 0."""


class TermOnCells(NamedTuple):
    """A term over all cells of a block, flat.

    mean: over each cell. deviations: standard deviation within each cell along each of the term's axes.
    slopes_by_knot: derivatives of the mean by each of the term's knots.
    """

    mean: Floats
    deviations: dict[int, Floats]
    slopes_by_knot: list[Floats]


class AdditiveFamily:
    """The additive models of some terms, P(y, t), as `fit_family` fits them.

    Its parameters θ are β row by row, [class but the first, intercept and each term], and then the knots of the hinges
    in widths of their columns.

    points: the columns' cells. density: P(t) over all of them. terms: with the knots from which a fit starts.
    """

    def __init__(self, points: Sequence[CellPoints], density: Floats, terms: Sequence[Term], classes: int) -> None:
        self.points, self.terms, self.classes = list(points), list(terms), classes
        self.g = density.reshape(-1)
        self.axis = {column.column: axis for axis, column in enumerate(points)}
        self.shape = tuple(column.middle.size for column in points)
        self.rows, self.width = classes - 1, 1 + len(self.terms)
        self.hinges = [factor for term in self.terms for factor in term.factors if factor.hinge]
        deviations = [self._deviation(self._on_cells(term).mean) for term in self.terms]
        scale = np.concatenate([[1.0], deviations])
        free = len(self.hinges)
        self.limits = np.concatenate([np.tile(LONGEST_STEP / scale, self.rows), np.full(free, LONGEST_MOVE)])
        weak = np.concatenate([[0.0], WEAK * scale[1:] ** 2])
        self.ridge = np.concatenate([np.tile(weak, self.rows), np.zeros(free)])

    def _deviation(self, phi: Floats) -> float:
        """Return the standard deviation among people of a function that has one value a cell."""
        mean = float(self.g @ phi)
        return float(np.sqrt(max(float(self.g @ (phi - mean) ** 2), 1e-12)))

    # --- parameters -------------------------------------------------------------------------------------------------

    def theta(self, beta: Floats) -> Floats:
        """Return the parameters θ of these coefficients, with the knots that the terms have."""
        return np.concatenate([beta.ravel(), [factor.knot / factor.unit for factor in self.hinges]])

    def beta(self, theta: Floats) -> Floats:
        """Return the coefficients among the parameters, one row a class but the first."""
        return np.asarray(theta[: self.rows * self.width].reshape(self.rows, self.width))

    def terms_at(self, theta: Floats) -> list[Term]:
        """Return the terms with the knots of the parameters, which stay inside their columns."""
        ends = [self.points[self.axis[factor.column]].low / factor.unit for factor in self.hinges]
        places = zip(self.hinges, theta[self.rows * self.width :], ends, strict=True)
        knots = iter([
            factor.unit * float(np.clip(place, low + KNOT_MARGIN, low + (1 - KNOT_MARGIN)))
            for factor, place, low in places
        ])
        return [term.moved([next(knots) for _ in term.knots]) for term in self.terms]

    # --- what Fisher scoring reads ----------------------------------------------------------------------------------

    def class_shares(self, theta: Floats) -> Floats:
        """Return the share P(y | t) of each class in every true cell, one row a class."""
        log_odds, _, softened = self._log_odds(self.beta(theta), self._all_on_cells(theta))
        return shares(log_odds * softened)

    def softened_log_odds(self, beta: Floats) -> tuple[Floats, Floats]:
        """Return the log-odds F_y and the factor κ_y that softens them, one row for every class but the first."""
        log_odds, _, softened = self._log_odds(beta, [self._on_cells(term) for term in self.terms])
        return log_odds, softened

    def joint(self, theta: Floats) -> Floats:
        """Return P(class y, true cell t) at these parameters, as one array of classes × cells, class by class."""
        return np.asarray(self.g * self.class_shares(theta)).ravel()

    def fields(self, theta: Floats) -> Floats:
        """Return ∂P(y, t)/∂θ, one row a parameter."""
        beta, on_cells = self.beta(theta), self._all_on_cells(theta)
        log_odds, inside, softened = self._log_odds(beta, on_cells)
        p = shares(log_odds * softened)
        stiff = log_odds * softened**3 * SOFTENING
        by_beta = np.empty((self.rows, self.width, self.g.size))  # ∂(F_y·κ_y)/∂β
        by_knot = [np.zeros((self.rows, self.g.size)) for _ in self.hinges]
        for y in range(self.rows):
            by_beta[y, 0] = softened[y]
            at = 0
            for k, (phi, deviations, slopes) in enumerate(on_cells):
                by_beta[y, 1 + k] = softened[y] * phi
                for axis, deviation in deviations.items():
                    by_beta[y, 1 + k] -= stiff[y] * inside[axis][y] * deviation
                for slope in slopes:
                    by_knot[at][y] = beta[y, 1 + k] * softened[y] * slope
                    at += 1
        fields = np.empty((self.limits.size, self.classes, self.g.size))
        for y in range(self.rows):
            block = fields[y * self.width : (y + 1) * self.width]
            np.multiply((-self.g * p[1 + y] * p)[None], by_beta[y][:, None], out=block)
            block[:, 1 + y] += self.g * p[1 + y] * by_beta[y]
        for at, slope in enumerate(by_knot):
            shift = np.concatenate([np.zeros((1, self.g.size)), slope])
            fields[self.rows * self.width + at] = self.g * p * (shift - (p * shift).sum(axis=0))
        return fields.reshape(self.limits.size, -1)

    def _log_odds(self, beta: Floats, on_cells: list[TermOnCells]) -> tuple[Floats, dict[int, Floats], Floats]:
        """Return the log-odds F_y, their deviation within cells along each axis, and the factor κ_y that softens them.

        Each has a row for every class but the first.
        """
        log_odds = np.repeat(beta[:, :1], self.g.size, axis=1)
        inside: dict[int, Floats] = {}
        for k, (phi, deviations, _) in enumerate(on_cells):
            log_odds += beta[:, 1 + k : 2 + k] * phi
            for axis, deviation in deviations.items():
                inside[axis] = inside.get(axis, 0.0) + beta[:, 1 + k : 2 + k] * deviation
        variance = sum((each**2 for each in inside.values()), np.zeros_like(log_odds))
        return log_odds, inside, 1.0 / np.sqrt(1.0 + SOFTENING * variance)

    def _all_on_cells(self, theta: Floats) -> list[TermOnCells]:
        """Return every term over all cells, with the knots of the parameters."""
        return [self._on_cells(term) for term in self.terms_at(theta)]

    def _on_cells(self, term: Term) -> TermOnCells:
        """Return a term over all cells."""
        factors = [factor.on(self.points[self.axis[factor.column]]) for factor in term.factors]
        axes = [self.axis[factor.column] for factor in term.factors]
        means = [factor.mean for factor in factors]
        deviations, slopes = {}, []
        for i, factor in enumerate(factors):
            deviations[axes[i]] = self._outer(axes, [*means[:i], factor.deviation, *means[i + 1 :]])
            if factor.slope_by_knot is not None:
                slopes.append(self._outer(axes, [*means[:i], factor.slope_by_knot, *means[i + 1 :]]))
        return TermOnCells(self._outer(axes, means), deviations, slopes)

    def _outer(self, axes: Sequence[int], parts: Sequence[Floats]) -> Floats:
        """Multiply functions of single columns into one function of all combinations of their cells, flat.

        axes: the column of each function, by its order in the block. parts: the functions, one value a cell.
        """
        along = [
            part.reshape((-1,) + (1,) * (len(self.shape) - 1 - axis)) for axis, part in zip(axes, parts, strict=True)
        ]
        return np.ascontiguousarray(np.broadcast_to(reduce(np.multiply, along), self.shape)).reshape(-1)


def shares(log_odds: Floats) -> Floats:
    """Return the shares of all classes, one row each: the softmax of log-odds against the first class, which has 0.

    log_odds: one row for every class but the first.
    """
    most = np.maximum(log_odds.max(axis=0, initial=0.0), 0.0)
    weight = np.concatenate([np.exp(-most)[None], np.exp(log_odds - most)])
    return np.asarray(weight / weight.sum(axis=0))
