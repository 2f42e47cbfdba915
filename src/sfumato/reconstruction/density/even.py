"""The hypotheses that people are spread evenly over the domain, or over a stretch a < b of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from sfumato.evidence import Evidence, climb
from sfumato.reconstruction.density.fit import (
    TINY,
    DensityFit,
    Matrix,
    Vector,
    likelihood_with_mass,
    posterior_weights,
    price_of_mass,
    widths_of,
)

EVERYWHERE_PRIOR = 1.0
"""Prior log odds of the uniform density against one smoothing weight of the softplus family. By judgement; decision 20
measures the reconstruction with it. Larger flattens estimates from few reports."""
STRETCH_PRIOR = -3.0
"""Prior log odds of a stretch against one smoothing weight of the softplus family: sharp ends are seldom. By judgement;
decision 20 measures the reconstruction with it. Larger gives smooth densities sharp ends."""
STRETCH_STEPS = 30
"""Steps of the climb to a stretch's ends, at most. By judgement: ends cross cells in short steps, so more than a curve
needs to converge."""
WORTH_A_STEP = 1e-3
"""Nats that a step has to promise. By judgement; the climb is cheap, and ends inside a cell move little."""
LONGEST_STEP = 0.1
"""Change of an end in one step, as a part of the domain. By judgement: the likelihood is no parabola over cells."""
BEYOND = 0.05
"""Part of the domain by which the first guess reaches beyond the middle 90 % of a smooth estimate. By judgement: what
is left at either end of an even density that fills the domain."""
FEWEST_CELLS = 4
"""True cells below which there is no stretch: its ends lie in two, and there is one on either side."""


@dataclass(frozen=True)
class Everywhere:
    """The hypothesis that everyone is anywhere in the domain with equal chance; it leads where reports say nothing."""

    def fits(self, evidence: Evidence, before: Sequence[DensityFit]) -> list[DensityFit]:
        """Return the fit of the uniform density, the only one, which has no parameters."""
        widths = widths_of(evidence)
        value = likelihood_with_mass(evidence, evidence.table.dense() @ widths, 1.0)
        nothing, none = np.zeros((widths.size, 0)), np.zeros(0)
        log_evidence = value + EVERYWHERE_PRIOR - price_of_mass(evidence)
        no_slope, factor = np.zeros(widths.size), np.zeros((0, 0))
        return [
            DensityFit("uniform", np.inf, none, widths, no_slope, none, value, log_evidence, nothing, nothing, factor)
        ]


@dataclass(frozen=True)
class Stretch:
    """The hypothesis that people are spread evenly between two values a < b, with a uniform prior over such pairs."""

    def fits(self, evidence: Evidence, before: Sequence[DensityFit]) -> list[DensityFit]:
        """Return the fit of the best stretch; the climb starts a little beyond the middle 90 % of the fits before."""
        widths = widths_of(evidence)
        if widths.size < FEWEST_CELLS:
            return []
        ends = climb(_first_guess(evidence, mean_cells(before)), steps=STRETCH_STEPS, enough=WORTH_A_STEP)
        factor = np.asarray(np.linalg.cholesky(ends.information + np.eye(2)), dtype=np.float64)
        log_evidence = ends.value + float(np.log(4 * np.pi) - np.log(np.diag(factor)).sum())
        log_evidence += STRETCH_PRIOR - price_of_mass(evidence)
        k, none = widths.size, np.zeros(0)
        return [
            DensityFit("uniform on a stretch", np.inf, none, ends.cells, np.ones(k), none, ends.value, log_evidence,
                       ends.change, np.zeros((k, 0)), factor)
        ]  # fmt: skip


def mean_cells(fits: Sequence[DensityFit]) -> Vector:
    """Return the average of the fits' densities (probabilities of true cells), weighted by posterior_weights."""
    weights = posterior_weights(np.array([fit.log_evidence for fit in fits]))
    return np.asarray(sum(weight * fit.cells / fit.cells.sum() for fit, weight in zip(fits, weights, strict=True)))


@dataclass(frozen=True, eq=False)
class StretchPoint:
    """A point of the climb to the best stretch: its ends a < b as parts of the domain.

    widths: of the true cells, as parts of the domain.
    """

    evidence: Evidence
    widths: Vector
    ends: Vector

    @cached_property
    def cells(self) -> Vector:
        """The probability of each true cell."""
        edges = np.concatenate([[0.0], np.cumsum(self.widths)])
        return np.asarray(np.diff(np.clip(edges, self.ends[0], self.ends[1])) / (self.ends[1] - self.ends[0]))

    @cached_property
    def value(self) -> float:
        """The log-likelihood."""
        return likelihood_with_mass(self.evidence, self.evidence.table.dense() @ self.cells, 1.0)

    @cached_property
    def change(self) -> Matrix:
        """The derivatives of the cells' probabilities: dp/da = (p − e_a)/(b − a) and dp/db = (e_b − p)/(b − a).

        e_x is 1 in the cell that x lies in, else 0.
        """
        change = np.column_stack([self.cells, -self.cells])
        end_cells = np.searchsorted(np.cumsum(self.widths)[:-1], self.ends, side="right")
        change[end_cells[0], 0] -= 1.0
        change[end_cells[1], 1] += 1.0
        return np.asarray(change / (self.ends[1] - self.ends[0]))

    @cached_property
    def slopes(self) -> tuple[Vector, Matrix]:
        """The gradient and Fisher's information of (a, b)."""
        table, total = self.evidence.table.dense(), self.evidence.total
        expected = np.maximum(table @ self.cells, TINY)
        moved = table @ self.change
        scaled = moved * np.sqrt(total / expected)[:, None]
        return moved.T @ (self.evidence.counts[0] / expected), scaled.T @ scaled

    @property
    def information(self) -> Matrix:
        """Fisher's information of (a, b)."""
        return self.slopes[1]

    def moved(self, step: Vector) -> Self | None:
        """Return the point a step further; None where less than the narrowest cell is left between the ends."""
        length = min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), TINY))
        ends = np.clip(self.ends + length * step, 0.0, 1.0)
        if ends[1] - ends[0] <= self.widths.min():
            return None
        return type(self)(self.evidence, self.widths, ends)


def _first_guess(evidence: Evidence, near: Vector) -> StretchPoint:
    """Return a stretch that reaches BEYOND the middle 90 % of a density ``near`` on both sides."""
    widths = widths_of(evidence)
    smallest = float(widths.min()) / 2
    low, high = np.interp([0.05, 0.95], np.cumsum(near) / near.sum(), np.cumsum(widths))
    ends = np.array([max(low - BEYOND, smallest), min(high + BEYOND, 1.0 - smallest)])
    return StretchPoint(evidence, widths, ends if ends[1] - ends[0] > smallest else np.array([smallest, 1 - smallest]))
