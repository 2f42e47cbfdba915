"""Fisher scoring: the one climber to the top of a likelihood, and models of a joint distribution as it climbs them.

    step = (I + d·diag I)⁻¹·score,      score and information I of all parameters at once, d the damping

A step is taken if the value does not fall, else a shorter one. From the quadratic expansion a full step promises
score·I⁻¹·score, twice what it would gain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self, TypeVar

import numpy as np
from scipy.linalg import lapack

from sfumato.domain import Floats
from sfumato.evidence.observed import LEAST_DOUBLE, Evidence
from sfumato.evidence.tables import Table

STEPS = 25
"""Steps of a climb, at most. By judgement: near the top each doubles the digits; more are taken on ridges only."""
ENOUGH = 1e-3
"""Nats that a full step must promise for the climb to go on. By judgement: a thousandth of what one parameter explains
by chance."""
SHORTER = 3.0
"""Divisor of a step that fails, where steps are not damped. By judgement: most need it once or never."""
SHORTEST = 1e-4
"""Part of a full step below which the climb ends. By judgement: the value then changes by rounding alone."""
DAMPED = 1e-3
"""The first damping of `fit_family`, as a part of the diagonal; the usual start of Levenberg and Marquardt's method.
Parameters there are bounded one by one, which turns an undamped step aside: sums of terms under uniform noise ended a
point of accuracy lower without it. Curves need half as many steps again with it (decision 31)."""
MORE = 8.0
"""Factor on the damping after a step that fails. By judgement, near Marquardt's 10: larger overshoots, smaller tries
more steps."""
LESS = 0.2
"""Factor on the damping after a step that succeeds. By judgement: less careful than Marquardt's 1/10, because the next
step often needs damping too."""
MOST_DAMPING = 1e7
"""Damping at which the climb ends. By judgement: a step is then a ten-millionth of the full one and gains nothing."""
BELIEVED = 2
"""Steps after which the promise of a full step is believed, to break off a climb that will not reach a hoped value. By
judgement: before, the quadratic expansion may be far off."""
NUGGET = 1e-9
"""Added to the diagonal of the information, scaled to ones, so that parameters that reports do not show can be solved.
By judgement: far above rounding, far below any information that matters."""


class ClimbPoint(Protocol):
    """A point of a climb: the parameters of a model, with the likelihood there and its derivatives."""

    @property
    def value(self) -> float:
        """The log-likelihood, less what the prior takes off."""

    @property
    def slopes(self) -> tuple[Floats, Floats]:
        """The score and the information of the value by the parameters."""

    def moved(self, step: Floats) -> Self | None:
        """Return the point a step further, shortened as the model demands; None if there is no such point."""


SomePoint = TypeVar("SomePoint", bound=ClimbPoint)


def climb(
    point: SomePoint, *, steps: int = STEPS, enough: float = ENOUGH, part: float = 0.0, damping: float = 0.0,
    hoped: Callable[[SomePoint], float] | None = None,
) -> SomePoint:
    """Return the top that Fisher scoring reaches from a point; the value never falls.

    point: the start. steps: how many are taken at most. enough: the climb ends where a full step promises less, in
    nats; part: or less than this part of what the climb has gained. damping: of the first step; it shrinks after steps
    that succeed and grows after those that fail; 0: none, a step that fails is shortened. hoped: a function that
    returns the value that the climb must reach; it is broken off where a full step promises less than that. None: it
    is never broken off.
    """
    begun = point.value
    for taken in range(steps):
        score, information = point.slopes
        full = damped_step(information, score, 0.0)
        promise = float(score @ full)
        if promise < max(enough, part * (point.value - begun)):
            break
        if hoped is not None and taken >= BELIEVED and point.value + promise < hoped(point):
            break
        trials = ((point.moved(step), tried) for step, tried in _shorter_and_shorter(point, full, damping))
        higher = ((ahead, tried) for ahead, tried in trials if ahead is not None and ahead.value >= point.value)
        taken_step = next(higher, None)
        if taken_step is None:
            break
        point, damping = taken_step[0], LESS * taken_step[1]
    return point


def _shorter_and_shorter(point: ClimbPoint, full: Floats, damping: float) -> Iterator[tuple[Floats, float]]:
    """Yield shorter and shorter steps with their damping: more damped ones, or without any parts of the full one."""
    length = 1.0
    while not damping and length > SHORTEST:
        yield length * full, 0.0
        length /= SHORTER
    while 0 < damping < MOST_DAMPING:
        yield damped_step(point.slopes[1], point.slopes[0], damping), damping
        damping *= MORE


def damped_step(information: Floats, score: Floats, damping: float) -> Floats:
    """Return (I + damping·diag I)⁻¹·score, solved in units in which the information I has a diagonal of ones."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(information), LEAST_DOUBLE))
    unit = information * scale[:, None] * scale
    unit[np.diag_indices_from(unit)] += damping + NUGGET
    _, step, failed = lapack.dposv(unit, scale * score, lower=1)
    return np.asarray((np.linalg.solve(unit, scale * score) if failed else step) * scale)


