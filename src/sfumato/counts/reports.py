"""Reports: where reports are, and the one question that learning asks of them.

    How many reports (summed weights) lie in each combination of these columns at given cells, by class and by fold?

Every report has a *base code*: the report code of its column's channel, −1 where it is missing. Where people chose a
level, the codes of the levels follow one another (``Column.starts``). A clear column's codes are its labels, or up to
1,024 runs of its numbers. Cells are groups of base codes, so that every engine that can group by integers can answer.

Held-out sets are folds, decided by a hash of the record's place under the seed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels import Channel, Mechanism
from sfumato.counts.columns import (
    BaseCodes,
    Column,
    Fold,
    Tally,
    base_codes,
    channels_by_name,
    check_channel,
    check_length,
    check_mechanism,
    classes_of,
    clear_column,
    fold_hash,
    only,
    place_into,
    reports_in,
    sum_at,
    tally,
    weights_of,
)
from sfumato.counts.questions import Question
from sfumato.counts.tallies import Counts
from sfumato.domain import MISSING, Categories, Codes, Floats, as_array
from sfumato.plan import Plan
from sfumato.tables import CODE_SUFFIX, LEVEL_SUFFIX, kind_of, read_column, to_arrow

MOST_DENSE = 200_000_000  # more combinations than this are not laid out in one array


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of cells that occur: ``rows[i]`` (one cell a column, sorted) with ``counts[i]`` (by class)."""

    rows: NDArray[np.int32]
    counts: Floats


