"""The reports of a table, question by question: in all, by class and by level, as counts or as baskets."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Mechanism
from sfumato.channels.additive.correlated_noise import CorrelatedNoise
from sfumato.channels.baskets import BasketReports, SelectASize
from sfumato.collector.picture.telling import mean_with_error
from sfumato.counts import Counts, Reports
from sfumato.domain import MISSING, Categories, Domain, Floats, Interval, Items
from sfumato.plan import Plan
from sfumato.reconstruction import intervals_for
from sfumato.reconstruction.cells import interval_edges
from sfumato.reconstruction.estimate import WithError
from sfumato.reconstruction.methods import left_inverse
from sfumato.tables import CODE_SUFFIX, LEVEL_SUFFIX


@dataclass(frozen=True, eq=False)
class ClearCounts:
    """Answers in the clear: how many in each category or interval, and the mean of numbers."""

    histogram: NDArray[Any]
    missing: int
    mean: WithError | None = None

    @property
    def total(self) -> int:
        return int(self.histogram.sum())


@dataclass(frozen=True, eq=False)
class BasketCounts:
    """Baskets as they were reported."""

    reports: BasketReports
    missing: int

    @property
    def total(self) -> int:
        return len(self.reports)


@dataclass(frozen=True, eq=False)
class Asked:
    """One question with its answers: in all, by class and by level. A question of several numbers is one for each."""

    name: str
    question: str
    domain: Domain
    channel: Mechanism | None
    whole: Any
    by_class: Mapping[Hashable, Any]
    by_level: Mapping[str, Any]


class People:
    """The reports of a table, question by question."""

    def __init__(self, plan: Plan, table: Any) -> None:
        self.plan, self.table = plan, table
        self.classes, self.class_codes = self._classes()
        self.channels = channels_of(plan)
        columns = [column for name in self.channels for column in table.column_names if column in columns_of(name)]
        self.reports = Reports(table.select(columns), dict(self.channels)) if columns else None
        if self.classes and self.reports is not None:
            codes = np.where(self.class_codes < 0, len(self.classes), self.class_codes)
            self.reports = self.reports.aimed(codes, classes=[*self.classes, None])

    def _classes(self) -> tuple[tuple[Hashable, ...], NDArray[Any]]:
        """The classes, and everybody's code (−1: not given); none where there is no class that can be told."""
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

    @cached_property
    def class_blur(self) -> Floats | None:
        """The inverse of the table through which the class itself went; None where it is clear, or has none."""
        channel = self.plan.attributes[self.plan.target].channel if self.plan.target else None
        if channel is None or channel.has_levels:
            return None
        table = channel.level(None).matrix()
        try:
            return left_inverse(table) if table.shape[0] == table.shape[1] else None
        except ValueError:
            return None

    def questions(self) -> list[Asked]:
        """All questions in the plan's order."""
        found = []
        for each in self.plan.attributes.values():
            for column in each.columns:
                domain = each.domain if column == each.name else each.domain.columns[column]  # type: ignore[union-attr]
                found.append(self._asked(column, each.question, domain, self.channels.get(column, each.channel)))
        return found

    def _asked(self, name: str, question: str, domain: Domain, channel: Mechanism | None) -> Asked:
        grouped = self.classes if name != self.plan.target else ()
        if isinstance(domain, Items):
            whole, by_class = self._baskets(name, channel)
        elif channel is None:
            whole, by_class = self._clear(name, domain)
        else:
            whole, by_class = self._blurred(name)
        chosen = channel.levels if channel is not None and channel.has_levels else ()
        by_level = {str(level): Counts({level: whole.levels[level]}) for level in chosen}
        own = dict(zip(grouped, by_class, strict=False))
        return Asked(name, question or name, domain, channel, whole, own, by_level)

    def _blurred(self, name: str) -> tuple[Any, list[Any]]:
        assert self.reports is not None
        found = self.reports.of(name, by_class=bool(self.classes))
        return found.together() if self.classes else found, [found.select(label) for label in self.classes]

    def _clear(self, name: str, domain: Domain) -> tuple[Any, list[Any]]:
        column = self.table[name]
        codes = clear_codes(column, domain)
        size = len(domain.labels) if isinstance(domain, Categories) else clear_edges(domain).size - 1
        numbers = column.to_numpy() if isinstance(domain, Interval) else None
        groups = [np.ones(codes.size, bool), *(self.class_codes == place for place in range(len(self.classes)))]
        parts = [
            ClearCounts(
                np.bincount(codes[of & (codes >= 0)], minlength=size),
                int((codes[of] < 0).sum()),
                None if numbers is None else mean_of_values(numbers[of & (codes >= 0)]),
            )
            for of in groups
        ]
        return parts[0], parts[1:]

    def _baskets(self, name: str, channel: Any) -> tuple[Any, list[Any]]:
        reports, there = baskets_in(self.table, name, channel)
        groups = [self.class_codes == place for place in range(len(self.classes))]
        by_class = [BasketCounts(reports[of[there]], int((of & ~there).sum())) for of in groups]
        return BasketCounts(reports, int((~there).sum())), by_class


def channels_of(plan: Plan) -> dict[str, Mechanism]:
    """The channel of every blurred column that is counted by codes."""
    found: dict[str, Mechanism] = {}
    for name, each in plan.attributes.items():
        if isinstance(each.channel, CorrelatedNoise):
            found |= {column: each.channel.marginal(column) for column in each.columns}
        elif each.channel is not None and not isinstance(each.domain, Items):
            found[name] = each.channel
    return found


def columns_of(name: str) -> tuple[str, str, str]:
    return name, name + CODE_SUFFIX, name + LEVEL_SUFFIX


def clear_edges(domain: Any) -> Floats:
    return interval_edges(domain, intervals_for(domain))


def clear_codes(column: Any, domain: Domain) -> NDArray[Any]:
    """The place of every answer in the clear among the categories or intervals, −1 where there is none."""
    if isinstance(domain, Categories):
        known = column.combine_chunks().dictionary_encode()
        places = [domain.code_of(label) for label in known.dictionary.to_pylist()]
        held = known.indices.fill_null(len(places)).to_numpy(zero_copy_only=False)
        return np.asarray(np.array([*places, MISSING])[held])
    numbers, edges = column.to_numpy().astype(float), clear_edges(domain)
    place = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, edges.size - 2)
    return np.where(np.isnan(numbers), MISSING, place)


def mean_of_values(numbers: Floats) -> WithError | None:
    return mean_with_error(numbers.size, float(numbers.sum()), float(numbers @ numbers))


def baskets_in(table: Any, name: str, channel: SelectASize) -> tuple[BasketReports, NDArray[np.bool_]]:
    """The baskets that were reported, and which rows of the table they are."""
    form = next(form for form in ("seed", "bitmap") if f"{name}.{form}" in table.column_names)
    sizes = table[f"{name}.size"]
    there = sizes.is_valid().to_numpy()
    rows = table[f"{name}.{form}"].filter(there)
    return BasketReports.of_arrow(channel.items, sizes.filter(there), rows, form == "seed"), there
