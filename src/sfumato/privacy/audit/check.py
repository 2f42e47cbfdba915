"""What a check of an implementation says, the reports it reads, and the exact tests by which it decides.

The implementation is a black box that turns true values into reports: by default the channel's own ``randomize`` with
secure noise, or a function of values, or a mapping from true value to the reports that some other program (such as a
browser client) gave for it. Counts are judged without any approximation by a normal law. For k successes in n trials
with chance p,

    P[K ≥ k] = I_p(k, n−k+1),   P[K ≤ k] = 1 − I_p(k+1, n−k),   I the regularised incomplete beta function,

so the Clopper–Pearson bounds at level α are the quantiles of Beta(k, n−k+1) at α and of Beta(k+1, n−k) at 1−α.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, betainccinv, betaincinv

from sfumato.channels import Channel
from sfumato.domain import Categories, Codes, Floats, as_array

SKIPPED, PASSED, FAILED = "skipped", "passed", "failed"
Randomize = Callable[[Any], Any]
SEVERAL = 9
FEW = 48


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


# --- reports ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Samples:
    """Report codes for each tested true code; ``strange`` holds reports that the channel does not know."""

    channel: Channel
    tested: Codes
    codes: tuple[Codes, ...]
    strange: tuple[Any, ...] = ()

    @property
    def smallest(self) -> int:
        return min((codes.size for codes in self.codes), default=0)


def tested_codes(channel: Channel) -> Codes:
    """All true codes where they are few, else several over the domain, the two ends included."""
    size = channel.inputs.size
    return np.arange(size) if size <= FEW else np.unique(np.linspace(0, size - 1, SEVERAL).round().astype(np.int64))


def draw_samples(channel: Channel, implementation: Randomize | Mapping[Any, Any], total: int) -> Samples:
    """About ``total`` reports, spread evenly over the tested true values; or those that were given."""
    if isinstance(implementation, Mapping):
        if not implementation:
            raise ValueError("the mapping of reports is empty; map each tested true value to its reports")
        values = np.array(list(implementation), dtype=object if isinstance(channel.inputs, Categories) else None)
        tested, drawn = channel.encode(values), list(implementation.values())
    else:
        tested = tested_codes(channel)
        each = max(total // tested.size, 2000)
        drawn = [implementation(channel.inputs.decode(np.full(each, code))) for code in tested]
    read = [known_codes(channel, reports) for reports in drawn]
    return Samples(channel, tested, tuple(codes for codes, _ in read), tuple(odd for _, more in read for odd in more))


def known_codes(channel: Channel, reports: Any) -> tuple[Codes, list[Any]]:
    """Codes of reports that lie exactly on the channel's reports; the others as they are."""
    array = as_array(reports).ravel()
    if isinstance(channel.outputs, Categories):
        labels = set(channel.outputs.labels)
        known = np.array([label in labels for label in array.tolist()], dtype=bool)
        return channel.encode_reports(array[known]), array[~known].tolist()
    codes = channel.encode_reports(array)
    exact = (codes >= 0) & (channel.outputs.decode(codes) == array)
    return codes[exact], array[~exact].tolist()


# --- exact tests --------------------------------------------------------------------------------------------------


def lower_bound(successes: ArrayLike, trials: ArrayLike, alpha: float) -> Floats:
    """The chance is at least this, except with probability ``alpha`` (Clopper and Pearson)."""
    k, n, _ = _counts(successes, trials)
    return np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, alpha), 0.0)


def upper_bound(successes: ArrayLike, trials: ArrayLike, alpha: float) -> Floats:
    """The chance is at most this, except with probability ``alpha`` (Clopper and Pearson)."""
    k, n, _ = _counts(successes, trials)
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


def _counts(successes: ArrayLike, trials: ArrayLike, chance: ArrayLike = 0.0) -> tuple[Floats, Floats, Floats]:
    given = [np.asarray(part, dtype=float) for part in (successes, trials, chance)]
    k, n, p = np.broadcast_arrays(given[0], given[1], np.clip(given[2], 0.0, 1.0))
    return k, n, p
