"""What a check of an implementation says, and the exact tests by which it decides.

Counts are judged without any approximation by a normal law. For k successes in n trials with chance p,

    P[K ≥ k] = I_p(k, n−k+1),   P[K ≤ k] = 1 − I_p(k+1, n−k),   I the regularised incomplete beta function,

so the Clopper–Pearson bounds at level α are the quantiles of Beta(k, n−k+1) at α and of Beta(k+1, n−k) at 1−α.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv

from sfumato.domain import Floats
from sfumato.prose import in_words

SKIPPED, PASSED, FAILED = "skipped", "passed", "failed"
Randomize = Callable[..., Any]
Numbers = Any  # one number, or an array of them
SEEN = 0.99


@dataclass(frozen=True)
class Check:
    """One claim about an implementation, tried on its own reports; ``text`` says what was found."""

    name: str
    attribute: str
    outcome: str
    text: str
    false_alarm: float = 0.0
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.outcome != FAILED

    def __str__(self) -> str:
        mark = {PASSED: "ok", FAILED: "BROKEN", SKIPPED: "not tried"}[self.outcome]
        return f"[{mark}] {self.attribute}, {self.name}: {self.text}"

    def to_dict(self) -> dict[str, Any]:
        return {**{name: value for name, value in vars(self).items() if name != "numbers"}, **self.numbers}


def outcome(passed: bool) -> str:
    return PASSED if passed else FAILED


def takes(randomize: Randomize, *names: str) -> bool:
    """Whether a function takes arguments of these names, such as a device's key; a program says so itself."""
    said = getattr(randomize, "takes_key", None)
    if said is not None:
        return bool(said)
    try:
        return set(names) <= set(inspect.signature(randomize).parameters)
    except (TypeError, ValueError):
        return False


def exact_tests(
    name: str, attribute: str, values: Floats, told: str | Sequence[str], alpha: float, held: str,
    more: Mapping[str, Any] | None = None,
) -> Check:
    """What p-values say together, each at α over their number; ``told``: the sentence of the smallest, or all."""
    place, level = int(np.argmin(values)), alpha / values.size
    sound = bool(values[place] >= level)
    numbers = {"tests": values.size, "smallest_p": float(values[place]), "level": level, **(more or {})}
    text = told if isinstance(told, str) else told[place]
    return Check(name, attribute, outcome(sound), held if sound else text, alpha, numbers)


def amplification(bound: float, stated: float, shown_by: str, attribute: str, alpha: float) -> Check:
    """What a lower bound on γ says of the γ that is stated."""
    bounded = bool(np.isfinite(stated))
    claim = f"stated is γ = {in_words(stated, up=True)}" if bounded else "stated is no bound at all"
    text = f"the reports prove γ ≥ {in_words(bound)} ({shown_by}, confidence 1 − {alpha:.1g}); {claim}."
    numbers = {"least_gamma": bound, "stated_gamma": stated if bounded else None}
    return Check("amplification", attribute, outcome(bound <= stated * (1 + 1e-9)), text, alpha, numbers)


# --- exact tests --------------------------------------------------------------------------------------------------


def lower_bound(k: Numbers, n: Numbers, alpha: float) -> Floats:
    """The chance is at least this, except with probability ``alpha`` (Clopper and Pearson)."""
    return np.where(k > 0, betaincinv(k, n - k + 1, alpha), 0.0)


def upper_bound(k: Numbers, n: Numbers, alpha: float) -> Floats:
    """The chance is at most this, except with probability ``alpha`` (Clopper and Pearson)."""
    return np.where(k < n, betainccinv(k + 1, n - k, alpha), 1.0)


def p_at_least(k: Numbers, n: Numbers, chance: Numbers) -> Floats:
    """P[K ≥ k]."""
    return np.where(k > 0, betainc(k, n - k + 1, chance), 1.0)


def p_value(k: Numbers, n: Numbers, chance: Numbers) -> Floats:
    """Two-sided: at most α has probability at most α when the chance is right."""
    p = np.clip(chance, 0.0, 1.0)  # a sum of chances may pass 1 by a bit
    at_most = np.where(k < n, betaincc(k + 1, n - k, p), 1.0)
    return np.asarray(np.minimum(2 * np.minimum(p_at_least(k, n, p), at_most), 1.0))


def smallest_excess(n: int, chance: float, level: float) -> float | None:
    """The smallest excess over ``chance`` that a one-sided test at this level sees in n trials, 99 times in 100.

    The test rejects from k = min{k: P[K ≥ k] ≤ level} on; wanted is p with P[K ≥ k | p] = .99. None: nothing is seen.
    """
    low, high = 0, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if p_at_least(middle, n, chance) <= level else (middle, high)
    if high > n:
        return None
    return max(float(betaincinv(high, n - high + 1, SEEN)) - chance, 0.0)
