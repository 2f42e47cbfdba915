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

    nats: by judgement one, twice what one more free parameter explains on average by chance alone: a gain below it is
        noise, and following it only makes the estimate rougher.
    steps: over which the gain is taken; by judgement eight, because single steps may stall.
    limit: steps at most.
    promise: nats that a stopped run may still gain, by the bound n·(max_t f_t − 1), above which its acceleration starts
        afresh, a few times at most; infinite: never.
    """

    nats: float = 1.0
    steps: int = 8
    limit: int = 2000
    promise: float = np.inf

    def reached(self, likelihoods: Sequence[Any]) -> Any:
        """Say which problems gained too little; none as long as fewer than ``steps`` steps were taken.

        likelihoods: of every problem after each step.
        """
        if len(likelihoods) <= self.steps:
            return np.zeros(np.shape(likelihoods[0]), dtype=bool)
        return np.asarray(likelihoods[-1] - likelihoods[-1 - self.steps] < self.nats)


class StepRule(ABC):
    """A rule about successive estimates that ends plain or over-relaxed EM, at the latest after ``limit`` steps."""

    limit: int

    @abstractmethod
    def reached(self, evidence: Evidence, before: Array, after: Array) -> Done:
        """Say which problems are done, from two successive estimates of each."""


@dataclass(frozen=True)
class ChiSquare(StepRule):
    """AS00's rule: stop when successive estimates differ by less than a part of the χ² threshold for k true cells.

        n·Σ (p' − p)²/p < share · χ²_{k−1}(confidence)

    share, confidence: the paper's 1 % and 95 %. limit: steps at most.
    """

    share: float = 0.01
    confidence: float = 0.95
    limit: int = 10_000

    def threshold(self, cells: int) -> float:
        """Return the right side of the rule for this number of true cells."""
        return self.share * chi_square(max(cells - 1, 1), self.confidence)

    def reached(self, evidence: Evidence, before: Array, after: Array) -> Done:
        """Say which problems changed by less than the threshold."""
        change = np.divide((after - before) ** 2, before, out=np.zeros_like(before), where=before > 0).sum(axis=-1)
        return np.asarray(evidence.totals * change < self.threshold(before.shape[-1]))


@lru_cache
def chi_square(freedom: int, confidence: float) -> float:
    """Return the quantile of χ² with these degrees of freedom at this confidence."""
    from scipy.special import chdtri

    return float(chdtri(freedom, 1 - confidence))


WITHIN_CLASSES = ChiSquare(share=0.003, limit=2_000)
"""The rule for a column within classes, as the trees ByClass and Local need it. By judgement: the paper's 1 % of the χ²
threshold ends early for Local, a tenth of it late for ByClass; reproductions/as00 measures both trees with this."""


@dataclass(frozen=True)
class Steps(StepRule):
    """Stop after ``limit`` steps exactly; from the uniform start their number is the amount of smoothing."""

    limit: int

    def reached(self, evidence: Evidence, before: Array, after: Array) -> Done:
        """Say that no problem is done before its last step."""
        return np.zeros(len(before), dtype=bool)


CONVERGED = LikelihoodGain(nats=1e-9, steps=3, limit=20_000, promise=1e-7)
"""The rule that ends EM at the maximum, where there is one maximum only. 10⁻⁹ nats is the rounding of a log-likelihood
of some 10⁶ reports in doubles; steps, limit and promise by judgement: smaller numbers end early on flat likelihoods."""

ENOUGH = LikelihoodGain()
"""The rule that ends EM when only noise is left to gain: less than one nat in eight steps."""
