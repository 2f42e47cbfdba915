"""Itemsets counted where the baskets are: one pass over the rows for each level of candidates.

In a table a report is the disclosed ``size`` and a ``bitmap`` or a ``seed`` (bytes, or texts of hexadecimal digits),
with the question's name before them or not (``basket.size``, ``basket.seed``); or the list of shown items, named as the
question, with its size beside it. Where people chose a level, ``basket.level`` says which. Clean baskets are a column
of lists.

The first pass also tells who there are: which sizes, of which level; of clean baskets which items.
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

BASKET, SIZE, LIST = "basket", "size", "list"
FORMS = ("bitmap", "seed")
BITS_AT_ONCE = 1 << 28
"""So many bits of bitmaps are held at once, whatever a batch of seeds may expand to."""
FEW = 1 / 8
"""Below this share of all items it is faster to pick the bits of some of them than to turn the bitmaps whole."""


def design_of(channel: Mechanism) -> SelectASize:
    """The channel, which must report sets of items."""
    if not isinstance(channel, SelectASize):
        raise TypeError(f"channel={channel!r} does not report sets of items; itemsets need SelectASize")
    return channel


# --- reading batches --------------------------------------------------------------------------------------------------


class BasketColumns(Protocol):
    """How the baskets of a batch are read; it travels to where the rows are."""

    @property
    def items(self) -> Items: ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""

    @property
    def sizes(self) -> list[tuple[int, ...]]:
        """The sizes that each group of people is counted by."""

    def parts(self, batch: RowBatch, chosen: Codes | None) -> Iterator[tuple[int, ColumnBitmaps | CleanBaskets]]:
        """What is counted, of all items or of the chosen, in parts, each with the number of its group."""


@dataclass(frozen=True)
class CleanColumn:
    """Lists of items."""

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
    with naming_places(batch):
        return Baskets.read(batch.table.column(name), items)


@dataclass(frozen=True)
class ReportColumns:
    """Reports through a channel, or through the levels of a choice, each of which is a group."""

    channel: Mechanism
    size: str
    shown: str
    form: str
    level: str | None = None

    @property
    def designs(self) -> list[SelectASize]:
        return [design_of(each) for each in self.channel.levels.values()]

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
        """The reports of each level; who gave no size gave none."""
        there = np.asarray(batch.table.column(self.size).is_valid())
        if not there.all():
            batch = RowBatch(batch.places[there], batch.table.filter(there))
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
        """The place of each report's level among the channel's; the default's where none is given."""
        labels, which = labels_of(level)
        places = {name: place for place, name in enumerate(self.channel.levels)}
        found = [places[name] for name in self.channel.levels_of(labels, (len(labels),))]
        return np.asarray(np.array(found, np.int64)[which])


