"""Maximum likelihood by EM: AS00's Equation 3 for one problem or many at once, and a loop for models with a step.

    p'_t = (1/n) Σ_s N_s · P[s,t]·p_t / Σ_u P[s,u]·p_u = p_t·f_t,

N_s the reports counted in cell s. The log-likelihood L = Σ_s N_s·log (P p)_s never falls. It is concave, so that its
slope bounds what is left to gain by any distribution q, L(q) − L(p) ≤ n·(max_t f_t − 1).

`maximise_likelihood` fits a distribution seen through a table, in the precision of the table. `repeat` is the loop of
models that have a step of their own (mixtures). Rules for stopping and for longer steps are objects (`stopping`,
`acceleration`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sfumato.channels.program.interpreter import kernels_in
from sfumato.domain import Floats
from sfumato.evidence.acceleration import Anderson, Guided, OverRelaxed, Relaxed
from sfumato.evidence.observed import Evidence
from sfumato.evidence.stopping import ENOUGH, ChiSquare, LikelihoodGain, StepRule, Steps
from sfumato.evidence.tables import Array, DenseTable, Table

KERNELS = "sfumato.evidence.kernels"
"""The module with the compiled loop, imported where numba is installed."""
FEW_ENTRIES = 100_000
"""Entries of a dense table up to which the compiled loop is used. By judgement: so many doubles, 800 kilobytes, stay in
a processor's cache; for larger tables the matrix product is faster."""


@dataclass(frozen=True)
class EMFit:
    """The estimates of EM, one row a problem, and what they cost.

    iterations: steps of EM, the most that a problem took. applications: how often the table or its transpose was
    applied, summed over problems. converged: whether the stopping rule ended every problem, not the limit of steps.
    likelihoods: the log-likelihood of every problem after each step; empty where EM did not compute it.
    """

    probabilities: Floats
    iterations: int
    applications: int
    converged: bool
    evidence: Evidence
    likelihoods: Sequence[Floats] = ()

    @cached_property
    def log_likelihood(self) -> Floats:
        """The log-likelihood Σ_s N_s·log (P p)_s of each estimate."""
        return self.likelihoods[-1] if self.likelihoods else self.evidence.log_likelihood(self.probabilities)


def maximise_likelihood(
    evidence: Evidence, *, start: npt.ArrayLike | None = None, stop: LikelihoodGain | StepRule = ENOUGH,
    acceleration: Anderson | OverRelaxed | None = None, smoothing: float = 0.0,
) -> EMFit:
    """Fit the distribution of true values to every problem of the evidence, by EM.

    evidence: counts and table. start: where EM starts, one row a problem; None: at the uniform distribution.
    stop: with `Steps` or a rule about successive estimates (`ChiSquare`) EM takes plain or over-relaxed steps, with a
        rule about the likelihood (`LikelihoodGain`) Anderson's proposals.
    acceleration: how steps are made longer; None: plain steps, or Anderson's proposals, as ``stop`` has it.
    smoothing: reports that are spread evenly over the cells in every step, to keep each cell above zero; for plain and
        over-relaxed steps only.

    >>> from sfumato.evidence import DenseTable, Evidence
    >>> fit = maximise_likelihood(Evidence.of_counts(DenseTable(np.eye(2)), [30.0, 10.0]))
    >>> fit.probabilities.tolist()
    [[0.75, 0.25]]
    """
    table, shape = evidence.table, (len(evidence.counts), evidence.table.shape[1])
    p: Array = np.full(shape, 1 / shape[1]) if start is None else np.array(start).reshape(shape)
    p = p.astype(table.dtype, copy=False)
    if isinstance(stop, StepRule):
        if isinstance(acceleration, Anderson):
            raise ValueError("Anderson's proposals follow the likelihood; stop by LikelihoodGain(…)")
        if isinstance(stop, ChiSquare) and acceleration is None and not smoothing and _compiles(table):
            return _compiled(evidence, p, stop)
        relaxed = Relaxed(evidence, p, acceleration or OverRelaxed(1.0), smoothing)
        while relaxed.going.size and relaxed.steps < stop.limit:
            relaxed.step()
            relaxed.retire(stop)
        done = isinstance(stop, Steps) or not relaxed.going.size
        return EMFit(relaxed.best, relaxed.steps, relaxed.applications, done, evidence)
    if smoothing or isinstance(acceleration, OverRelaxed):
        raise ValueError("smoothing and over-relaxation do not follow the likelihood; stop by Steps(…) or ChiSquare(…)")
    run = Guided(evidence, acceleration or Anderson(), p)
    while run.going.size and run.steps < stop.limit:
        run.step()
        run.retire(stop)
    return EMFit(run.best, run.steps, run.applications, not run.going.size, evidence, run.likelihoods)


def repeat(step: Callable[[], float], stop: LikelihoodGain) -> int:
    """Repeat a step, which returns a log-likelihood, until a rule ends it; return how many were taken."""
    likelihoods: list[float] = []
    while len(likelihoods) < stop.limit:
        likelihoods.append(step())
        if stop.reached(likelihoods):
            break
    return len(likelihoods)


def _compiles(table: Table) -> bool:
    """Say whether the compiled loop is installed and quicker for this table."""
    small = isinstance(table, DenseTable) and table.shape[0] * table.shape[1] <= FEW_ENTRIES
    return small and kernels_in(KERNELS) is not None


def _compiled(evidence: Evidence, p: Array, stop: ChiSquare) -> EMFit:
    """Fit all problems one by one in the compiled loop; those without a report keep their start.

    p: the start, one row a problem; it becomes the estimates.
    """
    kernels, law, enough = kernels_in(KERNELS), evidence.table.dense(), stop.threshold(p.shape[1])
    assert kernels
    going = np.flatnonzero(evidence.totals > 0)
    taken = [kernels.equation_3(law, evidence.counts[i], p[i], enough, stop.limit) for i in going]
    return EMFit(p, max(taken, default=0), 2 * sum(taken), max(taken, default=0) < stop.limit, evidence)
