"""The reports of every question, grouped by class and by privacy level: as counts, or as baskets.

They are read from a table of reports, or given as counts already, which may come from any engine.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Mechanism
from sfumato.channels.additive.correlated_noise import CorrelatedNoise
from sfumato.channels.baskets import BasketReports, SelectASize
from sfumato.counts import Counts, Reports, as_codes
from sfumato.domain import MISSING, Categories, Domain, Floats, Interval, Items
from sfumato.findings.means import mean_with_error
from sfumato.plan import Attribute, Plan
from sfumato.reconstruction import intervals_for
from sfumato.reconstruction.estimate import WithError
from sfumato.reconstruction.layout import interval_edges
from sfumato.reconstruction.unbiased import left_inverse
from sfumato.tables import CODE_SUFFIX, LEVEL_SUFFIX, PLAN_COLUMN, to_arrow


@dataclass(frozen=True, eq=False)
class ClearCounts:
    """Counts of answers to one question that people sent as they are, without blur."""

    histogram: NDArray[Any]  # how many in each category or interval
    missing: int
    mean: WithError | None = None  # of numbers; None of categories, or of fewer than two

    @property
    def total(self) -> int:
        """How many people answered this question."""
        return int(self.histogram.sum())


@dataclass(frozen=True, eq=False)
class BasketCounts:
    """The reported baskets (sets of items) of one question, and how many people sent none."""

    reports: BasketReports
    missing: int

    @property
    def total(self) -> int:
        """How many people answered this question."""
        return len(self.reports)


@dataclass(frozen=True, eq=False)
class Answers:
    """The reports of one question, of all people and by class; of numbers blurred together, one value for each number.
    """

    name: str
    question: str  # as people read it; the name where the plan has no words
    domain: Domain
    channel: Mechanism | None  # None: answers are sent as they are
    whole: Any  # of all people: Counts, ClearCounts or BasketCounts
    by_class: Mapping[Hashable, Any]  # the same by class; empty where there are no classes

    @property
    def by_level(self) -> dict[str, Counts]:
        """Return the counts of reports by privacy level (how strongly a person chose to blur).

        Empty where nobody chooses.
        """
        if self.channel is None or not self.channel.has_levels:
            return {}
        return {str(level): Counts({level: self.whole.levels[level]}) for level in self.channel.levels}


@dataclass(frozen=True, eq=False)
class AllAnswers:
    """The reports of all questions in the plan's order, and the question by whose answer people are grouped."""

    people: int
    questions: list[Answers]
    class_name: str | None = None  # the question by whose answer people are grouped
    class_blur: Floats | None = field(default=None, repr=False)
    """The inverse of the table through which the class itself went; None where it is clear, or has no inverse."""


def answers_of(reports: Any, plan: Plan, class_name: str | None = None) -> AllAnswers:
    """Return the reports of all questions, grouped by class, from a table or from counts of them by question.

    ``plan``: the plan that they answer. ``class_name``: the name of the classes that counts are grouped by; the classes
    of a table are the plan's target.
    """
    if isinstance(reports, Mapping) and reports and all(isinstance(one, Counts) for one in reports.values()):
        return _answers_of_counts(reports, plan, class_name)
    return _TableAnswers(plan, in_codes(reports, plan)).read()


def in_codes(reports: Any, plan: Plan) -> Any:
    """Return any table of reports as a PyArrow table with codes (whole numbers) for reports, as a collector keeps it.

    A table that has codes only is returned as it is. ValueError where a column of the plan is missing, or where reports
    of another plan are in the table.
    """
    table = to_arrow(reports)
    if PLAN_COLUMN in table.column_names:
        plan.check_origin(table[PLAN_COLUMN])
    present = [f"{name}." for name in table.column_names]  # a report, or its code
    single = [name for name, each in plan.columns.items() if not isinstance(each.domain, Items)]
    missing = [name for name in single if not any(each.startswith(f"{name}.") for each in present)]
    if missing:
        columns = ", ".join(table.column_names) or "no columns"
        raise ValueError(f"column {missing[0]!r} is missing; the reports have {columns}: give those of this plan")
    values = any(channel is not None and name in table.column_names for name, channel in plan.column_channels.items())
    return as_codes(table, plan) if values else table


