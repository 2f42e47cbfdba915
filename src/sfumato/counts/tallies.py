"""Counts: how often each report code was seen, per level and by class; a value that merges and travels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels import Channel, Mechanism
from sfumato.counts.arguments import check_channel, check_length, classes_of, weights_of
from sfumato.counts.columns import Tally, Weighed, codes_of, only, tally
from sfumato.domain import Codes, Floats, as_array
from sfumato.domain.checked import given, given_labels, given_numbers, given_rows

SAME = 1e-9
"""Weights that differ by no more than this share are the same."""


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
        default. ``weights``: how many people each report stands for, as surveys have them: n reports of different
        weights tell as much as (Σw)²/Σw² of the same.
        """
        columns = getattr(reports, "column_names", getattr(reports, "columns", ()))
        if len(columns) > 1:
            raise ValueError(f"reports are a table with the columns {', '.join(map(str, columns))}; give one of them")
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
                **({} if tally.weighed is None else {key: each.tolist() for key, each in _parts(tally.weighed)}),
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
            weighed = _given_weighed(part, histogram) if "squares" in part else None
            missing = given_numbers(part, "missing", (groups,), 0.0)
            tallies[name] = Tally(one, _whole(histogram), _whole(missing), weighed)
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
        """How many reports were counted, without the missing ones; of weighted ones how many people they stand for."""
        return _plain(sum(tally.histogram.sum() for tally in self.levels.values()))

    @property
    def missing(self) -> float:
        """How many reports were missing, or how many people these stand for."""
        return _plain(sum(tally.missing.sum() for tally in self.levels.values()))

    @property
    def weighted(self) -> bool:
        return any(tally.weighed is not None for tally in self.levels.values())

    @property
    def reports(self) -> int:
        """How many reports were counted, without the missing ones, whatever they weigh."""
        return int(sum(tally.told.reports.sum() for tally in self.levels.values()))

    @property
    def worth(self) -> float:
        """How many reports of one weight tell as much: (Σw)²/Σw². ``reports / worth`` is the design effect."""
        squares = sum(tally.told.squares.sum() for tally in self.levels.values())
        return float(self.total**2 / squares) if squares else 0.0

    def effective(self) -> Counts:
        """Counts in which every report of a class weighs Σw²/Σw: as many as they are worth, with the same shares.

        Errors that are right for reports of one weight are right for these. Weights that are all the same come out as
        no weights.
        """
        if not self.weighted:
            return self
        totals = np.sum([tally.histogram.sum(axis=1) for tally in self.levels.values()], axis=0)
        squares = np.sum([tally.told.squares.sum(axis=1) for tally in self.levels.values()], axis=0)
        units = np.where(squares > 0, squares, 1.0) / np.where(totals > 0, totals, 1.0)
        found = {name: _in_units(tally, units) for name, tally in self.levels.items()}
        if totals.any() and all(_same_weight(tally) for tally in found.values()):
            found = {name: Tally(t.channel, _whole(np.rint(t.histogram)), t.told.missing) for name, t in found.items()}
        return Counts(found, self.classes)

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

    def of_classes(self, chosen: NDArray[np.bool_]) -> Counts:
        """The counts of some of the classes."""
        kept = tuple(name for name, wanted in zip(self.classes or (), chosen.tolist(), strict=True) if wanted)
        return replace(self._map(lambda table: table[chosen]), classes=kept)

    def together(self) -> Counts:
        """The counts of all classes as one."""
        return self._map(lambda table: table.sum(axis=0, keepdims=True))

    def _map(self, change: Any) -> Counts:
        levels = {}
        for name, t in self.levels.items():
            weighed = None if t.weighed is None else Weighed(*(change(each) for _, each in _parts(t.weighed)))
            levels[name] = Tally(t.channel, change(t.histogram), change(t.missing), weighed)
        return Counts(levels)

    def _only(self) -> Tally:
        if len(self.levels) != 1:
            raise ValueError(f"these counts have {len(self.levels)} levels, each with its own channel; read .levels")
        return next(iter(self.levels.values()))

    def __repr__(self) -> str:
        parts = [f"{self.total:,} reports", f"{self.missing:,} missing"]
        if self.weighted:
            parts = [f"{self.reports:,} reports for {self.total:,} people", f"worth {self.worth:,.4g} of one weight"]
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


def _parts(weighed: Weighed) -> list[tuple[str, NDArray[Any]]]:
    return [("squares", weighed.squares), ("reports", weighed.reports), ("missing_reports", weighed.missing)]


def _given_weighed(part: Any, histogram: Floats) -> Weighed:
    """What a document says of weights; it must be possible beside the sums of them."""
    groups = histogram.shape[0]
    squares = given_numbers(part, "squares", histogram.shape, 0.0)
    reports, missing = (given_numbers(part, key, (groups,), 0.0) for key in ("reports", "missing_reports"))
    total = histogram.sum(axis=1)
    if (squares > 0)[histogram == 0].any() or (total**2 > squares.sum(axis=1) * reports * (1 + 1e-9)).any():
        raise ValueError("squares and reports are not those of the weights in histogram; write all with to_dict()")
    return Weighed(squares, _whole(reports), _whole(missing))


def _in_units(tally: Tally, units: Floats) -> Tally:
    """The tally with the weights of each class in these units."""
    rows, told = units[:, None], tally.told
    weighed = Weighed(told.squares / rows**2, told.reports, told.missing)
    return Tally(tally.channel, tally.histogram / rows, tally.missing / units, weighed)


def _same_weight(tally: Tally) -> bool:
    """Whether every report weighs one."""
    whole = np.rint(tally.histogram)
    off = np.abs([tally.told.squares - whole, tally.histogram - whole]).max(initial=0.0)
    return bool(off <= SAME * max(whole.max(initial=0.0), 1.0))


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
    weighed = None
    if any(tally.weighed is not None for tally, _ in parts):
        spread = [
            Weighed(*(_spread(each, known, classes) for _, each in _parts(tally.told))) for tally, known in parts
        ]
        weighed = reduce(add, spread)
    return Tally(channel, np.asarray(histogram), np.asarray(missing), weighed)


def _spread(
    rows: NDArray[Any], known: tuple[Hashable, ...] | None, classes: tuple[Hashable, ...] | None
) -> NDArray[Any]:
    """Rows of the known classes at their places among all classes."""
    if known is None or classes is None:
        return rows
    wide = np.zeros((len(classes), *rows.shape[1:]), dtype=rows.dtype)
    wide[[classes.index(name) for name in known]] = rows
    return wide
