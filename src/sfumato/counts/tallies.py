"""Counts: how often each report code was seen, per level and by class; a value that merges and travels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels import Channel, Choice
from sfumato.counts.columns import (
    check_channel,
    check_length,
    classes_of,
    codes_of,
    kernels_for,
    levels_of,
    refuse_infinite,
    weights_of,
)
from sfumato.domain import Codes, Floats, Grid, as_array


@dataclass(frozen=True, eq=False)
class Tally:
    """The reports that came through one channel: ``histogram[class, code]`` and the missing ones of each class."""

    channel: Channel
    histogram: NDArray[Any]
    missing: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each report code was seen.

    ``levels`` maps the name of a privacy level to its tally; where everyone uses the same channel, the one level is
    called None. ``classes`` names the rows of each histogram, or is None.

    >>> import sfumato as sf
    >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    >>> monday, tuesday = Counts.of(["yes", "no"], coin), Counts.of(["yes", None], coin)
    >>> (monday + tuesday).histogram.tolist(), (monday + tuesday).missing
    ([2, 1], 1)
    """

    levels: Mapping[Hashable, Tally]
    classes: tuple[Hashable, ...] | None = None

    @classmethod
    def of(
        cls,
        reports: ArrayLike,
        channel: Channel | Choice | Mapping[Any, Channel],
        *,
        by: ArrayLike | None = None,
        level: Any = None,
        weights: ArrayLike | None = None,
    ) -> Counts:
        """Count reports.

        ``by``: the class of each report, counted apart. ``level``: the privacy level of each report (``channel`` is
        then a choice, or maps level names to channels), or one name for all of them; a choice without ``level``: its
        default. ``weights``: how many people each report stands for.
        """
        array = as_array(reports).reshape(-1)
        channels, place = _levels(channel, level, array.size)
        classes, group = classes_of(by, array.size)
        people = weights_of(weights, array.size)
        tallies = {
            name: _tally(
                array if place is None else array[place == i],
                one,
                _part(group, place, i),
                classes,
                _part(people, place, i),
            )
            for i, (name, one) in enumerate(channels.items())
        }
        return cls(tallies, classes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; every level carries the identity of its channel, so that it is only ever read through that."""
        levels = [
            {
                "level": name,
                "identity": identity_of(tally.channel),
                "histogram": tally.histogram.tolist(),
                "missing": tally.missing.tolist(),
            }
            for name, tally in self.levels.items()
        ]
        return {"classes": None if self.classes is None else list(self.classes), "levels": levels}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], channel: Channel | Choice | Mapping[Any, Channel]) -> Counts:
        """The counts that ``to_dict`` wrote; ``channel`` is the one (or the choice, or the levels) that made them."""
        channels = channel if isinstance(channel, Mapping) else levels_of(channel)
        tallies: dict[Hashable, Tally] = {}
        for part in data["levels"]:
            name = part["level"]
            one = channels[_level(name, channels)]
            if part["identity"] != identity_of(one):
                raise ValueError(f"these counts{_of_level(name)} were made by another channel; pass theirs")
            tallies[name] = Tally(one, np.array(part["histogram"]), np.array(part["missing"]))
        return cls(tallies, None if data["classes"] is None else tuple(data["classes"]))

    def __add__(self, other: Counts) -> Counts:
        """The counts of both groups of reports together.

        Safe because a count is a sum over people: addition is associative and commutative, so it does not matter where,
        in which order or by which engine the parts were counted, as long as no person is counted twice and each level
        has the same channel in both (which is checked).
        """
        if not isinstance(other, Counts):
            return NotImplemented
        classes = _union(self.classes, other.classes)
        names = {**self.levels, **other.levels}
        return Counts({name: _merge(name, self, other, classes) for name in names}, classes)

    @property
    def total(self) -> float:
        """How many reports were counted, without the missing ones."""
        return _plain(sum(tally.histogram.sum() for tally in self.levels.values()))

    @property
    def missing(self) -> float:
        """How many reports were missing."""
        return _plain(sum(tally.missing.sum() for tally in self.levels.values()))

    @property
    def channel(self) -> Channel:
        """The one channel of all reports."""
        return self._only().channel

    @property
    def histogram(self) -> NDArray[Any]:
        """Counts of the one channel's report codes; with classes, one row a class."""
        histogram = self._only().histogram
        return histogram[0] if self.classes is None else histogram

    def select(self, name: Hashable) -> Counts:
        """The counts of one class."""
        if self.classes is None:
            raise ValueError(f"class {name!r} was not counted apart; count with by=")
        if name not in self.classes:
            raise ValueError(f"class {name!r} is unknown; the counted classes are {', '.join(map(repr, self.classes))}")
        row = self.classes.index(name)
        return self._map(lambda table: table[row : row + 1])

    def together(self) -> Counts:
        """The counts of all classes as one."""
        return self._map(lambda table: table.sum(axis=0, keepdims=True))

    def _map(self, change: Any) -> Counts:
        return Counts(
            {name: Tally(t.channel, change(t.histogram), change(t.missing)) for name, t in self.levels.items()}
        )

    def _only(self) -> Tally:
        if len(self.levels) != 1:
            raise ValueError(f"these counts have {len(self.levels)} levels, each with its own channel; read .levels")
        return next(iter(self.levels.values()))

    def __repr__(self) -> str:
        parts = [f"{self.total:,} reports", f"{self.missing:,} missing"]
        if len(self.levels) > 1:
            parts.append(f"levels {', '.join(map(str, self.levels))}")
        if self.classes is not None:
            parts.append(f"classes {', '.join(map(str, self.classes))}")
        return f"Counts({', '.join(parts)})"


def identity_of(channel: Any) -> str:
    """What a channel is, whatever the spelling of its arguments."""
    return getattr(channel, "identity", None) or str(channel.fingerprint())


def count_codes(reports: ArrayLike, channel: Channel) -> tuple[Codes, int]:
    """(how often each report code occurs, how many reports are missing), in one pass."""
    array = as_array(reports)
    grid = channel.outputs
    kernels = kernels_for(array.size)
    if kernels and array.dtype.kind in "fiu" and isinstance(grid, Grid):
        counts = np.zeros(grid.size, dtype=np.int64)
        numbers = np.ascontiguousarray(array, dtype=np.float64).ravel()
        missing, infinite = kernels.count_on_grid(numbers, grid.origin, grid.step, counts)
        if infinite:
            refuse_infinite(numbers)
        return counts, int(missing)
    codes = codes_of(array, channel)
    known = codes[codes >= 0]
    return np.bincount(known, minlength=grid.size), int(codes.size - known.size)


def weighted_counts(codes: Codes, group: Codes, groups: int, size: int, weights: Floats | None) -> NDArray[Any]:
    """counts[group, code] of known codes, each report counted ``weights`` times (once when None)."""
    known = codes >= 0
    place = group[known] * size + codes[known]
    weighed = None if weights is None else weights[known]
    return np.bincount(place, weighed, minlength=groups * size).reshape(groups, size)


def _tally(
    reports: NDArray[Any],
    channel: Channel,
    group: Codes | None,
    classes: tuple[Hashable, ...] | None,
    people: Floats | None,
) -> Tally:
    if group is None and people is None:
        histogram, missing = count_codes(reports, channel)
        return Tally(channel, histogram[None, :], np.array([missing]))
    rows = 1 if classes is None else len(classes)
    codes = codes_of(reports, channel)
    group = np.zeros(codes.size, dtype=np.int64) if group is None else group
    absent = np.where(codes < 0, 0, -1)
    missing_of_class = weighted_counts(absent, group, rows, 1, people)[:, 0]
    return Tally(channel, weighted_counts(codes, group, rows, channel.outputs.size, people), missing_of_class)


def _levels(channel: Any, level: Any, size: int) -> tuple[dict[Hashable, Channel], Codes | None]:
    """The channel of every level and, where levels differ, the place of each report's level among them."""
    if not isinstance(channel, Mapping) and getattr(channel, "default", None) is not None:
        channel, level = levels_of(channel), channel.default if level is None else level
    if isinstance(channel, Mapping):
        channels = {name: check_channel(one) for name, one in channel.items()}
        if level is None:
            raise ValueError("several channels are given; say with level= which one each report came through")
        names = as_array(level)
        if names.ndim == 0:
            return {_level(level, channels): channels[level]}, None
        check_length("level", names.size, size)
        known, place = np.unique(names, return_inverse=True)
        for name in known.tolist():
            _level(name, channels)
        order = list(channels)
        return channels, np.array([order.index(name) for name in known.tolist()], dtype=np.int64)[place]
    if level is not None and as_array(level).ndim:
        raise ValueError("level= differs between reports; give a mapping from level to channel instead of one channel")
    return {level: check_channel(channel)}, None


def _level(name: Any, channels: Mapping[Any, Channel]) -> Hashable:
    if name not in channels:
        raise ValueError(f"level {name!r} is unknown; the levels are {', '.join(map(repr, channels))}")
    return name  # type: ignore[no-any-return]


def _of_level(name: Any) -> str:
    return "" if name is None else f" of level {name!r}"


def _part(values: Any, place: Codes | None, level: int) -> Any:
    return values if values is None or place is None else values[place == level]


def _plain(number: Any) -> float:
    """A whole number as int."""
    return int(number) if float(number).is_integer() else float(number)


def _union(ours: tuple[Hashable, ...] | None, theirs: tuple[Hashable, ...] | None) -> tuple[Hashable, ...] | None:
    if (ours is None) != (theirs is None):
        raise ValueError("one of the counts is by class and the other is not; count both with by=, or add .together()")
    return ours if ours is None or theirs is None else tuple(dict.fromkeys(ours + theirs))


def _merge(name: Hashable, ours: Counts, theirs: Counts, classes: tuple[Hashable, ...] | None) -> Tally:
    parts = [(counts.levels[name], counts.classes) for counts in (ours, theirs) if name in counts.levels]
    channel = parts[0][0].channel
    if len({identity_of(tally.channel) for tally, _ in parts}) > 1:
        raise ValueError(f"the channels{_of_level(name)} differ; count the reports of each channel as its own level")
    histogram = sum(_spread(tally.histogram, known, classes) for tally, known in parts)
    missing = sum(_spread(tally.missing, known, classes) for tally, known in parts)
    return Tally(channel, np.asarray(histogram), np.asarray(missing))


def _spread(
    rows: NDArray[Any], known: tuple[Hashable, ...] | None, classes: tuple[Hashable, ...] | None
) -> NDArray[Any]:
    """Rows of the known classes at their places among all classes."""
    if known is None or classes is None:
        return rows
    wide = np.zeros((len(classes), *rows.shape[1:]), dtype=rows.dtype)
    wide[[classes.index(name) for name in known]] = rows
    return wide
