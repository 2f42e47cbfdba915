"""Small problems with gaussian noise for the parts of the smooth reconstruction."""

import numpy as np
from scipy.stats import norm

from sfumato.evidence import ColumnCells, DenseTable, Evidence

CELLS = 40


def evidence_of(counts: np.ndarray, table: np.ndarray, widths: np.ndarray | None = None) -> Evidence:
    """Counts of reports about the cells of one numeric column, equally wide unless ``widths`` are given."""
    width = np.ones(table.shape[1]) if widths is None else widths
    edges = np.concatenate([[0.0], np.cumsum(width)])
    cells = ColumnCells("x", np.zeros((0, width.size)), np.zeros(0, np.int32), edges)
    return Evidence.of_counts(DenseTable(table), counts, cells=(cells,))


def blurred(sd: float, cells: int = CELLS) -> np.ndarray:
    middle = (np.arange(cells) + 0.5) / cells
    edges = np.arange(-cells, 2 * cells + 1) / cells
    cumulative = norm.cdf((edges[:, None] - middle) / sd)
    cumulative[0], cumulative[-1] = 0, 1
    return np.diff(cumulative, axis=0)


def reports_of(truth: np.ndarray, total: int, sd: float = 0.1, seed: int = 3) -> Evidence:
    table = blurred(sd, truth.size)
    counts = np.random.default_rng(seed).multinomial(total, table @ truth).astype(float)
    return evidence_of(counts, table)


def bump(cells: int = CELLS) -> np.ndarray:
    density = np.exp(-0.5 * ((np.arange(cells) / cells - 0.4) / 0.1) ** 2)
    return density / density.sum()