class Reports:
    """Reports in memory: arrays, mappings of columns, and frames.

    ``channels``: a plan, a mapping from column name to channel (others are clear), or one entry a column (None:
    clear). ``target``: the name of the class column, or the class of every record. ``levels``: by column the level of
    every record, or one for all, where the table has no column ``<name>.level``. A column ``<name>.code`` holds report
    codes in the place of the values of ``<name>``. ``weights``: how many people each record stands for. ``seed``
    decides the folds.

    >>> import sfumato as sf
    >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    >>> table = {"smokes": ["yes", "no", None], "age": [30, 30, 50], "group": ["a", "b", "b"]}
    >>> reports = Reports(table, {"smokes": coin}, target="group")
    >>> reports.counts(["smokes", "age"]).sum(axis=-1).astype(int).tolist()  # yes, no, missing × 30, 50
    [[1, 0], [1, 0], [0, 1]]
    """

    def __init__(
        self, table: Any, channels: Any = None, *, target: Any = None, weights: ArrayLike | None = None,
        levels: Mapping[str, Any] | None = None, label_channel: Channel | None = None, seed: int = 0,
    ) -> None:
        self._given = reports_in(table, channels)
        self.kind = "mapping" if isinstance(table, dict) else kind_of(table)
        self._levels = dict(levels or {})
        self.seed = seed
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
        rows = next(iter(self._given.values()), as_array(target if target is not None else []))
        self._size = len(rows)
        self.label_channel = label_channel
        self.classes, self.class_codes = self._classes(target, label_channel)
        self.weights = weights_of(weights, self._size)
        self._columns: dict[str, Column] = {}
        self._hashes: dict[int, NDArray[np.uint32]] = {}
        self._chosen: dict[Fold, NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        return self._size

    def aimed(
        self, target: Any, *, classes: Sequence[Hashable] | None = None, weights: ArrayLike | None = None,
        label_channel: Channel | None = None,
    ) -> Reports:
        """The same reports with another class (None: the one they have) or other weights; what was read is kept.

        With ``classes``, all that there are, ``target`` holds their codes.
        """
        other = copy(self)
        if classes is not None:
            other.target, other.label_channel = None, label_channel
            other.classes, other.class_codes = tuple(classes), np.asarray(target, np.int64)
        elif target is not None:
            other.target = target if isinstance(target, str) else None
            other.names = tuple(name for name in self.names if name != other.target)
            other.channels = {name: self.channels[name] for name in other.names}
            of_class = self.channels.get(target) if isinstance(target, str) else None
            other.label_channel = label_channel or of_class
            other.classes, other.class_codes = self._classes(target, other.label_channel)
        other.weights = self.weights if weights is None else weights_of(weights, self._size)
        return other

    def of_records(self, rows: Codes) -> Reports:
        """The reports of some records alone; they keep the classes of all."""
        other = copy(self)
        other._size, other._columns, other._hashes, other._chosen = rows.size, {}, {}, {}
        other._given = {name: as_array(column)[rows] for name, column in self._given.items()}
        other._levels = {
            name: level if level is None or isinstance(level, str) else as_array(level)[rows]
            for name, level in self._levels.items()
        }
        other.class_codes = None if self.class_codes is None else self.class_codes[rows]
        other.weights = None if self.weights is None else self.weights[rows]
        return other

    def values(self, name: str | int) -> NDArray[Any]:
        """The reports of a column as they came; those that came as codes, decoded."""
        name = name if isinstance(name, str) else self.names[name]
        given = self._given.get(name)
        if given is not None:
            return given if given.dtype.kind in "iuf" else read_column(given, name)
        column = self.column(name)
        found = np.empty(self._size, dtype=object)
        for place, channel in enumerate(column.levels.values()):
            of_level = slice(None) if column.level is None else column.level == place
            found[of_level] = channel.outputs.decode(column.ranks[of_level])
        return read_column(found, name)

    # --- columns --------------------------------------------------------------------------------------------------

    def column(self, name: str | int) -> Column:
        """The column with its base codes, read when first asked for."""
        if not isinstance(name, str):
            name = self.names[name]
        if name not in self.names:
            raise ValueError(f"column {name!r} is not among the reports; they have {', '.join(self.names)}")
        if name not in self._columns:
            self._columns[name] = self._read(name)
        return self._columns[name]

    def _read(self, name: str) -> Column:
        channel = self.channels[name]
        coded = name not in self._given
        values = self._given[name + CODE_SUFFIX if coded else name]
        if channel is None:
            return clear_column(name, values)
        try:
            levels = {level: check_channel(one) for level, one in check_mechanism(channel).levels.items()}
            level = None if None in levels else self._level(name, channel)
        except (ValueError, TypeError) as error:
            raise type(error)(f"column {name!r}: {error}") from None
        starts = np.cumsum([0] + [one.outputs.size for one in levels.values()])[:-1]
        if level is None:
            return Column(name, channel, base_codes(values, channel, coded, name), levels, starts)
        codes = np.full(values.size, MISSING, np.int32)
        nothing: Any = np.nan if values.dtype.kind in "iuf" else None
        for place, (one, start) in enumerate(zip(levels.values(), starts.tolist(), strict=True)):
            part = base_codes(np.where(level == place, values, nothing), one, coded, name)
            codes = np.where(part < 0, codes, part + np.int32(start))
        return Column(name, channel, codes, levels, starts, level)

    def _level(self, name: str, channel: Any) -> BaseCodes:
        """The place of every record's level among the channel's; the default where none is given."""
        given = self._given.get(name + LEVEL_SUFFIX, self._levels.get(name))
        given = given if given is None or isinstance(given, str) else as_array(given).reshape(-1)
        names = channel.levels_of(given, (self._size,))
        place = np.zeros(self._size, np.int32)
        for i, level in enumerate(channel.levels):
            place[names == level] = i
        return place

    def to_codes(self) -> dict[str, NDArray[Any]]:
        """The columns as files of ours hold them: ``<name>.code`` (−1: missing), ``<name>.level``, clear ones as is."""
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
        return name in self._given or name + CODE_SUFFIX in self._given

    def _names(self, channels: Any) -> list[str]:
        """The columns by the name of what was asked, in order; ``.code`` and ``.level`` belong to another's name."""
        chosen = channels if isinstance(channels, Mapping) else {}
        found: list[str] = []
        for name in self._given:
            base = name.removesuffix(CODE_SUFFIX)
            if base != name and (base in chosen or not isinstance(channels, Mapping)):
                name = base
            base = name.removesuffix(LEVEL_SUFFIX)
            if base != name and self._holds(base) and (base not in chosen or chosen[base].has_levels):
                continue
            if name not in found:
                found.append(name)
        return found

    def _classes(self, target: Any, channel: Channel | None) -> tuple[tuple[Hashable, ...] | None, Codes | None]:
        if target is None:
            return None, None
        if isinstance(target, str) and not self._holds(target):
            raise ValueError(f"class column {target!r} is not in the table; it has {', '.join(self._given)}")
        if channel is not None:
            coded = isinstance(target, str) and target not in self._given
            given = self._given[target + CODE_SUFFIX if coded else target] if isinstance(target, str) else target
            codes = base_codes(read_column(given, "target"), check_channel(channel), coded, "target")
            check_length("target", codes.size, self._size)
            if not isinstance(channel.outputs, Categories):
                raise TypeError(f"the class went through a {channel.kind} channel, which is not for categories")
            if (codes < 0).any():
                raise ValueError("a class label is missing; drop records without a class")
            return channel.outputs.labels, codes.astype(np.int64)
        labels = self._given[target] if isinstance(target, str) else target
        return classes_of(labels, self._size)

    # --- the one question -----------------------------------------------------------------------------------------

    def counts(
        self, columns: Sequence[str | int] | str | int = (), cells: Sequence[Any] | Mapping[Any, Any] | None = None,
        *, by_class: bool = True, fold: Fold | None = None, by_fold: int | None = None, squared: bool = False,
        missing: bool | None = None, dtype: Any = np.float64,
    ) -> NDArray[Any]:
        """N[(fold,) cell of the first column, …, cell of the last (, class)], summed weights of the records.

        ``cells``: for each column the cell of every base code, or an object with ``cell_of_code`` and ``reported``, the
        number of cells (None: each code is a cell). Missing reports go to a
        last extra cell, which a column has when a report of it is missing (``missing=True``: always). ``fold``: only
        these records; ``by_fold``: apart for each of so many folds. ``squared``: squares of the weights are summed.
        """
        flat, shape = self._places(columns, cells, by_class, missing)
        if by_fold is not None:
            flat += self.folds(by_fold).astype(np.int64) * prod(shape)
            shape = (by_fold, *shape)
        size = prod(shape)
        if size > MOST_DENSE:
            raise ValueError(f"{size:,} combinations of cells are too many to lay out; ask for .combinations(…)")
        if fold is not None:
            flat = np.where(self.chosen(fold), flat, -1)
        return sum_at(flat, self._weight(squared), size).reshape(shape).astype(dtype, copy=False)

    def combinations(
        self, columns: Sequence[str | int], cells: Sequence[Any] | Mapping[Any, Any] | None = None, *,
        by_class: bool = True, fold: Fold | None = None, squared: bool = False, missing: bool | None = None,
    ) -> Combinations:
        """The same counts, but only of the combinations of cells that occur."""
        flat, shape = self._places(columns, cells, False, missing)
        if prod(shape) > 2**62:
            raise ValueError(f"{len(shape)} columns have too many combinations of cells to number; use fewer cells")
        groups = len(self.classes) if by_class and self.classes is not None else 1
        chosen = slice(None) if fold is None else np.flatnonzero(self.chosen(fold))
        found, place = np.unique(flat[chosen], return_inverse=True)
        if by_class and self.class_codes is not None:
            place = place * groups + self.class_codes[chosen]
        weight = self._weight(squared)
        counts = np.bincount(place, None if weight is None else weight[chosen], minlength=found.size * groups)
        rows = np.column_stack(np.unravel_index(found, shape)).astype(np.int32)
        shaped = counts.astype(float).reshape(found.size, groups)
        return Combinations(rows, shaped if by_class and self.classes is not None else shaped[:, 0])

    def of(self, name: str | int, *, by_class: bool = False, fold: Fold | None = None) -> Counts:
        """The counts of one column's report codes, per level, for reconstruction."""
        column = self.column(name)
        if not column.levels:
            raise ValueError(f"column {column.name!r} is sent in the clear; count it with .counts([{column.name!r}])")
        chosen = np.ones(self._size, bool) if fold is None else self.chosen(fold)
        group = self.class_codes if by_class else None
        rows = 1 if group is None else len(self.classes or ())
        tallies: dict[Hashable, Tally] = {}
        for place, (level, channel) in enumerate(column.levels.items()):
            own = chosen if column.level is None else chosen & (column.level == place)
            tallies[level] = tally(channel, column.ranks[own], only(group, own), rows, only(self.weights, own))
        return Counts(tallies, self.classes if by_class else None)

    def ask(self, questions: Sequence[Question]) -> list[Any]:
        """The answers to several questions in one pass over the reports."""
        return [question.of(self) for question in questions]

    def summed(self, flat: Codes, size: int, *, squared: bool = False) -> NDArray[Any]:
        """How many people (summed weights) are at each place; a place below zero does not count."""
        return sum_at(flat, self._weight(squared), size)

    def hashes(self, salt: int) -> NDArray[np.uint32]:
        """The 32-bit hash of every record's place under the seed; folds and all other chance of a record are its."""
        if salt not in self._hashes:
            self._hashes[salt] = fold_hash(self.seed, np.arange(self._size), salt)
        return self._hashes[salt]

    def cells_of(self, name: str | int, cell_of_code: Any, missing: int) -> NDArray[np.int32]:
        """The cell of every record's report, ``missing`` where there is none."""
        column = self.column(name)
        return np.append(_cells(column, cell_of_code)[0], np.int32(missing))[column.codes]  # code −1: the last entry

    def _places(
        self, columns: Any, cells: Any, by_class: bool, missing: bool | None
    ) -> tuple[Codes, tuple[int, ...]]:
        """Every record's place in the array of all combinations, and the array's shape."""
        wanted: list[str | int] = [columns] if isinstance(columns, (str, int)) else list(columns)
        if isinstance(cells, Mapping):
            cells = [cells.get(name) for name in wanted]
        cells = [None] * len(wanted) if cells is None else cells
        flat = np.zeros(self._size, np.int64)
        shape: list[int] = []
        for name, mapping in zip(wanted, cells, strict=True):
            column = self.column(name)
            cell_of_code, last = _cells(column, mapping)
            shape.append(last + bool(column.has_missing if missing is None else missing))
            place_into(flat, column.codes, cell_of_code, shape[-1], last)
        if by_class and self.classes is not None and self.class_codes is not None:
            flat = flat * len(self.classes) + self.class_codes
            shape.append(len(self.classes))
        return flat, tuple(shape)

    def _weight(self, squared: bool) -> Floats | None:
        return self.weights if self.weights is None or not squared else self.weights**2

    # --- folds ----------------------------------------------------------------------------------------------------

    def folds(self, of: int, salt: int = 0) -> NDArray[np.int32]:
        """The fold of every record."""
        return np.asarray(self.hashes(salt) % np.uint32(of), np.int32)

    def chosen(self, fold: Fold) -> NDArray[np.bool_]:
        """Which records a fold holds."""
        if fold not in self._chosen:
            inside = np.zeros(fold.of, dtype=bool)
            inside[list(fold.numbers)] = True
            self._chosen[fold] = inside[self.folds(fold.of, fold.salt)]
        return self._chosen[fold]

    def __repr__(self) -> str:
        classes = f", classes {', '.join(map(str, self.classes))}" if self.classes is not None else ""
        return f"Reports({len(self):,} records of {', '.join(self.names)}{classes})"


def counts_of_plan(table: Any, plan: Plan, *, by: str | None = None, weights: Any = None) -> dict[str, Counts]:
    """The counts of every attribute that went through a channel, by name; ``by``: apart by the class in this column."""
    given = reports_in(table, plan)
    channels = {name: each.channel for name, each in plan.attributes.items() if name != by}
    held = {name: one for name, one in channels.items() if name in given or name + CODE_SUFFIX in given}
    label = plan.attributes[by].channel if by in plan.attributes else None
    reports = Reports(given, held, target=by, weights=weights, label_channel=label)  # type: ignore[arg-type]
    return {name: reports.of(name, by_class=by is not None) for name, one in held.items() if one is not None}


def as_codes(table: Any, plan: Plan) -> Any:
    """Reports with the columns of single channels as codes, ``<name>.code``."""
    return to_arrow(Reports(table, _by_column(plan)).to_codes())


def from_codes(table: Any, plan: Plan) -> Any:
    """Reports with the columns that came as codes turned into values."""
    channels = {name: one for name, one in _by_column(plan).items() if name + CODE_SUFFIX in table.column_names}
    if not channels:
        return table
    reports = Reports(table, channels)
    columns = {name: table.column(name) for name in table.column_names if not name.endswith(CODE_SUFFIX)}
    return to_arrow({**columns, **{name: reports.values(name) for name in channels}})


def _by_column(plan: Plan) -> dict[str, Mechanism | None]:
    """The channel of every column; None where several numbers were blurred together."""
    return {column: each.channel if column == each.name else None for column, each in plan.columns.items()}


def _cells(column: Column, cells: Any) -> tuple[NDArray[np.int32], int]:
    """(the cell of every base code, how many cells): given as an array, or by an object that holds both."""
    if cells is None:
        return np.arange(column.size, dtype=np.int32), column.size
    mapping = np.asarray(getattr(cells, "cell_of_code", cells), dtype=np.int32)
    if mapping.shape != (column.size,):
        raise ValueError(f"cells of {column.name!r} map {mapping.size} codes, there are {column.size}; map every code")
    return mapping, int(getattr(cells, "reported", int(mapping.max(initial=-1)) + 1))
