"""A stiff density over true cells: smooth by construction, so that it leaves jumps to the rule that is fitted with it.

    log g(t) = Σ_j log m_j(t_j) + Σ_j Σ_{b ≤ B_j} a_jb·φ_jb(t_j),      φ_b(u) = √2·cos(πbu) averaged over the cell,

u the place in the column from 0 to 1, that of the value, or the rank of a label or of a clear value. m_j is the width of
a cell of numbers, the share of the people in one of a clear column, and the same for all labels. Ridge b²·a²/2; the
coefficients of labels, which have no order, all have the same small one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.domain import Floats
from sfumato.reconstruction import ColumnCells

TERMS = 6
LABEL_RIDGE = 0.1


class Density:
    """log g as a linear function of its coefficients.

    cells: the columns. terms: how many cosines each has at most (None: 6; labels have as many as tell them apart).
    shares: what part of the people is in each true cell of a clear column, None for the others.
    """

    def __init__(
        self, cells: Sequence[ColumnCells], terms: Sequence[int] | None = None,
        shares: Sequence[Floats | None] | None = None,
    ) -> None:
        known = [None] * len(cells) if shares is None else list(shares)
        places = [edges_between(cut, share) for cut, share in zip(cells, known, strict=True)]
        self.terms = [
            min(TERMS if terms is None else terms[j], cut.size - 1) if cut.labels is None else cut.size - 1
            for j, cut in enumerate(cells)
        ]
        self.bases = [cosines(place, count) for place, count in zip(places, self.terms, strict=True)]
        self.column = np.repeat(np.arange(len(cells)), self.terms)
        ridges = [
            np.arange(1.0, count + 1) ** 2 if cut.labels is None else np.full(count, LABEL_RIDGE)
            for cut, count in zip(cells, self.terms, strict=True)
        ]
        self.ridge = np.concatenate([np.zeros(0), *ridges])
        self._log_mass = [np.log(np.maximum(np.diff(place), 1e-12)) for place in places]
        self.shape = tuple(cut.size for cut in cells)

    @property
    def size(self) -> int:
        """How many coefficients."""
        return int(self.column.size)

    def log(self, coefficients: Floats) -> Floats:
        """log g over all combinations of cells, up to a constant."""
        total = np.zeros((1,) * len(self.shape))
        for j, (basis, mass) in enumerate(zip(self.bases, self._log_mass, strict=True)):
            total = total + self._along(j, mass + coefficients[self.column == j] @ basis)
        return np.asarray(total)

    def basis(self) -> Floats:
        """∂log g/∂a over all combinations of cells, one row a coefficient."""
        rows = [np.broadcast_to(self._along(j, row), self.shape) for j, basis in enumerate(self.bases) for row in basis]
        return np.array(rows).reshape(self.size, *self.shape)

    def _along(self, axis: int, values: Floats) -> Floats:
        """Values of one column's cells as an array over all columns."""
        return values.reshape((-1,) + (1,) * (len(self.shape) - 1 - axis))


def edges_between(cut: ColumnCells, share: Floats | None) -> Floats:
    """The edges of a column's cells, from 0 to 1."""
    if share is not None:
        smoothed = share + 1e-6
        return np.concatenate([[0.0], np.cumsum(smoothed) / smoothed.sum()])
    if cut.labels is not None or cut.edges is None:
        return np.linspace(0.0, 1.0, cut.size + 1)
    return np.asarray((cut.edges - cut.edges[0]) / (cut.edges[-1] - cut.edges[0]))


def cosines(edges: Floats, count: int) -> Floats:
    """√2·cos(πbu) averaged between edges, one row for each b = 1..count."""
    b = np.arange(1, count + 1)[:, None]
    return np.asarray(np.sqrt(2.0) * np.diff(np.sin(np.pi * b * edges), axis=1) / (np.pi * b * np.diff(edges)))
