"""A batch of rows read as reports, where the rows are: what is known of all reports is known of this part of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel
from sfumato.counts.arguments import check_channel, weights_of, whole_weights
from sfumato.counts.columns import BaseCodes, Column, Counted, base_codes, codes_of, encode_known, run_codes
from sfumato.counts.questions import Cells
from sfumato.counts.reports import Reports, check_labelled
from sfumato.domain import MISSING, Codes, Floats, as_numbers
from sfumato.tables import CODE_SUFFIX, LEVEL_SUFFIX, RowBatch, read_column

NOTHING: NDArray[Any] = np.zeros(0)  # stands for a column whose values are elsewhere


@dataclass(frozen=True, eq=False)
class Known:
    """What the first pass told: rows, classes, columns, the largest weight."""

    rows: int
    classes: tuple[Hashable, ...] | None
    columns: Mapping[str, Column]
    by_class: Mapping[str, Counted]
    """The counts of every blurred column's codes, one row a class (one row where there is no class)."""
    largest: float = 0.0


@dataclass(frozen=True, eq=False)
class Form:
    """What is needed to read a batch as reports; it travels to where they are."""

    names: tuple[str, ...]
    channels: Mapping[str, Any]
    levels: Mapping[str, Any]
    target: str | None
    label_channel: Channel | None
    weights: str | None
    seed: int
    decoded: Mapping[str, Any] = field(default_factory=dict)
    known: Known | None = None