def _answers_of_counts(counts: Mapping[str, Counts], plan: Plan, class_name: str | None) -> AllAnswers:
    """Return the reports of all questions from counts by question, split by the classes that the counts hold.

    ``class_name``: what the classes are called; None: no name.
    """
    unknown = [name for name in counts if name not in plan.attributes]
    if unknown:
        raise ValueError(f"the plan has no question {unknown[0]!r}; it asks {', '.join(plan.attributes)}")
    questions = []
    for name, tallies in counts.items():
        each = plan.attributes[name]
        by_class = {label: tallies.select(label) for label in tallies.classes or ()}
        whole = tallies.together() if by_class else tallies
        questions.append(Answers(name, each.question or name, each.domain, each.channel, whole, by_class))
    people = max(int(each.whole.total + each.whole.missing) for each in questions)
    return AllAnswers(people, questions, class_name)


class _TableAnswers:
    """A reader of the reports of all questions from a table of report codes (whole numbers), split by the plan's class.
    """

    def __init__(self, plan: Plan, table: Any) -> None:
        self.plan, self.table = plan, table
        self.class_blur = class_blur(plan)
        self.classes, self.class_codes = self._read_classes()
        self.channels = channels_of(plan)
        columns = [column for name in self.channels for column in table.column_names if column in columns_of(name)]
        self.reports = Reports(table.select(columns), dict(self.channels)) if columns else None
        if self.classes and self.reports is not None:
            codes = np.where(self.class_codes < 0, len(self.classes), self.class_codes)
            self.reports = self.reports.aimed(codes, classes=[*self.classes, None])

    def _read_classes(self) -> tuple[tuple[Hashable, ...], NDArray[Any]]:
        """Return (the class labels, an array with the number of everybody's label, −1 where the class is missing).

        There are no labels, and −1 for everybody, where the plan has no class or its blur cannot be inverted.
        """
        target = self.plan.attributes.get(self.plan.target or "")
        nobody = np.full(self.table.num_rows, MISSING)
        if target is None or not isinstance(target.domain, Categories) or target.has_levels:
            return (), nobody
        if target.channel is None:
            return tuple(target.domain.labels), clear_codes(self.table[target.name], target.domain)
        reported = target.channel.level(None).outputs
        if self.class_blur is None or not isinstance(reported, Categories):
            return (), nobody
        return tuple(reported.labels), self.table[target.name + CODE_SUFFIX].to_numpy()

    def read(self) -> AllAnswers:
        """Read the table: the reports of all questions, with the number of people."""
        columns = [(each, name) for each in self.plan.attributes.values() for name in each.columns]
        questions = [self._answers_to(each, name) for each, name in columns]
        return AllAnswers(self.table.num_rows, questions, self.plan.target, self.class_blur)

    def _answers_to(self, each: Attribute, name: str) -> Answers:
        """Read the reports of one column of a question; numbers that are blurred together have several."""
        domain: Domain = each.domain if name == each.name else each.domain.columns[name]  # type: ignore[union-attr]
        channel = self.channels.get(name, each.channel)
        labels = self.classes if name != self.plan.target else ()
        if isinstance(domain, Items):
            whole, by_class = self._read_baskets(name, channel)
        elif channel is None:
            whole, by_class = self._count_clear(name, domain)
        else:
            whole, by_class = self._count_blurred(name)
        by_label = dict(zip(labels, by_class, strict=False))
        return Answers(name, each.question or name, domain, channel, whole, by_label)

    def _count_blurred(self, name: str) -> tuple[Any, list[Any]]:
        """Count the reports of a blurred column; return (counts of all people, a list with counts of each class)."""
        assert self.reports is not None
        counts = self.reports.of(name, by_class=bool(self.classes))
        return counts.together() if self.classes else counts, [counts.select(label) for label in self.classes]

    def _count_clear(self, name: str, domain: Domain) -> tuple[Any, list[Any]]:
        """Count the answers of a column sent as it is; return (counts of all people, a list with counts of each class).
        """
        column = self.table[name]
        codes = clear_codes(column, domain)
        size = len(domain.labels) if isinstance(domain, Categories) else clear_edges(domain).size - 1
        numbers = column.to_numpy() if isinstance(domain, Interval) else None
        groups = [np.ones(codes.size, bool), *(self.class_codes == code for code in range(len(self.classes)))]
        parts = [
            ClearCounts(
                np.bincount(codes[of & (codes >= 0)], minlength=size),
                int((codes[of] < 0).sum()),
                None if numbers is None else _mean_of_values(numbers[of & (codes >= 0)]),
            )
            for of in groups
        ]
        return parts[0], parts[1:]

    def _read_baskets(self, name: str, channel: Any) -> tuple[Any, list[Any]]:
        """Read the reported baskets of a question; return (those of all people, a list with those of each class)."""
        reports, present = baskets_in(self.table, name, channel)
        groups = [self.class_codes == code for code in range(len(self.classes))]
        by_class = [BasketCounts(reports[of[present]], int((of & ~present).sum())) for of in groups]
        return BasketCounts(reports, int((~present).sum())), by_class


