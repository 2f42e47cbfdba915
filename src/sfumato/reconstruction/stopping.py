"""When to stop: objects that look at the trace of an EM run and say which problems are done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Floats

Done = NDArray[np.bool_]


@dataclass
class Trace:
    """What happened so far, for every problem of a batch: likelihoods step by step, the last two estimates."""

    reports: Floats
    likelihoods: list[Floats] = field(default_factory=list)
    before: Floats = field(default_factory=lambda: np.empty(0))
    after: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def steps(self) -> int:
        return len(self.likelihoods) - 1

    def record(self, likelihood: Floats, before: Floats, after: Floats) -> None:
        self.likelihoods.append(likelihood.copy())
        self.before, self.after = before, after


class Stop(Protocol):
    """A rule for ending EM, at the latest after ``limit`` steps."""

    @property
    def limit(self) -> int: ...

    def reached(self, trace: Trace) -> Done:
        """Which problems are done."""


@dataclass(frozen=True)
class LikelihoodGain:
    """Stop when the last ``steps`` steps together raised the log-likelihood by less than ``nats``.

    One nat is less than what one more free parameter would explain by chance alone: a gain below it is noise, and
    following it to the end only makes the estimate rougher.
    """

    nats: float = 1.0
    steps: int = 8
    limit: int = 2000

    def reached(self, trace: Trace) -> Done:
        if trace.steps < self.steps:
            return np.zeros(trace.reports.shape, dtype=bool)
        gain = trace.likelihoods[-1] - trace.likelihoods[-1 - self.steps]
        return np.asarray(gain < self.nats)


@dataclass(frozen=True)
class ChiSquare:
    """AS00's rule: successive estimates differ by less than a ``share`` of the χ² threshold.

    n·Σ (p' − p)²/p < share · χ²_{k−1}(confidence)
    """

    share: float = 0.01
    confidence: float = 0.95
    limit: int = 10_000

    def reached(self, trace: Trace) -> Done:
        from scipy.special import chdtri

        p, new = trace.before, trace.after
        change = np.divide((new - p) ** 2, p, out=np.zeros_like(p), where=p > 0).sum(axis=-1)
        threshold = chdtri(max(p.shape[-1] - 1, 1), 1 - self.confidence)
        return np.asarray(trace.reports * change < self.share * threshold)


CONVERGED = LikelihoodGain(nats=1e-9, steps=3, limit=20_000)
ENOUGH = LikelihoodGain()
