"""Fisher scoring: the one climber to the top of a likelihood, and models of a joint distribution as it climbs them.

    step = I⁻¹·score,      score and information I of all parameters at once

A step is taken if the value does not fall, else a shorter one. From the quadratic expansion a full step promises
score·I⁻¹·score, twice what it would gain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self, TypeVar

import numpy as np
from scipy.linalg import lapack

from sfumato.domain import Floats
from sfumato.evidence.observed import LEAST_DOUBLE, Evidence
from sfumato.evidence.tables import Table

STEPS = 25
"""Steps at most. Near the top each doubles the digits, so that more are taken on ridges alone."""
ENOUGH = 1e-3
"""Nats: the climb ends where a full step promises less."""
SHORTER, SHORTEST = 3.0, 1e-4
"""By how much a step that fails is shortened, and the part of it below which the climb ends: the value then changes by
rounding alone. By judgement; a line search halves or thirds a step, and hardly ever does so twice."""
BELIEVED = 2
"""Steps after which the quadratic expansion is near enough to say that a climb will not reach what it is hoped to."""
NUGGET = 1e-9
"""Added to the diagonal of the information in units in which it is one, against parameters that nobody can see."""


class ClimbPoint(Protocol):
    """Where a climb is: the parameters of a model, with what is known about the likelihood there."""

    @property
    def value(self) -> float:
        """The log-likelihood, less what the prior takes off."""

    @property
    def slopes(self) -> tuple[Floats, Floats]:
        """Score and information of the value by the parameters."""

    def moved(self, step: Floats) -> Self | None:
        """Return the point a step further, or as far as the model allows at once; None if there is no such point."""


SomePoint = TypeVar("SomePoint", bound=ClimbPoint)


def climb(
    point: SomePoint, *, steps: int = STEPS, enough: float = ENOUGH, part: float = 0.0,
    hoped: Callable[[SomePoint], float] | None = None,
) -> SomePoint:
    """Return the top that Fisher scoring reaches from a point; the value never falls.

    steps: how many are taken at most. enough: the climb ends where a full step promises less, in nats. part: or less
    than this part of what the climb has gained.
    hoped: the value that makes the climb worth going on; it is given up where a full step will not lead there.
    """
    begun = point.value
    for taken in range(steps):
        score, information = point.slopes
        step, length = scoring_step(information, score), 1.0
        promise = float(score @ step)
        if promise < max(enough, part * (point.value - begun)):
            break
        if hoped is not None and taken >= BELIEVED and point.value + promise < hoped(point):
            break
        ahead = point.moved(step)
        while (ahead is None or not ahead.value >= point.value) and length > SHORTEST:
            length /= SHORTER
            ahead = point.moved(length * step)
        if ahead is None or not ahead.value >= point.value:
            break
        point = ahead
    return point


def scoring_step(information: Floats, score: Floats) -> Floats:
    """Return I⁻¹·score, solved in units in which the information I has a diagonal of ones."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(information), LEAST_DOUBLE))
    unit = information * scale[:, None] * scale
    unit[np.diag_indices_from(unit)] += NUGGET
    _, step, failed = lapack.dposv(unit, scale * score, lower=1)
    return np.asarray((np.linalg.solve(unit, scale * score) if failed else step) * scale)


def inverse_information(information: Floats) -> Floats:
    """Return the covariance that an information leaves, nothing along directions that nobody can see."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(information), LEAST_DOUBLE))
    return np.linalg.pinv(information * np.outer(scale, scale), hermitian=True) * np.outer(scale, scale)


# --- models of the joint distribution over true cells ---------------------------------------------------------------


class JointFamily(Protocol):
    """Joint distributions over true cells and classes, up to a factor, by parameters θ; all arrays are flat.

    ``limits`` is the longest step of each parameter, ``ridge`` the weight of half its square.
    """

    limits: Floats
    ridge: Floats

    def joint(self, theta: Floats) -> Floats:
        """Return p(y, t₁..t_D) up to a factor; NaN where θ is no distribution of the family."""

    def fields(self, theta: Floats) -> Floats:
        """Return ∂joint/∂θ_k, one row a parameter."""


class Expansion:
    """The likelihood about one joint distribution p: its value, and score and information of any change there.

        LL = Σ_s N(s)·log R(s),  R = C p;     score_k = Σ_t f_k(t)·(Cᵀ(N/R))(t);
        information_kl = Σ_s n(s)·(C f_k)(s)·(C f_l)(s)/R(s)

    f_k = ∂p/∂θ_k is the field of a parameter, n(s) the people of which s is one report (`Evidence.block_people`).
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
        """Cᵀ(N/R): n times EM's factor, n everywhere where the fit is perfect."""
        return self._table.adjoint(self.evidence.counts[0] / self.reported)

    @cached_property
    def _scale(self) -> Floats:
        return np.asarray(np.sqrt(self.evidence.block_people / self.reported))

    def centred(self, fields: Floats) -> Floats:
        """Return fields of the joint distribution as it was given as those of the normalized one."""
        return np.asarray((fields - np.outer(fields.sum(axis=1), self.joint)) / self._factor)

    def score(self, centred: Floats) -> Floats:
        """Return the slopes of the log-likelihood along fields of the normalized distribution."""
        return np.asarray(centred @ self.likely_people)

    def images(self, centred: Floats) -> Floats:
        """Return √(n/R)·C f, one row a field: their products are the information."""
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
        """Return the point of these parameters; None if they are no distribution."""
        joint = family.joint(theta)
        return cls(evidence, family, theta, Expansion(evidence, joint)) if np.isfinite(joint).all() else None

    @cached_property
    def value(self) -> float:
        """The log-likelihood less the ridge."""
        return self.expansion.log_likelihood - 0.5 * float(self.family.ridge @ self.theta**2)

    @cached_property
    def slopes(self) -> tuple[Floats, Floats]:
        """Score and information of the likelihood less the ridge."""
        at, ridge = self.expansion, self.family.ridge
        fields = at.centred(self.family.fields(self.theta))
        images = at.images(fields)
        return at.score(fields) - ridge * self.theta, images @ images.T + np.diag(ridge)

    def moved(self, step: Floats) -> Self | None:
        """Return the point a step further, no parameter beyond its limit."""
        limits = self.family.limits
        return type(self).at(self.evidence, self.family, self.theta + np.clip(step, -limits, limits))

    @property
    def joint(self) -> Floats:
        """The joint distribution, normalized."""
        return self.expansion.joint

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood without the ridge."""
        return self.expansion.log_likelihood

    @property
    def information(self) -> Floats:
        """That of the reports and of the ridge together."""
        return self.slopes[1]

    @cached_property
    def covariance(self) -> Floats:
        """The inverse of the information."""
        return inverse_information(self.information)

    @property
    def stderr(self) -> Floats:
        """Standard error of each parameter."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def fit_family(
    evidence: Evidence, family: JointFamily, theta: Floats, steps: int = STEPS, enough: float = ENOUGH,
    hoped: Callable[[JointPoint], float] | None = None,
) -> JointPoint:
    """Return the parameters of a family that fit the evidence best, climbing from ``theta`` (see `climb`)."""
    start = JointPoint.at(evidence, family, theta)
    if start is None:
        raise ValueError("the parameters that a fit starts from are no distribution")
    return climb(start, steps=steps, enough=enough, hoped=hoped)
