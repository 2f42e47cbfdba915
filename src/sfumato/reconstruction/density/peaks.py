"""The hypothesis of a few normal distributions, each cut to the domain: peaks that a smoothing prior would flatten.

    p = Σ_k w_k·N_k,   N_k[cell] = (Φ(z_upper) − Φ(z_lower)) / (Φ(z_1) − Φ(z_0)),   z_x = (x − μ_k)/σ_k,

with a uniform prior over means, log σ from NARROWEST to WIDEST, and weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lgamma
from typing import Self

import numpy as np
from scipy.special import ndtr

from sfumato.evidence import Evidence, climb
from sfumato.reconstruction.density.even import FEWEST_CELLS, mean_cells
from sfumato.reconstruction.density.fit import (
    NEGLIGIBLE,
    TINY,
    DensityFit,
    Matrix,
    Vector,
    best,
    cholesky,
    likelihood_with_mass,
    price_of_mass,
    widths_of,
)

NARROWEST = 0.004
"""The least standard deviation of a peak, as a part of the domain. By judgement: narrower ones lie in one fine cell of
a hundred and are atoms."""
WIDEST = 1.0
"""The largest standard deviation of a peak, as a part of the domain: a wider one is even."""
OUTSIDE = 0.2
"""Part of the domain by which a mean may lie beyond its ends. By judgement: a peak further out is a slope, which curves
fit."""
LEAST_LOGIT = 12.0
"""The largest size of a weight's logit against the last one: a weight below e^−12 is none."""
PEAKS_PRIOR = -2.0
"""Prior log odds of each number of peaks against one smoothing weight of the softplus family. By judgement; decision 20
measures the reconstruction with it. Larger makes bumps of chance into peaks."""
FIRST_STEPS = 15
"""Steps of EM on a first estimate, from which the climb starts. By judgement: they only have to separate the peaks."""
PEAK_STEPS = 20
"""Steps of the climb, at most. By judgement; a fit that needs more is seldom the best."""
MOST_PEAKS = 4
"""Peaks that are tried, at most. By judgement: more are a curve (decision 20: two to four normal distributions)."""
WORTH_A_STEP = 0.02
"""Nats that a step has to promise; by judgement as `curves.WORTH_A_STEP`."""
LONGEST_STEP = 0.1
"""Change of a mean in one step, as a part of the domain. By judgement: longer ones jump over other peaks."""


@dataclass(frozen=True)
class Peaks:
    """The hypothesis that true values are a mixture of two, three or four normal distributions cut to the domain."""

    def fits(self, evidence: Evidence, before: Sequence[DensityFit]) -> list[DensityFit]:
        """Return a fit for each number of peaks, started from the fits before.

        It ends when another peak lowers the log evidence. A climb that will end NEGLIGIBLE below the best fit before is
        broken off.
        """
        if evidence.table.shape[1] < FEWEST_CELLS:
            return []
        near, least = mean_cells(before), best(before).log_evidence - NEGLIGIBLE
        fits: list[DensityFit] = []
        for number in range(2, MOST_PEAKS + 1):
            first = _first_guess(evidence, near, number)
            fits.append(_fit(climb(first, steps=PEAK_STEPS, enough=WORTH_A_STEP, hoped=lambda point: least)))
            if len(fits) > 1 and fits[-1].log_evidence < fits[-2].log_evidence:
                break
        return fits


