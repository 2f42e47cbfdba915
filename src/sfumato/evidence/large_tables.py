"""Tables P[report cell, true cell] that are too large to build, as linear maps.

Where a channel's law only shifts with the true value,

    P[s, t] = kernel[s − t]    apart from the two open end rows,

the table is applied by Fourier transform, or by the few waves that a smooth kernel passes. The table of several
attributes is a product and is applied axis by axis, for the combinations of report cells that occur.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from itertools import pairwise
from math import prod

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.evidence.tables import Table

FEW = 64
"""Waves that a kernel passes, up to which two narrow matrix products are used instead of the Fourier transform. By
judgement: the products take time in proportion to the waves, the transform to the logarithm of the cells."""
PASSED = 2e-10
"""Strength of a wave, relative to the strongest, from which a kernel counts as passing it. By judgement: with CLOSE it
decides which kernels are smooth; the check against the table's columns catches what is lost."""
CLOSE = 2e-12
"""Difference of a probability from the dense table's up to which a table counts as shifting only. By judgement: well
above the rounding of the transforms, well below the least probability that reports show."""
ROUNDING = 1e-16
"""What Fourier transforms leave of a zero, relative to the largest entry: about the rounding of doubles, 2⁻⁵³."""
MANY = 1000
"""Beginnings from which all are contracted in one array operation instead of one matrix product each. By judgement: so
many calls cost more than the larger array in between."""


class ShiftTable(Table):
    """A table of m rows and k columns that only shifts: P[s, t] = kernel[s − t + k − 1] in the rows s = 1..m−2.

    kernel: one entry for every difference s − t from −(k − 1) to m − 1. ends: the rows 0 and m − 1.
    """

    def __init__(self, kernel: Floats, ends: tuple[Floats, Floats]) -> None:
        columns = ends[0].size
        self.shape = (kernel.size - columns + 1, columns)
        self.kernel = np.ascontiguousarray(kernel, dtype=float)
        self._ends = np.vstack(ends)

    @abstractmethod
    def _convolve(self, p: Floats) -> Floats:
        """Return Σ_t kernel[s − t + k − 1]·p_t for every s."""

    @abstractmethod
    def _correlate(self, r: Floats) -> Floats:
        """Return Σ_s kernel[s − t + k − 1]·r_s for every t."""

    def apply(self, p: Floats) -> Floats:
        reports = self._convolve(p)
        np.maximum(reports, ROUNDING * reports.max(), out=reports)
        reports[..., :: reports.shape[-1] - 1] = p @ self._ends.T
        return reports

    def adjoint(self, r: Floats) -> Floats:
        inner, ends = r.copy(), slice(None, None, r.shape[-1] - 1)
        inner[..., ends] = 0.0
        return np.asarray(self._correlate(inner) + r[..., ends] @ self._ends)

    def dense(self) -> Floats:
        rows, columns = self.shape
        matrix = self.kernel[np.arange(rows)[:, None] - np.arange(columns) + columns - 1]
        matrix[[0, -1]] = self._ends
        return np.asarray(matrix)


class FourierTable(ShiftTable):
    """A shifting table applied as a product of Fourier transforms, in O((m + k)·log(m + k))."""

    def __init__(self, kernel: Floats, ends: tuple[Floats, Floats]) -> None:
        super().__init__(kernel, ends)
        from scipy import fft

        self._fft = fft
        self._length = int(fft.next_fast_len(kernel.size, real=True))
        self._kernel_waves = fft.rfft(self.kernel, self._length)

    def _convolve(self, p: Floats) -> Floats:
        rows, columns = self.shape
        waves = self._fft.rfft(p, self._length)
        waves *= self._kernel_waves
        return np.asarray(self._fft.irfft(waves, self._length, overwrite_x=True)[..., columns - 1 : columns - 1 + rows])

    def _correlate(self, r: Floats) -> Floats:
        columns = self.shape[1]
        waves = np.conj(self._fft.rfft(r, self._length))
        waves *= self._kernel_waves
        return np.asarray(self._fft.irfft(waves, self._length, overwrite_x=True)[..., columns - 1 :: -1])


class FewWavesTable(ShiftTable):
    """A shifting table with a smooth kernel (wide gaussian noise), applied as two narrow tables in O(waves·(m + k)).

    Σ_t kernel[s − t]·p_t = Re Σ_f G[s, f]·p̂_f with p̂_f = Σ_t p_t·e^(−iω_f t), over the waves f that the kernel passes.
    """

    def __init__(self, kernel: Floats, ends: tuple[Floats, Floats]) -> None:
        super().__init__(kernel, ends)
        rows, columns = self.shape
        length = self.kernel.size
        passed = waves_passed(self.kernel)
        single = (passed == 0) | (2 * passed == length)  # every other wave stands for itself and its mirror image
        strength = np.fft.rfft(self.kernel)[passed] * np.where(single, 1.0, 2.0) / length
        pace = 2j * np.pi * passed / length
        out = strength * np.exp(np.outer(np.arange(columns - 1, columns - 1 + rows), pace))
        into = np.exp(np.outer(np.arange(columns), pace))
        self._out = np.ascontiguousarray(np.hstack([out.real, out.imag]).T)
        self._into = np.ascontiguousarray(np.hstack([into.real, into.imag]).T)

    def _convolve(self, p: Floats) -> Floats:
        return np.asarray((p @ self._into.T) @ self._out)

    def _correlate(self, r: Floats) -> Floats:
        return np.asarray((r @ self._out.T) @ self._into)


