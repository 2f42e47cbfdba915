"""A density over true cells that is smooth by construction, so that jumps are left to the rule that is fitted with it.

    log g(t) = Σ_j log m_j(t_j) + Σ_j Σ_{b ≤ B_j} a_jb·φ_jb(t_j),      φ_b(u) = √2·cos(πbu) averaged over the cell

u        position in the column from 0 to 1: of a number in its domain, of a label or a clear value by its rank
m_j      width of a cell of numbers; the share of the people in a cell of a clear column; the same for all labels
a_jb     coefficients, with ridge b²·a²/2; those of labels, which have no order, all have the same small ridge

Columns i and j that depend on each other have products φ_ia(t_i)·φ_jb(t_j) besides, with ridge (a² + b²)/2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from sfumato.domain import Floats
from sfumato.evidence import ColumnCells
from sfumato.evidence.observed import LEAST_DOUBLE

TERMS = 6
"""Cosines of a column of numbers. By trial on AGI92's function 1 at 100 % privacy: with this density a rule was right
about .99 of the people instead of .97, with one that bends more (products of cosines besides) about .91. Larger hides
cuts, smaller leaves the density of people to the rule."""
LABEL_RIDGE = 0.1
"""Ridge of a label's coefficient: that of a person or less, against labels that nobody reports. By judgement; larger
draws labels to equal shares."""
LEAST_SHARE = 1e-6
"""Part of the people that every cell of a clear column has at least, so that an empty one has a width. By judgement."""


class StiffDensity:
    """A density over combinations of cells whose logarithm is linear in its coefficients.

    cells: of each column. terms: the most cosines of each column of numbers; None: 6. Labels have one fewer than there
    are labels. shares: the part of the people in each true cell of a clear column, None for the other columns.
    pairs: indices of two columns that depend on each other, and how many cosines of each are multiplied.
    """

    def __init__(
        self, cells: Sequence[ColumnCells], terms: Sequence[int] | None = None,
        shares: Sequence[Floats | None] | None = None, pairs: Mapping[tuple[int, int], int] | None = None,
    ) -> None:
        share_of_cell = [None] * len(cells) if shares is None else list(shares)
        edges = [edges_between(cut, share) for cut, share in zip(cells, share_of_cell, strict=True)]
        self.terms = [
            min(TERMS if terms is None else terms[j], cut.size - 1) if cut.labels is None else cut.size - 1
            for j, cut in enumerate(cells)
        ]
        self.bases = [cosines(of_column, count) for of_column, count in zip(edges, self.terms, strict=True)]
        self.column = np.repeat(np.arange(len(cells)), self.terms)
        ridges = [
            np.arange(1.0, count + 1) ** 2 if cut.labels is None else np.full(count, LABEL_RIDGE)
            for cut, count in zip(cells, self.terms, strict=True)
        ]
        self.pairs = dict(pairs or {})
        self._products: dict[tuple[int, ...], Floats] = {}
        for (i, j), most in self.pairs.items():
            first, second = (cosines(edges[k], min(most, cells[k].size - 1)) for k in (i, j))
            product = np.einsum("as,bt->abst", first, second)
            self._products[i, j] = product.reshape(-1, *product.shape[2:])
            ridges.append(np.add.outer(*(np.arange(1.0, len(basis) + 1) ** 2 for basis in (first, second))).ravel())
        self.ridge = np.concatenate([np.zeros(0), *ridges])
        self._log_mass = [np.log(np.maximum(np.diff(of_column), LEAST_DOUBLE)) for of_column in edges]
        self.shape = tuple(cut.size for cut in cells)

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return int(self.ridge.size)

    def log(self, coefficients: Floats) -> Floats:
        """Return log g, the logarithm of the density, over all combinations of cells, up to a constant."""
        total = np.zeros((1,) * len(self.shape))
        single, paired = coefficients[: self.column.size], coefficients[self.column.size :]
        for j, (basis, mass) in enumerate(zip(self.bases, self._log_mass, strict=True)):
            total = total + self._along((j,), mass + single[self.column == j] @ basis)
        for pair, basis in self._products.items():
            of_pair, paired = paired[: len(basis)], paired[len(basis) :]
            total = total + self._along(pair, np.tensordot(of_pair, basis, 1))
        return np.asarray(total)

    def basis(self) -> Floats:
        """Return the derivative of the log density by each coefficient, over all combinations of cells."""
        return self._basis

    @cached_property
    def _basis(self) -> Floats:
        bases: dict[tuple[int, ...], Floats] = {**{(j,): basis for j, basis in enumerate(self.bases)}, **self._products}
        rows = [np.broadcast_to(self._along(columns, row), self.shape) for columns in bases for row in bases[columns]]
        return np.array(rows).reshape(self.size, *self.shape)

    def _along(self, columns: tuple[int, ...], values: Floats) -> Floats:
        """Reshape values over the cells of some columns to an array with an axis for every column."""
        return values.reshape([size if j in columns else 1 for j, size in enumerate(self.shape)])


def edges_between(cut: ColumnCells, share: Floats | None) -> Floats:
    """Return the edges of a column's cells, scaled to 0..1; ``share``: the part of the people in each clear cell."""
    if share is not None:
        smoothed = share + LEAST_SHARE
        return np.concatenate([[0.0], np.cumsum(smoothed) / smoothed.sum()])
    if cut.labels is not None or cut.edges is None:
        return np.linspace(0.0, 1.0, cut.size + 1)
    return np.asarray((cut.edges - cut.edges[0]) / (cut.edges[-1] - cut.edges[0]))


def cosines(edges: Floats, count: int) -> Floats:
    """Return √2·cos(πbu) averaged between successive edges, one row for each b = 1..count."""
    b = np.arange(1, count + 1)[:, None]
    return np.asarray(np.sqrt(2.0) * np.diff(np.sin(np.pi * b * edges), axis=1) / (np.pi * b * np.diff(edges)))
