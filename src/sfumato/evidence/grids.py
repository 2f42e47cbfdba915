"""The joint distribution of class and true cells of several columns, by EM through each column's table in turn.

    P(y, t₁..t_D) ← P · Σ_{y',s} N(y', s)/M(y', s) · L[y', y] · Π_j C_j[s_j, t_j] / n,
    M(y', s) = Σ_{y,t} L[y', y] · Π_j C_j[s_j, t_j] · P(y, t).

N are the counted reports, M the expected ones, L the table of the class and C_j those of the columns. From the uniform
start early steps are smooth, so the number of steps is the amount of smoothing. A missing report is a row of ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from sfumato.domain import Floats
from sfumato.evidence.acceleration import OverRelaxed
from sfumato.evidence.cells import ColumnCells
from sfumato.evidence.em import maximise_likelihood, repeat
from sfumato.evidence.observed import Evidence
from sfumato.evidence.stopping import LikelihoodGain, Steps
from sfumato.evidence.tables import Array, ProductTable

RELAXATION = 1.8
"""Power of EM's factor: one step goes nearly twice as far. Beyond 2 over-relaxed EM need not converge; 1.8 by
judgement, with a margin."""
PLAIN_STEPS = 5
"""Plain steps from the uniform start before they are over-relaxed. By judgement: the first steps are long, and twice as
long they overshoot."""
CLEAR_SMOOTHING = 0.5
"""Reports, in units of √n, that are spread evenly over all cells where a column is clear. By judgement: without them an
empty cell of a clear column stays empty whatever the other columns say; larger hides rare combinations."""
STEPS_OF_SPREAD = 12.0
"""Steps of EM that fit a density as far as reports with little noise show it; more are taken through more noise
(`spread_steps`). By judgement: more follow chance, fewer leave the density flat."""
MOST_SPREAD_STEPS = 150
"""Such steps at most, by judgement: through strong noise more take long and change little."""


def fit_grid(evidence: Evidence, steps: int, start: Array | None = None) -> Array:
    """Return the joint distribution P(y, t₁..t_D) after so many over-relaxed steps of EM.

    Where no column is blurred one step is taken, which gives the histogram. start: where EM starts; None: at the
    uniform distribution, with PLAIN_STEPS plain steps first.
    """
    clear = [cut.identity for cut in evidence.cells]
    smoothing = CLEAR_SMOOTHING * np.sqrt(evidence.total) if any(clear) else 0.0
    relaxed = OverRelaxed(RELAXATION, after=PLAIN_STEPS if start is None else 0)
    fit = maximise_likelihood(
        evidence, start=start, stop=Steps(1 if is_clear(evidence) else steps),
        acceleration=None if is_clear(evidence) else relaxed, smoothing=smoothing,
    )
    return fit.probabilities.reshape(evidence.product.true_shape)


def steps_by_held_out(
    fitted: Evidence, held_out: Evidence, blocks: Sequence[int], nats: float, start: Array | None = None
) -> tuple[Array, int]:
    """Fit by blocks of EM steps while each block raises the log-likelihood of held-out people by ``nats`` or more.

    Return the joint distribution after the last block, and how many blocks were taken.

    fitted, held_out: the evidence of the people who are fitted and of those held out. blocks: the steps in each block.
    start: where EM starts; None: at the uniform distribution.
    """
    joints = [] if start is None else [start]

    def block() -> float:
        joints[:] = [fit_grid(fitted, next(sizes), joints[0] if joints else None)]
        return float(held_out.log_likelihood(joints[0].reshape(1, -1))[0])

    sizes = iter(blocks)
    taken = repeat(block, LikelihoodGain(nats=nats, steps=1, limit=len(blocks)))
    return joints[0], taken


def is_clear(evidence: Evidence) -> bool:
    """Say whether neither the class nor any column is blurred, so that the counts are those of true cells."""
    return evidence.product.label is None and all(cut.identity for cut in evidence.cells)


def entropy_of_class(joint: Array) -> float:
    """Return the entropy of the class given the true cells, H(y | t) in nats, of a joint distribution P(y, t).

    joint: the class along the first axis.
    """
    p_class = joint / np.maximum(joint.sum(axis=0), 1e-30)
    return -float(np.sum(joint * np.log(np.maximum(p_class, 1e-30))))


# --- P(t) where P(y | t) is known -----------------------------------------------------------------------------------


class GivenClasses(ProductTable):
    """The table from P(t) to reports where P(y | t) is fixed: C'[(s, y'), t] = Σ_y C[(s, y'), (y, t)]·P(y | t).

    table: C. p_class: P(y | t), the class along the first axis.
    """

    def __init__(self, table: ProductTable, p_class: Floats) -> None:
        super().__init__(table.factors, table.label, table.report_shape[-1], table.dtype)
        self.table, self.p_class = table, p_class.astype(table.dtype)
        self.true_shape = p_class.shape[1:]
        self.shape = (table.shape[0], prod(self.true_shape))

    def apply(self, p: Floats) -> Floats:
        """Return the distribution of reports C' p of every row p of the argument."""
        return self.table.apply((p.reshape(-1, 1, *self.true_shape) * self.p_class).reshape(*p.shape[:-1], -1))

    def adjoint(self, r: Floats) -> Floats:
        """Return C'ᵀ r of every row r of the argument."""
        of_class = self.table.adjoint(r).reshape(-1, *self.p_class.shape) * self.p_class
        return np.asarray(of_class.sum(axis=1).reshape(*r.shape[:-1], -1))

    def dense(self) -> Floats:
        """Return the table as a matrix."""
        return self.apply(np.eye(self.shape[1])).T


def joint_given(evidence: Evidence, p_class: Floats, steps: int) -> Array:
    """Return P(y, t) with a given P(y | t) and P(t) fitted to the reports by EM, as [class, t₁..t_D].

    What a classifier predicts from reports depends on the distribution of true values, which is not known. With P(t)
    free, it predicts the classes of reports as well as any P(t) allows, and gains nothing by what columns say about
    each other.

    p_class: P(y | t), the class along the first axis. steps: of EM.
    """
    people = fit_grid(replace(evidence, table=GivenClasses(evidence.product, p_class)), steps)
    return np.asarray(people * p_class, np.float32)


def spread_steps(cells: Sequence[ColumnCells], steps: float = STEPS_OF_SPREAD, most: int = MOST_SPREAD_STEPS) -> int:
    """Return how many steps of EM fit a distribution over these cells as far as reports show it: min(steps/r², most).

    r is the mean over columns of `squared_correlation`. steps: without noise. most: steps at most.
    """
    return min(round(steps / float(np.mean([squared_correlation(cut) for cut in cells])) ** 2), most)


def squared_correlation(cut: ColumnCells) -> float:
    """Return the squared correlation of a column's reports and evenly spread true values; 1 without noise.

    It is the second squared singular value of P(s, t) / √(P(s)·P(t)), 1 for a column of one cell.
    """
    joint = cut.table / cut.table.sum()
    scaled = joint / np.sqrt(np.maximum(np.outer(joint.sum(axis=1), joint.sum(axis=0)), 1e-300))
    return float(np.linalg.svd(scaled, compute_uv=False)[1] ** 2) if cut.size > 1 else 1.0
