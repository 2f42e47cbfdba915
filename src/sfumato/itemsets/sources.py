"""Itemsets counted in tables that are not in memory: one pass over the rows for each number of items.

In a table a report is the disclosed ``size`` and a ``bitmap`` or a ``seed`` (bytes, or texts of hexadecimal digits),
with the question's name before them or not (``basket.size``, ``basket.seed``); or the list of shown items, named as the
question, with its size beside it. Where people chose a level, the column ``basket.level`` names it. Clean baskets are a
column of lists.

The first pass also finds out which sizes there are, of which level, and which items clean baskets have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sfumato.channels import Mechanism
from sfumato.channels.baskets import BasketReports, Baskets, SelectASize, bitmap_width
from sfumato.channels.baskets.arrow import labels_of, lengths_of
from sfumato.counts import Reports
from sfumato.domain import Codes, Items, sorted_labels
from sfumato.itemsets.supports import CleanBaskets, ColumnBitmaps, Counts, Group, Holder
from sfumato.tables import LEVEL_SUFFIX, RowBatch

BASKET = "basket"  # the name of a question of baskets that has no other
SIZE = "size"  # the column, or the end of its name, of the disclosed size
FORMS = ("bitmap", "seed")  # the columns, or the ends of their names, of reports as bytes
LIST = "list"  # the form of reports that are lists of shown items
BITS_AT_ONCE = 1 << 28
"""Bits of bitmaps in memory at once, however many a batch of seeds expands to: 32 MB. It changes no result."""

FEW = 1 / 8
"""The share of all items below which the bits of the asked items are picked one by one, instead of transposing whole
bitmaps. Chosen by speed (bench/itemsets.py); it changes no result."""


def design_of(channel: Mechanism) -> SelectASize:
    """Return ``channel`` if it is a select-a-size design, which blurs sets of items; otherwise raise TypeError."""
    if not isinstance(channel, SelectASize):
        raise TypeError(f"channel={channel!r} does not report sets of items; itemsets need SelectASize")
    return channel


# --- reading batches --------------------------------------------------------------------------------------------------


class BasketColumns(Protocol):
    """How the baskets in a batch of a table's rows are read: from which columns, and by which groups of people.

    It is a protocol; the object is sent to where the rows are.
    """

    @property
    def items(self) -> Items:
        """All items that baskets may hold."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the table's columns that are read."""

    @property
    def sizes(self) -> list[tuple[int, ...]]:
        """For each group of people (those who reported through one design) the basket sizes by which they are counted.
        """

    def parts(self, batch: RowBatch, chosen: Codes | None) -> Iterator[tuple[int, ColumnBitmaps | CleanBaskets]]:
        """Yield (number of a group, some baskets of it) until all baskets of a batch have come.

        The parts fit in memory. A group is the people who reported through one design. ``chosen``: the codes of the
        items that are read (None: all).
        """


@dataclass(frozen=True)
class CleanColumn:
    """A column of clean baskets (lists of items, not blurred) in a table, as ``BasketColumns`` reads it.

    ``name``: the column; ``items``: all items there are; ``largest``: the size of the largest basket.
    """

    name: str
    items: Items
    largest: int

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def sizes(self) -> list[tuple[int, ...]]:
        return [(self.largest,)]

    def parts(self, batch: RowBatch, chosen: Codes | None) -> Iterator[tuple[int, CleanBaskets]]:
        baskets = clean_baskets(batch, self.name, self.items)
        baskets = baskets if chosen is None else baskets.holding(chosen)
        for rows in _slices(len(baskets), baskets.items.size):
            yield 0, CleanBaskets(baskets[rows])


def clean_baskets(batch: RowBatch, name: str, items: Items | None = None) -> Baskets:
    """Read true baskets from a batch's column of lists, as ``Baskets``.

    ``name``: the column; ``items``: all items there are (None: those that occur).
    """
    with naming_places(batch):
        return Baskets.read(batch.table.column(name), items)


