"""Fisher scoring of any model of the joint distribution over true cells, on counts of reports.

    R = C p,      LL(θ) = Σ_s N(s)·log R(s) − ½ Σ_k ridge_k·θ_k²,      p = joint(θ) / Σ joint(θ)
    score_k       = Σ_t f_k(t)·(Cᵀ(N/R))(t),      f_k = ∂p/∂θ_k, the field of parameter k
    information_kl = Σ_s n(s)·(C f_k)(s)·(C f_l)(s) / R(s)

C is the table that leads from true cells (and classes) to report cells, N the counts, n(s) how many people are
expected in s per unit of R. One image of each field gives score and information of all parameters at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Protocol

import numpy as np

from sfumato.counts import Fold
from sfumato.domain import Codes, Floats
from sfumato.learners.joint.grid import GridProblem
from sfumato.reconstruction import ProductTable

TINY = 1e-300
STEPS = 25
TOLERANCE = 1e-3  # nats that a further step would have to gain
DAMPING, LESS, MORE, MOST = 1e-3, 0.2, 8.0, 1e7
BELIEVED = 2  # steps after which the quadratic expansion is believed


class Model(Protocol):
    """A joint distribution over true cells and classes, up to a factor; all arrays are flat.

    ``limits`` is the longest step of each parameter, ``ridge`` the weight of half its square.
    """

    limits: Floats
    ridge: Floats

    def joint(self, theta: Floats) -> Floats:
        """p(y, t₁..t_D) up to a factor."""

    def fields(self, theta: Floats) -> Floats:
        """∂joint/∂θ_k, one row a parameter."""


@dataclass(frozen=True)
class Observed:
    """Counts of reports, the table that leads to them, and how many people are expected per unit of probability."""

    table: ProductTable
    counts: Floats
    people: Floats

    @classmethod
    def of(cls, problem: GridProblem, fold: Fold | None = None) -> Observed:
        """What a grid problem's reports tell; its table should be of double precision.

        Report cells of one level (or those of missing reports) sum to one on their own: each such block has as many
        people as were counted in it.
        """
        counts = problem.counts(fold).astype(np.float64)
        shape = counts.shape
        blocks = [block_of_row(cut.reported, cut.blocks, rows) for cut, rows in zip(problem.cells, shape, strict=False)]
        number = reduce(lambda known, more: np.add.outer(known * (more.max() + 1), more), blocks, np.zeros((), int))
        of_cell = np.unique(np.repeat(number.ravel(), shape[-1]), return_inverse=True)[1]
        people = np.bincount(of_cell, counts.ravel()).astype(np.float64)[of_cell]
        return cls(problem.table, counts.ravel(), people)

    @property
    def total(self) -> float:
        return float(self.counts.sum())


def block_of_row(reported: int, starts: tuple[int, ...], rows: int) -> Codes:
    """The block of each report cell; a row beyond them is that of missing reports."""
    return np.searchsorted([*starts, reported], np.arange(rows), side="right") - 1


class Expansion:
    """The likelihood about one joint distribution: its value, and score and information of any fields there."""

    def __init__(self, observed: Observed, joint: Floats) -> None:
        self.observed, self._factor = observed, float(joint.sum())
        self.joint = joint / self._factor
        self.reported = np.maximum(observed.table.apply(self.joint), TINY)
        self.log_likelihood = float(observed.counts @ np.log(self.reported))

    @cached_property
    def told(self) -> Floats:
        """Cᵀ(N/R): n times EM's factor, n everywhere where the fit is perfect."""
        return self.observed.table.adjoint(self.observed.counts / self.reported)

    @cached_property
    def _scale(self) -> Floats:
        return np.asarray(np.sqrt(self.observed.people / self.reported))

    def centred(self, fields: Floats) -> Floats:
        """Fields of the joint distribution as it was given, as those of the normalized one."""
        return np.asarray((fields - np.outer(fields.sum(axis=1), self.joint)) / self._factor)

    def score(self, centred: Floats) -> Floats:
        return np.asarray(centred @ self.told)

    def images(self, centred: Floats) -> Floats:
        """√(n/R)·C f, one row a field: their products are the information."""
        return np.asarray(self.observed.table.apply(centred) * self._scale)


@dataclass(frozen=True)
class Fit:
    """The parameters that fit best, and what is known about them."""

    theta: Floats
    log_likelihood: float
    value: float
    """The log-likelihood less the ridge."""
    information: Floats
    """That of the reports and of the ridge together."""
    joint: Floats
    """Normalized."""

    @cached_property
    def covariance(self) -> Floats:
        scale = 1.0 / np.sqrt(np.maximum(np.diag(self.information), TINY))
        return np.linalg.pinv(self.information * np.outer(scale, scale), hermitian=True) * np.outer(scale, scale)

    @property
    def stderr(self) -> Floats:
        """Standard error of each parameter."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def maximise(
    observed: Observed, model: Model, theta: Floats, steps: int = STEPS, tolerance: float = TOLERANCE,
    worth: Callable[[Floats], float] | None = None,
) -> Fit:
    """Levenberg-damped Fisher scoring on all parameters at once; the likelihood less the ridge never falls.

    It gives up where even twice what the quadratic expansion promises would not lead to the value that makes the fit
    `worth` going on, told from the information so far.
    """
    damping = DAMPING
    at = Expansion(observed, model.joint(theta))
    score, information = slopes(at, model, theta)
    for done in range(steps):
        value = penalised(at, model, theta)
        if worth is not None and done >= BELIEVED:
            promised = float(score @ damped_solution(information, score, 0.0))
            if value + promised < worth(information):
                break
        while damping < MOST:
            step = np.clip(damped_solution(information, score, damping), -model.limits, model.limits)
            joint = model.joint(theta + step)
            if np.isfinite(joint).all():
                ahead = Expansion(observed, joint)
                gained = penalised(ahead, model, theta + step) - value
                if gained >= 0:
                    break
            damping *= MORE
        else:
            break
        at, theta, damping = ahead, theta + step, damping * LESS
        score, information = slopes(at, model, theta)
        if gained < tolerance:
            break
    return Fit(theta, at.log_likelihood, penalised(at, model, theta), information, at.joint)


def penalised(at: Expansion, model: Model, theta: Floats) -> float:
    return at.log_likelihood - 0.5 * float(model.ridge @ theta**2)


def slopes(at: Expansion, model: Model, theta: Floats) -> tuple[Floats, Floats]:
    """Score and information of the likelihood less the ridge."""
    fields = at.centred(model.fields(theta))
    images = at.images(fields)
    return at.score(fields) - model.ridge * theta, images @ images.T + np.diag(model.ridge)


def damped_solution(information: Floats, score: Floats, damping: float) -> Floats:
    """(I + damping·diag I)⁻¹ score, in units in which I has a diagonal of ones."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(information), TINY))
    unit = information * np.outer(scale, scale)
    return np.linalg.solve(unit + (damping + 1e-9) * np.eye(score.size), scale * score) * scale
