"""Reports as a gaussian mixture reads them: unbiased numbers with the noise behind each, categories as codes.

People whose numbers have the same noise and the same gaps are a block: what a mixture computes with matrices is the
same for all of them. Where levels and gaps combine in more ways than `MOST_PATTERNS`, a fit reads of the people with
the rarer ones at most `MOST_RARE`, each standing for several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sfumato.channels.additive import Gaussian
from sfumato.counts import Reports
from sfumato.domain import Codes, Floats
from sfumato.evidence import Axis, ColumnCells
from sfumato.learners.joint.mixture import report_cells
from sfumato.learners.moments import code_noise, numbers_of, units

MOST_PATTERNS, MOST_RARE = 48, 1_000
CHUNK = 4_096


@dataclass(frozen=True)
class Columns:
    """Which columns are numbers and which categories; numbers are read as (x − centre)/scale."""

    numbers: tuple[int, ...]
    categories: tuple[int, ...]
    centre: Floats
    scale: Floats
    cells: tuple[ColumnCells, ...]
    """Those of the categories."""
    normal_noise: bool

    def standard(self, values: Floats) -> Floats:
        return (values - self.centre) / self.scale


@dataclass(frozen=True)
class Block:
    """People of one reported class, with the same noise in the same columns.

    ``values``: their reports in the ``observed`` columns, whose noise variances are ``noise``.
    """

    group: int
    rows: Codes
    values: Floats
    codes: Codes
    weight: Floats
    observed: Codes
    noise: Floats

    def chunks(self) -> Iterator[Block]:
        """Parts that fit in a processor's cache."""
        for first in range(0, self.weight.size, CHUNK):
            part = slice(first, first + CHUNK)
            yield replace(
                self, rows=self.rows[part], values=self.values[part], codes=self.codes[part], weight=self.weight[part]
            )


@dataclass(frozen=True)
class Records:
    """Reports in memory: standardised numbers (NaN: missing), their noise, codes of categories, classes, weights."""

    columns: Columns
    values: Floats
    noise: Floats
    codes: Codes
    groups: Codes
    weight: Floats

    def rows(self, chosen: Codes) -> Records:
        noise = self.noise if len(self.noise) == 1 else self.noise[chosen]
        parts = (self.values[chosen], noise, self.codes[chosen], self.groups[chosen], self.weight[chosen])
        return Records(self.columns, *parts)

    def blocks(self, rng: np.random.Generator | None = None) -> list[Block]:
        """All people in blocks or, where there is chance, some of those with rare levels and gaps."""
        found = []
        for rows, factor in self._alike(rng):
            first, groups = rows[0], self.groups[rows]
            observed = np.flatnonzero(~np.isnan(self.values[first]))
            noise = self.noise[first if len(self.noise) > 1 else 0][observed]
            for group in np.unique(groups):
                chosen = rows[groups == group]
                weight, values = factor * self.weight[chosen], self.values[np.ix_(chosen, observed)]
                found.append(Block(int(group), chosen, values, self.codes[chosen], weight, observed, noise))
        return found

    def _alike(self, rng: np.random.Generator | None) -> Iterator[tuple[Codes, float]]:
        """Rows of people with the same noise and gaps, and how many people each of them stands for."""
        gaps = np.isnan(self.values)
        if len(self.noise) == 1 and not gaps.any():
            if len(self.values):
                yield np.arange(len(self.values)), 1.0
            return
        kind = np.where(gaps, -1.0, self.noise)
        _, pattern, people = np.unique(kind, axis=0, return_inverse=True, return_counts=True)
        pattern = pattern.ravel()
        common = np.argsort(-people, kind="stable")[: MOST_PATTERNS if rng is not None else None]
        for each in common:
            yield np.flatnonzero(pattern == each), 1.0
        rare = np.flatnonzero(~np.isin(pattern, common))
        kept = rare if rng is None else np.sort(rng.permutation(rare)[:MOST_RARE])
        for each in np.unique(pattern[kept]):
            yield kept[pattern[kept] == each], rare.size / kept.size


def columns_of(reports: Reports) -> Columns:
    """The columns, with the centre and the deviation of each one's reports."""
    axes = [Axis(reports.column(name)) for name in reports.names]
    numbers = tuple(j for j, axis in enumerate(axes) if axis.labels is None)
    categories = tuple(j for j, axis in enumerate(axes) if axis.labels is not None)
    values = [numbers_of(reports, reports.names[j]) for j in numbers]
    present = [column[~np.isnan(column)] for column in values]
    centre = np.array([column.mean() if column.size else 0.0 for column in present])
    variance = np.array([column.var() if column.size else 0.0 for column in present])
    noises = [each for j in numbers for each in axes[j].column.levels.values()]
    normal = all(isinstance(each, Gaussian) for each in noises)
    cells = tuple(axes[j].at(1) for j in categories)
    return Columns(numbers, categories, centre, units(centre, variance), cells, normal)


def records_of(reports: Reports, columns: Columns) -> Records:
    """Reports of these columns, read."""
    names, size = reports.names, len(reports)
    stacked = [numbers_of(reports, names[j]) for j in columns.numbers]
    values = columns.standard(np.column_stack(stacked)) if stacked else np.zeros((size, 0))
    cells = [report_cells(reports, cut) for cut in columns.cells]
    codes = np.column_stack(cells).astype(np.int64) if cells else np.zeros((size, 0), np.int64)
    groups = np.zeros(size, np.int64) if reports.class_codes is None else reports.class_codes
    weight = np.ones(size) if reports.weights is None else reports.weights.astype(np.float64)
    return Records(columns, values, noise_of(reports, columns), codes, groups, weight)


def noise_of(reports: Reports, columns: Columns) -> Floats:
    """The noise variance of each number in units of its column: one row a record, or one row for all."""
    noisy = [reports.column(reports.names[j]) for j in columns.numbers]
    by_code = [code_noise(column) if column.levels else np.zeros(1) for column in noisy]
    if all(noise.size == 0 or np.ptp(noise) == 0 for noise in by_code):
        rows = np.array([[noise[0] for noise in by_code]]).reshape(1, len(by_code))
    else:
        pairs = zip(noisy, by_code, strict=True)
        rows = np.column_stack(
            [np.append(noise, 0.0)[each.present] if each.levels else np.zeros(len(reports)) for each, noise in pairs]
        )
    return np.asarray(rows / columns.scale**2)
