"""The checks of a plan as a whole: ``plan.randomize`` for tables, for one person's record, and with a device's key.

Every attribute may be sound by itself while the plan's own code is not: noise shared by attributes or records, levels
or columns mixed up, a key that does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import CorrelatedNoise, Mechanism, SelectASize
from sfumato.domain import Categories, Codes, Floats, Interval, Items, as_array, is_missing
from sfumato.plan import Attribute, Plan
from sfumato.privacy.audit.baskets import BasketProbe
from sfumato.privacy.audit.check import SKIPPED, Check, Randomize
from sfumato.privacy.audit.probe import ChannelProbe, Effort, Probe, RowProbe
from sfumato.privacy.audit.program import People
from sfumato.privacy.audit.scan import (
    ROWS_A_CALL,
    Implementation,
    check_batches,
    check_key,
    check_small_calls,
    keyed_by,
)
from sfumato.tables import LEVEL_SUFFIX

TOGETHER = "all answers"
MOST_ROWS = 1 << 18
PLACES = 1000
ROWS_OF_PROGRAMS = 128  # a call; whole people take a program long


class LevelsProbe(Probe):
    """An attribute whose level people choose: any level, any value."""

    def __init__(self, mechanism: Mechanism, samples: int, name: str) -> None:
        self.columns, self.names = (name,), [str(level) for level in mechanism.levels]
        self.probes = [ChannelProbe(channel, samples, name) for channel in mechanism.levels.values()]

    def people(self, rng: np.random.Generator, count: int) -> Codes:
        level = rng.integers(0, len(self.probes), count)
        sizes = np.array([probe.tested.size for probe in self.probes])
        return np.column_stack([level, rng.integers(0, sizes[level])])

    def corners(self) -> Codes:
        return np.array([[0, 0], [len(self.probes) - 1, self.probes[-1].tested.size - 1]])

    def values(self, true: Codes) -> dict[str, NDArray[Any]]:
        (name,) = self.columns
        kind = np.result_type(*(probe.answers.dtype for probe in self.probes))
        answers = np.empty(len(true), dtype=kind)
        for level, probe in enumerate(self.probes):
            answers[true[:, 0] == level] = probe.answers[true[true[:, 0] == level, 1]]
        return {name: answers, name + LEVEL_SUFFIX: np.array(self.names, dtype=object)[true[:, 0]]}

    def places(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        (name,), found = self.columns, np.empty((len(true), 1))
        column = np.asarray(reports[name])
        for level, probe in enumerate(self.probes):
            at = true[:, 0] == level
            if at.any():
                found[at] = probe.places(true[at, 1:], {name: column[at]}, rng)
        return found


class ClearProbe(Probe):
    """An attribute in the clear: an answer like any other, and no place."""

    def __init__(self, attribute: Attribute) -> None:
        self.columns, domain = (attribute.name,), attribute.domain
        if isinstance(domain, Interval):
            numbers = np.linspace(float(domain.low), float(domain.high), PLACES)
            self.answers: NDArray[Any] = np.rint(numbers).astype(int) if domain.integer else numbers
        else:
            assert isinstance(domain, Categories)
            self.answers = domain.decode(np.arange(domain.size))

    def people(self, rng: np.random.Generator, count: int) -> Codes:
        return rng.integers(0, self.answers.size, (count, 1))

    def corners(self) -> Codes:
        return np.array([[0], [self.answers.size - 1]])

    def values(self, true: Codes) -> dict[str, NDArray[Any]]:
        return {self.columns[0]: self.answers[true[:, 0]]}

    def places(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        return np.empty((len(true), 0))


class PlanProbe(Probe):
    """All attributes side by side. Of those that a device draws so many are there; the others lie anywhere."""

    def __init__(self, plan: Plan, samples: int) -> None:
        self.drawn, self.each = [name in plan.drawn for name in plan.attributes], plan.questions_each
        self.parts = [_probe(each, samples) for each in plan.attributes.values()]
        self.columns = tuple(name for part in self.parts if not isinstance(part, ClearProbe) for name in part.columns)

    def people(self, rng: np.random.Generator, count: int) -> Codes:
        return np.hstack([part.people(rng, count) for part in self.parts])

    def corners(self) -> Codes:
        return np.hstack([part.corners() for part in self.parts])

    def _split(self, true: Codes) -> list[tuple[Probe, Codes]]:
        ends = np.cumsum([part.corners().shape[1] for part in self.parts])[:-1]
        return list(zip(self.parts, np.split(true, ends, axis=1), strict=True))

    def values(self, true: Codes) -> dict[str, NDArray[Any]]:
        return {name: column for part, own in self._split(true) for name, column in part.values(own).items()}

    def places(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        if self.each is None:
            return np.hstack([part.places(own, reports, rng) for part, own in self._split(true)])
        parts = zip(self._split(true), self.drawn, strict=True)
        found = [_of_those_asked(part, own, reports, rng, drawn) for (part, own), drawn in parts]
        answered = np.sum([there for (_, there), drawn in zip(found, self.drawn, strict=True) if drawn], axis=0)
        places = np.hstack([each for each, _ in found])
        places[answered != self.each] = 0.0
        return places


def _of_those_asked(
    part: Probe, own: Codes, reports: Mapping[str, Any], rng: np.random.Generator, drawn: bool
) -> tuple[Floats, NDArray[np.bool_]]:
    """(places, who answered); of those who were not asked the places say nothing."""
    columns = {name: as_array(reports[name]) for name in part.columns}
    there = np.array([not is_missing(cell) for cell in columns[part.columns[0]].ravel().tolist()])
    if not drawn:
        return part.places(own, reports, rng), there
    known = part.places(own[there], {name: column.ravel()[there] for name, column in columns.items()}, rng)
    places = rng.random((len(own), known.shape[1]))
    places[there] = known
    return places, there


def _probe(attribute: Attribute, samples: int) -> Probe:
    channel = attribute.channel
    if channel is None:
        return ClearProbe(attribute)
    if isinstance(channel, CorrelatedNoise):
        return RowProbe(channel)
    if isinstance(channel, SelectASize):
        return BasketProbe(channel, channel.sizes[0], attribute.name, seeds=True)
    if channel.has_levels:
        return LevelsProbe(channel, samples, attribute.name)
    return ChannelProbe(channel.level(None), samples, attribute.name)


def _asked(plan: Plan, ask: Randomize, probe: Probe) -> Implementation:
    one = ask.one if isinstance(ask, People) else ask
    repeats = all(each.channel is None or each.channel.repeats for each in plan.attributes.values())
    return Implementation(probe, ask, one, keyed_by(ask, ask, one, "key"), questions=("",), repeats=repeats)


def check_records(plan: Plan, randomize: Randomize | None, alpha: float, effort: Effort) -> list[Check]:
    """Tables, single records and keyed records of the plan; ``randomize`` in place of the plan's own."""
    if not isinstance(randomize, People) and any(isinstance(each.domain, Items) for each in plan.attributes.values()):
        return [Check("records", TOGETHER, SKIPPED, "baskets are not randomized within a table; each by itself is.")]
    asked = _asked(plan, randomize or plan.randomize, PlanProbe(plan, min(effort.samples, MOST_ROWS)))
    many, share = (MOST_ROWS, ROWS_A_CALL), 0.1
    if isinstance(randomize, People):
        many, share = (effort.samples // 16, ROWS_OF_PROGRAMS), 0.4
    return [
        check_batches(asked, "records", TOGETHER, alpha / 3, effort, *many, share),
        check_small_calls(asked, "single records", TOGETHER, alpha / 3, effort),
        *check_key(asked, "keyed records", TOGETHER, alpha / 3, effort, share),
    ]
