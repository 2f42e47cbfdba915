"""The additive model over true cells, as Fisher scoring reads it.

    joint(y, t) = g(t)·P(y | t),      P(y | t) = softmax_y F_y(t)·κ_y(t),      F_0 = 0,
    F_y = β_y0 + Σ_k β_yk·φ_k(t),     κ_y = 1/√(1 + π/8·V_y),      V_y = Σ_j (Σ_k β_yk·deviation_kj)²

φ_k(t) is the mean of a term over the cell, V_y the variance of the log-odds within the cell: the mean of σ(F) over a
normal F of mean m and variance V is σ(m/√(1 + πV/8)) within 2 %. One point a cell does what many would, and a rule
without any noise of its own (β → ∞) still has a smooth likelihood: the share of the cell on either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from sfumato.domain import Floats
from sfumato.learners.additive.terms import CellPoints, Term

SOFTENING = np.pi / 8
LONGEST_STEP, LONGEST_MOVE = 3.0, 0.08  # of the log-odds, in deviations of a term; of a knot, in widths of its column
WEAK = 1e-3  # ridge: a term that shifts the log-odds by one deviation costs half of this
FIRST, LAST = 0.02, 0.98  # where knots may be, in widths of the column


class AdditiveFamily:
    """P(y, t) with β and the knots as parameters; θ holds β row by row (first class left out), then the knots."""

    def __init__(self, points: Sequence[CellPoints], density: Floats, terms: Sequence[Term], classes: int) -> None:
        self.points, self.terms, self.classes = list(points), list(terms), classes
        self.g = density.reshape(-1)
        self.place = {each.column: axis for axis, each in enumerate(points)}
        self.shape = tuple(each.middle.size for each in points)
        self.rows, self.width = classes - 1, 1 + len(self.terms)
        self.hinges = [factor for term in self.terms for factor in term.factors if factor.hinge]
        spread = [self._deviation(self._over(term)[0]) for term in self.terms]
        scale = np.concatenate([[1.0], spread])
        free = len(self.hinges)
        self.limits = np.concatenate([np.tile(LONGEST_STEP / scale, self.rows), np.full(free, LONGEST_MOVE)])
        weak = np.concatenate([[0.0], WEAK * scale[1:] ** 2])
        self.ridge = np.concatenate([np.tile(weak, self.rows), np.zeros(free)])

    def _deviation(self, phi: Floats) -> float:
        mean = float(self.g @ phi)
        return float(np.sqrt(max(float(self.g @ (phi - mean) ** 2), 1e-12)))

    # --- θ --------------------------------------------------------------------------------------------------------

    def theta(self, beta: Floats, terms: Sequence[Term] | None = None) -> Floats:
        """β and the knots as parameters: knots are counted from the middle of nothing, in widths of their column."""
        knots = [factor.knot / factor.unit for term in terms or self.terms for factor in term.factors if factor.hinge]
        return np.concatenate([beta.ravel(), knots])

    def beta(self, theta: Floats) -> Floats:
        return np.asarray(theta[: self.rows * self.width].reshape(self.rows, self.width))

    def terms_at(self, theta: Floats) -> list[Term]:
        """The terms with their knots, which stay inside their columns."""
        places, found, at = theta[self.rows * self.width :], [], 0
        for term in self.terms:
            knots = []
            for factor in (each for each in term.factors if each.hinge):
                points = self.points[self.place[factor.column]]
                low = points.low / factor.unit
                knots.append(factor.unit * float(np.clip(places[at], low + FIRST, low + LAST)))
                at += 1
            found.append(term.moved(knots))
        return found

    # --- what Fisher scoring asks ---------------------------------------------------------------------------------

    def class_shares(self, theta: Floats) -> Floats:
        """P(y | t), one row a class."""
        log_odds, _, softened = self._log_odds(self.beta(theta), [self._over(term) for term in self.terms_at(theta)])
        return shares(log_odds * softened)

    def softened_log_odds(self, beta: Floats) -> tuple[Floats, Floats]:
        """Return F_y and κ_y of every class but the first, with the knots as they are."""
        log_odds, _, softened = self._log_odds(beta, [self._over(term) for term in self.terms])
        return log_odds, softened

    def joint(self, theta: Floats) -> Floats:
        return np.asarray(self.g * self.class_shares(theta)).ravel()

    def fields(self, theta: Floats) -> Floats:
        beta, over = self.beta(theta), [self._over(term) for term in self.terms_at(theta)]
        log_odds, inside, softened = self._log_odds(beta, over)
        p = shares(log_odds * softened)
        stiff = log_odds * softened**3 * SOFTENING
        slopes = np.empty((self.rows, self.width, self.g.size))
        by_knot = [np.zeros((self.rows, self.g.size)) for _ in self.hinges]
        for y in range(self.rows):
            slopes[y, 0] = softened[y]
            at = 0
            for k, (phi, deviations, knots) in enumerate(over):
                slopes[y, 1 + k] = softened[y] * phi
                for axis, deviation in deviations.items():
                    slopes[y, 1 + k] -= stiff[y] * inside[axis][y] * deviation
                for slope in knots:
                    by_knot[at][y] = beta[y, 1 + k] * softened[y] * slope
                    at += 1
        found = np.empty((self.limits.size, self.classes, self.g.size))
        for y in range(self.rows):
            block = found[y * self.width : (y + 1) * self.width]
            np.multiply((-self.g * p[1 + y] * p)[None], slopes[y][:, None], out=block)
            block[:, 1 + y] += self.g * p[1 + y] * slopes[y]
        for at, slope in enumerate(by_knot):
            shift = np.concatenate([np.zeros((1, self.g.size)), slope])
            found[self.rows * self.width + at] = self.g * p * (shift - (p * shift).sum(axis=0))
        return found.reshape(self.limits.size, -1)

    def _log_odds(
        self, beta: Floats, over: list[tuple[Floats, dict[int, Floats], list[Floats]]]
    ) -> tuple[Floats, dict[int, Floats], Floats]:
        """F_y of every class but the first, its deviation within cells along each axis, and κ_y."""
        log_odds = np.repeat(beta[:, :1], self.g.size, axis=1)
        inside: dict[int, Floats] = {}
        for k, (phi, deviations, _) in enumerate(over):
            log_odds += beta[:, 1 + k : 2 + k] * phi
            for axis, deviation in deviations.items():
                inside[axis] = inside.get(axis, 0.0) + beta[:, 1 + k : 2 + k] * deviation
        variance = sum((each**2 for each in inside.values()), np.zeros_like(log_odds))
        return log_odds, inside, 1.0 / np.sqrt(1.0 + SOFTENING * variance)

    def _over(self, term: Term) -> tuple[Floats, dict[int, Floats], list[Floats]]:
        """A term over all cells: its mean, its deviation along each of its axes, its slopes by each of its knots."""
        on = [factor.on(self.points[self.place[factor.column]]) for factor in term.factors]
        axes = [self.place[factor.column] for factor in term.factors]
        means = [each.mean for each in on]
        deviations, slopes = {}, []
        for i, each in enumerate(on):
            deviations[axes[i]] = self._outer(axes, [*means[:i], each.deviation, *means[i + 1 :]])
            if each.slope_by_knot is not None:
                slopes.append(self._outer(axes, [*means[:i], each.slope_by_knot, *means[i + 1 :]]))
        return self._outer(axes, means), deviations, slopes

    def _outer(self, axes: Sequence[int], parts: Sequence[Floats]) -> Floats:
        along = [
            part.reshape((-1,) + (1,) * (len(self.shape) - 1 - axis)) for axis, part in zip(axes, parts, strict=True)
        ]
        return np.ascontiguousarray(np.broadcast_to(reduce(np.multiply, along), self.shape)).reshape(-1)


def shares(log_odds: Floats) -> Floats:
    """softmax of the log-odds against the first class, one row a class."""
    most = np.maximum(log_odds.max(axis=0, initial=0.0), 0.0)
    weight = np.concatenate([np.exp(-most)[None], np.exp(log_odds - most)])
    return np.asarray(weight / weight.sum(axis=0))
