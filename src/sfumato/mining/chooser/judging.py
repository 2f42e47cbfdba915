"""How well models do on true values, judged on held-out reports alone.

Behind a held-out report w a model of true values that never saw it draws x_1 … x_D from P(x | w). Whoever knows
P(y | x) then foretells the class by P(y' | w) ≈ Σ_y L[y', y] · mean_d P(y | x_d): the likelihood of the classes that
held-out people reported tells models apart, though nobody's true value is seen.

A blend is a product of powers, P(y | x) ∝ s_y^{v} · Π_m P_m(y | x)^{w_m}, s the classes' shares, v, w ≥ 0:

    maximise  Σ_i log Σ_y L[y'_i, y] · mean_d P(y | x_id)  −  Σ_m w_m

by its gradient. A power below 1 calms a model that is too sure, a model that tells nothing beside the others gets 0,
and one model alone is calibrated the same way. The logarithm of a mean of D draws is too low by about half its relative
variance, which would punish models for being sharp: that much is added again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.mining.estimator import Column, Learner, class_codes_in, label_table_of

DRAWS = 32
ABOUT = 2.0  # standard errors of a difference within which two are about as good
FLOOR = 1e-4  # part of the classes' shares in every probability, so that nobody is ruled out for good
LARGEST_POWER, PRICE, STEPS = 3.0, 1.0, 60
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


def about_as_good(logs: Floats, best: Floats, weight: Floats) -> bool:
    """Whether the mean is within a few standard errors of the difference of the best one's."""
    behind = best - logs
    mean = np.average(behind, weights=weight)
    return bool(mean <= ABOUT * np.sqrt(np.average((behind - mean) ** 2, weights=weight) / behind.size))


def first_as_good(each: Sequence[Floats], weight: Floats) -> int:
    """The first whose mean is about as good as the best."""
    best = max(each, key=lambda logs: float(weight @ logs))
    return next(m for m, logs in enumerate(each) if about_as_good(logs, best, weight))


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


@dataclass(frozen=True)
class Judged:
    """The held-out reports of all folds together, and every model's answers behind them."""

    label: Floats
    weight: Floats
    shares: Floats
    names: tuple[str, ...]
    answers: tuple[Answers, ...]

    @classmethod
    def of(cls, names: Sequence[str], judges: Sequence[Judge], answers: Sequence[Sequence[Answers]]) -> Judged:
        """``answers[fold][model]``: what `Judge.answers` gave."""
        together = tuple(np.concatenate(folds, axis=1) for folds in zip(*answers, strict=True))
        label, weight = (np.concatenate([getattr(judge, what) for judge in judges]) for what in ("label", "weight"))
        return cls(label, weight, judges[0].shares, tuple(names), together)

    def fitted(self, chosen: Sequence[int]) -> Powers:
        """The best powers of some of the models."""
        shares = np.log(self.shares).astype(np.float32)
        logs = [np.broadcast_to(shares[:, None, None], self.answers[0].shape)]
        logs += [self.answers[m] for m in chosen]
        price = np.array([0.0] + [PRICE] * len(chosen))

        def loss(powers: Floats) -> tuple[float, Floats]:
            value, slope = self._likelihood(powers, logs)
            return float(price @ powers) - value, price - slope

        start = np.array([0.1] + [0.9 / len(chosen)] * len(chosen))
        bounds = [(0.0, LARGEST_POWER)] * start.size
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS})
        return Powers(tuple(chosen), np.asarray(found.x), self._logs_of(found.x, logs))

    def _likelihood(self, powers: Floats, logs: Sequence[Answers]) -> tuple[float, Floats]:
        p, told = self._told(powers, logs)
        likely, slope = log_of_mean(told)
        pull = self.weight[:, None] * slope * p * (self.label.T[..., None] - told)
        along = np.array([np.vdot(pull.astype(np.float32), each) for each in logs], np.float64)
        return float(self.weight @ likely), along

    def _told(self, powers: Floats, logs: Sequence[Answers]) -> tuple[Floats, Floats]:
        """P(y | x) of the blend on every draw, and how likely that makes what was reported."""
        p = blended(powers, logs, axis=0)
        return p, np.maximum(np.einsum("yid,iy->id", p, self.label.astype(np.float32)), 1e-9)

    def _logs_of(self, powers: Floats, logs: Sequence[Answers]) -> Floats:
        return log_of_mean(self._told(powers, logs)[1])[0]


@dataclass(frozen=True)
class Powers:
    """Powers of some models, that of the classes' shares first, and the log-likelihood of every held-out record."""

    models: tuple[int, ...]
    values: Floats
    logs: Floats


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


def blended(powers: Floats, logs: Sequence[npt.NDArray[Any]], axis: int = -1) -> npt.NDArray[Any]:
    """Π_m P_m^{w_m}, normalised over the axis of classes."""
    total = sum(np.float32(power) * each for power, each in zip(powers.tolist(), logs, strict=True) if power)
    total = np.zeros(logs[0].shape, np.float32) if isinstance(total, int) else total
    mass = np.exp(total - total.max(axis=axis, keepdims=True))
    return np.asarray(mass / mass.sum(axis=axis, keepdims=True))
