"""What is audited or advised on: a plan, or one mechanism, as channels by name; and what no channel covers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel, CorrelatedNoise, Mechanism, SelectASize
from sfumato.domain import Floats
from sfumato.guarantee import CombinedGuarantee
from sfumato.guarantee.statement import read_prior
from sfumato.plan import Attribute, Plan
from sfumato.privacy.population import Population, believed_people
from sfumato.tables import LEVEL_SUFFIX, is_table, read_columns

ONLY = "answer"


@dataclass(frozen=True, eq=False)
class Subject:
    """``mechanisms``: one an attribute; ``rows``: those that blur several numbers at once; ``clear``: the role of every
    attribute that is sent as it is. ``plan`` is made up around one mechanism where ``is_plan`` is false."""

    name: str
    plan: Plan
    mechanisms: dict[str, Mechanism]
    rows: dict[str, CorrelatedNoise]
    clear: dict[str, str]
    is_plan: bool

    @cached_property
    def channels(self) -> dict[str, Channel]:
        """One an attribute: where people choose, that of the default level."""
        return {name: each.level(None) for name, each in self.mechanisms.items()}

    @cached_property
    def asked(self) -> dict[str, tuple[str, str | None]]:
        """The attribute and the level of every channel that there is, under the name of both."""
        return {
            name if level is None else f"{name} ({level})": (name, level)
            for name, each in self.mechanisms.items()
            for level in each.levels
        }

    @cached_property
    def checked(self) -> dict[str, Channel]:
        """Every channel that there is, under the name of its attribute and its level."""
        return {key: self.mechanisms[name].levels[level] for key, (name, level) in self.asked.items()}

    @property
    def domains(self) -> dict[str, Any]:
        """What is blurred, and what may be answered there; of a row, its columns."""
        columns = {column: domain for noise in self.rows.values() for column, domain in noise.domains.items()}
        return {**{name: each.domain for name, each in self.mechanisms.items()}, **columns}

    @cached_property
    def baskets(self) -> dict[str, SelectASize]:
        """The channels of itemsets, whose table is too large to write down."""
        return {name: channel for name, channel in self.channels.items() if isinstance(channel, SelectASize)}

    @cached_property
    def tables(self) -> dict[str, Channel]:
        """The channels whose table can be written down."""
        return {name: channel for name, channel in self.channels.items() if name not in self.baskets}

    @cached_property
    def leveled(self) -> list[str]:
        """The attributes whose level people choose."""
        return [name for name, each in self.mechanisms.items() if each.has_levels]

    def total(self, priors: Mapping[str, Any], truth: Any = None) -> CombinedGuarantee:
        """What everything states that one person sends."""
        believed = {name: priors[name] for name in self.tables if name in priors}
        return self.plan.guarantee(believed, truth=truth if self.is_plan else None)

    def guarantees(self, total: CombinedGuarantee) -> dict[str, Any]:
        """What each attribute states, or each column of a row; of a choice, the level that protects least."""
        columns = {column: part for name in self.rows for column, part in total.parts[name].parts.items()}  # type: ignore[union-attr]
        return {**{name: total.parts[name] for name in self.mechanisms}, **columns}

    def by_name(self, given: Any, what: str, known: Mapping[str, Any]) -> dict[str, Any]:
        """A mapping from names for a plan; for one mechanism the thing itself, which then counts for all names."""
        if given is None:
            return {}
        if not self.is_plan:
            return dict.fromkeys(known, given)
        if not isinstance(given, Mapping):
            raise TypeError(f"{what} of a plan is a mapping from attributes; give {{{next(iter(known))!r}: …}}")
        for name in given:
            if name not in known:
                raise ValueError(f"{what} names {name!r}, which has no channel; there are {', '.join(known)}")
        return dict(given)

    def beliefs(self, prior: Any) -> dict[str, Floats]:
        """Beliefs over true codes, by attribute."""
        given = self.by_name(prior, "prior", self.tables)
        return {name: read_prior(self.tables[name], belief) for name, belief in given.items()}

    def people(self, reports: Any, truth: Any, people: int, rng: np.random.Generator) -> Population:
        """People to attack, from reports, from the true values, or spread evenly."""
        if reports is not None and truth is not None:
            raise ValueError("both reports and truth are given; give one of the two")
        if not self.tables:
            return Population({}, {}, "")
        known = None if truth is None else self._columns(truth)
        seen = None if reports is None else self._at_default_level(reports)
        return believed_people(self.tables, seen, known, people, rng)

    def _columns(self, table: Any) -> dict[str, NDArray[Any]]:
        """The columns that an attack reads; a bare column stands for the one attribute of a mechanism."""
        if not self.is_plan and np.ndim(table) == 1 and not is_table(table):
            table = {ONLY: table}
        return read_columns(table, [*self.tables, *self.clear])

    def _at_default_level(self, reports: Any) -> dict[str, NDArray[Any]]:
        """Where people choose a level, only reports at the default one count."""
        found = self._columns(reports)
        for name in self.leveled:
            chosen = read_columns(reports, [name + LEVEL_SUFFIX])[name + LEVEL_SUFFIX]
            at_default = found[name].astype(object)
            at_default[chosen.astype(str) != self.mechanisms[name].default] = None
            found[name] = at_default
        return found


def subject_of(audited: Plan | Mechanism) -> Subject:
    if isinstance(audited, Plan):
        name, plan = audited.name, audited
    elif isinstance(audited, Mechanism):
        name, plan = repr(audited), Plan(audited.kind, {ONLY: Attribute(ONLY, audited.domain, audited)})
    else:
        raise TypeError(f"{type(audited).__name__} cannot be audited or advised on; give a Plan or a channel")
    blurred = {key: each.channel for key, each in plan.attributes.items() if each.channel is not None}
    if not blurred:
        raise ValueError("the plan blurs nothing; give at least one attribute a channel")
    rows = {key: each for key, each in blurred.items() if isinstance(each, CorrelatedNoise)}
    single = {key: each for key, each in blurred.items() if key not in rows}
    clear = {key: str(each.role) for key, each in plan.attributes.items() if each.channel is None}
    return Subject(name, plan, single, rows, clear, is_plan=plan is audited)
