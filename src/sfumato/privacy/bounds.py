"""Exact bounds on probabilities from counts, without any approximation by a normal law.

k successes in n trials with chance p:

    P[K ≥ k] = I_p(k, n−k+1),   P[K ≤ k] = 1 − I_p(k+1, n−k),   I the regularised incomplete beta function,

so the Clopper–Pearson bounds at level α are the quantiles of Beta(k, n−k+1) at α and of Beta(k+1, n−k) at 1−α.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, betainccinv, betaincinv

from sfumato.domain import Floats


def lower_bound(successes: ArrayLike, trials: ArrayLike, alpha: float) -> Floats:
    """The chance is at least this, except with probability ``alpha`` (Clopper and Pearson)."""
    k, n = np.broadcast_arrays(np.asarray(successes, dtype=float), np.asarray(trials, dtype=float))
    return np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, alpha), 0.0)


def upper_bound(successes: ArrayLike, trials: ArrayLike, alpha: float) -> Floats:
    """The chance is at most this, except with probability ``alpha`` (Clopper and Pearson)."""
    k, n = np.broadcast_arrays(np.asarray(successes, dtype=float), np.asarray(trials, dtype=float))
    return np.where(k < n, betainccinv(k + 1, np.maximum(n - k, 1), alpha), 1.0)


def p_at_least(successes: ArrayLike, trials: ArrayLike, chance: ArrayLike) -> Floats:
    """P[K ≥ k]."""
    k, n, p = _counts(successes, trials, chance)
    return np.where(k > 0, betainc(np.maximum(k, 1), n - k + 1, p), 1.0)


def p_at_most(successes: ArrayLike, trials: ArrayLike, chance: ArrayLike) -> Floats:
    """P[K ≤ k]."""
    k, n, p = _counts(successes, trials, chance)
    return np.where(k < n, betaincc(k + 1, np.maximum(n - k, 1), p), 1.0)


def p_value(successes: ArrayLike, trials: ArrayLike, chance: ArrayLike) -> Floats:
    """Two-sided: at most α has probability at most α when the chance is right."""
    tail = np.minimum(p_at_least(successes, trials, chance), p_at_most(successes, trials, chance))
    return np.asarray(np.minimum(2 * tail, 1.0))


def _counts(successes: ArrayLike, trials: ArrayLike, chance: ArrayLike) -> tuple[Floats, Floats, Floats]:
    k, n = np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    k, n, p = np.broadcast_arrays(k, n, np.clip(np.asarray(chance, dtype=float), 0.0, 1.0))
    return k, n, p