@dataclass(frozen=True)
class ReportColumns:
    """The columns of a table that hold blurred baskets, made by one design or by several that people chose from.

    The people who reported through one design are a group.

    ``channel``: the design, or the choice of them. ``size``: the column of the disclosed sizes of baskets. ``shown``:
    the column of what the reports show, and ``form`` how: "bitmap", "seed" or "list". ``level``: the column of the
    levels, which say how strongly each person chose to blur; None: there is no choice.
    """

    channel: Mechanism
    size: str
    shown: str
    form: str
    level: str | None = None

    @property
    def designs(self) -> list[SelectASize]:
        """The select-a-size designs by which people blurred their baskets, one for every level that they could choose.
        """
        return [design_of(level) for level in self.channel.levels.values()]

    @property
    def items(self) -> Items:
        return self.designs[0].items

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.size, self.shown, *([self.level] if self.level else []))

    @property
    def sizes(self) -> list[tuple[int, ...]]:
        return [design.sizes for design in self.designs]

    def parts(self, batch: RowBatch, chosen: Codes | None) -> Iterator[tuple[int, ColumnBitmaps]]:
        width = self.items.size if chosen is None else chosen.size
        for group, (reports, design) in enumerate(zip(self.reports(batch), self.designs, strict=True)):
            for rows in _slices(len(reports), width):
                yield group, ColumnBitmaps.of_reports(reports[rows], design, design.sizes, chosen)

    def reports(self, batch: RowBatch) -> list[BasketReports]:
        """Read the reports in a batch of rows, as a list with one ``BasketReports`` for each level of blur.

        A row without a size is no report and is left out.
        """
        present = np.asarray(batch.table.column(self.size).is_valid())
        if not present.all():
            batch = RowBatch(batch.places[present], batch.table.filter(present))
        sizes, shown = batch.table.column(self.size), batch.table.column(self.shown)
        with naming_places(batch):
            if self.form == LIST:
                reports = BasketReports.of_lists(self.items, shown, sizes)
            else:
                reports = BasketReports.of_arrow(self.items, sizes, shown, self.form == "seed")
        if self.level is None:
            return [reports]
        groups = self._groups(batch.table.column(self.level))
        return [reports[np.flatnonzero(groups == group)] for group in range(len(self.designs))]

    def _groups(self, level: Any) -> Codes:
        """Return for each report the index, among the channel's levels, of how strongly the person chose to blur.

        ``level``: the column of names of levels; a row without one has the default level.
        """
        labels, which = labels_of(level)
        index_of = {name: index for index, name in enumerate(self.channel.levels)}
        indices = [index_of[name] for name in self.channel.levels_of(labels, (len(labels),))]
        return np.asarray(np.array(indices, np.int64)[which])


def find_columns(names: Sequence[str], channel: Mechanism, question: str | None) -> ReportColumns:
    """Find the columns of a table that hold blurred baskets, by their names, such as "basket.size" and "basket.seed".

    ``names``: all columns. ``channel``: what blurred the baskets. ``question``: the question's name, with which the
    columns begin; None: the only question of baskets. Columns that are missing are an error.
    """
    questions = [name.removesuffix(f".{SIZE}") for name in names if name.endswith(f".{SIZE}")]
    question = question or (questions[0] if len(questions) == 1 else BASKET)
    prefix = f"{question}." if question in questions else ""
    shown = [(form, prefix + form) for form in FORMS if prefix + form in names]
    if not shown and question in names:
        shown = [(LIST, question)]
    if prefix + SIZE not in names or len(shown) != 1:
        raise ValueError(f"needs the columns size and bitmap (or seed); it has {', '.join(names)}")
    level = question + LEVEL_SUFFIX if channel.has_levels else None
    if level is not None and level not in names:
        raise ValueError(f"column {level!r} is missing, which says what each person chose; it has {', '.join(names)}")
    ((form, column),) = shown
    return ReportColumns(channel, prefix + SIZE, column, form, level)


