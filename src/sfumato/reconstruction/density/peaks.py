"""A few normal distributions, each cut to the domain: sharp peaks that a smoothing prior would flatten.

    p = Σ_k w_k·N_k,   N_k[cell] = (Φ(z_upper) − Φ(z_lower)) / (Φ(z_1) − Φ(z_0)),   z_x = (x − μ_k)/σ_k,

beforehand with every mean, every log σ from NARROWEST to WIDEST and all weights equally likely.
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

PEAKS = "gaussians"
NARROWEST = 0.004  # standard deviation of a peak as a fraction of the domain: below it is an atom
WIDEST = 1.0  # above it a peak is even
OUTSIDE = 0.2  # of the domain by which a mean may lie beyond its ends
LEAST_LOGIT = 12.0  # weights of less than e^−12 against the last one's are none
PEAKS_PRIOR = -2.0  # log odds beforehand of each number of peaks against one smoothing weight; decision 20
FIRST_STEPS = 15  # of EM on a first estimate, to start from
PEAK_STEPS = 20  # of the climb
MOST_PEAKS = 4  # by judgement: more are a curve
WORTH_A_STEP = 0.02  # nats that a step has to promise
LONGEST_STEP = 0.1  # of a mean, as a fraction of the domain


@dataclass(frozen=True)
class Peaks:
    """The hypothesis of two normal distributions, three, and so on while another one raises the log evidence."""

    def fits(self, evidence: Evidence, before: Sequence[DensityFit]) -> list[DensityFit]:
        """Return a fit for each number of peaks, started from the fits before and given up far below the best."""
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
    """Means and standard deviations as fractions of the domain, and logits of the weights (the last one 0)."""

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
        """(cells of each peak, and their derivatives by μ and by log σ), each (cells × peaks)."""
        z = (self.edges[:, None] - self.means) / self.sds
        bell = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        inside = np.maximum(np.diff(ndtr(z), axis=0), 0.0)
        moved, stretched = -np.diff(bell, axis=0) / self.sds, -np.diff(z * bell, axis=0)
        total = np.maximum(inside.sum(0), 1e-9)
        cells = inside / total
        return cells, (moved - cells * moved.sum(0)) / total, (stretched - cells * stretched.sum(0)) / total

    @cached_property
    def cells(self) -> Vector:
        """Probability of each true cell."""
        return np.asarray(self._parts[0] @ self.weights)

    @cached_property
    def expected(self) -> Vector:
        """Expected share of reports in each report cell."""
        return np.maximum(self.evidence.table.dense() @ self.cells, TINY)

    @cached_property
    def value(self) -> float:
        """The log-likelihood."""
        return likelihood_with_mass(self.evidence, self.expected, 1.0)

    @cached_property
    def change(self) -> Matrix:
        """The derivative of the cells by (means, log sds, logits)."""
        cells, moved, stretched = self._parts
        shifted = (cells - self.cells[:, None]) * self.weights
        return np.hstack([moved * self.weights, stretched * self.weights, shifted[:, :-1]])

    @cached_property
    def slopes(self) -> tuple[Vector, Matrix]:
        """Gradient, and Fisher's information with one for each parameter, so that a peak nobody sees stays put."""
        reported = self.evidence.table.dense() @ self.change
        scaled = reported * np.sqrt(self.evidence.total / self.expected)[:, None]
        return reported.T @ (self.evidence.counts[0] / self.expected), scaled.T @ scaled + np.eye(self.change.shape[1])

    def moved(self, step: Vector) -> Self:
        """Return the peaks a step further, within their bounds."""
        k = self.means.size
        step = step * min(1.0, LONGEST_STEP / max(float(np.abs(step[:k]).max()), TINY))
        means = np.clip(self.means + step[:k], -OUTSIDE, 1 + OUTSIDE)
        logits = np.clip(self.logits + step[2 * k :], -LEAST_LOGIT, LEAST_LOGIT)
        sds = np.clip(self.sds * np.exp(np.clip(step[k : 2 * k], -1.0, 1.0)), NARROWEST, WIDEST)
        return type(self)(self.evidence, self.edges, means, sds, logits)


def _fit(peaks: PeaksPoint) -> DensityFit:
    k, change = peaks.means.size, peaks.change
    factor = cholesky(peaks.slopes[1])
    beforehand = 2 * lgamma(k) + float(np.log(k)) + float(np.log(peaks.weights).sum())  # K!·(K−1)!·Π w
    beforehand -= k * float(np.log(np.log(WIDEST / NARROWEST)))
    volume = 0.5 * change.shape[1] * float(np.log(2 * np.pi)) - float(np.log(np.diag(factor)).sum())
    log_evidence = peaks.value + beforehand + volume + PEAKS_PRIOR - price_of_mass(peaks.evidence)
    size, none = peaks.cells.size, np.zeros(0)
    return DensityFit(
        PEAKS, np.inf, none, peaks.cells, np.ones(size), none, peaks.value, log_evidence, change,
        np.zeros((size, 0)), factor,
    )  # fmt: skip


def _first_guess(evidence: Evidence, near: Vector, number: int) -> PeaksPoint:
    """Fit peaks to a first estimate of the density, by EM from its quantiles."""
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
