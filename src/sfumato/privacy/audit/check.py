"""What a check of an implementation says, the exact tests by which it decides, and the check of any stream of reports.

Counts are judged without any approximation by a normal law. For k successes in n trials with chance p,

    P[K ≥ k] = I_p(k, n−k+1),   P[K ≤ k] = 1 − I_p(k+1, n−k),   I the regularised incomplete beta function,

so the Clopper–Pearson bounds at level α are the quantiles of Beta(k, n−k+1) at α and of Beta(k+1, n−k) at 1−α.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv

from sfumato.domain import Codes, Floats
from sfumato.prose import in_words

SKIPPED, PASSED, FAILED = "skipped", "passed", "failed"
Randomize = Callable[[Any], Any]
Draw = Callable[[int], Codes]
Numbers = Any  # one number, or an array of them
LENGTH = 512
COPIES = 4


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


def exact_tests(
    name: str, attribute: str, values: Floats, told: Sequence[str], alpha: float, held: str, unit: str = "tests"
) -> Check:
    """What p-values say together, each at α over their number; ``told`` holds a sentence for each that fails."""
    place, level = int(np.argmin(values)), alpha / values.size
    sound = bool(values[place] >= level)
    numbers = {unit: values.size, "smallest_p": float(values[place]), "level": level}
    return Check(name, attribute, outcome(sound), held if sound else told[place], alpha, numbers)


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


# --- fresh noise --------------------------------------------------------------------------------------------------


def check_fresh(draw: Draw, agreement: float, attribute: str, alpha: float) -> Check:
    """The same stream must not come twice: within a process, after a fork, in another thread.

    ``draw(m)`` gives m reports of one true value as whole numbers. Two streams agree in k places: when they are
    independent, k is binomial with the chance ``agreement``, c = Σ_y P[y|x]²; reused noise agrees everywhere.
    """
    if agreement**LENGTH > alpha / 100:
        text = "reports of one value hardly differ from each other, so reused noise would not show."
        return Check("fresh noise", attribute, SKIPPED, text)
    comparisons = _at_every_distance(draw)
    comparisons += [("in two threads", a, b) for a, b in combinations(_in_threads(draw), 2)]
    comparisons += [("after a fork", a, b) for a, b in combinations(_after_fork(draw), 2)]
    equal = np.array([int((a == b).sum()) for _, a, b in comparisons])
    told = [
        f"two streams of {LENGTH} reports drawn {where} agree in {times} places where {LENGTH * agreement:.3g} are "
        "expected; the noise is used twice."
        for (where, _, _), times in zip(comparisons, equal, strict=True)
    ]
    held = f"{len(comparisons)} pairs of streams (at every distance, in threads, after forks) share no noise."
    values = p_at_least(equal, LENGTH, agreement)
    return exact_tests("fresh noise", attribute, values, told, alpha, held, "comparisons")


def _at_every_distance(draw: Draw) -> list[tuple[str, Codes, Codes]]:
    """Neighbours; and one half of a stream against the other, turned by every lag: each report is compared once."""
    neighbours, stream = draw(2 * LENGTH), draw(2 * LENGTH)
    first, second = stream[:LENGTH], stream[LENGTH:]
    apart = [(f"{LENGTH + lag} reports apart", first, np.roll(second, -lag)) for lag in range(LENGTH)]
    return [("one after the other", neighbours[0::2], neighbours[1::2]), *apart]


def _in_threads(draw: Draw) -> list[Codes]:
    found: list[Codes] = []
    workers = [threading.Thread(target=lambda: found.append(draw(LENGTH))) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


def _after_fork(draw: Draw) -> list[Codes]:
    """Streams of the parent and of its children, all drawn after the fork; none where processes cannot fork."""
    if not hasattr(os, "fork"):
        return []
    streams = [_from_child(draw) for _ in range(COPIES)]
    return [stream for stream in [*streams, draw(LENGTH)] if stream.size == LENGTH]


def _from_child(draw: Draw) -> Codes:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            os.write(write, draw(LENGTH).astype(np.int64).tobytes())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    return np.frombuffer(content, dtype=np.int64)
