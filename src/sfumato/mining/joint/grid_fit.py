"""A grid problem: reports counted at one resolution, ready for EM and for judging records that were left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sfumato.mining.columns import Axis, ColumnCells
from sfumato.mining.joint.grid import Array, Tables, em_step, report_likelihood, start, with_missing_row
from sfumato.mining.joint.resolution import Resolution
from sfumato.mining.kernels import report_cells, weighted_counts

Flat = npt.NDArray[np.int64]
CLEAR_SMOOTHING = 0.5
RELAXATION = 1.8
PLAIN_STEPS = 5


@dataclass(frozen=True)
class Labels:
    """Reported class codes, weights, and the label's own table L[reported, true] (None: clear)."""

    codes: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float32]
    classes: int
    table: Array | None = None


def coarsened_to(attributes: Sequence[Axis], resolution: Resolution, most: int) -> Resolution:
    """The resolution with report cells widened until there are at most `most` combinations of them."""
    for _ in range(20):
        cuts = [attribute.at(resolution.cells, resolution.coarseness, resolution.shift) for attribute in attributes]
        if np.prod([float(cut.table.shape[0]) for cut in cuts]) <= most:
            break
        resolution = replace(resolution, coarseness=1.15 * resolution.coarseness)
    return resolution


@dataclass(frozen=True)
class GridProblem:
    """Counts of reports in cells of (s₁..s_D, y') and the tables that lead to them."""

    cells: tuple[ColumnCells, ...]
    tables: Tables
    labels: Labels
    flat: Flat
    shape: tuple[int, ...]

    @classmethod
    def of(cls, attributes: Sequence[Axis], labels: Labels, resolution: Resolution) -> GridProblem:
        cells, tables, flat = [], [], np.zeros(labels.codes.size, np.int64)
        for attribute in attributes:
            cut = attribute.at(resolution.cells, resolution.coarseness, resolution.shift)
            table = with_missing_row(cut, bool((attribute.codes < 0).any()))
            flat = flat * table.shape[0] + report_cells(attribute.codes, cut.cell_of_code, table.shape[0] - 1)
            cells.append(cut)
            tables.append(table)
        shape = (*(table.shape[0] for table in tables), labels.classes)
        return cls(
            tuple(cells), Tables(tuple(tables), labels.table), labels, flat * labels.classes + labels.codes, shape
        )

    @property
    def all_clear(self) -> bool:
        return self.tables.label is None and all(cut.identity for cut in self.cells)

    def counts(self, chosen: npt.NDArray[np.bool_] | None = None) -> Array:
        """N(s₁..s_D, y') of all or of the chosen records."""
        size = int(np.prod(self.shape))
        if chosen is None:
            counts = weighted_counts(self.flat, self.labels.weight, size)
        else:
            counts = weighted_counts(self.flat[chosen], self.labels.weight[chosen], size)
        return np.asarray(counts, np.float32).reshape(self.shape)

    def fit(self, counts: Array, iterations: int, joint: Array | None = None) -> Array:
        """P(y, t) after so many EM steps; a clear histogram is exact after one."""
        total = float(counts.sum(dtype=np.float64))
        smoothing = CLEAR_SMOOTHING * np.sqrt(total) if any(cut.identity for cut in self.cells) else 0.0
        warm = joint is not None
        joint = start(self.tables, self.labels.classes) if joint is None else joint
        if total <= 0.0:
            return joint
        for step in range(1 if self.all_clear else iterations):
            power = RELAXATION if warm or step >= PLAIN_STEPS else 1.0
            joint = em_step(self.tables, joint, counts, total, smoothing, power)
        return joint

    def fit_until_held_out_falls(
        self, counts: Array, held: Array, block: int, limit: int, tolerance: float
    ) -> tuple[Array, int]:
        """EM in blocks, until the likelihood of the held-out reports gains less than `tolerance` a block."""
        joint, done, last = start(self.tables, self.labels.classes), 0, -np.inf
        while done < limit:
            joint = self.fit(counts, block, joint)
            done += block
            likelihood = report_likelihood(self.tables, joint, held)
            if likelihood - last < tolerance or self.all_clear:
                break
            last = likelihood
        return joint, done

    def log_loss_of_label(self, joint: Array, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """−log P(y' | w) of the chosen records."""
        expected = np.maximum(self.tables.forward(joint), 1e-30).reshape(-1, self.labels.classes)
        loss = np.log(expected.sum(axis=1, keepdims=True)) - np.log(expected)
        return np.asarray(loss.ravel()[self.flat[chosen]], dtype=np.float64)