class Part(Reports):
    """The reports in one batch; what is known of all of them is known here."""

    def __init__(self, form: Form, batch: RowBatch) -> None:
        table, self._places, self.seed = batch.table, batch.places, form.seed
        self._hashes, self._folds, self._chosen, self._columns = {}, {}, {}, {}
        self.form, self._table, self._size = form, table, table.num_rows
        self.names, self.channels, self.label_channel = form.names, dict(form.channels), form.label_channel
        self._levels, self.target, self.kind, self.plan = dict(form.levels), form.target, "pyarrow", None
        self._given = dict.fromkeys(table.schema.names, NOTHING)
        known = form.known
        self.classes = None if known is None else known.classes
        self._largest = 0.0 if known is None else known.largest
        self._all = self._size if known is None else known.rows
        self.weights = None if form.weights is None else self._weights(form.weights)

    def _weights(self, name: str) -> Floats:
        given = weights_of(read_column(self.raw(name), name), self._size, f"column {name!r}")
        assert given is not None
        return given if self.form.known is None else whole_weights(given, self._largest, self._all)

    # --- columns of the batch -------------------------------------------------------------------------------------

    def raw(self, name: str) -> Any:
        """A column of the batch, as Arrow holds it."""
        if name not in self._given:
            raise ValueError(f"column {name!r} is missing; the table has {', '.join(self._given)}")
        return self._table.column(name)

    def holds(self, name: str) -> bool:
        """Whether the batch has a column of this name."""
        return name in self._given

    def encoded(self, name: str, encode: Callable[[Any], Any]) -> NDArray[Any]:
        """Codes of a column by ``encode``; of texts, each that occurs is encoded once. Missing ones are −1."""
        column = self.raw(name)
        labels, indices = labels_in(column)
        if labels is None:
            return np.asarray(encode(read_column(column, name)))
        codes = np.asarray(encode(labels)) if labels.size else np.zeros(0, np.int64)
        return np.asarray(np.append(codes, MISSING)[indices])

    @property
    def class_codes(self) -> Codes | None:  # type: ignore[override]
        if self.classes is None or self.target is None:
            return None
        if self._class_codes is None:
            self._class_codes = self._read_classes()
        return self._class_codes

    _class_codes: Codes | None = None

    def _read_classes(self) -> Codes:
        assert self.target is not None and self.classes is not None
        channel = self.label_channel
        if channel is None:
            return self.encoded(self.target, lambda some: encode_known(self.classes or (), some)).astype(np.int64)
        if self.target in self._given:
            return check_labelled(self.encoded(self.target, lambda some: codes_of(some, channel, "target")))
        codes = read_column(self.raw(self.target + CODE_SUFFIX), self.target)
        return check_labelled(base_codes(codes, channel, True, self.target, self._places))

    def _read(self, name: str) -> Column:
        """The column, its codes those of this batch."""
        channel, known = self.channels[name], self.form.known
        if channel is None:
            assert known is not None
            column = known.columns[name]
            return replace(column, codes=self._clear_codes(column))
        levels = {level: check_channel(one) for level, one in channel.levels.items()}
        starts = np.cumsum([0] + [one.outputs.size for one in levels.values()])[:-1]
        level = None if None in levels else self._level(name, channel)
        counted = None if known is None else known.columns[name].known
        if level is None:
            return Column(name, channel, self._codes(name, levels[None]), levels, starts, known=counted)
        codes = np.full(self._size, MISSING, np.int32)
        for place, (one, start) in enumerate(zip(levels.values(), starts.tolist(), strict=True)):
            rows = np.flatnonzero(level == place)
            some = self._codes(name, one, rows)
            codes[rows] = np.where(some < 0, MISSING, some + np.int32(start))
        return Column(name, channel, codes, levels, starts, level, known=counted)

    def _codes(self, name: str, channel: Channel, rows: Codes | None = None) -> BaseCodes:
        """The report codes of these rows (None: of all)."""
        places = self._places if rows is None else self.places[rows]
        if name not in self._given:
            coded = read_column(self._take(self.raw(name + CODE_SUFFIX), rows), name)
            return base_codes(coded, channel, True, name, places)
        column = self._take(self.raw(name), rows)
        labels, indices = labels_in(column)
        if labels is None:
            return base_codes(read_column(column, name), channel, False, name, places)
        try:
            return np.asarray(np.append(channel.encode_reports(labels), MISSING)[indices], np.int32)
        except (ValueError, TypeError):
            base_codes(read_column(column, name), channel, False, name, places)  # names the row
            raise

    @staticmethod
    def _take(column: Any, rows: Codes | None) -> Any:
        return column if rows is None else column.take(rows)

    def _level(self, name: str, channel: Any) -> BaseCodes:
        order = {level: place for place, level in enumerate(channel.levels)}
        if name + LEVEL_SUFFIX not in self._given:
            wanted = self._levels.get(name)
            channel.level(wanted if wanted is not None else channel.default)
            return np.full(self._size, order[channel.default if wanted is None else wanted], np.int32)

        def place(names: Any) -> list[int]:
            return [order[level] for level in channel.levels_of(names, (len(names),)).tolist()]

        found = self.encoded(name + LEVEL_SUFFIX, place)
        return np.where(found < 0, order[channel.default], found).astype(np.int32)

    def _clear_codes(self, column: Column) -> BaseCodes:
        if column.labels is None:
            return run_codes(column, as_numbers(self.values(column.name)))
        if column.name in self.form.decoded:
            return encode_known(column.labels, self.values(column.name)).astype(np.int32)
        labels = column.labels
        return self.encoded(column.name, lambda some: encode_known(labels, some)).astype(np.int32)

    def values(self, name: str | int) -> NDArray[Any]:
        """The reports of a column as they came; those that came as codes, decoded."""
        name = name if isinstance(name, str) else self.names[name]
        if name in self._given:
            return read_column(self.raw(name), name)
        blurred = copy(self)
        blurred.channels, blurred._columns = {name: self.form.decoded.get(name, self.channels[name])}, {}
        return read_column(blurred._read(name).decoded(), name)

    def places_in(
        self, columns: Sequence[str], cells: Sequence[Cells], by_class: bool, by_fold: int | None = None
    ) -> tuple[Codes, tuple[int, ...]]:
        """The last ones are kept: questions of several folds come one after the other."""
        key = (tuple(columns), tuple(each.key for each in cells), by_class, by_fold)
        if key != self._last[0]:
            self._last = (key, super().places_in(columns, cells, by_class, by_fold))
        found: tuple[Codes, tuple[int, ...]] = self._last[1]
        return found

    _last: tuple[Any, Any] = (None, None)

    def alone(self) -> Reports:
        """These reports as if they had been in memory: with their places, weights and the classes of all."""
        columns: dict[str, Any] = {}
        for name in self.names:
            coded = name not in self._given and name not in self.form.decoded
            columns[name + CODE_SUFFIX * coded] = self.raw(name + CODE_SUFFIX) if coded else self.values(name)
            if self.channels[name] is not None and name + LEVEL_SUFFIX in self._given:
                columns[name + LEVEL_SUFFIX] = self.raw(name + LEVEL_SUFFIX)
        given = {name: read_column(column, name) for name, column in columns.items()}
        found = Reports(given, self.channels, levels=self._levels, seed=self.seed)
        if self.class_codes is not None:
            found = found.aimed(self.class_codes, classes=self.classes, label_channel=self.label_channel)
        known: Mapping[str, Column] = {} if self.form.known is None else self.form.known.columns
        found._planned = {name: each.labels for name, each in known.items() if each.labels}
        found._places, found.weights = self._places, self.weights
        found._largest, found._all, found.kind = self._largest, self._all, "pyarrow"
        return found


def labels_in(column: Any) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    """The texts in an Arrow column and the place of each row's among them (−1: missing); (None, …) for others."""
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None, np.zeros(0, np.int64)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if isinstance(column, pa.ChunkedArray):  # of no chunks
        return np.zeros(0, object), np.zeros(0, np.int64)
    coded = column if pa.types.is_dictionary(kind) else column.dictionary_encode()
    labels = np.array([*coded.dictionary.to_pylist(), None], dtype=object)[:-1]
    indices = coded.indices.fill_null(-1) if coded.indices.null_count else coded.indices
    found = np.asarray(indices).astype(np.int64)
    gone = np.array([label is None for label in labels], bool)
    return labels[~gone], np.append(np.where(gone, -1, np.cumsum(~gone) - 1), -1)[found]
