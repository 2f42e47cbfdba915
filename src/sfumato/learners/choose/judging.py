"""Judge how well models predict from true values, by held-out reports alone.

Behind a held-out report w a density of true values that never saw it draws x_1 … x_D from P(x | w). A model P_m(y | x)
then predicts the reported class with P(y' | w) ≈ Σ_y L[y', y] · mean_d P(y | x_d), and models are compared by the
likelihood of the classes that held-out people reported, though nobody's true value is seen. Before that a model's
probabilities are raised to the powers that make this likelihood largest, P(y | x) ∝ s_y^v · P_m(y | x)^u, s the shares
of the classes, u, v ≥ 0, so that no model loses by being too sure or too unsure:

    maximise  Σ_i log Σ_y L[y'_i, y] · mean_d P(y | x_id)  −  u

The logarithm of a mean of D draws is too low by about half the relative variance of the mean, which would punish models
for being sharp: that much is added (`log_of_mean`).

Held-out reports seldom say which model is best, or which density: each counts half as much for every standard error by
which it is behind the best (`pool_weights`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.learners.classes import class_codes_in, label_table_of
from sfumato.learners.estimator import Column, Learner

DRAWS = 32
"""Draws of true values behind a held-out report. By judgement; fewer add chance to the comparison, more cost time and
memory in proportion."""
ABOUT_AS_GOOD = 2.0
"""Standard errors of a difference within which two models count as equally good: 5 % of equal pairs lie beyond it."""
FLOOR = 1e-4
"""Part of the classes' shares in every probability, so that one report cannot exclude a model. By judgement; larger
blurs models that are rightly sure."""
LARGEST_POWER = 3.0
"""The largest power to which probabilities are raised. By judgement: more would call a model right that hardly prefers
any class."""
STEPS = 60
"""The most steps of L-BFGS for the two powers. By judgement; it stops earlier where the likelihood no longer rises."""
FAR_BEHIND = 2.5
"""Standard errors behind the best from which on a model does not count (decision 25): models up to four or six behind
add a tenth of a point of accuracy, and each has to be fitted, kept and sent to devices."""
LEAST_CHANCE = 1e-9
"""The least chance of a reported class given a draw, in single precision; where labels are clear a draw may exclude the
class. By judgement, far below `FLOOR` times the share of any class that can be learned."""
LEAST_CLASS_CHANCE = 1e-12
"""The least chance of a reported class by a density. By judgement: a class that a density excludes costs it 28 nats
instead of everything."""
LogProbabilities = npt.NDArray[np.float32]
"""log P(y | x) of every draw, [class, record, draw]."""


class Generative(Protocol):
    """A learner that models reports: their classes, and the true values behind them."""

    def p_class_given(self, reports: Reports) -> Floats:
        """Return P(reported class | reports of the columns), one row a record."""
        ...

    def draws_given(
        self, reports: Reports, m: int, rng: np.random.Generator, *, with_class: bool = False
    ) -> list[Column]:
        """Draw m records of true values for each record; return one array a column, m draws of a record together."""
        ...


def class_log_likelihood(model: Generative, held_out: Reports) -> Floats:
    """Return log P(class | other reports) of the class that every held-out person reported."""
    codes = class_codes_in(held_out)
    p_class = model.p_class_given(held_out)[np.arange(codes.size), codes]
    return np.asarray(np.log(np.maximum(p_class, LEAST_CLASS_CHANCE)))


def errors_behind(logs: Floats, best: Floats, weight: Floats) -> float:
    """Return by how many standard errors of their mean difference a model is behind the best; 0 where it is not.

    logs, best: log-likelihood of every record by the model and by the best one.
    """
    behind = best - logs
    mean = float(np.average(behind, weights=weight))
    error = float(np.sqrt(np.average((behind - mean) ** 2, weights=weight) / behind.size))
    return 0.0 if mean <= 0 else mean / max(error, LEAST_DOUBLE)


def likeliest(models: Sequence[Floats], weight: Floats) -> Floats:
    """Return the log-likelihoods (of every record) of the model for which their weighted sum is largest."""
    return max(models, key=lambda logs: float(weight @ logs))


def first_as_good(models: Sequence[Floats], weight: Floats, about: float = ABOUT_AS_GOOD) -> int:
    """Return the index of the first model that is at most ``about`` standard errors behind the best.

    models: log-likelihood of every record, by each model.
    """
    best = likeliest(models, weight)
    return next(m for m, logs in enumerate(models) if errors_behind(logs, best, weight) <= about)


def pool_weights(models: Sequence[Floats], weight: Floats) -> Floats:
    """Return how much each model counts in the pool: ∝ 2^−z, z its standard errors behind the best, 0 if far behind.

    models: log-likelihood of every record, by each model. The weights sum to 1.
    """
    best = likeliest(models, weight)
    behind = np.array([errors_behind(logs, best, weight) for logs in models])
    masses = np.where(behind < FAR_BEHIND, 0.5**behind, 0.0)
    return np.asarray(masses / masses.sum())


def label_likelihood(held_out: Reports) -> Floats:
    """Return P(y' | y) of the class y' that each record reported, [record, true class y]."""
    return label_table_of(held_out)[class_codes_in(held_out)]


def mean_one_weights(held_out: Reports) -> Floats:
    """Return the weight of every record, scaled to a mean of 1."""
    return np.ones(len(held_out)) if held_out.weights is None else held_out.weights / held_out.weights.mean()


class Judge:
    """Held-out reports with draws of the true values behind them, from a density that never saw them.

    behind: the density. shares: of the true classes. rng: random numbers for the draws.
    """

    def __init__(self, held_out: Reports, behind: Generative, shares: Floats, rng: np.random.Generator) -> None:
        self.label, self.weight = label_likelihood(held_out), mean_one_weights(held_out)
        self.shares, self.held_out, self.behind = shares, held_out, behind
        self.draws = behind.draws_given(held_out, DRAWS, rng)

    def log_probabilities(self, model: Learner) -> LogProbabilities:
        """Return a model's log P(class | draw), with a small part of the classes' shares in each probability."""
        logs = np.log((1.0 - FLOOR) * model._probabilities(self.draws) + FLOOR * self.shares)
        return np.ascontiguousarray(logs.T, np.float32).reshape(-1, len(self.held_out), DRAWS)


def calibrated_log_likelihood(
    log_p: LogProbabilities, label: Floats, weight: Floats, shares: Floats
) -> Floats:
    """Return log P(y' | w) of every record by a model, at the powers of shares and model that make it largest.

    log_p: the model's log P(class | draw). label: P(y' | y), [record, true class]. shares: of the true classes.
    """
    logs = [np.broadcast_to(np.log(shares).astype(np.float32)[:, None, None], log_p.shape), log_p]

    def loss(powers: Floats) -> tuple[float, Floats]:
        """Return u less the log-likelihood, and its slope along (v, u)."""
        value, slope = likelihood(powers, logs, label, weight)
        return float(powers[1]) - value, np.array([0.0, 1.0]) - slope

    bounds = [(0.0, LARGEST_POWER)] * 2
    fit = minimize(loss, np.array([0.1, 0.9]), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS})
    return log_of_mean(predict_reported(fit.x, logs, label)[1])[0]


def likelihood(
    powers: Floats, logs: Sequence[npt.NDArray[Any]], label: Floats, weight: Floats
) -> tuple[float, Floats]:
    """Return Σ_i log Σ_y L[y'_i, y] · mean_d P(y | x_id), and its slope along each power.

    logs: what the powers belong to, log shares and log P(class | draw). label: L[y'_i, y], [record i, true class y].
    """
    p, likely = predict_reported(powers, logs, label)
    log_likely, slope = log_of_mean(likely)
    pull = weight[:, None] * slope * p * (label.T[..., None] - likely)
    along = np.array([np.vdot(pull.astype(np.float32), log) for log in logs], np.float64)
    return float(weight @ log_likely), along


def predict_reported(
    powers: Floats, logs: Sequence[npt.NDArray[Any]], label: Floats
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return (P(class y | draw x), the chance that it gives the class y' that was reported), of every draw.

        P(y | x) ∝ Π exp(logs)^power,    P(y' | x) = Σ_y P(y | x)·P(y' | y)

    logs: what the powers belong to. label: P(y' | y), [record, true class y].
    """
    total = sum(np.float32(power) * log for power, log in zip(powers.tolist(), logs, strict=True))
    mass = np.exp(total - total.max(axis=0))  # type: ignore[union-attr]
    p = mass / mass.sum(axis=0)
    return p, np.maximum(np.einsum("yid,iy->id", p, label.astype(np.float32)), LEAST_CHANCE)


def log_of_mean(draws: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """Return (log E[t] from D draws of t in each row, its slope along each draw), by

        log t̄ + v / (2 D t̄²),    t̄ the mean and v the variance of the draws.
    """
    t = draws.astype(np.float64)
    size, mean = t.shape[1], t.mean(axis=1, keepdims=True)
    away = t / mean - 1.0
    v = (away**2).sum(axis=1, keepdims=True) / (size - 1)
    slope = (1.0 + away / (size - 1) - v / size) / (size * mean)
    return (np.log(mean) + v / (2 * size))[:, 0], slope
