"""A stiff density over true cells: smooth by construction, so that it leaves jumps to the rule that is fitted with it.

    log g(t) = Σ_j log m_j(t_j) + Σ_j Σ_{b ≤ B_j} a_jb·φ_jb(t_j),      φ_b(u) = √2·cos(πbu) averaged over the cell,

u the place in the column from 0 to 1, that of the value, or the rank of a label or of a clear value; m_j is the width
of a cell of numbers, the share of the people in one of a clear column, and the same for all labels. Ridge b²·a²/2; the
coefficients of labels, which have no order, all have the same small one. Columns i and j that depend on each other get
products φ_ia(t_i)·φ_jb(t_j) besides, with ridge (a² + b²)/2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from sfumato.domain import Floats
from sfumato.evidence import ColumnCells

TERMS = 6
LABEL_RIDGE = 0.1


class StiffDensity:
    """log g as a linear function of its coefficients.

    cells: the columns. terms: how many cosines each has at most (None: 6; labels have as many as tell them apart).
    shares: what part of the people is in each true cell of a clear column, None for the others.
    pairs: columns that depend on each other, and how many cosines of each are multiplied.
    """

    def __init__(
        self, cells: Sequence[ColumnCells], terms: Sequence[int] | None = None,
        shares: Sequence[Floats | None] | None = None, pairs: Mapping[tuple[int, int], int] | None = None,
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
        self.pairs = dict(pairs or {})
        self._products: dict[tuple[int, ...], Floats] = {}
        for (i, j), most in self.pairs.items():
            first, second = (cosines(places[k], min(most, cells[k].size - 1)) for k in (i, j))
            product = np.einsum("as,bt->abst", first, second)
            self._products[i, j] = product.reshape(-1, *product.shape[2:])
            ridges.append(np.add.outer(*(np.arange(1.0, len(one) + 1) ** 2 for one in (first, second))).ravel())
        self.ridge = np.concatenate([np.zeros(0), *ridges])
        self._log_mass = [np.log(np.maximum(np.diff(place), 1e-12)) for place in places]
        self.shape = tuple(cut.size for cut in cells)

    @property
    def size(self) -> int:
        """How many coefficients."""
        return int(self.ridge.size)

    def log(self, coefficients: Floats) -> Floats:
        """log g over all combinations of cells, up to a constant."""
        total = np.zeros((1,) * len(self.shape))
        single, paired = coefficients[: self.column.size], coefficients[self.column.size :]
        for j, (basis, mass) in enumerate(zip(self.bases, self._log_mass, strict=True)):
            total = total + self._along((j,), mass + single[self.column == j] @ basis)
        for pair, basis in self._products.items():
            here, paired = paired[: len(basis)], paired[len(basis) :]
            total = total + self._along(pair, np.tensordot(here, basis, 1))
        return np.asarray(total)

    def basis(self) -> Floats:
        """∂log g/∂a over all combinations of cells, one row a coefficient."""
        return self._basis

    @cached_property
    def _basis(self) -> Floats:
        bases: dict[tuple[int, ...], Floats] = {**{(j,): basis for j, basis in enumerate(self.bases)}, **self._products}
        rows = [np.broadcast_to(self._along(columns, row), self.shape) for columns in bases for row in bases[columns]]
        return np.array(rows).reshape(self.size, *self.shape)

    def _along(self, columns: tuple[int, ...], values: Floats) -> Floats:
        """Values of some columns' cells as an array over all columns."""
        return values.reshape([size if j in columns else 1 for j, size in enumerate(self.shape)])


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