def inverse_information(information: Floats) -> Floats:
    """Return the inverse of an information matrix, with 0 along directions that have no information."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(information), LEAST_DOUBLE))
    return np.linalg.pinv(information * np.outer(scale, scale), hermitian=True) * np.outer(scale, scale)


# --- models of the joint distribution over true cells ---------------------------------------------------------------


class JointFamily(Protocol):
    """A family of joint distributions over true cells and classes with parameters θ; all arrays are flat.

    limits: the longest step of each parameter. ridge: the weight of half its square in the penalty.
    """

    limits: Floats
    ridge: Floats

    def joint(self, theta: Floats) -> Floats:
        """Return p(y, t₁..t_D) up to a factor; NaN where θ is no distribution of the family."""

    def fields(self, theta: Floats) -> Floats:
        """Return ∂joint/∂θ_k, one row a parameter."""


class Expansion:
    """The log-likelihood at one joint distribution p: its value, and score and information of any change of p.

        LL = Σ_s N(s)·log R(s),  R = C p;     score_k = Σ_t f_k(t)·(Cᵀ(N/R))(t);
        information_kl = Σ_s n(s)·(C f_k)(s)·(C f_l)(s)/R(s)

    f_k = ∂p/∂θ_k is the *field* of a parameter, n(s) the people of which s is one report (`Evidence.block_people`).

    joint: p, up to a factor.
    """

    def __init__(self, evidence: Evidence, joint: Floats) -> None:
        self.evidence, self._factor = evidence, float(joint.sum())
        self.joint = joint / self._factor
        self.reported = evidence.predict(self.joint[None])[0]
        self.log_likelihood = float(evidence.counts[0] @ np.log(self.reported))

    @property
    def _table(self) -> Table:
        return self.evidence.table

    @cached_property
    def likely_people(self) -> Floats:
        """Cᵀ(N/R), one number a true cell and class: n times EM's factor, n everywhere where the fit is perfect."""
        return self._table.adjoint(self.evidence.counts[0] / self.reported)

    @cached_property
    def _scale(self) -> Floats:
        """√(n/R) of each report cell, n its people and R its predicted share."""
        return np.asarray(np.sqrt(self.evidence.block_people / self.reported))

    def centred(self, fields: Floats) -> Floats:
        """Return the fields of the normalized distribution from those of ``joint`` as it was given."""
        return np.asarray((fields - np.outer(fields.sum(axis=1), self.joint)) / self._factor)

    def score(self, centred: Floats) -> Floats:
        """Return the derivatives of the log-likelihood by some parameters.

        centred: ∂p/∂θ of each parameter, one a row, for p scaled to sum to 1 (see `centred`).
        """
        return np.asarray(centred @ self.likely_people)

    def images(self, centred: Floats) -> Floats:
        """Return √(n/R)·C f, one row a field; the products of these rows are the information."""
        return np.asarray(self._table.apply(centred) * self._scale)


@dataclass(frozen=True, eq=False)
class JointPoint:
    """Parameters of a family of joint distributions, and the likelihood of the evidence there."""

    evidence: Evidence
    family: JointFamily
    theta: Floats
    expansion: Expansion

    @classmethod
    def at(cls, evidence: Evidence, family: JointFamily, theta: Floats) -> Self | None:
        """Return the point at these parameters; None if they are no distribution of the family."""
        joint = family.joint(theta)
        return cls(evidence, family, theta, Expansion(evidence, joint)) if np.isfinite(joint).all() else None

    @cached_property
    def value(self) -> float:
        """The log-likelihood less the ridge penalty."""
        return self.expansion.log_likelihood - 0.5 * float(self.family.ridge @ self.theta**2)

    @cached_property
    def slopes(self) -> tuple[Floats, Floats]:
        """The score and the information of the log-likelihood less the ridge penalty."""
        at, ridge = self.expansion, self.family.ridge
        fields = at.centred(self.family.fields(self.theta))
        images = at.images(fields)
        return at.score(fields) - ridge * self.theta, images @ images.T + np.diag(ridge)

    def moved(self, step: Floats) -> Self | None:
        """Return the point a step further, no parameter by more than its limit; None if there is no distribution."""
        limits = self.family.limits
        return type(self).at(self.evidence, self.family, self.theta + np.clip(step, -limits, limits))

    @property
    def joint(self) -> Floats:
        """The joint distribution, normalized."""
        return self.expansion.joint

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood without the ridge penalty."""
        return self.expansion.log_likelihood

    @property
    def information(self) -> Floats:
        """The information of the reports plus the ridge."""
        return self.slopes[1]

    @cached_property
    def covariance(self) -> Floats:
        """The covariance of the parameters, the inverse of the information."""
        return inverse_information(self.information)

    @property
    def stderr(self) -> Floats:
        """The standard error of each parameter."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def fit_family(
    evidence: Evidence, family: JointFamily, theta: Floats, steps: int = STEPS, enough: float = ENOUGH,
    hoped: Callable[[JointPoint], float] | None = None,
) -> JointPoint:
    """Return the point of a family that fits the evidence best, by a climb.

    theta: the parameters that it starts from. steps, enough, hoped: see `climb`.
    """
    start = JointPoint.at(evidence, family, theta)
    if start is None:
        raise ValueError("the parameters that a fit starts from are no distribution")
    return climb(start, steps=steps, enough=enough, damping=DAMPED, hoped=hoped)
