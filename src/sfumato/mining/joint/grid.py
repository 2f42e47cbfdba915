"""The exact grid: the joint distribution of class and true cells, by EM through each attribute's table in turn.

    P(y, t₁..t_D) ← P · Σ_{y',s} N(y', s)/M(y', s) · L[y', y] · Π_j C_j[s_j, t_j] / n,
    M(y', s) = Σ_{y,t} L[y', y] · Π_j C_j[s_j, t_j] · P(y, t).

The Kronecker product of the tables is never built. From the uniform start early steps are smooth, so the number of
steps is the amount of smoothing. A missing report is a row of ones: it integrates out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.mining.columns import ColumnCells

Array = npt.NDArray[np.float32]
TINY = np.float32(1e-30)


@dataclass(frozen=True)
class Tables:
    """The tables of the chosen attributes and of the class label (None: the label is clear)."""

    attributes: tuple[Array, ...]
    label: Array | None = None

    def forward(self, joint: Array) -> Array:
        """From P(y, t₁..t_D) to M(s₁..s_D, y'): each step contracts the last axis and puts its report axis in front."""
        sizes = list(joint.shape)
        array = joint
        for table in reversed(self.attributes):
            array = table @ array.reshape(-1, table.shape[1]).T
            sizes = [table.shape[0], *sizes[:-1]]
        array = np.asarray(array).reshape(-1, sizes[-1])
        if self.label is not None:
            array = array @ self.label.T
        return array.reshape(sizes[:-1] + [array.shape[1]])

    def backward(self, reports: Array) -> Array:
        """The transpose of `forward`: from (s₁..s_D, y') back to (y, t₁..t_D)."""
        array = reports.reshape(-1, reports.shape[-1])
        if self.label is not None:
            array = array @ self.label
        sizes = [*reports.shape[:-1], array.shape[1]]
        for table in self.attributes:
            array = array.reshape(table.shape[0], -1).T @ table
            sizes = [*sizes[1:], table.shape[1]]
        return np.asarray(array).reshape(sizes)


def with_missing_row(cells: ColumnCells, any_missing: bool) -> Array:
    """The table, with a last row of ones when some report is missing."""
    if not any_missing:
        return cells.table
    return np.vstack([cells.table, np.ones((1, cells.size), np.float32)])


def start(tables: Tables, classes: int) -> Array:
    """The uniform joint distribution."""
    shape = (classes, *(table.shape[1] for table in tables.attributes))
    return np.full(shape, 1.0 / np.prod(shape), np.float32)


def em_step(
    tables: Tables, joint: Array, counts: Array, total: float, smoothing: float = 0.0, power: float = 1.0
) -> Array:
    """One step, over-relaxed by `power` < 2; `smoothing` observations spread evenly keep clear histograms off zero."""
    expected = tables.forward(joint)
    np.maximum(expected, TINY, out=expected)
    ratio = np.divide(counts, expected, out=expected)
    factor = tables.backward(ratio)
    factor *= np.float32(1 / total)
    if power != 1.0:
        np.power(factor, np.float32(power), out=factor)
    joint = joint * factor
    if smoothing:
        joint = joint + np.float32(smoothing / total / joint.size)
    return np.asarray(joint / joint.sum())


def report_likelihood(tables: Tables, joint: Array, counts: Array) -> float:
    """Σ N(y', s)·log M(y', s) / ΣN, over reports not used for fitting."""
    expected = tables.forward(joint)
    seen = counts > 0
    return float(np.sum(counts[seen] * np.log(np.maximum(expected[seen], TINY)), dtype=np.float64) / counts.sum())
