"""`Part`: one batch of a large table, read as reports on the machine where its rows are."""

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
from sfumato.counts.questions import CellMapping
from sfumato.counts.reports import Reports, check_labelled
from sfumato.domain import MISSING, Codes, Floats, as_numbers
from sfumato.tables import CODE_SUFFIX, LEVEL_SUFFIX, RowBatch, read_column

NOTHING: NDArray[Any] = np.zeros(0)
"""Stands for a column whose values are not in memory."""


@dataclass(frozen=True, eq=False)
class TableFacts:
    """What is known of a whole table after the first pass over its rows, for example all labels of a column.

    Every batch of rows is then read with the same codes.

    ``rows``: the number of records. ``classes``: the class labels, None without a class. ``columns``: every column
    without its codes. ``by_class``: the counts of every blurred column's base codes, one row a class (one row where
    there is no class). ``largest``: the largest weight, 0 without weights.
    """

    rows: int
    classes: tuple[Hashable, ...] | None
    columns: Mapping[str, Column]
    by_class: Mapping[str, Counted]
    largest: float = 0.0


@dataclass(frozen=True, eq=False)
class BatchSchema:
    """What is needed to read a batch of rows as reports: which columns, their channels, the class, the weights.

    It is sent to where the rows are.

    ``names``, ``channels``, ``levels``, ``target``, ``label_channel`` and ``seed`` as in `Reports`. ``weights``: the
    name of the column of weights. ``decoded``: the channels of columns of codes that are read as values. ``facts``:
    what the first pass found out, None during that pass.
    """

    names: tuple[str, ...]
    channels: Mapping[str, Any]
    levels: Mapping[str, Any]
    target: str | None
    label_channel: Channel | None
    weights: str | None
    seed: int
    decoded: Mapping[str, Any] = field(default_factory=dict)
    facts: TableFacts | None = None


