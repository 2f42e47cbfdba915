"""Densities of few numbers: everyone even over the whole domain or over one stretch of it, or a few normal ones.

A few normal distributions, each cut to the domain: sharp peaks that a smoothing prior would flatten.

    p = Σ_k w_k·N_k,   N_k[cell] = (Φ(z_upper) − Φ(z_lower)) / (Φ(z_1) − Φ(z_0)),   z_x = (x − μ_k)/σ_k,

beforehand with every mean, every log σ from NARROWEST to WIDEST and all weights equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import lgamma

import numpy as np
from scipy.special import ndtr

from .penalised import NEGLIGIBLE, RIDGE, TINY, Fit, Matrix, Seen, Vector, cholesky

EVERYWHERE, STRETCH = "uniform", "uniform on a stretch"
EVERYWHERE_PRIOR, STRETCH_PRIOR = 1.0, -3.0  # log odds beforehand against one smoothing weight of the softplus family
FEWEST_CELLS = 4
STRETCH_STEPS = 30
GAUSSIANS = "gaussians"
NARROWEST, WIDEST = 0.004, 1.0
PEAKS_PRIOR = -2.0  # log odds beforehand of each number of peaks against one smoothing weight of the softplus family
FIRST_STEPS, PEAK_STEPS = 15, 20
MOST_PEAKS = 4
ENOUGH = 0.02


def everywhere(reports: Seen) -> Fit:
    """Everyone anywhere with equal chance: what the estimate falls back to when reports say nothing else."""
    k = reports.widths.size
    value = reports.log_likelihood(reports.table @ reports.widths, 1.0)
    evidence = value + EVERYWHERE_PRIOR - price_of_mass(reports)
    nothing, no_numbers = np.zeros((k, 0)), np.zeros(0)
    return Fit(
        EVERYWHERE, np.inf, no_numbers, reports.widths, np.zeros(k), no_numbers, value, evidence,
        nothing, nothing, np.zeros((0, 0)), 0,
    )  # fmt: skip


def on_a_stretch(reports: Seen, near: Vector) -> Fit:
    """Everyone even between two places a < b, beforehand uniform over all such pairs; Laplace's approximation."""
    ends, steps = _start(reports, near), 0
    while steps < STRETCH_STEPS and (better := ends.uphill()) is not None:
        ends, steps = better, steps + 1
    _, information, change = ends.curvature()
    factor = np.asarray(np.linalg.cholesky(information + np.eye(2)), dtype=np.float64)
    evidence = ends.value + float(np.log(4 * np.pi) - np.log(np.diag(factor)).sum())
    evidence += STRETCH_PRIOR - price_of_mass(reports)
    k = reports.widths.size
    return Fit(
        STRETCH, np.inf, np.zeros(0), ends.cells, np.ones(k), np.zeros(0), ends.value, evidence, change,
        np.zeros((k, 0)), factor, steps,
    )  # fmt: skip


@dataclass(frozen=True)
class _Ends:
    """Two places a < b as fractions of the domain, the cells' probabilities between them, and the log-likelihood."""

    reports: Seen
    places: Vector
    cells: Vector
    value: float

    @classmethod
    def at(cls, reports: Seen, places: Vector) -> _Ends:
        edges = np.concatenate([[0.0], np.cumsum(reports.widths)])
        cells = np.diff(np.clip(edges, places[0], places[1])) / (places[1] - places[0])
        return cls(reports, places, cells, reports.log_likelihood(reports.table @ cells, 1.0))

    def uphill(self) -> _Ends | None:
        """One step of Fisher scoring with backtracking; None at the top."""
        gradient, information, _ = self.curvature()
        step = np.linalg.solve(information + (1e-9 * np.trace(information) + TINY) * np.eye(2), gradient)
        if gradient @ step < 1e-3:
            return None
        length = min(1.0, 0.1 / float(np.abs(step).max()))
        while length > 1e-3:
            places = np.clip(self.places + length * step, 0.0, 1.0)
            if places[1] - places[0] > self.reports.widths.min():
                trial = _Ends.at(self.reports, places)
                if trial.value > self.value:
                    return trial
            length /= 3.0
        return None

    def curvature(self) -> tuple[Vector, Matrix, Matrix]:
        """Gradient and Fisher's information of (a, b), and dp/d(a, b).

        dp/da = (p − e_a)/(b − a) and dp/db = (e_b − p)/(b − a), e_x the cell that holds x.
        """
        change = np.column_stack([self.cells, -self.cells])
        holds = np.searchsorted(np.cumsum(self.reports.widths)[:-1], self.places, side="right")
        change[holds[0], 0] -= 1.0
        change[holds[1], 1] += 1.0
        change /= self.places[1] - self.places[0]
        expected = np.maximum(self.reports.table @ self.cells, TINY)
        moved = self.reports.table @ change
        scaled = moved * np.sqrt(self.reports.total / expected)[:, None]
        return moved.T @ (self.reports.counts / expected), scaled.T @ scaled, change


def _start(reports: Seen, near: Vector) -> _Ends:
    """A little beyond where a first estimate holds the middle 90 %."""
    smallest = float(reports.widths.min()) / 2
    low, high = np.interp([0.05, 0.95], np.cumsum(near) / near.sum(), np.cumsum(reports.widths))
    places = np.array([max(low - 0.05, smallest), min(high + 0.05, 1.0 - smallest)])
    return _Ends.at(reports, places if places[1] - places[0] > smallest else np.array([smallest, 1.0 - smallest]))