def class_blur(plan: Plan) -> Floats | None:
    """Return the matrix that undoes the blur of the plan's class: the inverse of P[reported class, true class].

    None where the class is sent as it is, where people choose how strongly to blur it, or where there is no inverse.
    """
    channel = plan.attributes[plan.target].channel if plan.target else None
    if channel is None or channel.has_levels:
        return None
    table = channel.level(None).matrix()
    try:
        return left_inverse(table) if table.shape[0] == table.shape[1] else None
    except ValueError:
        return None


def channels_of(plan: Plan) -> dict[str, Mechanism]:
    """Return the channel of every blurred column by name, for counting its reports by code; baskets are left out.

    Numbers that are blurred together have a channel for each number.
    """
    channels: dict[str, Mechanism] = {}
    for name, each in plan.attributes.items():
        if isinstance(each.channel, CorrelatedNoise):
            channels |= {column: each.channel.marginal(column) for column in each.columns}
        elif each.channel is not None and not isinstance(each.domain, Items):
            channels[name] = each.channel
    return channels


def columns_of(name: str) -> tuple[str, str, str]:
    """Return three columns that a question may have in a table: reports, their codes, and the levels people chose."""
    return name, name + CODE_SUFFIX, name + LEVEL_SUFFIX


def clear_edges(domain: Any) -> Floats:
    """Return the edges of the intervals in which numbers that are sent as they are get counted, as a rising array."""
    return interval_edges(domain, intervals_for(domain))


def clear_codes(column: Any, domain: Domain) -> NDArray[Any]:
    """Return an array with the number of the category or interval of every answer sent as it is, −1 if missing."""
    if isinstance(domain, Categories):
        encoded = column.combine_chunks().dictionary_encode()
        codes = [domain.code_of(label) for label in encoded.dictionary.to_pylist()]
        rows = encoded.indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)
        return np.asarray(np.array([*codes, MISSING])[rows])
    numbers, edges = column.to_numpy().astype(float), clear_edges(domain)
    cell = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, edges.size - 2)
    return np.where(np.isnan(numbers), MISSING, cell)


def _mean_of_values(numbers: Floats) -> WithError | None:
    """Return the mean of numbers with its standard error; None for fewer than two numbers."""
    return mean_with_error(numbers.size, float(numbers.sum()), float(numbers @ numbers))


def baskets_in(table: Any, name: str, channel: SelectASize) -> tuple[BasketReports, NDArray[np.bool_]]:
    """Return (the reported baskets of one question, a mask over a table's rows with True where a row has a basket).

    ``table``: a PyArrow table, with the columns ``name``.size and ``name``.seed or ``name``.bitmap; ``name``: the
    question's name; ``channel``: its channel.
    """
    form = next((form for form in ("seed", "bitmap") if f"{name}.{form}" in table.column_names), None)
    if form is None:
        raise ValueError(f"column '{name}.seed' or '{name}.bitmap' is missing; reports of baskets have one of them")
    sizes = table[f"{name}.size"]
    present = sizes.is_valid().to_numpy()
    rows = table[f"{name}.{form}"].filter(present)
    return BasketReports.of_arrow(channel.items, sizes.filter(present), rows, form == "seed"), present
