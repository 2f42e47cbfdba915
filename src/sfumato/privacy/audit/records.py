"""The checks of ``plan.randomize`` as a whole: for tables, for one person's record, and with a device's key.

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

TOGETHER = "all answers"  # the attribute that these checks name
MOST_ROWS = 1 << 18
"""People in tables at most. By judgement: whole records take longer than columns; noise that attributes share shows in
a few thousand people, and each attribute alone is checked with all samples."""
PLACES = 1000
"""Values of a clear number that are asked, evenly over its domain; they only have to differ."""
ROWS_OF_PROGRAMS = 128
"""People in one table for another program. By judgement: whole people take it long, and the time is looked at between
tables."""


class LevelsProbe(Probe):
    """A probe (draws people, reads reports as quantiles) of an attribute for which people choose a level.

    A level is how strongly to blur. People have a random level and a random value: ``true`` has the level's number in
    its first column and the index of a tested code in its second.
    """

    def __init__(self, mechanism: Mechanism, samples: int, name: str) -> None:
        self.columns, self.names = (name,), [str(level) for level in mechanism.levels]
        self.probes = [ChannelProbe(channel, samples, name) for channel in mechanism.levels.values()]

    def draw_people(self, rng: np.random.Generator, count: int) -> Codes:
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

    def quantiles(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        (name,), quantiles = self.columns, np.empty((len(true), 1))
        column = np.asarray(reports[name])
        for level, probe in enumerate(self.probes):
            at = true[:, 0] == level
            if at.any():
                quantiles[at] = probe.quantiles(true[at, 1:], {name: column[at]}, rng)
        return quantiles


class ClearProbe(Probe):
    """A probe (draws people, reads reports as quantiles) of an attribute that is sent as it is.

    People have answers as for any other attribute, and quantiles have no column, because nothing is random.
    """

    def __init__(self, attribute: Attribute) -> None:
        self.columns, domain = (attribute.name,), attribute.domain
        if isinstance(domain, Interval):
            numbers = np.linspace(float(domain.low), float(domain.high), PLACES)
            self.answers: NDArray[Any] = np.rint(numbers).astype(int) if domain.integer else numbers
        else:
            assert isinstance(domain, Categories)
            self.answers = domain.decode(np.arange(domain.size))

    def draw_people(self, rng: np.random.Generator, count: int) -> Codes:
        return rng.integers(0, self.answers.size, (count, 1))

    def corners(self) -> Codes:
        return np.array([[0], [self.answers.size - 1]])

    def values(self, true: Codes) -> dict[str, NDArray[Any]]:
        return {self.columns[0]: self.answers[true[:, 0]]}

    def quantiles(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        return np.empty((len(true), 0))


class PlanProbe(Probe):
    """A probe of all attributes of a plan: it draws whole people, and reads their reports as quantiles for checks.

    A quantile is the report's rank, 0 to 1, among the stated chances given the true value, uniform if the
    implementation is sound; the columns of all attributes stand side by side. Of the attributes that a device draws,
    each person answers ``questions_each``: the quantile of one that was not asked is a random number, and a person who
    answered more or fewer gets quantiles of 0, which are not uniform, so that the checks fail.
    """

    def __init__(self, plan: Plan, samples: int) -> None:
        self.drawn, self.questions_each = [name in plan.drawn for name in plan.attributes], plan.questions_each
        self.parts = [_probe(each, samples) for each in plan.attributes.values()]
        self.columns = tuple(name for part in self.parts if not isinstance(part, ClearProbe) for name in part.columns)

    def draw_people(self, rng: np.random.Generator, count: int) -> Codes:
        return np.hstack([part.draw_people(rng, count) for part in self.parts])

    def corners(self) -> Codes:
        return np.hstack([part.corners() for part in self.parts])

    def _split(self, true: Codes) -> list[tuple[Probe, Codes]]:
        """Split rows of true codes into (an attribute's probe, its own columns of codes), a list."""
        ends = np.cumsum([part.corners().shape[1] for part in self.parts])[:-1]
        return list(zip(self.parts, np.split(true, ends, axis=1), strict=True))

    def values(self, true: Codes) -> dict[str, NDArray[Any]]:
        return {name: column for part, own in self._split(true) for name, column in part.values(own).items()}

    def quantiles(self, true: Codes, reports: Mapping[str, Any], rng: np.random.Generator) -> Floats:
        if self.questions_each is None:
            return np.hstack([part.quantiles(own, reports, rng) for part, own in self._split(true)])
        parts = zip(self._split(true), self.drawn, strict=True)
        answers = [_quantiles_of_answers(part, own, reports, rng, drawn) for (part, own), drawn in parts]
        count = np.sum([answered for (_, answered), drawn in zip(answers, self.drawn, strict=True) if drawn], axis=0)
        quantiles = np.hstack([part for part, _ in answers])
        quantiles[count != self.questions_each] = 0.0
        return quantiles


def _quantiles_of_answers(
    part: Probe, own: Codes, reports: Mapping[str, Any], rng: np.random.Generator, drawn: bool
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return (quantiles, mask of who answered) of one attribute; of people who were not asked the quantiles are random.

    ``part``: the attribute's probe; ``own``: its true codes; ``drawn``: whether devices draw who is asked.
    """
    columns = {name: as_array(reports[name]) for name in part.columns}
    answered = np.array([not is_missing(cell) for cell in columns[part.columns[0]].ravel().tolist()])
    if not drawn:
        return part.quantiles(own, reports, rng), answered
    of_answers = part.quantiles(own[answered], {name: each.ravel()[answered] for name, each in columns.items()}, rng)
    quantiles = rng.random((len(own), of_answers.shape[1]))
    quantiles[answered] = of_answers
    return quantiles, answered


def _probe(attribute: Attribute, samples: int) -> Probe:
    """Return the probe, which draws people and reads their reports, for the kind of channel that an attribute has."""
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


def _implementation_of(plan: Plan, randomize: Randomize, probe: Probe) -> Implementation:
    """Wrap a function like ``plan.randomize`` as an `Implementation` that takes tables, single records and keys."""
    of_record = randomize.randomize_record if isinstance(randomize, People) else randomize
    repeats = all(each.channel is None or each.channel.repeats for each in plan.attributes.values())
    keyed = keyed_by(randomize, randomize, of_record, "key")
    return Implementation(probe, randomize, of_record, keyed, questions=("",), repeats=repeats)


def check_records(plan: Plan, randomize: Randomize | None, alpha: float, effort: Effort) -> list[Check]:
    """Check whole records of a plan: tables, single people and people with a device's key; return the list of checks.

    ``randomize``: a function from tables to tables; None is the plan's own. ``alpha``: the chance at most that a sound
    one fails; ``effort``: how many reports are drawn and for how long. Skipped for plans with baskets, unless another
    program answers for whole people.
    """
    if not isinstance(randomize, People) and any(isinstance(each.domain, Items) for each in plan.attributes.values()):
        return [Check("records", TOGETHER, SKIPPED, "baskets are not randomized within a table; each by itself is.")]
    probe = PlanProbe(plan, min(effort.samples, MOST_ROWS))
    implementation = _implementation_of(plan, randomize or plan.randomize, probe)
    most, a_call, share = MOST_ROWS, ROWS_A_CALL, 0.1
    if isinstance(randomize, People):
        most, a_call, share = effort.samples // 16, ROWS_OF_PROGRAMS, 0.4
    return [
        check_batches(implementation, "records", TOGETHER, alpha / 3, effort, most, a_call, share),
        check_small_calls(implementation, "single records", TOGETHER, alpha / 3, effort),
        *check_key(implementation, "keyed records", TOGETHER, alpha / 3, effort, share),
    ]
