"""Tables P[report cell, true cell] as linear maps: dense ones, several privacy levels, several attributes.

    apply(p)   = P p      the distribution of reports that a true distribution p predicts
    adjoint(r) = Pᵀ r     what weights on reports say about each true cell

`large_tables` has tables that are too large to build.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.domain import Floats

Array = npt.NDArray[Any]


class Table(ABC):
    """A table P[report cell, true cell] as a linear map; ``shape`` is (report cells, true cells)."""

    shape: tuple[int, int]
    dtype: npt.DTypeLike = np.float64

    @abstractmethod
    def apply(self, p: Floats) -> Floats:
        """Return P p for every row p of the argument: the distribution of reports that p predicts."""

    @abstractmethod
    def adjoint(self, r: Floats) -> Floats:
        """Return Pᵀ r for every row r of the argument: what weights on report cells say about each true cell."""

    @abstractmethod
    def dense(self) -> Floats:
        """Return the table as a matrix."""


class DenseTable(Table):
    """A table that is stored as a matrix; dtype: the precision of arithmetic with it."""

    def __init__(self, matrix: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> None:
        self._matrix: npt.NDArray[Any] = np.ascontiguousarray(matrix, dtype=dtype)
        self.dtype = self._matrix.dtype
        self.shape = (self._matrix.shape[0], self._matrix.shape[1])

    @cached_property
    def _transposed(self) -> Floats:
        return np.ascontiguousarray(self._matrix.T)

    def apply(self, p: Floats) -> Floats:
        return np.asarray(self._matrix @ p if p.ndim == 1 else p @ self._transposed)

    def adjoint(self, r: Floats) -> Floats:
        return np.asarray(self._transposed @ r if r.ndim == 1 else r @ self._matrix)

    def dense(self) -> Floats:
        return self._matrix


class StackedTable(Table):
    """The tables of several privacy levels, one below the other, each weighted by its share of the people."""

    def __init__(self, parts: list[Table], shares: Floats) -> None:
        self._parts, self._shares = parts, [float(share) for share in shares]
        self._cuts = np.cumsum([part.shape[0] for part in parts])
        self.shape = (int(self._cuts[-1]), parts[0].shape[1])

    def apply(self, p: Floats) -> Floats:
        pairs = zip(self._parts, self._shares, strict=True)
        return np.concatenate([share * part.apply(p) for part, share in pairs], axis=-1)

    def adjoint(self, r: Floats) -> Floats:
        pieces = zip(self._parts, self._shares, np.split(r, self._cuts[:-1], axis=-1), strict=True)
        return np.asarray(sum(share * part.adjoint(piece) for part, share, piece in pieces))

    def dense(self) -> Floats:
        return np.vstack([share * part.dense() for part, share in zip(self._parts, self._shares, strict=True)])


def stack(tables: list[Table], shares: Floats) -> Table:
    """Return one table for people at several privacy levels.

    tables: of the levels, for the same true cells. shares: of the people at each level.
    """
    if len(tables) == 1:
        return tables[0]
    stacked = StackedTable(tables, shares)
    return DenseTable(stacked.dense()) if all(isinstance(table, DenseTable) for table in tables) else stacked


class ProductTable(Table):
    """The table of several columns, P[(s₁, …, s_d), (t₁, …, t_d)] = Π_j P_j[s_j, t_j], over all combinations of cells.

    With a class y besides, p is P(y, t₁, …, t_d) and reports are R(s₁, …, s_d, y'): the class is the first axis of true
    cells and the last one of report cells.

    factors: P_j. label: the class's own table L[reported, true]; None: the class is clear. classes: how many classes a
    clear class has; 1: there is no class. dtype: the precision of arithmetic.
    """

    def __init__(
        self, factors: Sequence[npt.ArrayLike], label: npt.ArrayLike | None = None, classes: int = 1,
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        self.factors: list[npt.NDArray[Any]] = [np.ascontiguousarray(factor, dtype=dtype) for factor in factors]
        self.label = None if label is None else np.ascontiguousarray(label, dtype=dtype)
        self.dtype = np.dtype(dtype)
        reported, true = (classes, classes) if self.label is None else self.label.shape
        self.report_shape = (*(factor.shape[0] for factor in self.factors), reported)
        self.true_shape = (true, *(factor.shape[1] for factor in self.factors))
        self.shape = (prod(self.report_shape), prod(self.true_shape))

    def apply(self, p: npt.NDArray[Any]) -> npt.NDArray[Any]:
        array: npt.NDArray[Any] = p.reshape(-1)
        array = array if self.factors or self.label is not None else array.copy()  # never p itself
        for factor in reversed(self.factors):  # contracts the last axis and puts its report axis in front
            array = factor @ array.reshape(-1, factor.shape[1]).T
        if self.label is not None:
            array = array.reshape(-1, self.true_shape[0]) @ self.label.T
        if p.ndim > 1 and len(p) > 1:  # problems came along last but for the class; they go first
            array = array.reshape(-1, len(p), self.report_shape[-1]).transpose(1, 0, 2)
        return np.ascontiguousarray(array).reshape(*p.shape[:-1], -1)

    def adjoint(self, r: npt.NDArray[Any]) -> npt.NDArray[Any]:
        array = r
        if r.ndim > 1 and len(r) > 1:
            array = np.ascontiguousarray(r.reshape(len(r), -1, self.report_shape[-1]).transpose(1, 0, 2)).reshape(-1)
        if self.label is not None:
            array = array.reshape(-1, self.label.shape[0]) @ self.label
        for factor in self.factors:
            array = array.reshape(factor.shape[0], -1).T @ factor
        return array.reshape(*r.shape[:-1], -1)

    def dense(self) -> Floats:
        whole: npt.NDArray[Any] = np.ones((1, 1), self.dtype)
        for factor in self.factors:
            whole = np.asarray(np.kron(whole, factor))
        label = np.eye(self.true_shape[0]) if self.label is None else self.label
        return np.asarray(np.einsum("st,zy->szyt", whole, label).reshape(self.shape), dtype=float)
