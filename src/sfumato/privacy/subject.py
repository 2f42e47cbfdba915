"""The subject of an audit or of advice: a plan, or one mechanism as a plan of one attribute, read by attribute name."""

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
"""The attribute's name in the plan that is made up around a single mechanism; targets and findings use it."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A plan, or one mechanism, that is audited or advised on, sorted by how its attributes are sent."""

    name: str  # how reports call it: the plan's name, or the mechanism's repr
    plan: Plan  # made up around one mechanism where is_plan is false
    mechanisms: dict[str, Mechanism]  # by attribute, for every answer that is blurred by itself
    rows: dict[str, CorrelatedNoise]  # by attribute, for numbers that are blurred together
    clear: dict[str, str]  # the role of every attribute that is sent as it is
    is_plan: bool

    @cached_property
    def channels(self) -> dict[str, Channel]:
        """The channel of every attribute by name; of several levels (strengths of blur) that of the default one."""
        return {name: each.level(None) for name, each in self.mechanisms.items()}

    @cached_property
    def attribute_levels(self) -> dict[str, tuple[str, str | None]]:
        """(attribute, level) of every channel, keyed "age" or "age (cautious)" where people choose a level.

        The level is how strongly a person chose to blur, None where people choose none.
        """
        return {
            name if level is None else f"{name} ({level})": (name, level)
            for name, each in self.mechanisms.items()
            for level in each.levels
        }

    @cached_property
    def level_channels(self) -> dict[str, Channel]:
        """The channel of every attribute at every level (strength of blur that people choose).

        Its keys are those of ``attribute_levels``.
        """
        return {key: self.mechanisms[name].levels[level] for key, (name, level) in self.attribute_levels.items()}

    @property
    def domains(self) -> dict[str, Any]:
        """The domain of every blurred attribute, and of every column of numbers that are blurred together."""
        columns = {column: domain for noise in self.rows.values() for column, domain in noise.domains.items()}
        return {**{name: each.domain for name, each in self.mechanisms.items()}, **columns}

    @cached_property
    def baskets(self) -> dict[str, SelectASize]:
        """The channels of baskets by attribute, which need checks of their own: their table has 2^items columns."""
        return {name: channel for name, channel in self.channels.items() if isinstance(channel, SelectASize)}

    @cached_property
    def tables(self) -> dict[str, Channel]:
        """The channels by attribute whose chances can be written as a table, which are all but those of baskets."""
        return {name: channel for name, channel in self.channels.items() if name not in self.baskets}

    @cached_property
    def attributes_with_levels(self) -> list[str]:
        """The names of the attributes for which people choose a level (how strongly to blur)."""
        return [name for name, each in self.mechanisms.items() if each.has_levels]

    def total(self, priors: Mapping[str, Any], truth: Any = None) -> CombinedGuarantee:
        """Return the plan's guarantee for all reports of one person together.

        ``priors``: beliefs over true codes by attribute; ``truth``: a clean table, from which a plan's guarantee (not a
        single mechanism's) reads what its clear columns tell; None: without.
        """
        believed = {name: priors[name] for name in self.tables if name in priors}
        return self.plan.guarantee(believed, truth=truth if self.is_plan else None)

    def guarantees(self, total: CombinedGuarantee) -> dict[str, Any]:
        """Split a total guarantee into that of each attribute, or of each column of numbers blurred together, by name.

        Where people choose a level, the guarantee is that of the level that protects least.
        """
        columns = {column: part for name in self.rows for column, part in total.parts[name].parts.items()}  # type: ignore[union-attr]
        return {**{name: total.parts[name] for name in self.mechanisms}, **columns}

    def map_by_name(self, value: Any, argument: str, names: Mapping[str, Any]) -> dict[str, Any]:
        """Return an argument as a mapping from attribute names; an empty one for None.

        Of a plan ``value`` must be such a mapping, with keys out of ``names``; of a single mechanism it is the value
        itself and counts for all ``names``. ``argument`` is what errors call it.
        """
        if value is None:
            return {}
        if not self.is_plan:
            return dict.fromkeys(names, value)
        if not isinstance(value, Mapping):
            raise TypeError(f"{argument} of a plan is a mapping from attributes; give {{{next(iter(names))!r}: …}}")
        for name in value:
            if name not in names:
                raise ValueError(f"{argument} names {name!r}, which has no channel; there are {', '.join(names)}")
        return dict(value)

    def beliefs(self, prior: Any) -> dict[str, Floats]:
        """Return the argument ``prior=`` as a dict of arrays: the probabilities of true codes, by attribute."""
        by_name = self.map_by_name(prior, "prior", self.tables)
        return {name: read_prior(self.tables[name], belief) for name, belief in by_name.items()}

    def draw_population(self, reports: Any, truth: Any, people: int, rng: np.random.Generator) -> Population:
        """Draw the people whom the attacks are tried on, at most ``people`` of them.

        They are a sample of ``truth`` (a clean table), or drawn from what ``reports`` let anybody reconstruct, or
        spread evenly where both are None. Without a channel that has a table the population is empty.
        """
        if reports is not None and truth is not None:
            raise ValueError("both reports and truth are given; give one of the two")
        if not self.tables:
            return Population({}, {}, "")
        true_columns = None if truth is None else self._columns(truth)
        report_columns = None if reports is None else self._at_default_level(reports)
        return believed_people(self.tables, report_columns, true_columns, people, rng)

    def _columns(self, table: Any) -> dict[str, NDArray[Any]]:
        """Read the columns of blurred and clear attributes from a table, as a dict of arrays.

        An array in place of a table stands for a mechanism's only attribute.
        """
        if not self.is_plan and np.ndim(table) == 1 and not is_table(table):
            table = {ONLY: table}
        return read_columns(table, [*self.tables, *self.clear])

    def _at_default_level(self, reports: Any) -> dict[str, NDArray[Any]]:
        """Read the columns of reports.

        None stands for a report at another level (strength of blur) than the default one.
        """
        columns = self._columns(reports)
        for name in self.attributes_with_levels:
            level = read_columns(reports, [name + LEVEL_SUFFIX])[name + LEVEL_SUFFIX]
            at_default = columns[name].astype(object)
            at_default[level.astype(str) != self.mechanisms[name].default] = None
            columns[name] = at_default
        return columns


def subject_of(audited: Plan | Mechanism) -> Subject:
    """Return the subject of an audit or of advice: a plan, or a plan made around one mechanism.

    The plan of a mechanism has one attribute, called "answer".
    """
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
