"""Reports as a gaussian mixture reads them: unbiased numbers with the noise variance of each, categories as codes.

People whose numbers have the same noise and are missing in the same columns form a block, because a mixture computes
the same matrices for all of them. Where levels and missing columns combine in more than `MOST_PATTERNS` ways, a fit
reads at most `MOST_RARE` of the people with the rarer combinations, each with the weight of several.
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

MOST_PATTERNS = 48
"""Combinations of noise and missing columns whose people are all read. By judgement: each needs its own inverses at
every step, which bounds the time; fewer read less of the people."""
MOST_RARE = 1_000
"""People with rarer combinations that are read. By judgement, for the same time."""
CHUNK = 4_096
"""People whose densities are computed together, so that they stay in a processor's cache. By judgement; other numbers
change the time only."""


@dataclass(frozen=True)
class Columns:
    """The columns of a gaussian mixture; numbers are read as (x − centre)/scale.

    numbers, categories: indices of the columns. centre, scale: of each column of numbers. cells: of each category.
    normal_noise: whether all noise is gaussian.
    """

    numbers: tuple[int, ...]
    categories: tuple[int, ...]
    centre: Floats
    scale: Floats
    cells: tuple[ColumnCells, ...]
    normal_noise: bool

    def standardise(self, values: Floats) -> Floats:
        """Return numbers less their centre, in units of their scale."""
        return (values - self.centre) / self.scale


@dataclass(frozen=True)
class Block:
    """People of one reported class, whose reports are there in the same columns with the same noise.

    group: the code of the class. rows: indices of the people in `Records`. values: their reports in the observed
    columns. codes: their report cells of the categories. weight: of each. observed: indices among the columns of
    numbers. noise: the noise variance in each observed column.
    """

    group: int
    rows: Codes
    values: Floats
    codes: Codes
    weight: Floats
    observed: Codes
    noise: Floats

    def chunks(self) -> Iterator[Block]:
        """Yield the block in parts that fit in a processor's cache."""
        for first in range(0, self.weight.size, CHUNK):
            part = slice(first, first + CHUNK)
            yield replace(
                self, rows=self.rows[part], values=self.values[part], codes=self.codes[part], weight=self.weight[part]
            )


@dataclass(frozen=True)
class Records:
    """Reports of people in memory.

    values: standardised numbers, NaN where missing. noise: their noise variances, one row a person or one row for all.
    codes: report cells of the categories. groups: codes of the reported classes. weight: of each person.
    """

    columns: Columns
    values: Floats
    noise: Floats
    codes: Codes
    groups: Codes
    weight: Floats

    def rows(self, chosen: Codes) -> Records:
        """Return the records of some people, by their indices."""
        noise = self.noise if len(self.noise) == 1 else self.noise[chosen]
        parts = (self.values[chosen], noise, self.codes[chosen], self.groups[chosen], self.weight[chosen])
        return Records(self.columns, *parts)

    def blocks(self, rng: np.random.Generator | None = None) -> list[Block]:
        """Return the people in blocks of the same noise and missing columns; ``rng``: of rare blocks only a sample."""
        blocks = []
        for rows, factor in self._patterns(rng):
            first, groups = rows[0], self.groups[rows]
            observed = np.flatnonzero(~np.isnan(self.values[first]))
            noise = self.noise[first if len(self.noise) > 1 else 0][observed]
            for group in np.unique(groups):
                chosen = rows[groups == group]
                weight, values = factor * self.weight[chosen], self.values[np.ix_(chosen, observed)]
                blocks.append(Block(int(group), chosen, values, self.codes[chosen], weight, observed, noise))
        return blocks

    def _patterns(self, rng: np.random.Generator | None) -> Iterator[tuple[Codes, float]]:
        """Yield (indices of people with the same noise and missing columns, how many people each stands for)."""
        missing = np.isnan(self.values)
        if len(self.noise) == 1 and not missing.any():
            if len(self.values):
                yield np.arange(len(self.values)), 1.0
            return
        kind = np.where(missing, -1.0, self.noise)
        _, pattern, people = np.unique(kind, axis=0, return_inverse=True, return_counts=True)
        pattern = pattern.ravel()
        common = np.argsort(-people, kind="stable")[: MOST_PATTERNS if rng is not None else None]
        for number in common:
            yield np.flatnonzero(pattern == number), 1.0
        rare = np.flatnonzero(~np.isin(pattern, common))
        kept = rare if rng is None else np.sort(rng.permutation(rare)[:MOST_RARE])
        for number in np.unique(pattern[kept]):
            yield kept[pattern[kept] == number], rare.size / kept.size


def columns_of(reports: Reports) -> Columns:
    """Return which columns are numbers and which categories, with mean and deviation of the reports of numbers."""
    axes = [Axis(reports.column(name)) for name in reports.names]
    numbers = tuple(j for j, axis in enumerate(axes) if axis.labels is None)
    categories = tuple(j for j, axis in enumerate(axes) if axis.labels is not None)
    values = [numbers_of(reports, reports.names[j]) for j in numbers]
    present = [column[~np.isnan(column)] for column in values]
    centre = np.array([column.mean() if column.size else 0.0 for column in present])
    variance = np.array([column.var() if column.size else 0.0 for column in present])
    channels = [channel for j in numbers for channel in axes[j].column.levels.values()]
    normal = all(isinstance(channel, Gaussian) for channel in channels)
    cells = tuple(axes[j].at(1) for j in categories)
    return Columns(numbers, categories, centre, units(centre, variance), cells, normal)


def records_of(reports: Reports, columns: Columns) -> Records:
    """Read the reports of these columns into memory."""
    names, size = reports.names, len(reports)
    stacked = [numbers_of(reports, names[j]) for j in columns.numbers]
    values = columns.standardise(np.column_stack(stacked)) if stacked else np.zeros((size, 0))
    cells = [report_cells(reports, cut) for cut in columns.cells]
    codes = np.column_stack(cells).astype(np.int64) if cells else np.zeros((size, 0), np.int64)
    groups = np.zeros(size, np.int64) if reports.class_codes is None else reports.class_codes
    weight = np.ones(size) if reports.weights is None else reports.weights.astype(np.float64)
    return Records(columns, values, noise_of(reports, columns), codes, groups, weight)


def noise_of(reports: Reports, columns: Columns) -> Floats:
    """Return the noise variance of each number in units of its column: one row a record, or one row for all."""
    noisy = [reports.column(reports.names[j]) for j in columns.numbers]
    by_code = [code_noise(column) if column.levels else np.zeros(1) for column in noisy]
    if all(noise.size == 0 or np.ptp(noise) == 0 for noise in by_code):
        rows = np.array([[noise[0] for noise in by_code]]).reshape(1, len(by_code))
    else:
        pairs = zip(noisy, by_code, strict=True)
        rows = np.column_stack([
            np.append(noise, 0.0)[column.present] if column.levels else np.zeros(len(reports))
            for column, noise in pairs
        ])
    return np.asarray(rows / columns.scale**2)