class Part(Reports):
    """The reports in one batch of rows of a larger table, countable like any others.

    Labels of categories, edges of cells and the rounding of weights are those of the whole table.
    """

    def __init__(self, schema: BatchSchema, batch: RowBatch) -> None:
        table, self._places, self.seed = batch.table, batch.places, schema.seed
        self._hashes, self._folds, self._chosen, self._columns = {}, {}, {}, {}
        self.schema, self._table, self._size = schema, table, table.num_rows
        self.names, self.channels, self.label_channel = schema.names, dict(schema.channels), schema.label_channel
        self._levels, self.target, self.kind, self.plan = dict(schema.levels), schema.target, "pyarrow", None
        self._given = dict.fromkeys(table.schema.names, NOTHING)
        facts = schema.facts
        self.classes = None if facts is None else facts.classes
        self._largest = 0.0 if facts is None else facts.largest
        self._all = self._size if facts is None else facts.rows
        self.weights = None if schema.weights is None else self._weights(schema.weights)

    def _weights(self, name: str) -> Floats:
        """Read how many people each record stands for from the column ``name``.

        After the first pass the weights are rounded as those of the whole table, so that sums are exact.
        """
        given = weights_of(read_column(self.raw(name), name), self._size, f"column {name!r}")
        assert given is not None
        return given if self.schema.facts is None else whole_weights(given, self._largest, self._all)

    # --- columns of the batch -------------------------------------------------------------------------------------

    def raw(self, name: str) -> Any:
        """Return a column of the batch as an Arrow array."""
        if name not in self._given:
            raise ValueError(f"column {name!r} is missing; the table has {', '.join(self._given)}")
        return self._table.column(name)

    def holds(self, name: str) -> bool:
        """Return whether the batch has a column of this name."""
        return name in self._given

    def encoded(self, name: str, encode: Callable[[Any], Any]) -> NDArray[Any]:
        """Return the values of a column as whole numbers, −1 for missing, as the function ``encode`` turns them.

        Of texts every different one is encoded once.
        """
        column = self.raw(name)
        labels, indices = labels_in(column)
        if labels is None:
            return np.asarray(encode(read_column(column, name)))
        codes = np.asarray(encode(labels)) if labels.size else np.zeros(0, np.int64)
        return np.asarray(np.append(codes, MISSING)[indices])

    @property
    def class_codes(self) -> Codes | None:  # type: ignore[override]
        """The number of every record's class among ``classes``, read at the first use; None without a class."""
        if self.classes is None or self.target is None:
            return None
        if self._class_codes is None:
            self._class_codes = self._read_classes()
        return self._class_codes

    _class_codes: Codes | None = None

    def _read_classes(self) -> Codes:
        """Read the number of every record's class from the class column."""
        assert self.target is not None and self.classes is not None
        channel = self.label_channel
        if channel is None:
            return self.encoded(self.target, lambda some: encode_known(self.classes or (), some)).astype(np.int64)
        if self.target in self._given:
            return check_labelled(self.encoded(self.target, lambda some: codes_of(some, channel, "target")))
        codes = read_column(self.raw(self.target + CODE_SUFFIX), self.target)
        return check_labelled(base_codes(codes, channel, True, self.target, self._places))

    def _read(self, name: str) -> Column:
        """Read a column: the codes of this batch's reports, and what they mean in the whole table."""
        channel, facts = self.channels[name], self.schema.facts
        if channel is None:
            assert facts is not None
            column = facts.columns[name]
            return replace(column, codes=self._clear_codes(column))
        levels = {level: check_channel(level_channel) for level, level_channel in channel.levels.items()}
        starts = np.cumsum([0] + [level_channel.outputs.size for level_channel in levels.values()])[:-1]
        level = None if None in levels else self._level(name, channel)
        counted = None if facts is None else facts.columns[name].all_counts
        if level is None:
            return Column(name, channel, self._codes(name, levels[None]), levels, starts, all_counts=counted)
        codes = np.full(self._size, MISSING, np.int32)
        for index, (level_channel, start) in enumerate(zip(levels.values(), starts.tolist(), strict=True)):
            rows = np.flatnonzero(level == index)
            level_codes = self._codes(name, level_channel, rows)
            codes[rows] = np.where(level_codes < 0, MISSING, level_codes + np.int32(start))
        return Column(name, channel, codes, levels, starts, level, all_counts=counted)

    def _codes(self, name: str, channel: Channel, rows: Codes | None = None) -> BaseCodes:
        """Return a column's report codes in these rows (None: in all), −1 for missing."""
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
        """Return some rows of an Arrow column. ``rows``: their numbers; None: all."""
        return column if rows is None else column.take(rows)

    def _level(self, name: str, channel: Any) -> BaseCodes:
        """Return which level (strength of blurring) every record of a column came through, as an array of indices.

        Indices are among ``channel.levels``; the default's where none is given.
        """
        order = {level: index for index, level in enumerate(channel.levels)}
        if name + LEVEL_SUFFIX not in self._given:
            wanted = self._levels.get(name)
            channel.level(wanted if wanted is not None else channel.default)
            return np.full(self._size, order[channel.default if wanted is None else wanted], np.int32)

        def index_of(names: Any) -> list[int]:
            return [order[level] for level in channel.levels_of(names, (len(names),)).tolist()]

        indices = self.encoded(name + LEVEL_SUFFIX, index_of)
        return np.where(indices < 0, order[channel.default], indices).astype(np.int32)

    def _clear_codes(self, column: Column) -> BaseCodes:
        """Return the codes of a column that is not blurred, in this batch, −1 for missing."""
        if column.labels is None:
            return run_codes(column, as_numbers(self.values(column.name)))
        if column.name in self.schema.decoded:
            return encode_known(column.labels, self.values(column.name)).astype(np.int32)
        labels = column.labels
        return self.encoded(column.name, lambda some: encode_known(labels, some)).astype(np.int32)

    def values(self, name: str | int) -> NDArray[Any]:
        """Return the values of a column, one a record; report codes are decoded to values. ``name``: name or number."""
        name = name if isinstance(name, str) else self.names[name]
        if name in self._given:
            return read_column(self.raw(name), name)
        blurred = copy(self)
        blurred.channels, blurred._columns = {name: self.schema.decoded.get(name, self.channels[name])}, {}
        return read_column(blurred._read(name).decoded(), name)

    def places_in(
        self, columns: Sequence[str], cells: Sequence[CellMapping], by_class: bool, by_fold: int | None = None
    ) -> tuple[Codes, tuple[int, ...]]:
        """Return where every record is counted, as `Reports.places_in` does; the last result is kept.

        The next question of the same cells then takes it.
        """
        key = (tuple(columns), tuple(each.key for each in cells), by_class, by_fold)
        if key != self._last[0]:
            self._last = (key, super().places_in(columns, cells, by_class, by_fold))
        cells_and_shape: tuple[Codes, tuple[int, ...]] = self._last[1]
        return cells_and_shape

    _last: tuple[Any, Any] = (None, None)

    def alone(self) -> Reports:
        """Return the reports of this batch as `Reports` in memory, for learners that read whole records.

        They keep their places (row numbers in the whole table), weights and the list of all classes.
        """
        columns: dict[str, Any] = {}
        for name in self.names:
            coded = name not in self._given and name not in self.schema.decoded
            columns[name + CODE_SUFFIX * coded] = self.raw(name + CODE_SUFFIX) if coded else self.values(name)
            if self.channels[name] is not None and name + LEVEL_SUFFIX in self._given:
                columns[name + LEVEL_SUFFIX] = self.raw(name + LEVEL_SUFFIX)
        given = {name: read_column(column, name) for name, column in columns.items()}
        reports = Reports(given, self.channels, levels=self._levels, seed=self.seed)
        if self.class_codes is not None:
            reports = reports.aimed(self.class_codes, classes=self.classes, label_channel=self.label_channel)
        facts_columns: Mapping[str, Column] = {} if self.schema.facts is None else self.schema.facts.columns
        reports._planned = {name: each.labels for name, each in facts_columns.items() if each.labels}
        reports._places, reports.weights = self._places, self.weights
        reports._largest, reports._all, reports.kind = self._largest, self._all, "pyarrow"
        return reports


def labels_in(column: Any) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    """Return the different texts in an Arrow column and the index of each row's text among them (−1: missing).

    A column that holds no texts gives (None, an empty array).
    """
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
    rows = np.asarray(indices).astype(np.int64)
    missing = np.array([label is None for label in labels], bool)
    return labels[~missing], np.append(np.where(missing, -1, np.cumsum(~missing) - 1), -1)[rows]
