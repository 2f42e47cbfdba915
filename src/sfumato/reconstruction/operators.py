"""One table P[reported, true], several ways to apply it.

    apply(p)   = P p      the distribution of reports that a true distribution p predicts
    adjoint(r) = Pᵀ r     what weights on reports say about each true cell

Both take one vector or many at once, one a row. A large table of a channel whose law only shifts with the true value,

    P[s, t] = kernel[s − t]    apart from the two open end rows,

is applied by Fourier transform (or the few waves of it that a smooth kernel passes), by sums over a narrow band, or by
running sums where the kernel has few steps: none of them builds the table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property

import numpy as np

from sfumato.domain import Codes, Floats

FEW = 64  # waves up to which two narrow products beat the Fourier transform
CLOSE = 2e-12  # how far a single probability may be from the dense table's
ROUNDING = 1e-16  # what Fourier transforms leave of a zero, relative to the largest entry
NARROW = 24  # offsets up to which shifted sums beat the Fourier transform (measured in bench/reconstruction_speed.py)


class Table(ABC):
    """P[reported, true] as a linear map."""

    shape: tuple[int, int]

    @abstractmethod
    def apply(self, p: Floats) -> Floats:
        """P p for every row p of the argument."""

    @abstractmethod
    def adjoint(self, r: Floats) -> Floats:
        """Pᵀ r for every row r of the argument."""

    @abstractmethod
    def dense(self) -> Floats:
        """The table itself."""


class DenseTable(Table):
    """The table as it stands."""

    def __init__(self, matrix: Floats) -> None:
        self._matrix = np.ascontiguousarray(matrix, dtype=float)
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
    """People at several levels: each level's table, weighted by its share of the people, one below the other."""

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


class BandedTable(ShiftTable):
    """Sums over the few differences at which the kernel is not zero: O(band·(m + k))."""

    @cached_property
    def _band(self) -> list[tuple[int, float]]:
        places = np.flatnonzero(self.kernel)
        return [(int(place) - self.shape[1] + 1, float(self.kernel[place])) for place in places]

    def _convolve(self, p: Floats) -> Floats:
        return shifted_sum(p, self._band, self.shape[0])

    def _correlate(self, r: Floats) -> Floats:
        return shifted_sum(r, [(-shift, weight) for shift, weight in self._band], self.shape[1])


class RunningSumTable(ShiftTable):
    """A kernel of few steps (uniform noise, the square wave): the running sum of a few shifted copies."""

    @cached_property
    def _steps(self) -> list[tuple[int, float]]:
        change = np.diff(self.kernel, prepend=0.0)
        return [(int(place) - self.shape[1] + 1, float(change[place])) for place in np.flatnonzero(change)]

    def _convolve(self, p: Floats) -> Floats:
        rows, columns = self.shape
        padded = shifted_sum(p, [(shift + columns - 1, weight) for shift, weight in self._steps], rows + columns - 1)
        return np.asarray(np.cumsum(padded, axis=-1)[..., columns - 1 :])

    def _correlate(self, r: Floats) -> Floats:
        columns = self.shape[1]
        sums = np.cumsum(r[..., ::-1], axis=-1)[..., ::-1]
        beyond = np.concatenate([np.broadcast_to(sums[..., :1], (*r.shape[:-1], columns)), sums], axis=-1)
        return shifted_sum(beyond, [(-shift - columns, weight) for shift, weight in self._steps], columns)


def shifted_sum(values: Floats, shifts: list[tuple[int, float]], size: int) -> Floats:
    """out[i] = Σ weight · values[i − shift] over the (shift, weight) pairs, for i = 0..size−1."""
    out = np.zeros((*values.shape[:-1], size))
    for shift, weight in shifts:
        first, last = max(shift, 0), min(values.shape[-1] + shift, size)
        if first < last:
            out[..., first:last] += weight * values[..., first - shift : last - shift]
    return out


def shift_table(kernel: Floats, ends: tuple[Floats, Floats]) -> ShiftTable:
    """The cheapest way to apply a table that only shifts: by its band, its steps, or its waves."""
    size = np.abs(kernel).max()
    band = np.where(np.abs(kernel) < 1e-13 * size, 0.0, kernel)
    if np.count_nonzero(band) <= NARROW:
        return BandedTable(band, ends)
    change = np.diff(kernel, prepend=0.0)
    change = np.where(np.abs(change) < 1e-9 * size, 0.0, change)
    if np.count_nonzero(change) <= NARROW:
        return RunningSumTable(np.cumsum(change), ends)
    if kernel.size > 2 and waves_passed(kernel).size <= FEW:
        return FewWavesTable(kernel, ends)
    return FourierTable(kernel, ends)


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
    checks = {t: columns(t) for t in (1, k // 3, k // 2, k - 2)}
    for table in (shift_table(kernel, rows), FourierTable(kernel, rows)):
        if all(np.abs(table.apply(_unit(k, t)) - column).max() <= CLOSE for t, column in checks.items()):
            return table
    return None


def _unit(size: int, place: int) -> Floats:
    one = np.zeros(size)
    one[place] = 1.0
    return one
