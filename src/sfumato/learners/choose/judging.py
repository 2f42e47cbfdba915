"""How well models do on true values, judged on held-out reports alone.

Behind a held-out report w a density of true values that never saw it draws x_1 … x_D from P(x | w). Whoever knows
P(y | x) then foretells the class by P(y' | w) ≈ Σ_y L[y', y] · mean_d P(y | x_d): the likelihood of the classes that
held-out people reported tells models apart, though nobody's true value is seen. A model is asked as calm as serves it
best, P(y | x) ∝ s_y^v · P_m(y | x)^u, s the classes' shares, u, v ≥ 0:

    maximise  Σ_i log Σ_y L[y'_i, y] · mean_d P(y | x_id)  −  u.

The logarithm of a mean of D draws is too low by about half its relative variance, which would punish models for being
sharp: that much is added again.

Held-out reports tell models apart badly, and densities too: each counts half as much for every standard error by which
it is behind the best (`trust`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.learners.classes import class_codes_in, label_table_of
from sfumato.learners.estimator import Column, Learner

DRAWS = 32
ABOUT = 2.0  # standard errors of a difference within which two are about as good
FLOOR = 1e-4  # part of the classes' shares in every probability, so that nobody is ruled out for good
LARGEST_POWER, STEPS = 3.0, 60
FAR = 2.5  # standard errors behind the best from which on a model does not count: it would cost more than it adds
Answers = npt.NDArray[np.float32]
"""log P(y | x) of every draw, [class, record, draw]."""


class Generative(Protocol):
    """A learner that models reports: their classes, and the true values behind them."""

    def p_class_given(self, reports: Reports) -> Floats: ...

    def draws_given(
        self, reports: Reports, m: int, rng: np.random.Generator, *, with_class: bool = False
    ) -> list[Column]: ...


def told_about_classes(model: Generative, held: Reports) -> Floats:
    """The log-likelihood of the class that each held-out person reported."""
    codes = class_codes_in(held)
    return np.asarray(np.log(np.maximum(model.p_class_given(held)[np.arange(codes.size), codes], 1e-12)))


def errors_behind(logs: Floats, best: Floats, weight: Floats) -> float:
    """By how many standard errors of the difference the mean is behind the best one's."""
    behind = best - logs
    mean = float(np.average(behind, weights=weight))
    error = float(np.sqrt(np.average((behind - mean) ** 2, weights=weight) / behind.size))
    return 0.0 if mean <= 0 else mean / max(error, 1e-300)


def likeliest(each: Sequence[Floats], weight: Floats) -> Floats:
    return max(each, key=lambda logs: float(weight @ logs))


def first_as_good(each: Sequence[Floats], weight: Floats, about: float = ABOUT) -> int:
    """The first whose mean is about as good as the best."""
    best = likeliest(each, weight)
    return next(m for m, logs in enumerate(each) if errors_behind(logs, best, weight) <= about)


def trust(each: Sequence[Floats], weight: Floats) -> Floats:
    """2^−z, z the standard errors by which each is behind the best; 0 for those far behind; of sum 1."""
    best = likeliest(each, weight)
    behind = np.array([errors_behind(logs, best, weight) for logs in each])
    found = np.where(behind < FAR, 0.5**behind, 0.0)
    return np.asarray(found / found.sum())


def label_likelihood(held: Reports) -> Floats:
    """P(reported class | y) of every record's own report, [record, y]."""
    return label_table_of(held)[class_codes_in(held)]


def weights_of(held: Reports) -> Floats:
    """Weights of records, 1 in the mean."""
    return np.ones(len(held)) if held.weights is None else held.weights / held.weights.mean()


class Judge:
    """Held-out reports, with draws of the true values behind them from a model that never saw them."""

    def __init__(self, held: Reports, behind: Generative, shares: Floats, rng: np.random.Generator) -> None:
        self.label, self.weight = label_likelihood(held), weights_of(held)
        self.shares, self.held, self.behind = shares, held, behind
        self.draws = behind.draws_given(held, DRAWS, rng)

    def answers(self, model: Learner) -> Answers:
        """What a model says about the draws."""
        logs = np.log((1.0 - FLOOR) * model._probabilities(self.draws) + FLOOR * self.shares)
        return np.ascontiguousarray(logs.T, np.float32).reshape(-1, len(self.held), DRAWS)


def calibrated(answers: Answers, label: Floats, weight: Floats, shares: Floats) -> Floats:
    """The log-likelihood of what every record reported, at the powers of shares and answers that serve all best."""
    logs = [np.broadcast_to(np.log(shares).astype(np.float32)[:, None, None], answers.shape), answers]

    def loss(powers: Floats) -> tuple[float, Floats]:
        value, slope = likelihood(powers, logs, label, weight)
        return float(powers[1]) - value, np.array([0.0, 1.0]) - slope

    bounds = [(0.0, LARGEST_POWER)] * 2
    found = minimize(loss, np.array([0.1, 0.9]), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS})
    return log_of_mean(told(found.x, logs, label)[1])[0]


def likelihood(
    powers: Floats, logs: Sequence[npt.NDArray[Any]], label: Floats, weight: Floats
) -> tuple[float, Floats]:
    """Σ_i log Σ_y L[y'_i, y] · mean_d P(y | x_id), and its slope along each power."""
    p, likely = told(powers, logs, label)
    each, slope = log_of_mean(likely)
    pull = weight[:, None] * slope * p * (label.T[..., None] - likely)
    along = np.array([np.vdot(pull.astype(np.float32), one) for one in logs], np.float64)
    return float(weight @ each), along


def told(powers: Floats, logs: Sequence[npt.NDArray[Any]], label: Floats) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """P(y | x) ∝ Π exp(logs)^power on every draw, and how likely that makes what was reported."""
    total = sum(np.float32(power) * each for power, each in zip(powers.tolist(), logs, strict=True))
    mass = np.exp(total - total.max(axis=0))  # type: ignore[union-attr]
    p = mass / mass.sum(axis=0)
    return p, np.maximum(np.einsum("yid,iy->id", p, label.astype(np.float32)), 1e-9)


def log_of_mean(draws: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """log E[t] from D draws of t in each row, and its slope along each draw:

        log t̄ + v / (2 D t̄²),    v the variance of the draws.
    """
    t = draws.astype(np.float64)
    size, mean = t.shape[1], t.mean(axis=1, keepdims=True)
    away = t / mean - 1.0
    v = (away**2).sum(axis=1, keepdims=True) / (size - 1)
    slope = (1.0 + away / (size - 1) - v / size) / (size * mean)
    return (np.log(mean) + v / (2 * size))[:, 0], slope