def price_of_mass(reports: Seen) -> float:
    """What every model pays for its free total mass, so that evidences compare."""
    return 0.5 * float(np.log1p(reports.total / (RIDGE * reports.widths.size)))


# --- a few normal distributions ---


@dataclass(frozen=True)
class _Peaks:
    """Means and standard deviations as fractions of the domain, and logits of the weights (the last one 0)."""

    reports: Seen
    means: Vector
    sds: Vector
    logits: Vector

    @property
    def weights(self) -> Vector:
        raised = np.exp(np.append(self.logits, 0.0) - max(float(self.logits.max(initial=0.0)), 0.0))
        return np.asarray(raised / raised.sum())

    @cached_property
    def parts(self) -> tuple[Matrix, Matrix, Matrix]:
        """(cells of each peak, and their derivatives by μ and by log σ), each (k, K)."""
        z = (edges_of(self.reports)[:, None] - self.means) / self.sds
        bell = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        inside = np.maximum(np.diff(ndtr(z), axis=0), 0.0)
        moved, stretched = -np.diff(bell, axis=0) / self.sds, -np.diff(z * bell, axis=0)
        total = np.maximum(inside.sum(0), 1e-9)
        cells = inside / total
        return cells, (moved - cells * moved.sum(0)) / total, (stretched - cells * stretched.sum(0)) / total

    @cached_property
    def cells(self) -> Vector:
        return np.asarray(self.parts[0] @ self.weights)

    @cached_property
    def expected(self) -> Vector:
        return np.maximum(self.reports.table @ self.cells, TINY)

    @cached_property
    def value(self) -> float:
        return self.reports.log_likelihood(self.expected, 1.0)

    @cached_property
    def change(self) -> Matrix:
        """dp/d(means, log sds, logits)."""
        cells, moved, stretched = self.parts
        shifted = (cells - self.cells[:, None]) * self.weights
        return np.hstack([moved * self.weights, stretched * self.weights, shifted[:, :-1]])

    @cached_property
    def curvature(self) -> tuple[Vector, Matrix]:
        """Gradient and Fisher's information."""
        seen = self.reports.table @ self.change
        scaled = seen * np.sqrt(self.reports.total / self.expected)[:, None]
        return seen.T @ (self.reports.counts / self.expected), scaled.T @ scaled

    def moved(self, step: Vector) -> _Peaks:
        k = self.means.size
        means, logits = np.clip(self.means + step[:k], -0.2, 1.2), np.clip(self.logits + step[2 * k :], -12.0, 12.0)
        sds = np.clip(self.sds * np.exp(np.clip(step[k : 2 * k], -1.0, 1.0)), NARROWEST, WIDEST)
        return _Peaks(self.reports, means, sds, logits)

    def uphill(self, hoped: float) -> _Peaks | None:
        """One step of Fisher scoring with backtracking; None at the top, or where that is less than hoped for."""
        gradient, information = self.curvature
        step: Vector = np.asarray(np.linalg.solve(information + np.eye(gradient.size), gradient), dtype=np.float64)
        promise = float(gradient @ step)
        if promise < ENOUGH or self.value + promise < hoped:
            return None
        length = min(1.0, 0.1 / max(float(np.abs(step[: self.means.size]).max()), TINY))
        while length > 1e-3:
            trial = self.moved(length * step)
            if trial.value > self.value:
                return trial
            length /= 3.0
        return None


def edges_of(reports: Seen) -> Vector:
    """Edges of the cells as fractions of the domain."""
    return np.concatenate([[0.0], np.cumsum(reports.widths)])


def gaussians(reports: Seen, near: Vector, best: float) -> list[Fit]:
    """The best two normal distributions, three, and so on while another one raises the evidence.

    ``best``: the evidence of other families; a likelihood that does not come near it is not followed to its top.
    """
    fits: list[Fit] = []
    for number in range(2, MOST_PEAKS + 1):
        peaks = _first(reports, near, number)
        for _ in range(PEAK_STEPS):
            better = peaks.uphill(best - NEGLIGIBLE)
            if better is None:
                break
            peaks = better
        fits.append(_fit(peaks))
        if len(fits) > 1 and fits[-1].evidence < fits[-2].evidence:
            break
    return fits


def _fit(peaks: _Peaks) -> Fit:
    reports, k, change = peaks.reports, peaks.means.size, peaks.change
    factor = cholesky(peaks.curvature[1] + np.eye(change.shape[1]))
    beforehand = 2 * lgamma(k) + float(np.log(k)) + float(np.log(peaks.weights).sum())  # K!·(K−1)!·Π w
    beforehand -= k * float(np.log(np.log(WIDEST / NARROWEST)))
    volume = 0.5 * change.shape[1] * float(np.log(2 * np.pi)) - float(np.log(np.diag(factor)).sum())
    evidence = peaks.value + beforehand + volume + PEAKS_PRIOR - price_of_mass(reports)
    cells, nothing = peaks.cells, np.zeros(0)
    return Fit(
        GAUSSIANS, np.inf, nothing, cells, np.ones(cells.size), nothing, peaks.value, evidence, change,
        np.zeros((cells.size, 0)), factor, 0,
    )  # fmt: skip


def _first(reports: Seen, near: Vector, number: int) -> _Peaks:
    """Peaks of a first estimate: EM from its quantiles."""
    edges = edges_of(reports)
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
    return _Peaks(reports, means, sds, np.log(weights[:-1] / weights[-1]))
