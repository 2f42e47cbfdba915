"""Rules for ending EM: by the likelihood, by successive estimates, or after a number of steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.evidence.observed import Evidence
from sfumato.evidence.tables import Array

Done = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class LikelihoodGain:
    """Stop when the last ``steps`` steps together raised the log-likelihood by less than ``nats``.

    nats: one is less than what one more free parameter would explain by chance alone: a gain below it is noise, and
        following it to the end only makes the estimate rougher.
    limit: the most steps.
    promise: for the end itself. Steps may stall far from it, so while n·(max_t f_t − 1) promises more than this,
        acceleration starts afresh, a few times at most.
    """

    nats: float = 1.0
    steps: int = 8
    limit: int = 2000
    promise: float = np.inf

    def reached(self, likelihoods: Sequence[Any]) -> Any:
        """Say which problems gained too little; none as long as there are too few steps to tell."""
        if len(likelihoods) <= self.steps:
            return np.zeros(np.shape(likelihoods[0]), dtype=bool)
        return np.asarray(likelihoods[-1] - likelihoods[-1 - self.steps] < self.nats)


class StepRule(ABC):
    """A rule about successive estimates for ending plain or over-relaxed EM, at the latest after ``limit`` steps."""

    limit: int

    @abstractmethod
    def reached(self, evidence: Evidence, before: Array, after: Array) -> Done:
        """Say which problems are done, from two successive estimates of each."""


@dataclass(frozen=True)
class ChiSquare(StepRule):
    """AS00's rule: successive estimates differ by less than a ``share`` of the χ² threshold.

    n·Σ (p' − p)²/p < share · χ²_{k−1}(confidence)
    """

    share: float = 0.01
    confidence: float = 0.95
    limit: int = 10_000

    def threshold(self, cells: int) -> float:
        """Return the right side of the rule for so many true cells."""
        return self.share * chi_square(max(cells - 1, 1), self.confidence)

    def reached(self, evidence: Evidence, before: Array, after: Array) -> Done:
        """Say which problems changed by less than the threshold."""
        change = np.divide((after - before) ** 2, before, out=np.zeros_like(before), where=before > 0).sum(axis=-1)
        return np.asarray(evidence.totals * change < self.threshold(before.shape[-1]))


@lru_cache
def chi_square(freedom: int, confidence: float) -> float:
    """Return the value that χ² with so many degrees of freedom stays below with this confidence."""
    from scipy.special import chdtri

    return float(chdtri(freedom, 1 - confidence))


WITHIN_CLASSES = ChiSquare(share=0.003, limit=2_000)
"""For a column within classes. AS00 stops at 1 % of the χ² threshold: early for its Local trees. A tenth of that is
late for ByClass; this is between (reproductions/as00)."""


@dataclass(frozen=True)
class Steps(StepRule):
    """Take ``limit`` steps, no more and no fewer: from the uniform start their number is the amount of smoothing."""

    limit: int

    def reached(self, evidence: Evidence, before: Array, after: Array) -> Done:
        """Say that no problem is done before its last step."""
        return np.zeros(len(before), dtype=bool)


CONVERGED = LikelihoodGain(nats=1e-9, steps=3, limit=20_000, promise=1e-7)
"""The end itself, to the precision of doubles for up to 10⁷ reports: used where the likelihood has one maximum."""

ENOUGH = LikelihoodGain()
"""Until nothing but noise is left to gain: less than one nat in eight steps."""
