"""AS00's Equations 3 and 2, ended by any rule: what its study of stopping rules asks for.

    Equation 3    midpoints of intervals: what ``sf.reconstruct(method="as00")`` solves
    Equation 2    every record at its own value, the density on fine cells,
                      f'(a) = (1/n) Σ_i f_Y(w_i − a)·f(a) / ∫ f_Y(w_i − z)·f(z) dz
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

import sfumato as sf
from sfumato.channels.additive import AdditiveNoise
from sfumato.domain import Floats
from sfumato.evidence import (
    Anderson,
    ChiSquare,
    DenseTable,
    EMFit,
    Evidence,
    LikelihoodGain,
    StepRule,
    Table,
    maximise_likelihood,
    stack,
)
from sfumato.evidence.stopping import Done, chi_square
from sfumato.evidence.tables import Array
from sfumato.reconstruction.as00 import midpoint_evidence
from sfumato.reconstruction.request import Request, request_of

Equation = Literal["Equation 3", "Equation 2"]


@dataclass(frozen=True)
class Observed(StepRule):
    """AS00's rejected rule: the observed reports and those that the estimate leads to are statistically the same.

    Σ_s (N_s − n·(P p)_s)²/(n·(P p)_s) < χ²(confidence), with cells in which fewer than ``least`` are expected as one.
    """

    confidence: float = 0.95
    least: float = 5.0
    limit: int = 10_000

    def reached(self, evidence: Evidence, before: Array, after: Array) -> Done:
        """Say for which problems the reports are those that the estimate leads to."""
        pairs = zip(evidence.counts, evidence.table.apply(after), strict=True)
        return np.array([self._same(*pair) for pair in pairs], dtype=bool)

    def _same(self, counts: Array, predicted: Array) -> bool:
        expected = counts.sum() * predicted / predicted.sum()
        few = expected < self.least
        seen, hoped = (np.append(side[~few], side[few].sum()) for side in (counts, expected))
        misfit = np.divide((seen - hoped) ** 2, hoped, out=np.zeros_like(hoped), where=hoped > 0).sum()
        return bool(misfit < chi_square(max(int(np.count_nonzero(hoped)) - 1, 1), self.confidence))


@dataclass(frozen=True)
class Solution:
    """The shares of the intervals, and the steps that they took."""

    edges: Floats
    probabilities: Floats
    steps: int


def fitted(
    reports: Floats, channel: sf.Channel, intervals: Any, stop: StepRule | LikelihoodGain | None = None,
    equation: Equation = "Equation 3", by: Any = None,
) -> tuple[Request, EMFit]:
    """Follow one of the equations by plain EM until ``stop`` (None: the paper's 1 % of χ²), each class of ``by`` by
    itself."""
    request = request_of(sf.Counts.of(reports, channel, by=by), intervals)
    evidence = midpoint_evidence(request) if equation == "Equation 3" else records_evidence(request)
    rule = stop or ChiSquare()
    plain = Anderson(0) if isinstance(rule, LikelihoodGain) else None
    return request, maximise_likelihood(evidence, stop=rule, acceleration=plain)


def solve(
    reports: Floats, channel: sf.Channel, intervals: Any, stop: StepRule | LikelihoodGain | None = None,
    equation: Equation = "Equation 3",
) -> Solution:
    """Return where one of the equations ends."""
    problem, fit = fitted(reports, channel, intervals, stop, equation)
    assert problem.layout is not None
    p = fit.probabilities[0]
    shares = p if equation == "Equation 3" else problem.layout.membership @ p
    return Solution(problem.layout.edges, np.asarray(shares), fit.iterations)


def records_evidence(problem: Request) -> Evidence:
    """f_Y(w_i − a) for every report w_i that was seen and the middle a of every fine cell, and how often it was.

    Equal reports give equal terms of the sum over records, which are added once.
    """
    assert problem.layout is not None
    middles = (problem.layout.cells[:-1] + problem.layout.cells[1:]) / 2
    tables: list[Table] = []
    counts = []
    for tally in problem.tallies:
        seen = np.flatnonzero(tally.histogram.any(axis=0))
        if not isinstance(tally.channel, AdditiveNoise):
            raise ValueError("Equation 2 is for added noise; take Equation 3 for other channels")
        values = np.asarray(tally.channel.outputs.decode(seen), dtype=float)
        law: Floats = tally.channel.density(values[:, None] - middles)
        possible = law.any(axis=1)  # bounded noise reaches half a cell less far from a middle than from the cell's end
        tables.append(DenseTable(law[possible] * tally.channel.outputs.step))
        counts.append(tally.histogram[:, seen[possible]])
    return Evidence.of_counts(stack(tables, problem.shares), np.hstack(counts))