def waves_passed(kernel: Floats) -> Codes:
    """Return the frequencies that a kernel passes, with more than PASSED of the strongest one's strength."""
    strength = np.abs(np.fft.rfft(kernel))
    return np.flatnonzero(strength > PASSED * strength.max())


def find_shift_table(
    shape: tuple[int, int], columns: Callable[[int], Floats], rows: tuple[Floats, Floats]
) -> Table | None:
    """Return a table as a `ShiftTable` if it only shifts, else None.

    The kernel is taken from the first and the last column and checked against four others.

    shape: of the table. columns: a function that returns column t. rows: the two end rows.
    """
    m, k = shape
    if m <= k:
        return None
    first, last = columns(0), columns(k - 1)
    kernel = np.zeros(m + k - 1)
    kernel[1 : m - 1] = last[1 : m - 1]  # differences s − t from 2 − k to m − 1 − k
    kernel[k : k + m - 2] = first[1 : m - 1]  # differences from 1 to m − 2
    checked = [1, k // 3, k // 2, k - 2]
    units, expected = np.eye(k)[checked], np.stack([columns(t) for t in checked])
    kinds = (FewWavesTable, FourierTable) if waves_passed(kernel).size <= FEW else (FourierTable,)
    for table in (kind(kernel, rows) for kind in kinds):
        if np.abs(table.apply(units) - expected).max() <= CLOSE:
            return table
    return None


class SparseProductTable(Table):
    """The product table of several columns, for those combinations of report cells that occur.

    The combinations are a tree of common beginnings. Contracting axis j costs (different beginnings of length j) ×
    (true cells of axes j..d), instead of all combinations × all true cells.

    factors: the table of each column. rows: the report cells of each combination, in lexicographic order.
    """

    def __init__(self, factors: list[Floats], rows: Codes) -> None:
        self.shape = (rows.shape[0], prod(factor.shape[1] for factor in factors))
        self._levels: list[tuple[Floats, Codes, Codes]] = []
        parent_of_row = np.zeros(rows.shape[0], dtype=np.int64)
        new = np.zeros(rows.shape[0], dtype=bool)
        for axis, factor in enumerate(factors):
            new = new | np.concatenate([[True], rows[1:, axis] != rows[:-1, axis]])
            starts = np.flatnonzero(new)
            parents = parent_of_row[starts]
            first = np.flatnonzero(np.diff(parents, prepend=-1))  # where each parent's children begin
            self._levels.append((factor[rows[starts, axis]], parents, first))
            parent_of_row = np.cumsum(new) - 1

    def apply(self, p: Floats) -> Floats:
        return np.stack([self._apply_row(row) for row in p]) if p.ndim == 2 else self._apply_row(p)

    def adjoint(self, r: Floats) -> Floats:
        return np.stack([self._adjoint_row(row) for row in r]) if r.ndim == 2 else self._adjoint_row(r)

    def _apply_row(self, p: Floats) -> Floats:
        """Return P p of one distribution p, axis by axis from the first."""
        partial: Floats = p.reshape(1, -1)
        for weights, parents, first in self._levels:
            partial = partial.reshape(partial.shape[0], weights.shape[1], -1)
            if first.size > MANY:
                partial = np.einsum("uk,ukr->ur", weights, partial[parents])
            else:
                runs = _runs(first, parents.size)
                partial = np.concatenate([weights[a:b] @ partial[i] for i, (a, b) in enumerate(runs)])
        return partial.reshape(-1)

    def _adjoint_row(self, r: Floats) -> Floats:
        """Return Pᵀ r of one vector r, axis by axis from the last."""
        partial: Floats = r.reshape(-1, 1)
        for weights, parents, first in reversed(self._levels):
            if first.size > MANY:
                spread = weights[:, :, None] * partial[:, None, :]
                partial = np.add.reduceat(spread.reshape(parents.size, -1), first, axis=0)
            else:
                pieces = [weights[a:b].T @ partial[a:b] for a, b in _runs(first, parents.size)]
                partial = np.stack(pieces).reshape(first.size, -1)
        return partial.reshape(-1)

    def dense(self) -> Floats:
        return np.stack([self._apply_row(unit) for unit in np.eye(self.shape[1])], axis=1)


def _runs(first: Codes, size: int) -> list[tuple[int, int]]:
    """Return (start, end) of each parent's children, given the first child of each and the number of children."""
    return list(pairwise([*first.tolist(), size]))
