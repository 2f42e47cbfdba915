"""Columns whose people chose among levels: a report is read through the table of its own level.

    P(w in cell s | level g, x in cell t) = table_g[s, t],
    the tables of the levels stand on top of each other, and a report is looked up in the block of its level.

Columns of the stacked table sum to the number of levels, which a likelihood does not notice: EM's step is
p' = p · Σ_g Σ_s N_gs · table_g[s, ·] / (table_g p)_s / n, so that every level weighs as much as it tells. Levels whose
laws nearly coincide share a block, Σ_g share_g · table_g: exact too, because a person of such a group sent a report
with that law, and cheaper. Levels must not depend on the values beyond what the class and the other reports say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.channels.base import Channel
from sfumato.channels.choice import Choice
from sfumato.channels.two_phase import Blur
from sfumato.domain import MISSING, Codes, Floats, Grid, as_array, is_missing
from sfumato.mining.columns import Axis, ColumnCells, NoisyNumber, axis_of

NEARLY = 0.05
"""Laws within this total variation are read together: intervals up to half a deviation wide, 2 % of the information."""
PROBES, PROBED_CELLS = 9, 1_000


class ChosenLevels(Axis):
    """One column, every report through the channel of its level; base codes of the blocks follow one another."""

    def __init__(self, name: str, choice: Choice, reports: npt.ArrayLike, level: npt.ArrayLike | None = None) -> None:
        array = as_array(reports)
        names = choice.levels_of(with_default(choice, level), array.shape)
        used = [each for each in choice.levels if (names == each).any()] or [choice.default]
        self.name, self.choice, self.blocks = name, choice, alike(choice, used)
        self.levels = len(self.blocks)
        self.parts: list[Axis] = []
        self.codes = np.full(array.size, MISSING, np.int32)
        ends = [0]
        for block in self.blocks:
            of_block = np.isin(names, block)
            channels = [choice.levels[each] for each in block]
            shares = np.array([np.count_nonzero(names == each) for each in block], float)
            part = block_of(name, channels, shares, array[of_block])
            self.parts.append(part)
            self.codes[of_block] = np.where(part.codes < 0, MISSING, part.codes + ends[-1])
            ends.append(ends[-1] + channels[0].outputs.size)
        self.ends = np.array(ends[1:], np.int64)

    @property
    def natural_size(self) -> int:
        return max(part.natural_size for part in self.parts)

    def spread(self) -> float:
        """Of the level that tells most, which decides how fine the cells may be."""
        return min(part.spread() for part in self.parts)

    def level_of(self, codes: npt.NDArray[np.int32]) -> Codes:
        """The block of each code (missing ones: the first)."""
        return np.searchsorted(self.ends[:-1], codes, side="right")

    def at(self, resolution: int, coarseness: float = 0.0, shift: float = 0.0) -> ColumnCells:
        cuts = [part.at(resolution, coarseness, shift) for part in self.parts]
        below = np.cumsum([0] + [cut.table.shape[0] for cut in cuts])
        cell_of_code = np.concatenate([cut.cell_of_code + rows for cut, rows in zip(cuts, below, strict=False)])
        table = np.ascontiguousarray(np.vstack([cut.table for cut in cuts]))
        first = cuts[0]
        return ColumnCells(self.name, table, cell_of_code.astype(np.int32), first.edges, first.labels, first.integer)


class PooledNumber(NoisyNumber):
    """Reports through several channels on the same codes, read through the average of their laws."""

    def __init__(self, name: str, channels: Sequence[Channel], shares: Floats, reports: npt.ArrayLike) -> None:
        self.pooled = list(zip(channels, shares / max(shares.sum(), 1.0), strict=True))
        super().__init__(name, channels[0], reports)

    def _noise_law(self) -> None:
        """Deviation in the middle of the domain and the span of nearly all reports, from a table of cells."""
        bounds = probing_bounds(self.channel)
        law, values = self.channel.matrix(reported=bounds), (bounds[1:] + bounds[:-1]) / 2
        middle = law[:, law.shape[1] // 2]
        self.deviation = float(np.sqrt(middle @ (values - middle @ values) ** 2))
        first, last = np.searchsorted(np.cumsum(law.mean(axis=1)), (0.001, 0.999))
        self.span = (float(values[first]), float(values[min(last, values.size - 1)]))

    def table(self, edges: Floats, bounds: Floats) -> Floats:
        parts = [share * channel.matrix(true=edges, reported=bounds) for channel, share in self.pooled]
        return np.asarray(sum(parts))


def block_of(name: str, channels: Sequence[Channel], shares: Floats, reports: npt.NDArray[Any]) -> Axis:
    """The reports of one block of levels."""
    if len(channels) > 1 or isinstance(channels[0], Blur):
        return PooledNumber(name, channels, shares, reports)
    return axis_of(name, channels[0], reports)


def alike(choice: Choice, used: Sequence[str]) -> list[list[str]]:
    """Levels in groups whose laws on the same codes nearly coincide with that of the group's first."""
    groups: list[list[str]] = []
    for name in used:
        near = (group for group in groups if nearly_same(choice.levels[group[0]], choice.levels[name]))
        found = next(near, None)
        if found is None:
            groups.append([name])
        else:
            found.append(name)
    return groups


def nearly_same(first: Channel, second: Channel) -> bool:
    """Whether numbers are reported on the same codes with nearly the same probabilities."""
    if not isinstance(first.outputs, Grid) or first.outputs != second.outputs:
        return False
    bounds = probing_bounds(first)
    probes = np.linspace(0, first.inputs.size - 1, min(PROBES, first.inputs.size)).astype(int)
    difference = first.matrix(reported=bounds)[:, probes] - second.matrix(reported=bounds)[:, probes]
    return bool(np.abs(difference).sum(axis=0).max() / 2 <= NEARLY)


def probing_bounds(channel: Channel) -> Floats:
    """Edges of at most PROBED_CELLS runs of a numeric channel's report codes."""
    edges = channel.outputs.edges  # type: ignore[union-attr]
    return np.unique(np.append(edges[:: max(1, edges.size // PROBED_CELLS)], edges[-1]))


def with_default(choice: Choice, level: npt.ArrayLike | None) -> Any:
    """Levels with the default where one is missing."""
    if level is None or isinstance(level, str):
        return level
    return np.array([choice.default if is_missing(one) else one for one in as_array(level).tolist()], dtype=object)
