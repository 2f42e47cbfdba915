"""`FrameReports`: reports in files, databases or clusters, counted in batches where their rows are.

The code that counts a batch is that of `Reports` in memory; engines only bring batches to it. So rounding, levels,
missing values, weights and folds are the same for every engine, and counts are equal bit for bit
(docs/decisions/0024). A first pass (`Surveying`) finds out how many rows, classes, labels and values there are and how
often each code occurs. Every further pass answers all questions that were asked together.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel
from sfumato.counts.columns import Column, Counted, Tally, clear_numbers, on_grid, run_codes
from sfumato.counts.parts import NOTHING, BatchSchema, Part, TableFacts
from sfumato.counts.questions import Counting, Fold, Question, fold_hash
from sfumato.counts.reports import SAMPLE_SALT, SAMPLED, Reports, check_label_channel
from sfumato.counts.surveys import Gridding, NumberCounts, Surveyed, Surveying
from sfumato.counts.tallies import Counts
from sfumato.domain import Codes, is_missing, sorted_labels
from sfumato.plan import Plan
from sfumato.plan.attribute import as_meant, text_columns
from sfumato.tables import CODE_SUFFIX, LEVEL_SUFFIX, PLAN_COLUMN, Result, RowBatch, source_of

LOG = logging.getLogger("sfumato")  # it is told of every pass over the rows
REMEMBERED = 1 << 28
"""Bytes of answers that are kept in case the same question is asked again. Chosen by judgement; with less, learners go
through the table more often."""


@dataclass(frozen=True, eq=False)
class Fetching(Question):
    """The question for the rows of a fold themselves, to bring a sample into memory.

    Answer: a list of (places, Arrow rows), one for each batch; a place is the number of a row in the whole table.
    """

    names: tuple[str, ...]
    fold: Fold

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    def of(self, part: Any) -> list[tuple[NDArray[np.int64], Any]]:
        chosen = part.chosen(self.fold)
        return [(part.places[chosen], part._table.filter(chosen))]


def _meant(plan: Plan) -> dict[str, Any]:
    """Return how to read files without types (CSV) so that texts, numbers and gaps are what a plan's questions expect.

    As a dict of keyword arguments of `source_of`.
    """
    convert = partial(_as_meant, plan)
    return {"text": text_columns(plan), "empty": plan.empty, "convert": convert}


def _as_meant(plan: Plan, table: Any, before: int) -> Any:
    """Return an Arrow table read from text with its columns converted to what a plan's questions expect (`as_meant`).

    ``before``: how many rows come before the table's first, for errors. The plan comes first for `functools.partial`.
    """
    return as_meant(table, plan, before)


@dataclass(frozen=True, eq=False)
class QuestionWork:
    """The function that runs where the rows are: it answers all questions of each batch of rows and merges the answers.

    The result is one answer a question, or None where there was no row.
    """

    schema: BatchSchema
    questions: tuple[Question, ...]

    def __call__(self, batches: Iterator[RowBatch]) -> list[Any] | None:
        answers: list[Any] | None = None
        for batch in batches:
            part = Part(self.schema, batch)
            if not len(part):
                continue
            new = [question.of(part) for question in self.questions]
            answers = new if answers is None else self.merged([answers, new])
        return answers

    def __str__(self) -> str:
        return f"{len(self.questions)} questions"

    def merged(self, parts: Sequence[list[Any]]) -> list[Any]:
        """Return the answers for all rows, one a question, from the lists of answers for several parts of the rows."""
        return [
            question.merged([part[index] for part in parts]) for index, question in enumerate(self.questions)
        ]


def origins_of(batches: Iterator[RowBatch]) -> set[str | None]:
    """Return the set of identities (hashes) of the plans that made the rows, as the rows name them.

    None among them: a row names none.
    """
    return {origin for batch in batches for origin in batch.table.column(PLAN_COLUMN).unique().to_pylist()}


@dataclass(frozen=True, eq=False)
class FoldWork:
    """A function over batches of rows that gives another one, ``work``, only the rows in all of some folds.

    A fold is a fixed part of the people, drawn by a hash under ``seed``.
    """

    work: Callable[[Iterator[RowBatch]], Any]
    folds: tuple[Fold, ...]
    seed: int

    def __call__(self, batches: Iterator[RowBatch]) -> Any:
        return self.work(self._chosen(batch) for batch in batches)

    def _chosen(self, batch: RowBatch) -> RowBatch:
        """Return the rows of a batch that are in all of the folds."""
        chosen = np.ones(batch.places.size, bool)
        for fold in self.folds:
            chosen &= fold.holds(fold_hash(self.seed, batch.places, fold.salt))
        return RowBatch(batch.places[chosen], batch.table.filter(chosen))


class FrameReports(Reports, elsewhere=True):
    """A table of reports in files, in a database relation or on a cluster, counted in batches where the rows are.

    The parameters are those of `Reports`, which makes it where the table is not in memory.
    """

    in_memory = False
    on_pass: Callable[[int, float], None] | None = None
    """Called after every pass over the rows with its number (from 1) and the seconds it took."""

    def __init__(
        self, table: Any, channels: Any = None, *, target: Any = None, weights: Any = None,
        levels: Mapping[str, Any] | None = None, label_channel: Channel | None = None, seed: int = 0,
        place: str | None = None, engine: str | None = None,
    ) -> None:
        meant = _meant(channels) if isinstance(channels, Plan) else {}
        self.source = source_of(table, engine, place, **meant)
        self.kind = self.source.kind
        reports = [name for name in self.source.names if name not in (PLAN_COLUMN, weights, place)]
        self._given = dict.fromkeys(reports, NOTHING)
        if target not in (None, False) and not isinstance(target, str):
            raise TypeError("target holds classes in memory, but the reports are elsewhere; name the class column")
        if weights is not None and (not isinstance(weights, str) or weights not in self.source.names):
            raise ValueError(f"weights={weights!r} is no column; the table has {', '.join(self.source.names)}")
        if isinstance(target, str) and not self._holds(target):
            raise ValueError(f"class column {target!r} is not in the table; it has {', '.join(self._given)}")
        for name, level in (levels or {}).items():
            if level is not None and not isinstance(level, str):
                raise TypeError(f"levels of {name!r} are in memory, but the reports are elsewhere; name one level")
        self._describe(channels, target, label_channel, levels, seed)
        self._weight_column, self._among, self._decoded = weights, tuple[Fold, ...](), dict[str, Any]()
        self._facts: TableFacts | None = None
        self._answers: dict[Hashable, Any] = {}
        self._passes = [0]

    # --- what there is --------------------------------------------------------------------------------------------

    @property
    def facts(self) -> TableFacts:
        """What the first pass over the rows found out: how many, which classes, columns and counts there are.

        The pass is made at the first use.
        """
        if self._facts is None:
            self._facts = self._survey()
        return self._facts

    def __len__(self) -> int:
        return self.facts.rows

    @property
    def classes(self) -> tuple[Hashable, ...] | None:  # type: ignore[override]
        if self.target is None:
            return None
        return self.facts.classes if self.label_channel is None else check_label_channel(self.label_channel)

    @property
    def weighted(self) -> bool:
        return self._weight_column is not None

    @property
    def people(self) -> float:
        everybody = self.counting(by_class=False)
        if self.weighted:
            self.prepare([everybody])
            return float(self.ask([everybody])[0])
        return float(len(self))

    def column(self, name: str | int) -> Column:
        name = name if isinstance(name, str) else self.names[name]
        if name not in self.names:
            raise ValueError(f"column {name!r} is not among the reports; they have {', '.join(self.names)}")
        return self.facts.columns[name]

    def values(self, name: str | int) -> NDArray[Any]:
        raise TypeError("the reports are not in memory; read some of them with .sampled()")

    def _survey(self) -> TableFacts:
        """Make the first pass over the rows and return what counting needs to know of all of them.

        How many rows, which classes, labels and numbers there are and how often each code occurs (`TableFacts`). A
        second pass is made where a column that is not blurred has too many different numbers.
        """
        if self.plan is not None:
            self.plan.check_origin(self.source.origins)
        survey: Surveyed | None = self._passed([Surveying(self.names)], self._schema(None))[0]
        if survey is None:
            raise ValueError("there are no reports; give at least one")
        if self.plan is not None and survey.origins:
            self.plan.check_origin(sorted(survey.origins, key=str))
        crowded = {name: numbers for name, numbers in survey.numbers.items() if numbers.values is None}
        questions = [Gridding(name, numbers.low, numbers.high) for name, numbers in crowded.items()]
        grids = dict(zip(crowded, self._passed(questions, self._schema(None)), strict=True)) if questions else {}
        columns = {name: self._column(name, survey, grids.get(name)) for name in self.names}
        classes = None if self.target is None else survey.classes
        return TableFacts(survey.rows, classes, columns, survey.coded, survey.largest)

    def _column(self, name: str, survey: Surveyed, grid: Codes | None) -> Column:
        """Return what the codes of a column mean and how often each occurs, without the codes of single records.

        ``survey``: what the first pass found. ``grid``: counts of the column's numbers by cell of a fine grid, where
        too many differ to be kept one by one; None elsewhere.
        """
        channel = self.channels[name]
        if channel is not None:
            levels = dict(channel.levels)
            starts = np.cumsum([0] + [level_channel.outputs.size for level_channel in levels.values()])[:-1]
            apart = survey.coded[name]
            together = Counted(apart.histogram.sum(axis=0), apart.missing.sum(axis=0))
            return Column(name, channel, None, levels, starts, all_counts=together)
        labels_counted = survey.labels.get(name, Counter[Any]())
        numbers = survey.numbers.get(name) or NumberCounts.of(np.full(sum(labels_counted.values()), np.nan))
        labels = sorted_labels(label for label in labels_counted if not is_missing(label))
        if not labels and numbers.missing == survey.rows:
            labels = self._planned.get(name, ())
        if labels:
            seen = np.array([labels_counted[label] for label in labels], np.int64)
            missing = np.array([survey.rows - int(seen.sum())])
            return Column(name, None, labels=labels, all_counts=Counted(seen, missing))
        values, counts = (numbers.values, numbers.counts) if grid is None else on_grid(grid, numbers.low, numbers.high)
        assert values is not None
        integer = numbers.integer and values.size > 0
        column = clear_numbers(name, values, counts, integer=integer)
        runs = run_codes(column, values)
        histogram = np.bincount(runs, counts, column.size).astype(np.int64)
        return replace(column, all_counts=Counted(histogram, np.array([numbers.missing])))

    def check_origin(self) -> None:
        if self.plan is not None:
            in_rows = self.gather(origins_of, [PLAN_COLUMN]) if PLAN_COLUMN in self.source.names else []
            self.plan.check_origin(sorted({*self.source.origins, *chain.from_iterable(in_rows)}, key=str))

    # --- passes ---------------------------------------------------------------------------------------------------

    def tallies(
        self, names: Sequence[str | int], *, by_class: bool = False, fold: Fold | None = None
    ) -> list[Counts]:
        if self.weighted or fold is not None:
            return super().tallies(names, by_class=by_class, fold=fold)
        return [self._tallied(self.blurred(name), by_class and self.target is not None) for name in names]

    def _tallied(self, column: Column, by_class: bool) -> Counts:
        """Return how many reports of a column have each report code, as `Counts`, from what the first pass counted."""
        counts, ends = self.facts.by_class[column.name], np.append(column.starts, column.size)

        def rows(part: Codes) -> Codes:
            return part if by_class else part.sum(axis=0, keepdims=True)

        return Counts(
            {
                level: Tally(channel, rows(counts.histogram[:, low:high]), rows(counts.missing[:, index]))
                for index, ((level, channel), low, high) in enumerate(
                    zip(column.levels.items(), ends[:-1], ends[1:], strict=True)
                )
            },
            self.classes if by_class else None,
        )

    def ask(self, questions: Sequence[Question]) -> list[Any]:
        remembered = [self._answer(each) for each in questions]
        new = [each for each, answer in zip(questions, remembered, strict=True) if answer is None]
        answers = iter(self._passed(new, self._schema(self.facts)) if new else [])
        return [next(answers) if answer is None else answer for answer in remembered]

    def _answer(self, question: Question) -> Any:
        """Return the answer to a question without a pass: a kept one, or one that follows from the first pass.

        None: a pass is needed.
        """
        if question.key is not None and question.key in self._answers:
            return self._answers[question.key]
        if not isinstance(question, Counting) or self.weighted or question.fold is not None or question.by_fold:
            return None
        if len(question.names) != 1 or question.names[0] not in self.facts.by_class:
            return None
        counts, (cells,) = self.facts.by_class[question.names[0]], question.cells
        histogram = counts.histogram.T if question.by_class else counts.histogram.sum(axis=0)[:, None]
        missing = counts.missing.sum(axis=1) if question.by_class else counts.missing.sum(keepdims=True)
        cell_counts = np.zeros((cells.all, histogram.shape[1]))
        np.add.at(cell_counts, np.arange(cells.count) if cells.cell_of_code is None else cells.cell_of_code, histogram)
        if cells.missing:
            cell_counts[cells.count] = missing.ravel()
        return cell_counts if question.by_class else cell_counts[:, 0]

    def prepare(self, questions: Sequence[Question]) -> None:
        unknown = {each.key: each for each in questions if each.key is not None and self._answer(each) is None}
        if not unknown:
            return
        together = sorted(unknown.values(), key=lambda each: (each.columns, each.by_class))  # equal cells side by side
        for question, answer in zip(together, self.ask(together), strict=True):
            self._answers[question.key] = answer
        while len(self._answers) > 1 and sum(each.nbytes for each in self._answers.values()) > REMEMBERED:
            self._answers.pop(next(iter(self._answers)))

    def _passed(self, questions: Sequence[Question], schema: BatchSchema) -> list[Any]:
        """Make one pass over the rows and return one answer a question; None for each where there is no row."""
        work = QuestionWork(schema, tuple(questions))
        parts = [part for part in self.gather(work, self._read_by(questions)) if part is not None]
        return work.merged(parts) if parts else [None] * len(questions)

    @property
    def passes(self) -> int:  # type: ignore[override]
        return self._passes[0]

    def gather(self, work: Callable[[Iterator[RowBatch]], Result], columns: Sequence[str]) -> list[Result]:
        begun = perf_counter()
        parts = self.source.gather(FoldWork(work, self._among, self.seed) if self._among else work, columns)
        seconds = perf_counter() - begun
        self._passes[0] += 1
        LOG.info("pass %d: %s of %d columns, %.1f s", self.passes, work, len(columns), seconds)
        if self.on_pass is not None:
            self.on_pass(self.passes, seconds)
        return parts

    def _read_by(self, questions: Sequence[Question]) -> list[str]:
        """Return the names of the stored columns that these questions read."""
        wanted: dict[str, None] = {}
        for question in questions:
            for name in question.columns:
                wanted |= dict.fromkeys(self._stored(name))
        if self.target is not None and any(question.by_class for question in questions):
            wanted |= dict.fromkeys(self._stored(self.target))
        if self._weight_column is not None:
            wanted[self._weight_column] = None
        if PLAN_COLUMN in self.source.names and any(isinstance(each, Surveying) for each in questions):
            wanted[PLAN_COLUMN] = None
        return list(wanted)

    def _stored(self, name: str) -> list[str]:
        """Return the names of the stored columns that hold a question's reports and levels."""
        columns = [name] if name in self._given else [name + CODE_SUFFIX]
        return columns + [name + LEVEL_SUFFIX] * (name + LEVEL_SUFFIX in self._given)

    def _schema(self, facts: TableFacts | None) -> BatchSchema:
        """Return what is needed to read a batch of these rows as reports; ``facts``: None during the first pass."""
        return BatchSchema(
            self.names, self.channels, self._levels, self.target, self.label_channel, self._weight_column, self.seed,
            self._decoded, facts,
        )

    # --- others of them -------------------------------------------------------------------------------------------

    def aimed(
        self, target: Any, *, classes: Sequence[Hashable] | None = None, weights: Any = None,
        label_channel: Channel | None = None,
    ) -> Reports:
        if classes is not None or (target is not None and not isinstance(target, str)) or weights is not None:
            raise TypeError("the reports are not in memory; name their class column and their column of weights")
        if target is None or (target == self.target and label_channel in (None, self.label_channel)):
            return self
        if not self._holds(target):
            raise ValueError(f"class column {target!r} is not in the table; it has {', '.join(self._given)}")
        other = self._other()
        other._aim(target, label_channel)
        return other

    def within(self, fold: Fold) -> Reports:
        other = self._other()
        other._among = (*self._among, fold)
        return other

    def as_clear(self) -> Reports:
        other = self._other()
        other._decoded = {name: channel for name, channel in self.channels.items() if channel is not None}
        other.channels = dict.fromkeys(self.names)
        other.taken_as_true = bool(other._decoded)
        return other

    def _other(self) -> FrameReports:
        """Return a copy of these reports, for other columns or rows, that will make a first pass of its own.

        The passes of both are counted together.
        """
        other = copy(self)
        other._facts, other._answers = None, {}
        return other

    def sampled(self, most: int = SAMPLED) -> Reports:
        import pyarrow as pa

        fold = Fold(0, max(-(-len(self) // most), 1), SAMPLE_SALT)
        parts: list[tuple[Codes, Any]] = self.ask([Fetching(self.names, fold)])[0]
        places = np.concatenate([place for place, _ in parts])
        order = np.argsort(places, kind="stable")
        tables = [part if isinstance(part, pa.Table) else pa.Table.from_batches([part]) for _, part in parts]
        batch = RowBatch(places[order], pa.concat_tables(tables).take(order))
        return Part(self._schema(self.facts), batch).alone()