def _slices(rows: int, items: int) -> Iterator[slice]:
    """Divide rows into slices, each of so many rows that their bitmaps fit in memory, and return them.

    ``items``: how many bits a row has. A slice has at most BITS_AT_ONCE bits, but 64 rows at least.
    """
    step = max(64, BITS_AT_ONCE // (64 * bitmap_width(items)))
    return (slice(start, start + step) for start in range(0, rows, step))


@contextmanager
def naming_places(batch: RowBatch) -> Iterator[None]:
    """Make errors raised inside name a basket by its row in the whole table, not by its row in the batch."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text = re.sub(r"\bbasket (\d+)", lambda match: f"basket {batch.places[int(match[1])]}", str(error))
        raise type(error)(text) from None


# --- work that is sent to the rows ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CountItemsets:
    """Work to be sent to a table's rows: it counts the people whose reports show all items of each itemset.

    Called with the batches of rows, it returns for each group (the people who reported through one design) an array [1
    + itemset, basket size], whose first row counts all people. ``read``: how baskets are read; ``itemsets``: one a row.
    """

    read: BasketColumns
    itemsets: Codes

    def __str__(self) -> str:
        return f"{len(self.itemsets):,} itemsets"

    def __call__(self, batches: Iterator[RowBatch]) -> list[Counts]:
        items, itemsets = np.unique(self.itemsets), self.itemsets
        chosen = items if items.size < FEW * self.read.items.size else None
        if chosen is not None:
            itemsets = np.searchsorted(chosen, itemsets)
        counts = [np.zeros((1 + len(itemsets), len(sizes)), np.int64) for sizes in self.read.sizes]
        for batch in batches:
            for group, part in self.read.parts(batch, chosen):
                counts[group] += np.vstack([part.people, part.counts(itemsets)])
        return counts


@dataclass(frozen=True)
class CountLabels:
    """Work to be sent to a table's rows: it counts clean (not blurred) baskets.

    Called with the batches of rows, it returns (people with each label, number of people, size of the largest basket).
    ``name``: the column of baskets.
    """

    name: str

    def __call__(self, batches: Iterator[RowBatch]) -> tuple[Counter[Any], int, int]:
        people_with, people, largest = Counter[Any](), 0, 0
        for batch in batches:
            people += batch.table.num_rows
            if lengths_of(batch.table.column(self.name)).any():
                baskets = clean_baskets(batch, self.name)
                people_with.update(dict(zip(baskets.items.labels, np.bincount(baskets.codes).tolist(), strict=True)))
                largest = max(largest, int(baskets.sizes.max()))
        return people_with, people, largest


# --- the baskets of a table -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SourceHolder(Holder):
    """Baskets in a table that is not in memory, which can be counted by itemset in passes over its rows.

    ``groups``: the people who reported through each design; ``reports``: the table; ``read``: how a batch of its rows
    is read; ``single``: for each group the counts of single items, [item, basket size], which the first pass made.
    """

    groups: Sequence[Group]
    reports: Reports
    read: BasketColumns
    single: Sequence[Counts]

    @classmethod
    def of(cls, reports: Reports, channel: Mechanism | None) -> SourceHolder:
        """Find the baskets in a table of reports, and make them countable.

        ``channel``: what blurred them, to choose among several questions of baskets; None: the only one.
        """
        if reports.weighted:
            raise ValueError("itemsets count every person once; leave weights out")
        question, channel = baskets_among(reports, channel)
        reports.check_origin()
        return cls.of_baskets(reports) if channel is None else cls.of_reports(reports, channel, question)

    @classmethod
    def of_reports(cls, reports: Reports, channel: Mechanism, question: str | None = None) -> SourceHolder:
        """Find blurred baskets in a table, and make them countable, by a first pass that counts sizes and single items.

        ``channel``: what blurred the baskets; ``question``: whose columns are read (None: the only question of
        baskets).
        """
        read = find_columns(reports.stored, channel, question)
        counted = count_itemsets(reports, read, np.arange(read.items.size)[:, None])
        groups = []
        for design, (people, *_) in zip(read.designs, counted, strict=True):
            of_size = {size: number for size, number in zip(design.sizes, people.tolist(), strict=True) if number}
            if of_size:
                people_of_size = np.array(list(of_size.values()))
                groups.append(Group(read.items, tuple(of_size), people_of_size, design, read.form == "seed"))
        return cls(groups, reports, read, _of_people(counted))

    @classmethod
    def of_baskets(cls, reports: Reports) -> SourceHolder:
        """Find clean (not blurred) baskets in a table, and make them countable, by a first pass that finds all items.

        They are in the table's only column, or in the column ``basket``.
        """
        names = reports.stored
        name = names[0] if len(names) == 1 else BASKET
        if name not in names:
            raise ValueError(f"column {name!r} of baskets is missing; there are {', '.join(names)}")
        parts = reports.gather(CountLabels(name), [name])
        people_with = sum((part[0] for part in parts), Counter[Any]())
        people, largest = sum(part[1] for part in parts), max((part[2] for part in parts), default=0)
        items = Items(sorted_labels(people_with))
        single = np.array([[people_with[label]] for label in items.labels])
        group = Group(items, (largest,), np.array([people]), None)
        return cls([group], reports, CleanColumn(name, items, largest), [single])

    def counts(self, itemsets: Codes) -> list[Counts]:
        if itemsets.shape[1] == 1:
            return [counts[itemsets[:, 0]] for counts in self.single]
        return _of_people(count_itemsets(self.reports, self.read, itemsets))


def baskets_among(reports: Reports, channel: Mechanism | None) -> tuple[str | None, Mechanism | None]:
    """Return (name, channel) of the question about baskets among those of a table of reports.

    ``channel``: which question, where a plan has several. Without a plan the name is None and the channel is the given
    one. Where it cannot be told which is meant, ValueError.
    """
    channels = reports.channels if reports.plan is None else reports.plan.channels
    baskets = {name: each for name, each in channels.items() if each is not None and isinstance(each.domain, Items)}
    matching = [(name, mechanism) for name, mechanism in baskets.items() if channel is None or mechanism == channel]
    if len(matching) == 1:
        return matching[0]
    if matching or reports.plan is not None:
        raise ValueError(f"{len(matching)} attributes of the plan are such baskets; give the channel of one of them")
    return None, channel


def count_itemsets(reports: Reports, read: BasketColumns, itemsets: Codes) -> list[Counts]:
    """Count the people whose reports show all items of each itemset, in one pass over a table's rows.

    Returns for each group (the people who reported through one design) an array [1 + itemset, basket size], whose first
    row counts all people. ``read``: how baskets are read; ``itemsets``: one a row.
    """
    work = CountItemsets(read, itemsets)
    parts = [work(iter(())), *reports.gather(work, read.columns)]
    return [np.sum(counted, axis=0) for counted in zip(*parts, strict=True)]


def _of_people(counted: Sequence[Counts]) -> list[Counts]:
    """Return counts [itemset, basket size] without the groups and the sizes that nobody has, one array a group.

    ``counted``: for each group [1 + itemset, size], whose first row counts all people.
    """
    return [counts[1:, counts[0] > 0] for counts in counted if counts[0].any()]
