"""Counts: how often each report code was seen, per level and by class; a value that merges and travels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels import Channel, Mechanism
from sfumato.counts.columns import (
    Tally,
    check_channel,
    check_length,
    classes_of,
    codes_of,
    only,
    tally,
    weights_of,
)
from sfumato.domain import Codes, Floats, as_array
from sfumato.domain.checked import given, given_labels, given_numbers, given_rows


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
        cls, reports: ArrayLike, channel: Mechanism | Mapping[Any, Channel], *, by: ArrayLike | None = None,
        level: Any = None, weights: ArrayLike | None = None,
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
        rows = 1 if classes is None else len(classes)
        tallies: dict[Hashable, Tally] = {}
        for i, (name, one) in enumerate(channels.items()):
            own = None if place is None else place == i
            tallies[name] = tally(one, codes_of(only(array, own), one), only(group, own), rows, only(people, own))
        return cls(tallies, classes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; every level carries the identity of its channel, so that it is only ever read through that."""
        levels = [
            {
                "level": name,
                "identity": tally.channel.identity,
                "histogram": tally.histogram.tolist(),
                "missing": tally.missing.tolist(),
            }
            for name, tally in self.levels.items()
        ]
        return {"classes": None if self.classes is None else list(self.classes), "levels": levels}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], channel: Mechanism | Mapping[Any, Channel]) -> Counts:
        """The counts that ``to_dict`` wrote; ``channel`` is the one (or the choice, or the levels) that made them."""
        channels: Mapping[Any, Channel] = channel if isinstance(channel, Mapping) else channel.levels
        classes = None if given(data, "classes") is None else given_labels(data, "classes")
        groups = 1 if classes is None else len(classes)
        tallies: dict[Hashable, Tally] = {}
        for part in given_rows(data, "levels"):
            name = given(part, "level")
            one = channels[_level(name, channels)]
            if given(part, "identity") != one.identity:
                raise ValueError(f"these counts{_of_level(name)} were made by another channel; pass theirs")
            histogram = given_numbers(part, "histogram", (groups, one.outputs.size), 0.0)
            tallies[name] = Tally(one, _whole(histogram), _whole(given_numbers(part, "missing", (groups,), 0.0)))
        return cls(tallies, classes)

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


def _levels(channel: Any, level: Any, size: int) -> tuple[dict[Hashable, Channel], Codes | None]:
    """The channel of every level and, where levels differ, the place of each report's level among them."""
    if not isinstance(channel, Mapping) and getattr(channel, "default", None) is not None:
        channel, level = channel.levels, channel.default if level is None else level
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
    if not isinstance(name, (str, type(None))) or name not in channels:
        raise ValueError(f"level {name!r} is unknown; the levels are {', '.join(map(repr, channels))}")
    return name


def _whole(counts: Floats) -> NDArray[Any]:
    """Counts as whole numbers, unless weights made them others."""
    return counts.astype(np.int64) if (counts == np.rint(counts)).all() and (counts < 2**53).all() else counts


def _of_level(name: Any) -> str:
    return "" if name is None else f" of level {name!r}"


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
    if len({tally.channel.identity for tally, _ in parts}) > 1:
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
