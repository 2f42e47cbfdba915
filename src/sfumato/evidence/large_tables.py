"""Tables P[reported, true] that are too large to build, and are applied all the same.

One of a channel whose law only shifts with the true value,

    P[s, t] = kernel[s − t]    apart from the two open end rows,

is applied by Fourier transform, or by the few waves of it that a smooth kernel passes. One of several attributes at
once is a product, applied axis by axis, for the combinations of report cells that occur.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from itertools import pairwise
from math import prod

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.evidence.tables import Table

FEW = 64  # waves up to which two narrow products beat the Fourier transform (measured in bench/reconstruction_speed.py)
CLOSE = 2e-12  # how far a single probability may be from the dense table's
ROUNDING = 1e-16  # what Fourier transforms leave of a zero, relative to the largest entry
MANY = 1000  # beginnings from which on all are contracted at once instead of one matrix product each


class ShiftTable(Table):
    """P[s, t] = kernel[s − t + k − 1] for the inner rows s = 1..m−2; the rows 0 and m−1 are given.

    ``kernel`` has one entry for every difference s − t from −(k − 1) to m − 1.
    """

    def __init__(self, kernel: Floats, ends: tuple[Floats, Floats]) -> None:
        columns = ends[0].size
        self.shape = (kernel.size - columns + 1, columns)
        self.kernel = np.ascontiguousarray(kernel, dtype=float)
        self._ends = np.vstack(ends)

    @abstractmethod
    def _convolve(self, p: Floats) -> Floats:
        """Σ_t kernel[s − t + k − 1]·p_t for every s."""

    @abstractmethod
    def _correlate(self, r: Floats) -> Floats:
        """Σ_s kernel[s − t + k − 1]·r_s for every t."""

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
    """Convolution as a product of Fourier transforms: O((m + k)·log(m + k))."""

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
    """A smooth kernel (wide gaussian noise) passes only a few waves: a product of two narrow tables, O(waves·(m + k)).

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
    """The frequencies that the kernel lets through: more than 2e-10 of the strongest."""
    strength = np.abs(np.fft.rfft(kernel))
    return np.flatnonzero(strength > 2e-10 * strength.max())


def find_shift_table(
    shape: tuple[int, int], columns: Callable[[int], Floats], rows: tuple[Floats, Floats]
) -> Table | None:
    """The table as a ShiftTable if its law only shifts, else None.

    ``columns(t)`` gives column t; ``rows`` are the two end rows. The kernel is read off the first and the last column
    and checked against four others.
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
    ways = (FewWavesTable, FourierTable) if waves_passed(kernel).size <= FEW else (FourierTable,)
    for table in (way(kernel, rows) for way in ways):
        if np.abs(table.apply(units) - expected).max() <= CLOSE:
            return table
    return None


class SparseProductTable(Table):
    """The same for the combinations of report cells that occur, walked as a tree of common beginnings.

    ``rows[i]`` holds the report cells of combination i, in lexicographic order. Contracting axis j costs (different
    beginnings of length j) × (true cells of axes j..d), instead of all combinations × all true cells.
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
        return np.stack([self._apply_one(one) for one in p]) if p.ndim == 2 else self._apply_one(p)

    def adjoint(self, r: Floats) -> Floats:
        return np.stack([self._adjoint_one(one) for one in r]) if r.ndim == 2 else self._adjoint_one(r)

    def _apply_one(self, p: Floats) -> Floats:
        partial: Floats = p.reshape(1, -1)
        for weights, parents, first in self._levels:
            partial = partial.reshape(partial.shape[0], weights.shape[1], -1)
            if first.size > MANY:
                partial = np.einsum("uk,ukr->ur", weights, partial[parents])
            else:
                runs = _runs(first, parents.size)
                partial = np.concatenate([weights[a:b] @ partial[i] for i, (a, b) in enumerate(runs)])
        return partial.reshape(-1)

    def _adjoint_one(self, r: Floats) -> Floats:
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
        return np.stack([self._apply_one(unit) for unit in np.eye(self.shape[1])], axis=1)


def _runs(first: Codes, size: int) -> list[tuple[int, int]]:
    """(start, end) of each parent's children."""
    return list(pairwise([*first.tolist(), size]))
