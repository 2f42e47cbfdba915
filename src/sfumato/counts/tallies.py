"""`Counts`: how many reports have each report code, per privacy level and by class; counts add up and can be saved."""

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
"""The relative difference up to which weights count as equal: rounding of their sums is far below it. Were it larger,
weights that do differ would lose the sums of squares that their errors need; were it 0, equal ones would keep them."""


@dataclass(frozen=True, eq=False)
class Counts:
    """How many reports have each report code: all that reconstruction reads.

    ``levels``: the tally (histogram and missing reports) of every level (a strength of blurring that people could
    choose), by its name; where everyone uses the same channel, the one level is called None. ``classes``: the classes
    that were counted apart, in the order of the histograms' rows, or None. Usually made by `Counts.of`; counts of
    different people add up with ``+``.

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
        """Count how many reports of one column have each report code.

        ``reports``: the reports, missing ones as None or NaN. ``channel``: the channel that made them; a choice of
        levels, or a mapping from level name to channel, where people chose a level. ``by``: the class of each report;
        classes are counted apart. ``level``: the privacy level of each report, or one name for all of them (None: the
        choice's default). ``weights``: how many people each report stands for, as surveys have them (None: one): n
        reports of different weights w are worth (Σw)²/Σw² reports of equal weight.

        >>> import sfumato as sf
        >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
        >>> Counts.of(["yes", "no", "no"], coin, by=["a", "a", "b"]).histogram.tolist()  # one row a class
        [[1, 1], [0, 1]]
        """
        columns = getattr(reports, "column_names", getattr(reports, "columns", ()))
        if len(columns) > 1:
            raise ValueError(f"reports are a table with the columns {', '.join(map(str, columns))}; give one of them")
        array = as_array(reports).reshape(-1)
        channels, level_index = _levels(channel, level, array.size)
        classes, group = classes_of(by, array.size)
        people = weights_of(weights, array.size)
        rows = 1 if classes is None else len(classes)
        tallies: dict[Hashable, Tally] = {}
        for i, (name, level_channel) in enumerate(channels.items()):
            rows_here = None if level_index is None else level_index == i
            codes = codes_of(only(array, rows_here), level_channel)
            tallies[name] = tally(level_channel, codes, only(group, rows_here), rows, only(people, rows_here))
        return cls(tallies, classes)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data for JSON.

        Every level carries the identity of its channel, so that `from_dict` can refuse another channel.
        """
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
        """Read counts that `to_dict` wrote.

        ``data``: the plain data. ``channel``: the channel that made the reports, or the choice of levels, or a mapping
        from level name to channel; another one than at the time of counting raises ValueError.
        """
        channels: Mapping[Any, Channel] = channel if isinstance(channel, Mapping) else channel.levels
        classes = None if given(data, "classes") is None else given_labels(data, "classes")
        groups = 1 if classes is None else len(classes)
        tallies: dict[Hashable, Tally] = {}
        for part in given_rows(data, "levels"):
            name = given(part, "level")
            level_channel = channels[_level(name, channels)]
            if given(part, "identity") != level_channel.identity:
                raise ValueError(f"these counts{_of_level(name)} were made by another channel; pass theirs")
            histogram = given_numbers(part, "histogram", (groups, level_channel.outputs.size), 0.0)
            weighed = _given_weighed(part, histogram) if "squares" in part else None
            missing = given_numbers(part, "missing", (groups,), 0.0)
            tallies[name] = Tally(level_channel, _whole(histogram), _whole(missing), weighed)
        return cls(tallies, classes)

    def __add__(self, other: Counts) -> Counts:
        """Return the counts of two groups of people together, codes, levels and classes kept apart as they were.

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
        """The number of reports that are not missing; where reports have weights, the sum of their weights (people)."""
        return _plain(sum(tally.histogram.sum() for tally in self.levels.values()))

    @property
    def missing(self) -> float:
        """The number of missing reports; where reports have weights, the sum of their weights (people)."""
        return _plain(sum(tally.missing.sum() for tally in self.levels.values()))

    @property
    def weighted(self) -> bool:
        """Whether the reports were counted with weights."""
        return any(tally.weighed is not None for tally in self.levels.values())

    @property
    def reports(self) -> int:
        """The number of reports that are not missing, whatever they weigh."""
        return int(sum(tally.told.reports.sum() for tally in self.levels.values()))

    @property
    def worth(self) -> float:
        """The number of reports of equal weight that would have the same error: (Σw)²/Σw² (0 where there are none).

        ``reports / worth`` is what survey statistics call the design effect.
        """
        squares = sum(tally.told.squares.sum() for tally in self.levels.values())
        return float(self.total**2 / squares) if squares else 0.0

    def effective(self) -> Counts:
        """Return the counts scaled to how many reports of equal weight would have the same error.

        Those of each class are divided by Σw²/Σw of the class. The shares stay, and the total becomes (Σw)²/Σw²
        (`worth`), so formulas for the errors of unweighted counts hold. Counts without weights are returned as they
        are, and equal weights come out as no weights.
        """
        if not self.weighted:
            return self
        totals = np.sum([tally.histogram.sum(axis=1) for tally in self.levels.values()], axis=0)
        squares = np.sum([tally.told.squares.sum(axis=1) for tally in self.levels.values()], axis=0)
        units = np.where(squares > 0, squares, 1.0) / np.where(totals > 0, totals, 1.0)
        levels = {name: _in_units(tally, units) for name, tally in self.levels.items()}
        if totals.any() and all(_same_weight(tally) for tally in levels.values()):
            levels = {
                name: Tally(t.channel, _whole(np.rint(t.histogram)), t.told.missing) for name, t in levels.items()
            }
        return Counts(levels, self.classes)

    @property
    def channel(self) -> Channel:
        """The channel that all reports came through; ValueError where people chose among several (levels)."""
        return self._only().channel

    @property
    def histogram(self) -> NDArray[Any]:
        """The number of reports with each report code, ``[code]``, or ``[class, code]`` where classes were counted
        apart; counts of several levels raise ValueError."""
        histogram = self._only().histogram
        return histogram[0] if self.classes is None else histogram

    def select(self, name: Hashable) -> Counts:
        """Return the counts of one class alone, as `Counts` without classes; ``name`` is one of ``classes``."""
        if self.classes is None:
            raise ValueError(f"class {name!r} was not counted apart; count with by=")
        if name not in self.classes:
            raise ValueError(f"class {name!r} is unknown; the counted classes are {', '.join(map(repr, self.classes))}")
        row = self.classes.index(name)
        return self._map(lambda table: table[row : row + 1])

    def of_classes(self, chosen: NDArray[np.bool_]) -> Counts:
        """Return the counts of those classes that ``chosen``, one truth value a class, marks."""
        kept = tuple(name for name, wanted in zip(self.classes or (), chosen.tolist(), strict=True) if wanted)
        return replace(self._map(lambda table: table[chosen]), classes=kept)

    def together(self) -> Counts:
        """Return the counts summed over all classes, as `Counts` without classes."""
        return self._map(lambda table: table.sum(axis=0, keepdims=True))

    def _map(self, change: Any) -> Counts:
        """Return `Counts` with every array replaced by ``change(array)``, and without classes.

        ``change``: a function of an array whose first axis runs over classes.
        """
        levels = {}
        for name, t in self.levels.items():
            weighed = None if t.weighed is None else Weighed(*(change(each) for _, each in _parts(t.weighed)))
            levels[name] = Tally(t.channel, change(t.histogram), change(t.missing), weighed)
        return Counts(levels)

    def _only(self) -> Tally:
        """Return the counted reports of the only level (strength of blurring); ValueError where there are several."""
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
    """Return the channel of every level by name and the index of each report's level among them.

    The index is None where all reports have the same level.
    """
    if not isinstance(channel, Mapping) and getattr(channel, "default", None) is not None:
        channel, level = channel.levels, channel.default if level is None else level
    if isinstance(channel, Mapping):
        channels = {name: check_channel(level_channel) for name, level_channel in channel.items()}
        if level is None:
            raise ValueError("several channels are given; say with level= which one each report came through")
        names = as_array(level)
        if names.ndim == 0:
            return {_level(level, channels): channels[level]}, None
        check_length("level", names.size, size)
        given, index = np.unique(names, return_inverse=True)
        for name in given.tolist():
            _level(name, channels)
        order = list(channels)
        return channels, np.array([order.index(name) for name in given.tolist()], dtype=np.int64)[index]
    if level is not None and as_array(level).ndim:
        raise ValueError("level= differs between reports; give a mapping from level to channel instead of one channel")
    return {level: check_channel(channel)}, None


def _level(name: Any, channels: Mapping[Any, Channel]) -> Hashable:
    """Return a level's name unchanged if a channel is given for it; otherwise raise ValueError."""
    if not isinstance(name, (str, type(None))) or name not in channels:
        raise ValueError(f"level {name!r} is unknown; the levels are {', '.join(map(repr, channels))}")
    return name


def _whole(counts: Floats) -> NDArray[Any]:
    """Return counts as int64 if all of them are whole and below 2⁵³; otherwise as they are."""
    return counts.astype(np.int64) if (counts == np.rint(counts)).all() and (counts < 2**53).all() else counts


def _parts(weighed: Weighed) -> list[tuple[str, NDArray[Any]]]:
    """Return three pairs (key in JSON, array) of the sums that counts with weights need beside the summed weights.

    Squared weights, numbers of reports and numbers of missing reports.
    """
    return [("squares", weighed.squares), ("reports", weighed.reports), ("missing_reports", weighed.missing)]


def _given_weighed(part: Any, histogram: Floats) -> Weighed:
    """Read the sums that counts with weights need (squares, numbers of reports) from ``part``, plain data of a level.

    Sums that no weights could have, given the sums of weights in ``histogram`` (Cauchy–Schwarz: (Σw)² ≤ n·Σw²), raise
    ValueError.
    """
    groups = histogram.shape[0]
    squares = given_numbers(part, "squares", histogram.shape, 0.0)
    reports, missing = (given_numbers(part, key, (groups,), 0.0) for key in ("reports", "missing_reports"))
    total = histogram.sum(axis=1)
    if (squares > 0)[histogram == 0].any() or (total**2 > squares.sum(axis=1) * reports * (1 + 1e-9)).any():
        raise ValueError("squares and reports are not those of the weights in histogram; write all with to_dict()")
    return Weighed(squares, _whole(reports), _whole(missing))


def _in_units(tally: Tally, units: Floats) -> Tally:
    """Return the counted reports of one level as if the weights of each class had been divided by ``units[class]``."""
    rows, sums = units[:, None], tally.told
    weighed = Weighed(sums.squares / rows**2, sums.reports, sums.missing)
    return Tally(tally.channel, tally.histogram / rows, tally.missing / units, weighed)


def _same_weight(tally: Tally) -> bool:
    """Return whether every counted report weighs 1, up to rounding (SAME)."""
    whole = np.rint(tally.histogram)
    off = np.abs([tally.told.squares - whole, tally.histogram - whole]).max(initial=0.0)
    return bool(off <= SAME * max(whole.max(initial=0.0), 1.0))


def _of_level(name: Any) -> str:
    """Return " of level <name>" for an error message, nothing for the level None."""
    return "" if name is None else f" of level {name!r}"


def _plain(number: Any) -> float:
    """Return a number as Python's int where it is whole, as float otherwise, to be shown or written."""
    return int(number) if float(number).is_integer() else float(number)


def _union(ours: tuple[Hashable, ...] | None, theirs: tuple[Hashable, ...] | None) -> tuple[Hashable, ...] | None:
    """Return the classes of two counts together, ours first; None where neither was counted by class."""
    if (ours is None) != (theirs is None):
        raise ValueError("one of the counts is by class and the other is not; count both with by=, or add .together()")
    return ours if ours is None or theirs is None else tuple(dict.fromkeys(ours + theirs))


def _merge(name: Hashable, ours: Counts, theirs: Counts, classes: tuple[Hashable, ...] | None) -> Tally:
    """Return the counted reports of one level from two `Counts` together, with one row for each of ``classes``.

    ``name``: the level's; a level that one of the two lacks counts as empty there.
    """
    parts = [(counts.levels[name], counts.classes) for counts in (ours, theirs) if name in counts.levels]
    channel = parts[0][0].channel
    if len({tally.channel.identity for tally, _ in parts}) > 1:
        raise ValueError(f"the channels{_of_level(name)} differ; count the reports of each channel as its own level")
    histogram = sum(_spread(tally.histogram, tally_classes, classes) for tally, tally_classes in parts)
    missing = sum(_spread(tally.missing, tally_classes, classes) for tally, tally_classes in parts)
    weighed = None
    if any(tally.weighed is not None for tally, _ in parts):
        spread = [Weighed(*(_spread(sums, own, classes) for _, sums in _parts(tally.told))) for tally, own in parts]
        weighed = reduce(add, spread)
    return Tally(channel, np.asarray(histogram), np.asarray(missing), weighed)


def _spread(
    rows: NDArray[Any], row_classes: tuple[Hashable, ...] | None, classes: tuple[Hashable, ...] | None
) -> NDArray[Any]:
    """Return ``rows``, one for each of ``row_classes``, as a table with one row for each of ``classes``, else 0.

    None for either list: there are no classes, and the rows are returned as they are.
    """
    if row_classes is None or classes is None:
        return rows
    wide = np.zeros((len(classes), *rows.shape[1:]), dtype=rows.dtype)
    wide[[classes.index(name) for name in row_classes]] = rows
    return wide