def find_columns(names: Sequence[str], channel: Mechanism, question: str | None) -> ReportColumns:
    """The columns of a table that hold the reports of a question; without its name, of the one that there is."""
    asked = [name.removesuffix(f".{SIZE}") for name in names if name.endswith(f".{SIZE}")]
    question = question or (asked[0] if len(asked) == 1 else BASKET)
    prefix = f"{question}." if question in asked else ""
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
    step = max(64, BITS_AT_ONCE // (64 * bitmap_width(items)))
    return (slice(start, start + step) for start in range(0, rows, step))


@contextmanager
def naming_places(batch: RowBatch) -> Iterator[None]:
    """Errors that name a basket of the batch name its place in the table."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text = re.sub(r"\bbasket (\d+)", lambda found: f"basket {batch.places[int(found[1])]}", str(error))
        raise type(error)(text) from None


# --- what is worked out where the rows are ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CountItemsets:
    """For each group [itemset, size]: the people who show all items of each row of `itemsets`; row 0 is all people."""

    read: BasketColumns
    itemsets: Codes

    def __str__(self) -> str:
        return f"{len(self.itemsets):,} itemsets"

    def __call__(self, batches: Iterator[RowBatch]) -> list[Counts]:
        items, itemsets = np.unique(self.itemsets), self.itemsets
        chosen = items if items.size < FEW * self.read.items.size else None
        if chosen is not None:
            itemsets = np.searchsorted(chosen, itemsets)
        found = [np.zeros((1 + len(itemsets), len(sizes)), np.int64) for sizes in self.read.sizes]
        for batch in batches:
            for group, part in self.read.parts(batch, chosen):
                found[group] += np.vstack([part.people, part.counts(itemsets)])
        return found


@dataclass(frozen=True)
class CountLabels:
    """Clean baskets: how many people hold each label, how many people there are, and the size of the largest basket."""

    name: str

    def __call__(self, batches: Iterator[RowBatch]) -> tuple[Counter[Any], int, int]:
        held, people, largest = Counter[Any](), 0, 0
        for batch in batches:
            people += batch.table.num_rows
            if lengths_of(batch.table.column(self.name)).any():
                baskets = clean_baskets(batch, self.name)
                held.update(dict(zip(baskets.items.labels, np.bincount(baskets.codes).tolist(), strict=True)))
                largest = max(largest, int(baskets.sizes.max()))
        return held, people, largest


# --- the holder -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SourceHolder(Holder):
    """Baskets that stay where they are; each item by itself was counted in the pass that told who there are."""

    groups: Sequence[Group]
    reports: Reports
    read: BasketColumns
    single: Sequence[Counts]

    @classmethod
    def of(cls, reports: Reports, channel: Mechanism | None) -> SourceHolder:
        """The one question of baskets among these reports, or the one that was asked through the channel."""
        if reports.weighted:
            raise ValueError("itemsets count every person once; leave weights out")
        question, channel = asked_in(reports, channel)
        reports.check_origin()
        return cls.of_baskets(reports) if channel is None else cls.of_reports(reports, channel, question)

    @classmethod
    def of_reports(cls, reports: Reports, channel: Mechanism, question: str | None = None) -> SourceHolder:
        """Randomized baskets."""
        read = find_columns(reports.stored, channel, question)
        counted = count_itemsets(reports, read, np.arange(read.items.size)[:, None])
        groups = []
        for design, (people, *_) in zip(read.designs, counted, strict=True):
            of_size = {size: number for size, number in zip(design.sizes, people.tolist(), strict=True) if number}
            if of_size:
                found = np.array(list(of_size.values()))
                groups.append(Group(read.items, tuple(of_size), found, design, read.form == "seed"))
        return cls(groups, reports, read, _of_people(counted))

    @classmethod
    def of_baskets(cls, reports: Reports) -> SourceHolder:
        """Clean baskets: the only column, or the one that is named basket."""
        names = reports.stored
        name = names[0] if len(names) == 1 else BASKET
        if name not in names:
            raise ValueError(f"column {name!r} of baskets is missing; there are {', '.join(names)}")
        parts = reports.gather(CountLabels(name), [name])
        held = sum((part[0] for part in parts), Counter[Any]())
        people, largest = sum(part[1] for part in parts), max((part[2] for part in parts), default=0)
        items = Items(sorted_labels(held))
        single = np.array([[held[label]] for label in items.labels])
        group = Group(items, (largest,), np.array([people]), None)
        return cls([group], reports, CleanColumn(name, items, largest), [single])

    def counts(self, itemsets: Codes) -> list[Counts]:
        if itemsets.shape[1] == 1:
            return [each[itemsets[:, 0]] for each in self.single]
        return _of_people(count_itemsets(self.reports, self.read, itemsets))


def asked_in(reports: Reports, channel: Mechanism | None) -> tuple[str | None, Mechanism | None]:
    """The question that was answered with baskets, and its channel: those of the plan, or what is given."""
    asked = reports.channels if reports.plan is None else reports.plan.channels
    baskets = {name: each for name, each in asked.items() if each is not None and isinstance(each.domain, Items)}
    found = [(name, each) for name, each in baskets.items() if channel is None or each == channel]
    if len(found) == 1:
        return found[0]
    if found or reports.plan is not None:
        raise ValueError(f"{len(found)} attributes of the plan are such baskets; give the channel of one of them")
    return None, channel


def count_itemsets(reports: Reports, read: BasketColumns, itemsets: Codes) -> list[Counts]:
    """One pass over the rows."""
    work = CountItemsets(read, itemsets)
    parts = [work(iter(())), *reports.gather(work, read.columns)]
    return [np.sum(counted, axis=0) for counted in zip(*parts, strict=True)]


def _of_people(counted: Sequence[Counts]) -> list[Counts]:
    """The counts of the groups and sizes that there are."""
    return [each[1:, each[0] > 0] for each in counted if each[0].any()]
