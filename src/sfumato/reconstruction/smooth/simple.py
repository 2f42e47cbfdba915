"""The simplest densities: everyone even over the whole domain, or even over one stretch of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .penalised import RIDGE, TINY, Fit, Matrix, Seen, Vector

EVERYWHERE, STRETCH = "uniform", "uniform on a stretch"
EVERYWHERE_PRIOR, STRETCH_PRIOR = 1.0, -3.0  # log odds beforehand against one smoothing weight of the softplus family
FEWEST_CELLS = 4
STRETCH_STEPS = 30


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
