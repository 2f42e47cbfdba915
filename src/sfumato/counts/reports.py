"""`Reports`: a table of reports that answers the one question which learning asks.

    How many reports (summed weights) lie in each combination of these columns at given cells, by class and by fold?

Every report has a *base code*: the report code of its column's channel, −1 where it is missing. Where people chose a
level, the codes of the levels follow one another (``Column.starts``). A clear column's codes are its labels, or up to
1,024 runs of its numbers. Cells are groups of base codes.

Held-out sets are folds, decided by a hash of the record's place under the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels import Channel
from sfumato.counts.arguments import (
    channels_by_level,
    channels_by_name,
    check_channel,
    check_length,
    classes_of,
    weights_of,
    whole_weights,
)
from sfumato.counts.columns import BaseCodes, Column, base_codes, clear_column, place_into, reports_in, sum_at
from sfumato.counts.questions import CellMapping, CountableReports, Fold, Question, cells_of_column, fold_hash
from sfumato.domain import MISSING, Categories, Codes, Floats, as_array, as_numbers
from sfumato.plan import Plan
from sfumato.tables import (
    CODE_SUFFIX,
    LEVEL_SUFFIX,
    Result,
    RowBatch,
    is_source,
    kind_of,
    naming,
    read_column,
    to_arrow,
)

SAMPLED = 1_000_000
"""The most records that a sample brings into memory, for learners that read all columns of a person together
(docs/decisions/0024). Chosen by judgement: larger samples have less error and need more memory."""

SAMPLE_SALT = 5
"""The salt under which a sample is drawn: any number that no learner uses for its folds, so that samples are
independent of them."""


class Reports(CountableReports):
    """A table of reports that can be counted, in memory or where its rows are: files, a database, a cluster.

    ``table``: a table in memory; or a path, several, a pattern (``"day-*.parquet"``), a DuckDB relation, a Polars
    LazyFrame or a Spark DataFrame, whose rows stay where they are. A column ``<name>.code`` holds report codes in the
    place of the values of ``<name>``, a column ``<name>.level`` the levels that people chose. ``channels``: a plan, a
    mapping from column name to channel (others are clear), or one entry a column (None: clear). ``target``: the name of
    the class column, or the class of every record; None: the class of the plan, False: no class. ``weights``: how many
    people each record stands for, an array or the name of a column (None: one). ``levels``: a mapping from column name
    to the level of every record, or to one level for all, where the table has no column ``<name>.level``.
    ``label_channel``: the channel that the class went through (None: that of the plan, or a clear class). ``seed``
    decides the folds, by each record's place. ``place``: the name of a column that numbers the records (None: a
    record's place is its row). ``engine`` reads paths: "arrow" (default), "duckdb", "polars", or a cluster's address
    (``spark://host:7077``).

    >>> import sfumato as sf
    >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    >>> table = {"smokes": ["yes", "no", None], "age": [30, 30, 50], "group": ["a", "b", "b"]}
    >>> reports = Reports(table, {"smokes": coin}, target="group")
    >>> reports.counts(["smokes", "age"]).sum(axis=-1).astype(int).tolist()  # yes, no, missing × 30, 50
    [[1, 0], [1, 0], [0, 1]]
    """

    in_memory = True
    """Whether the reports are in memory."""
    taken_as_true = False
    """Whether these are blurred reports that are read as if they were true values (`as_clear`)."""
    passes = 0
    """How often all rows have been read; 0 for reports in memory."""

    elsewhere: ClassVar[type[Reports] | None] = None
    """The subclass for tables that are not in memory (`FrameReports`), set when it is imported."""

    def __init_subclass__(cls, *, elsewhere: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        if elsewhere:
            Reports.elsewhere = cls

    def __new__(cls, table: Any = None, *args: Any, **options: Any) -> Reports:
        if cls is Reports and not isinstance(table, (type(None), np.ndarray, dict)) and is_source(table):
            return super().__new__(Reports.elsewhere or cls)
        return super().__new__(cls)

    def __init__(
        self, table: Any, channels: Any = None, *, target: Any = None, weights: Any = None,
        levels: Mapping[str, Any] | None = None, label_channel: Channel | None = None, seed: int = 0,
        place: str | None = None, engine: str | None = None,
    ) -> None:
        if engine is not None:
            raise ValueError(f"engine={engine!r} reads paths, and this table is in memory; leave engine out")
        self._given = reports_in(table, channels)
        self.kind = "mapping" if isinstance(table, dict) else kind_of(table)
        self._describe(channels, target, label_channel, levels, seed)
        rows = next(iter(self._given.values()), as_array([] if target is None or target is False else target))
        self._size = self._all = len(rows)  # here, and of all that these are a part of
        self._places = None if place is None else self._aside(place).astype(np.int64)
        if isinstance(weights, str):
            self._weigh(self._aside(weights), f"column {weights!r}")
        else:
            self._weigh(weights)
        self.classes, self.class_codes = self._classes(target if self.target is None else self.target)

    def _describe(
        self, channels: Any, target: Any, label_channel: Channel | None, levels: Mapping[str, Any] | None, seed: int
    ) -> None:
        """Set names, channels and the class column, all that follows from columns' names and the arguments alone.

        So no row is read. The parameters are those of `Reports`.
        """
        self.plan = channels if isinstance(channels, Plan) else None
        self._levels, self.seed = dict(levels or {}), seed
        domains = {} if self.plan is None else {name: each.domain for name, each in self.plan.attributes.items()}
        self._planned = {name: tuple(each.labels) for name, each in domains.items() if isinstance(each, Categories)}
        if isinstance(channels, Plan):
            plan, channels = channels, {}
            target = plan.target if target is None and plan.target and self._holds(plan.target) else target
            for name, attribute in plan.attributes.items():
                if name == target:
                    label_channel = label_channel or attribute.channel  # type: ignore[assignment]
                elif self._holds(name):
                    channels[name] = attribute.channel
            names = [name for name in self._names(channels) if name in channels]
        else:
            names = self._names(channels)
        self.target = target if isinstance(target, str) else None
        self.names = tuple(name for name in names if name != self.target)
        self.channels = channels_by_name(channels, self.names)
        self.label_channel = None if target is False else label_channel
        self._columns: dict[str, Column] = {}
        self._hashes: dict[int, NDArray[np.uint32]] = {}
        self._folds: dict[tuple[int, int], NDArray[Any]] = {}
        self._chosen: dict[Fold, NDArray[np.bool_]] = {}

    def _aside(self, name: str) -> NDArray[Any]:
        """Return a column of numbers that are no reports (weights, places) and take it out of the reports' columns."""
        if name not in self._given:
            raise ValueError(f"column {name!r} is not in the table; it has {', '.join(self._given)}")
        self.names = tuple(each for each in self.names if each != name)
        self.channels.pop(name, None)
        with naming(f"column {name!r}"):
            return as_numbers(read_column(self._given[name], name))

    def _weigh(self, weights: ArrayLike | None, name: str = "weights") -> None:
        """Set how many people each record stands for, rounded so that sums are exact; None: one person each.

        ``name``: how errors call the argument.
        """
        given = weights_of(weights, self._size, name)
        self._largest = 0.0 if given is None else float(given.max(initial=0.0))
        self.weights = None if given is None else whole_weights(given, self._largest, self._size)

    def __len__(self) -> int:
        return self._size

    def aimed(
        self, target: Any, *, classes: Sequence[Hashable] | None = None, weights: ArrayLike | None = None,
        label_channel: Channel | None = None,
    ) -> Reports:
        """Return the same reports with another class column or other weights; columns in memory are not read again.

        ``target``: the name of the class column, or the class of every record (None: the class stays). ``classes``: the
        labels of all classes, where ``target`` holds class codes. ``weights``: how many people each record stands for
        (None: the weights stay). ``label_channel``: the channel that the class went through.
        """
        other = copy(self)
        if classes is not None:
            other.target, other.label_channel = None, label_channel
            other.classes, other.class_codes = tuple(classes), np.asarray(target, np.int64)
        elif target is not None:
            other._aim(target, label_channel)
            other.classes, other.class_codes = other._classes(target)
        if weights is not None:
            other._weigh(weights)
        return other

    def _aim(self, target: Any, label_channel: Channel | None) -> None:
        """Set the class column and its channel, and take the column out of the reports' columns."""
        of_class = self.channels.get(target) if isinstance(target, str) else None
        self.target = target if isinstance(target, str) else None
        self.names = tuple(name for name in self.names if name != self.target)
        self.channels = {name: self.channels[name] for name in self.names}
        self.label_channel = label_channel or of_class

    def within(self, fold: Fold) -> Reports:
        """Return the reports of the records in one fold (a fixed part of the people) alone.

        They keep their places (row numbers in the whole table) and the list of all classes.

        >>> import numpy as np
        >>> from sfumato.counts import Fold
        >>> reports = Reports(np.zeros((100, 1)), seed=3)
        >>> len(reports.within(Fold(0, 2))) + len(reports.within(~Fold(0, 2)))
        100
        """
        return self.of_records(np.flatnonzero(self.chosen(fold)))

    def sampled(self, most: int = SAMPLED) -> Reports:
        """Return reports in memory: all, or about ``most`` records drawn at random where there are more."""
        return self if len(self) <= most else self.within(Fold(0, -(-len(self) // most), SAMPLE_SALT))

    def of_records(self, rows: Codes) -> Reports:
        """Return the reports of the records with these row numbers alone, in this order.

        They keep their places (row numbers in the whole table) and the list of all classes.
        """
        other = copy(self)
        other._size, other._columns, other._hashes, other._folds, other._chosen = rows.size, {}, {}, {}, {}
        other._given = {name: as_array(column)[rows] for name, column in self._given.items()}
        other._levels = {
            name: level if level is None or isinstance(level, str) else as_array(level)[rows]
            for name, level in self._levels.items()
        }
        other._places = self.places[rows]
        other.class_codes = None if self.class_codes is None else self.class_codes[rows]
        other.weights = None if self.weights is None else self.weights[rows]
        return other

    def as_clear(self) -> Reports:
        """Return the same reports with blurred values taken for true ones, as if nothing had been blurred.

        For learners that know nothing of blurring, to compare with.
        """
        other = copy(self)
        other._given = {**self._given, **{name: self.values(name) for name in self.names}}
        other.channels, other._columns = dict.fromkeys(self.names), {}
        other.taken_as_true = any(self.channels.values())
        return other

    @property
    def places(self) -> Codes:
        """The place of every record: its row in the whole table, from 0, or the number in the column ``place``."""
        return np.arange(self._size) if self._places is None else self._places

    @property
    def weighted(self) -> bool:
        """Whether the records have weights."""
        return self.weights is not None

    def values(self, name: str | int) -> NDArray[Any]:
        """Return the values of a column, one a record; report codes are decoded to values. ``name``: name or number."""
        name = name if isinstance(name, str) else self.names[name]
        given = self._given.get(name)
        if given is not None:
            return given if given.dtype.kind in "iuf" else read_column(given, name)
        return read_column(self.column(name).decoded(), name)

    # --- columns --------------------------------------------------------------------------------------------------

    def column(self, name: str | int) -> Column:
        """Return the column of this name or number: the code of every report, and what the codes mean.

        It is read from the table at the first call.
        """
        if not isinstance(name, str):
            name = self.names[name]
        if name not in self.names:
            raise ValueError(f"column {name!r} is not among the reports; they have {', '.join(self.names)}")
        if name not in self._columns:
            self._columns[name] = self._read(name)
        return self._columns[name]

    def _read(self, name: str) -> Column:
        """Read a column from the table: the code of every report, and what the codes mean."""
        channel = self.channels[name]
        if channel is None:
            return clear_column(name, self.values(name), self._planned.get(name, ()))
        coded = name not in self._given
        values = self._given[name + CODE_SUFFIX if coded else name]
        try:
            levels = channels_by_level(channel)
            level = None if None in levels else self._level(name, channel)
        except (ValueError, TypeError) as error:
            raise type(error)(f"column {name!r}: {error}") from None
        starts = np.cumsum([0] + [level_channel.outputs.size for level_channel in levels.values()])[:-1]
        if level is None:
            return Column(name, channel, base_codes(values, channel, coded, name, self._places), levels, starts)
        codes = np.full(values.size, MISSING, np.int32)
        nothing: Any = np.nan if values.dtype.kind in "iuf" else None
        for index, (level_channel, start) in enumerate(zip(levels.values(), starts.tolist(), strict=True)):
            of_level = np.where(level == index, values, nothing)
            level_codes = base_codes(of_level, level_channel, coded, name, self._places)
            codes = np.where(level_codes < 0, codes, level_codes + np.int32(start))
        return Column(name, channel, codes, levels, starts, level)

    def _level(self, name: str, channel: Any) -> BaseCodes:
        """Return which level (strength of blurring) every record of a column came through, as an array of indices.

        Indices are among ``channel.levels``; the default's where none is given.
        """
        given = self._given.get(name + LEVEL_SUFFIX, self._levels.get(name))
        given = given if given is None or isinstance(given, str) else as_array(given).reshape(-1)
        names = channel.levels_of(given, (self._size,))
        index = np.zeros(self._size, np.int32)
        for i, level in enumerate(channel.levels):
            index[names == level] = i
        return index

    def to_codes(self) -> dict[str, NDArray[Any]]:
        """Return the columns as report files hold them, as arrays by name.

        A blurred column becomes ``<name>.code`` (report codes, −1: missing) and, where people chose a level,
        ``<name>.level``; clear columns stay as they are.
        """
        columns: dict[str, NDArray[Any]] = {}
        for name in self.names:
            if self.channels[name] is None:
                columns[name] = as_array(self._given[name])
                continue
            column = self.column(name)
            columns[name + CODE_SUFFIX] = column.ranks
            if column.level is not None:
                columns[name + LEVEL_SUFFIX] = np.array(list(column.levels), dtype=object)[column.level]
        return columns

    def _holds(self, name: str) -> bool:
        """Return whether the table has a column of a question: ``name``, or ``name.code`` of report codes."""
        return name in self._given or name + CODE_SUFFIX in self._given

    def _names(self, channels: Any) -> list[str]:
        """Return the names of the questions that the table has reports of, as a list in the order of its columns.

        Columns ``<name>.code`` and ``<name>.level`` belong to the question ``<name>``.
        """
        chosen = channels if isinstance(channels, Mapping) else {}
        names: list[str] = []
        for name in self._given:
            base = name.removesuffix(CODE_SUFFIX)
            if base != name and (base in chosen or not isinstance(channels, Mapping)):
                name = base
            base = name.removesuffix(LEVEL_SUFFIX)
            if base != name and self._holds(base) and (base not in chosen or chosen[base].has_levels):
                continue
            if name not in names:
                names.append(name)
        return names

    def _classes(self, target: Any) -> tuple[tuple[Hashable, ...] | None, Codes | None]:
        """Return (the class labels, the number of every record's class among them); (None, None) without a class.

        ``target``: the name of the class column, or the class of every record; None or False: there is no class.
        """
        channel = self.label_channel
        if target is None or target is False:
            return None, None
        if isinstance(target, str) and not self._holds(target):
            raise ValueError(f"class column {target!r} is not in the table; it has {', '.join(self._given)}")
        if channel is not None:
            coded = isinstance(target, str) and target not in self._given
            given = self._given[target + CODE_SUFFIX if coded else target] if isinstance(target, str) else target
            codes = base_codes(read_column(given, "target"), check_channel(channel), coded, "target")
            check_length("target", codes.size, self._size)
            return check_label_channel(channel), check_labelled(codes)
        labels = self._given[target] if isinstance(target, str) else target
        return classes_of(labels, self._size)

    # --- the one question -----------------------------------------------------------------------------------------

    def ask(self, questions: Sequence[Question]) -> list[Any]:
        """Return a list of the answers to several questions, made in one pass over the reports.

        ``questions``: what to count; `counts`, `combinations` and `tallies` ask the usual ones.
        """
        return [question.of(self) for question in questions]

    def gather(self, work: Callable[[Iterator[RowBatch]], Result], columns: Sequence[str]) -> list[Result]:
        """Run a function over batches of rows of the table, in one pass; return the list of its results.

        ``work`` gets an iterator of batches and returns a result; it runs once for each part of the table (in memory:
        once). ``columns`` are names of the table's own columns (`stored`).
        """
        table = to_arrow({name: self._given[name] for name in columns})
        return [work(iter([RowBatch(self.places, table)]))]

    def check_origin(self) -> None:
        """Raise ValueError if the table says that another plan made its reports.

        Reports in memory are checked when they are read, so this does nothing for them.
        """

    @property
    def stored(self) -> tuple[str, ...]:
        """The names of the table's columns as they are stored (``age.code``, not ``age``)."""
        return tuple(self._given)

    # --- records in memory ----------------------------------------------------------------------------------------

    def places_in(
        self, columns: Sequence[str], cells: Sequence[CellMapping], by_class: bool, by_fold: int | None = None
    ) -> tuple[Codes, tuple[int, ...]]:
        """Return (every record's index in the flattened array of all combinations of cells, the shape of that array).

        So that records are counted by summing at these indices. ``columns``: names. ``cells``: how each column's report
        codes are grouped into cells. ``by_class``: the last axis is the class. ``by_fold``: into how many folds the
        first axis divides people; None: there is no such axis.

        shape = ([by_fold,] cells of the first column, …, cells of the last [, classes])
        """
        flat = np.zeros(self._size, np.int64) if by_fold is None else self.folds(by_fold).astype(np.int64)
        shape: list[int] = [] if by_fold is None else [by_fold]
        for name, cut in zip(columns, cells, strict=True):
            column = self.column(name)
            cell_of_code = np.arange(column.size, dtype=np.int32) if cut.cell_of_code is None else cut.cell_of_code
            place_into(flat, column.present, cell_of_code, cut.all, cut.count)
            shape.append(cut.all)
        if by_class and self.classes is not None and self.class_codes is not None:
            flat *= len(self.classes)
            flat += self.class_codes
            shape.append(len(self.classes))
        return flat, tuple(shape)

    def cells_of(self, name: str | int, cells: Any, missing: int) -> NDArray[np.int32]:
        """Return in which cell (group of report codes) every record's report lies, as an array of cell numbers.

        ``missing``: the number that missing reports get.
        ``name``: the column's name or number. ``cells``: the cell of every base code, or an object with
        ``cell_of_code`` (None: every code is a cell).
        """
        column = self.column(name)
        cut = cells_of_column(column, cells, False)
        assert cut.cell_of_code is not None
        return np.append(cut.cell_of_code, np.int32(missing))[column.present]  # code −1: the last entry

    def summed(
        self, flat: Codes, size: int, *, squared: bool = False, fold: Fold | None = None
    ) -> NDArray[Any]:
        """Sum the weights of the records at each index 0 … size − 1 of a flattened array of counts.

        ``flat``: every record's index there (`places_in`); records with one below zero are left out. ``squared``: sum
        the squares of the weights. ``fold``: only these records (None: all).
        """
        return sum_at(flat, self.weight(squared), size, None if fold is None else self.chosen(fold))

    def weight(self, squared: bool = False) -> Floats | None:
        """Return the weight of every record, or with ``squared`` its square; None: every record stands for one."""
        if self.weights is None or not squared:
            return self.weights
        return whole_weights(self.weights**2, self._largest**2, self._all)

    # --- folds ----------------------------------------------------------------------------------------------------

    def hashes(self, salt: int) -> NDArray[np.uint32]:
        """Return the 32-bit hash of every record's place (row in the whole table), which decides its folds.

        ``salt``: a number; folds under different ones are independent.
        """
        if salt not in self._hashes:
            self._hashes[salt] = fold_hash(self.seed, self.places, salt)
        return self._hashes[salt]

    def folds(self, of: int, salt: int = 0) -> NDArray[Any]:
        """Return the number of every record's fold, of ``of`` folds (random parts of the people) of about equal size.

        ``salt``: a number; folds under different ones are independent.
        """
        if (of, salt) not in self._folds:
            self._folds[of, salt] = (self.hashes(salt) % np.uint32(of)).astype(np.min_scalar_type(of))
        return self._folds[of, salt]

    def chosen(self, fold: Fold) -> NDArray[np.bool_]:
        """Return which records are in a fold (a fixed part of the people), one truth value each."""
        if fold not in self._chosen:
            self._chosen[fold] = fold.holds(self.hashes(fold.salt))
        return self._chosen[fold]

    def __repr__(self) -> str:
        classes = f", classes {', '.join(map(str, self.classes))}" if self.classes is not None else ""
        return f"Reports({len(self):,} records of {', '.join(self.names)}{classes})"


def check_label_channel(channel: Channel) -> tuple[Hashable, ...]:
    """Return the class labels that a channel reports; raise TypeError for a channel whose reports are no categories."""
    if not isinstance(channel.outputs, Categories):
        raise TypeError(f"the class went through a {channel.kind} channel, which is not for categories")
    return tuple(channel.outputs.labels)


def check_labelled(codes: NDArray[Any]) -> Codes:
    """Return class codes as int64; raise ValueError if one is missing (below zero)."""
    if (codes < 0).any():
        raise ValueError("a class label is missing; drop records without a class")
    return codes.astype(np.int64)


def as_codes(table: Any, plan: Plan) -> Any:
    """Return a table of reports with its blurred columns as report codes, named ``<name>.code``.

    ``table``: the reports. ``plan``: the plan that made them.
    """
    return to_arrow(Reports(table, plan.column_channels).to_codes())


def from_codes(table: Any, plan: Plan) -> Any:
    """Return an Arrow table of reports in which columns of report codes, ``<name>.code``, are values, ``<name>``.

    ``table``: the reports. ``plan``: the plan that made them.
    """
    coded = {name: one for name, one in plan.column_channels.items() if name + CODE_SUFFIX in table.column_names}
    if not coded:
        return table
    reports = Reports(table, coded)
    columns = {name: table.column(name) for name in table.column_names if not name.endswith(CODE_SUFFIX)}
    return to_arrow({**columns, **{name: reports.values(name) for name in coded}})
