"""Everyone with equal chance anywhere in the domain, or anywhere between two places a < b of it."""

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

EVERYWHERE, STRETCH = "uniform", "uniform on a stretch"
EVERYWHERE_PRIOR = 1.0  # log odds beforehand against one smoothing weight of the softplus family; decision 20
STRETCH_PRIOR = -3.0  # the same of a stretch: sharp ends are seldom
STRETCH_STEPS = 30  # of the climb to its ends
WORTH_A_STEP = 1e-3  # nats that a step has to promise
LONGEST_STEP = 0.1  # of an end, as a fraction of the domain
BEYOND = 0.05  # of the domain by which the first guess reaches beyond where a smooth estimate has its middle 90 %
FEWEST_CELLS = 4  # of a stretch: its ends lie in two, and one is to be on either side


@dataclass(frozen=True)
class Everywhere:
    """The hypothesis that everyone is anywhere with equal chance: what reports fall back to that say nothing else."""

    def fits(self, evidence: Evidence, before: Sequence[DensityFit]) -> list[DensityFit]:
        """Return the one fit, which has no parameters."""
        widths = widths_of(evidence)
        value = likelihood_with_mass(evidence, evidence.table.dense() @ widths, 1.0)
        nothing, none = np.zeros((widths.size, 0)), np.zeros(0)
        log_evidence = value + EVERYWHERE_PRIOR - price_of_mass(evidence)
        no_slope, factor = np.zeros(widths.size), np.zeros((0, 0))
        return [
            DensityFit(EVERYWHERE, np.inf, none, widths, no_slope, none, value, log_evidence, nothing, nothing, factor)
        ]


@dataclass(frozen=True)
class Stretch:
    """The hypothesis that everyone is even between two places, beforehand uniform over all such pairs."""

    def fits(self, evidence: Evidence, before: Sequence[DensityFit]) -> list[DensityFit]:
        """Return the best stretch, started a little beyond the middle 90 % of the fits before."""
        widths = widths_of(evidence)
        if widths.size < FEWEST_CELLS:
            return []
        ends = climb(_first_guess(evidence, mean_cells(before)), steps=STRETCH_STEPS, enough=WORTH_A_STEP)
        factor = np.asarray(np.linalg.cholesky(ends.information + np.eye(2)), dtype=np.float64)
        log_evidence = ends.value + float(np.log(4 * np.pi) - np.log(np.diag(factor)).sum())
        log_evidence += STRETCH_PRIOR - price_of_mass(evidence)
        k, none = widths.size, np.zeros(0)
        return [
            DensityFit(STRETCH, np.inf, none, ends.cells, np.ones(k), none, ends.value, log_evidence, ends.change,
                       np.zeros((k, 0)), factor)
        ]  # fmt: skip


def mean_cells(fits: Sequence[DensityFit]) -> Vector:
    """Return the average of the fits' densities, each weighted by how well it explains the reports."""
    weights = posterior_weights(np.array([fit.log_evidence for fit in fits]))
    return np.asarray(sum(weight * fit.cells / fit.cells.sum() for fit, weight in zip(fits, weights, strict=True)))


@dataclass(frozen=True, eq=False)
class StretchPoint:
    """Two ends a < b as fractions of the domain, as `climb` moves them."""

    evidence: Evidence
    widths: Vector
    ends: Vector

    @cached_property
    def cells(self) -> Vector:
        """Probability of each true cell."""
        edges = np.concatenate([[0.0], np.cumsum(self.widths)])
        return np.asarray(np.diff(np.clip(edges, self.ends[0], self.ends[1])) / (self.ends[1] - self.ends[0]))

    @cached_property
    def value(self) -> float:
        """The log-likelihood."""
        return likelihood_with_mass(self.evidence, self.evidence.table.dense() @ self.cells, 1.0)

    @cached_property
    def change(self) -> Matrix:
        """Its derivatives dp/da = (p − e_a)/(b − a) and dp/db = (e_b − p)/(b − a), e_x the cell that holds x."""
        change = np.column_stack([self.cells, -self.cells])
        holds = np.searchsorted(np.cumsum(self.widths)[:-1], self.ends, side="right")
        change[holds[0], 0] -= 1.0
        change[holds[1], 1] += 1.0
        return np.asarray(change / (self.ends[1] - self.ends[0]))

    @cached_property
    def slopes(self) -> tuple[Vector, Matrix]:
        """Gradient and Fisher's information of (a, b)."""
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
        """Return the ends a step further; None where less than the narrowest cell is left between them."""
        length = min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), TINY))
        ends = np.clip(self.ends + length * step, 0.0, 1.0)
        if ends[1] - ends[0] <= self.widths.min():
            return None
        return type(self)(self.evidence, self.widths, ends)


def _first_guess(evidence: Evidence, near: Vector) -> StretchPoint:
    widths = widths_of(evidence)
    smallest = float(widths.min()) / 2
    low, high = np.interp([0.05, 0.95], np.cumsum(near) / near.sum(), np.cumsum(widths))
    ends = np.array([max(low - BEYOND, smallest), min(high + BEYOND, 1.0 - smallest)])
    return StretchPoint(evidence, widths, ends if ends[1] - ends[0] > smallest else np.array([smallest, 1 - smallest]))
