"""A check of an implementation: its outcome in words and numbers, and the exact tests by which it decides.

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
"""The chance with which a run must find a fault for the fault to count as one that it could have seen. By judgement
(docs/mathematics.md, What a run could have seen); .999 would make the stated faults larger by a tenth."""


@dataclass(frozen=True)
class Check:
    """The result of testing one claim about an implementation on its own reports."""

    name: str  # of the check, such as "law" or "fresh noise"
    attribute: str
    outcome: str  # PASSED, FAILED or SKIPPED
    text: str  # the result as a sentence
    false_alarm: float = 0.0  # the most by which a sound implementation fails by chance
    numbers: dict[str, Any] = field(default_factory=dict)  # the figures behind the sentence, by name

    @property
    def passed(self) -> bool:
        """Whether the check did not fail; one that was skipped counts as passed."""
        return self.outcome != FAILED

    def __str__(self) -> str:
        mark = {PASSED: "ok", FAILED: "BROKEN", SKIPPED: "not tried"}[self.outcome]
        return f"[{mark}] {self.attribute}, {self.name}: {self.text}"

    def to_dict(self) -> dict[str, Any]:
        """Return the check as a dict for JSON, its figures beside its other fields."""
        return {**{name: value for name, value in vars(self).items() if name != "numbers"}, **self.numbers}


def outcome(passed: bool) -> str:
    """Return the outcome of a check that was made: PASSED or FAILED."""
    return PASSED if passed else FAILED


def takes(randomize: Randomize, *names: str) -> bool:
    """Return whether an audited function takes arguments with all of these names, such as "key" for a device's key.

    Checks of keys are made only then. A program states it by its attribute ``takes_key``; False where the signature
    cannot be read.
    """
    takes_key = getattr(randomize, "takes_key", None)
    if takes_key is not None:
        return bool(takes_key)
    try:
        return set(names) <= set(inspect.signature(randomize).parameters)
    except (TypeError, ValueError):
        return False


def exact_tests(
    name: str, attribute: str, p_values: Floats, failure: str | Sequence[str], alpha: float, success: str,
    more_numbers: Mapping[str, Any] | None = None,
) -> Check:
    """Return the check that fails when any of several p-values is below α over their number (Bonferroni).

    ``name``: the check's; ``p_values``: an array; ``failure``: the sentence for the smallest p-value, or a sentence for
    each of them; ``alpha``: the chance that a sound implementation fails; ``success``: the sentence of a check that
    passes; ``more_numbers``: figures beside the tests' own.
    """
    lowest, level = int(np.argmin(p_values)), alpha / p_values.size
    sound = bool(p_values[lowest] >= level)
    numbers = {"tests": p_values.size, "smallest_p": float(p_values[lowest]), "level": level, **(more_numbers or {})}
    text = failure if isinstance(failure, str) else failure[lowest]
    return Check(name, attribute, outcome(sound), success if sound else text, alpha, numbers)


def amplification(bound: float, stated: float, shown_by: str, attribute: str, alpha: float) -> Check:
    """Return the check that fails when a lower bound on γ (largest factor on the odds) is above the stated γ.

    ``bound``: of confidence 1 − α; ``shown_by``: what reached the bound, in words, such as two true values; a stated γ
    of ∞ never fails.
    """
    bounded = bool(np.isfinite(stated))
    claim = f"stated is γ = {in_words(stated, up=True)}" if bounded else "stated is no bound at all"
    text = f"the reports prove γ ≥ {in_words(bound)} ({shown_by}, confidence 1 − {alpha:.1g}); {claim}."
    numbers = {"least_gamma": bound, "stated_gamma": stated if bounded else None}
    return Check("amplification", attribute, outcome(bound <= stated * (1 + 1e-9)), text, alpha, numbers)


# --- exact tests --------------------------------------------------------------------------------------------------


def lower_bound(k: Numbers, n: Numbers, alpha: float) -> Floats:
    """Return Clopper and Pearson's lower confidence bound (level ``alpha``) on the chance behind k hits in n trials."""
    return np.where(k > 0, betaincinv(k, n - k + 1, alpha), 0.0)


def upper_bound(k: Numbers, n: Numbers, alpha: float) -> Floats:
    """Return Clopper and Pearson's upper confidence bound (level ``alpha``) on the chance behind k hits in n trials."""
    return np.where(k < n, betainccinv(k + 1, n - k, alpha), 1.0)


def p_at_least(k: Numbers, n: Numbers, chance: Numbers) -> Floats:
    """Return P[K ≥ k], the chance of k hits or more in n trials, each a hit with probability ``chance``."""
    return np.where(k > 0, betainc(k, n - k + 1, chance), 1.0)


def p_value(k: Numbers, n: Numbers, chance: Numbers) -> Floats:
    """Return the two-sided p-value of k hits in n trials with a stated chance, exactly.

        min(1, 2·min(P[K ≥ k], P[K ≤ k]))
    """
    p = np.clip(chance, 0.0, 1.0)  # a sum of chances may pass 1 by a bit
    at_most = np.where(k < n, betaincc(k + 1, n - k, p), 1.0)
    return np.asarray(np.minimum(2 * np.minimum(p_at_least(k, n, p), at_most), 1.0))


def smallest_excess(n: int, chance: float, level: float) -> float | None:
    """Return how far above ``chance`` the true chance must be for a one-sided test to see it 99 times in 100.

    ``n``: the trials; ``level``: the test's. The test rejects from k = min{k: P[K ≥ k] ≤ level} on; wanted is p with
    P[K ≥ k | p] = .99. None: nothing is seen.
    """
    low, high = 0, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if p_at_least(middle, n, chance) <= level else (middle, high)
    if high > n:
        return None
    return max(float(betaincinv(high, n - high + 1, SEEN)) - chance, 0.0)