@dataclass(frozen=True, eq=False)
class PeaksPoint:
    """A point of the climb to the best peaks: their means, standard deviations and weights.

    edges: of the true cells, from 0 to 1. means, sds: as parts of the domain. logits: of the weights against the last.
    """

    evidence: Evidence
    edges: Vector
    means: Vector
    sds: Vector
    logits: Vector

    @property
    def weights(self) -> Vector:
        """The share of people in each peak."""
        raised = np.exp(np.append(self.logits, 0.0) - max(float(self.logits.max(initial=0.0)), 0.0))
        return np.asarray(raised / raised.sum())

    @cached_property
    def _parts(self) -> tuple[Matrix, Matrix, Matrix]:
        """(The cells' probabilities within each peak, their derivatives by μ, those by log σ), each (cells × peaks)."""
        z = (self.edges[:, None] - self.means) / self.sds
        bell = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        inside = np.maximum(np.diff(ndtr(z), axis=0), 0.0)
        moved, stretched = -np.diff(bell, axis=0) / self.sds, -np.diff(z * bell, axis=0)
        total = np.maximum(inside.sum(0), 1e-9)
        cells = inside / total
        return cells, (moved - cells * moved.sum(0)) / total, (stretched - cells * stretched.sum(0)) / total

    @cached_property
    def cells(self) -> Vector:
        """The probability of each true cell."""
        return np.asarray(self._parts[0] @ self.weights)

    @cached_property
    def expected(self) -> Vector:
        """The expected share of reports in each report cell."""
        return np.maximum(self.evidence.table.dense() @ self.cells, TINY)

    @cached_property
    def value(self) -> float:
        """The log-likelihood."""
        return likelihood_with_mass(self.evidence, self.expected, 1.0)

    @cached_property
    def change(self) -> Matrix:
        """The derivatives of the cells' probabilities by (means, log sds, logits), one column a parameter."""
        cells, moved, stretched = self._parts
        shifted = (cells - self.cells[:, None]) * self.weights
        return np.hstack([moved * self.weights, stretched * self.weights, shifted[:, :-1]])

    @cached_property
    def slopes(self) -> tuple[Vector, Matrix]:
        """The gradient, and Fisher's information plus 1 for each parameter, so that unseen peaks do not move."""
        reported = self.evidence.table.dense() @ self.change
        scaled = reported * np.sqrt(self.evidence.total / self.expected)[:, None]
        return reported.T @ (self.evidence.counts[0] / self.expected), scaled.T @ scaled + np.eye(self.change.shape[1])

    def moved(self, step: Vector) -> Self:
        """Return the point a step further, within the bounds of means, standard deviations and logits."""
        k = self.means.size
        step = step * min(1.0, LONGEST_STEP / max(float(np.abs(step[:k]).max()), TINY))
        means = np.clip(self.means + step[:k], -OUTSIDE, 1 + OUTSIDE)
        logits = np.clip(self.logits + step[2 * k :], -LEAST_LOGIT, LEAST_LOGIT)
        sds = np.clip(self.sds * np.exp(np.clip(step[k : 2 * k], -1.0, 1.0)), NARROWEST, WIDEST)
        return type(self)(self.evidence, self.edges, means, sds, logits)


def _fit(peaks: PeaksPoint) -> DensityFit:
    """Return the fit at the top of a climb, with its log evidence by Laplace's approximation."""
    k, change = peaks.means.size, peaks.change
    factor = cholesky(peaks.slopes[1])
    beforehand = 2 * lgamma(k) + float(np.log(k)) + float(np.log(peaks.weights).sum())  # K!·(K−1)!·Π w
    beforehand -= k * float(np.log(np.log(WIDEST / NARROWEST)))
    volume = 0.5 * change.shape[1] * float(np.log(2 * np.pi)) - float(np.log(np.diag(factor)).sum())
    log_evidence = peaks.value + beforehand + volume + PEAKS_PRIOR - price_of_mass(peaks.evidence)
    size, none = peaks.cells.size, np.zeros(0)
    return DensityFit(
        "gaussians", np.inf, none, peaks.cells, np.ones(size), none, peaks.value, log_evidence, change,
        np.zeros((size, 0)), factor,
    )  # fmt: skip


def _first_guess(evidence: Evidence, near: Vector, number: int) -> PeaksPoint:
    """Return so many peaks fitted to a first estimate ``near`` of the density, by EM from its quantiles."""
    edges = np.concatenate([[0.0], np.cumsum(widths_of(evidence))])
    middle, share = (edges[:-1] + edges[1:]) / 2, near / near.sum()
    means = np.interp((np.arange(number) + 0.5) / number, np.cumsum(share), middle)
    overall = float(np.sqrt(share @ (middle - share @ middle) ** 2))
    sds, weights = np.full(number, max(overall / number, NARROWEST)), np.full(number, 1 / number)
    for _ in range(FIRST_STEPS):
        near_peak = weights / sds * np.exp(-0.5 * ((middle[:, None] - means) / sds) ** 2) + TINY
        near_peak *= (share / near_peak.sum(1))[:, None]
        weights = near_peak.sum(0)
        means = middle @ near_peak / weights
        sds = np.sqrt(np.maximum(((middle[:, None] - means) ** 2 * near_peak).sum(0) / weights, NARROWEST**2))
    weights = np.maximum(weights, 1e-4)
    return PeaksPoint(evidence, edges, means, sds, np.log(weights[:-1] / weights[-1]))
