"""The check that a table of counts follows the law: exact tests of many events, each over many true values at once.

N[y, x] reports y came of n[x] people with the true code x. For any event E that may depend on x and any group G of true
codes the number of hits is a sum of independent trials with chances P[E|x], and its tails are at most those of

    Binomial(Σ_{x∈G} n[x], p̄),   p̄ = Σ_{x∈G} n[x]·P[E|x] / Σ_{x∈G} n[x]     (Hoeffding 1956, beyond one from the mean),

so that rare answers and uneven groups need no approximation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.domain import Categories, Codes, Floats, Grid
from sfumato.privacy.audit.check import FAILED, Check, exact_tests, p_value, smallest_excess
from sfumato.privacy.audit.probe import ChannelProbe
from sfumato.prose import counted, percent, shown

# How finely events are cut. All by judgement: bench/audit.py finds every broken implementation with these, and as α is
# divided by the number of tests, finer events find smaller faults in one place but ask more of every test.
EACH_REPORT = 1500
"""Up to so many report codes each one is an event of its own; beyond, reports are gathered in CELLS runs."""
EACH_ENTRY = 4096
"""Up to so many entries of the table each one is an event; beyond, reports of a true value are cut by its law."""
CELLS = 64
"""Runs of reports, of equal probability over all true values, into which more reports than EACH_REPORT are gathered."""
STEPS = 32
"""Events {u ≤ t/STEPS} over all true values."""
HALVINGS = 4
"""How often the true values are halved into groups: 1, 2, 4, 8 and 16 groups."""
MODULUS = 16
"""The largest power of 2 by which codes are reduced, which finds up to four low bits that survive; and the parts into
which the law of a single true value is cut."""


@dataclass(frozen=True, eq=False)
class ReportTally:
    """The counts of reports by report code and tested true code, in two halves of the reports."""

    probe: ChannelProbe
    halves: tuple[Codes, Codes]  # tables of counts: a row a report code, a column a tested true code
    strange: tuple[object, ...] = ()  # up to three reports that the channel cannot send
    unknown: int = 0  # how many such reports came

    @property
    def counts(self) -> Codes:
        """The counts of both halves together."""
        return np.asarray(self.halves[0] + self.halves[1])

    @property
    def total(self) -> int:
        """The number of reports that the channel can send."""
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class Events:
    """Events of reports (sets of reports) with their hits, trials and stated chances, in arrays of one shape."""

    names: list[str]  # in the order of the flattened arrays
    hits: Floats
    trials: Floats
    chance: Floats

    def describe(self, index: int) -> str:
        """Write a sentence with the hits and the stated chance of one event, by its index in the flattened arrays."""
        hits, trials, chance = (float(numbers.ravel()[index]) for numbers in (self.hits, self.trials, self.chance))
        often = f"came {hits:,.0f} times in {trials:,.0f} where the law states {percent(chance, _digits(chance))}."
        return f"{self.names[index]} {often}"

    @property
    def p_values(self) -> Floats:
        """Two-sided p-values of the events, as a flat array; 1 where hits are within one of their mean.

        Hoeffding's inequality bounds nothing there.
        """
        far = np.abs(self.hits - self.trials * self.chance) >= 1
        return np.where(far, p_value(self.hits, self.trials, self.chance), 1.0).ravel()


def check_law(tally: ReportTally, attribute: str, alpha: float, name: str = "law", what: str = "") -> Check:
    """Check that counted reports have the stated chances given their answers, by exact tests of many sets of reports.

    Half of ``alpha`` goes to events over all true values, where a small bias shows; half to all the others. ``name``:
    of the check; ``what``: words after the number of reports, such as how they were drawn. Any report that the channel
    cannot send fails the check.
    """
    if tally.unknown:
        text = (
            f"{counted(tally.unknown, 'report')} cannot come from the channel, for example {shown(tally.strange[0])}; "
            "digits beyond the channel's steps can carry the true value's own."
        )
        return Check(name, attribute, FAILED, text, 0.0, {"strange": tally.unknown})
    overall, partial = [overall_events(tally)], list(_partial_events(tally))
    parts = [(batches, alpha / 2) for batches in (overall, partial)]
    sizes = [sum(events.hits.size for events in batches) for batches, _ in parts]
    level = alpha / 2 / sizes[0]
    success = f"{sum(sizes):,} exact tests on {tally.total:,} reports{what} agree with the stated law."
    numbers = {"smallest_bias": smallest_excess(tally.total, 0.5, level / 2), "reports": tally.total}
    return _judge_events(name, attribute, parts, sizes, alpha, success, numbers)


def _judge_events(
    name: str, attribute: str, parts: list[tuple[list[Events], float]], sizes: list[int], alpha: float, success: str,
    numbers: dict[str, float | None],
) -> Check:
    """Return one check of several parts of events (sets of reports), each part with its share of α.

    ``parts``: (events, share of α); ``sizes``: the number of tests of each part; ``success`` and ``numbers``: the
    sentence and figures of the check. A part's p-values are multiplied by (α/all tests)/(share/its tests), so that one
    level decides about all of them.
    """
    every = [events for batches, _ in parts for events in batches]
    weighted = np.concatenate(
        [
            events.p_values * (alpha / sum(sizes)) / (share / size)
            for (batches, share), size in zip(parts, sizes, strict=True)
            for events in batches
        ]
    )
    ends = np.cumsum([events.hits.size for events in every])
    lowest = int(np.argmin(weighted))
    batch = int(np.searchsorted(ends, lowest, side="right"))
    failure = every[batch].describe(lowest - int(ends[batch]) + every[batch].hits.size)
    return exact_tests(name, attribute, weighted, failure, alpha, success, numbers)


# --- events -------------------------------------------------------------------------------------------------------


def overall_events(tally: ReportTally) -> Events:
    """Count, over all true values together, reports below quantiles of their law, and reports equal to the answer.

        {u ≤ t} for t = 1/32, 2/32, …,   u the report's quantile among the stated chances given the true value
    """
    probe, people = tally.probe, tally.counts.sum(axis=0)
    hits, chance = _count_below(tally, np.arange(1, STEPS) / STEPS)
    names = [f"over all true values, reports below quantile {t}/{STEPS} of their law" for t in range(1, STEPS)]
    total, stated = hits.sum(axis=1), chance @ people
    if (probe.own >= 0).all():
        columns = np.arange(probe.tested.size)
        total = np.append(total, tally.counts[probe.own, columns].sum())
        stated = np.append(stated, probe.law[probe.own, columns] @ people)
        names.append("over all true values, the answer itself")
    everyone = np.full(total.size, people.sum(), dtype=float)
    return Events(names, total.astype(float), everyone, stated / people.sum())


def _count_below(tally: ReportTally, thresholds: Floats) -> tuple[Floats, Floats]:
    """Return (hits, chance) of reports whose running sum of chances F[y | x] is at most t, as two tables.

    A row is a threshold t, a column a true code x.
    """
    probe = tally.probe
    running, counts = probe.running, np.cumsum(probe.turned(tally.counts), axis=0)
    last = np.array([(running <= t).sum(axis=0) for t in thresholds]) - 1
    hits, chance = (np.take_along_axis(table, np.maximum(last, 0), axis=0) for table in (counts, running))
    return np.where(last < 0, 0.0, hits), np.where(last < 0, 0.0, chance)


def _partial_events(tally: ReportTally) -> Iterator[Events]:
    """Yield the events to test for groups of true values, for single ones, and for codes modulo powers of 2."""
    yield _group_events(tally)
    yield _value_events(tally)
    if isinstance(tally.probe.channel.outputs, Grid):
        yield residue_events(tally)


def _group_events(tally: ReportTally) -> Events:
    """Count every report (or runs of reports) for groups of true values: all, each half of them, each quarter, ….

    The two ends are counted too. The last event of every group is a report that the law rules out.
    """
    probe, law, counts = tally.probe, tally.probe.law, tally.counts
    size, people = probe.tested.size, counts.sum(axis=0)
    first = _first_of_runs(tally)
    groups = [part for h in range(HALVINGS + 1) for part in np.array_split(np.arange(size), min(1 << h, size))]
    member = np.zeros((size, len(groups)))
    for column, group in enumerate(groups):
        member[group, column] = 1
    impossible = law <= 0
    ends = [[0], [len(law) - 1]]
    hits, stated = (
        np.vstack([np.add.reduceat(table, first, axis=0), table[np.ravel(ends)], (table * impossible).sum(axis=0)])
        for table in (counts, law * people)
    )
    runs = [*zip(first, np.append(first[1:], len(law)) - 1, strict=True), *((code, code) for (code,) in ends)]
    events = [*(_run_name(probe, *run) for run in runs), "reports that the law rules out"]
    true = [_group_name(probe, group) for group in groups]
    trials = np.broadcast_to(people @ member, (len(events), len(groups)))
    names = [f"for {who}, {event}" for event in events for who in true]
    return Events(names, hits @ member, trials, stated @ member / np.maximum(trials, 1))


def _first_of_runs(tally: ReportTally) -> Codes:
    """Return an array of the report codes at which runs begin: every code, or of more than EACH_REPORT likely runs.

    Such runs have about equal chances over all true values.
    """
    law = tally.probe.law
    if len(law) <= EACH_REPORT or isinstance(tally.probe.channel.outputs, Categories):
        return np.arange(len(law))
    run = np.minimum((np.cumsum(law.mean(axis=1)) * CELLS).astype(int), CELLS - 1)
    return np.flatnonzero(np.diff(run, prepend=-1))


def _value_events(tally: ReportTally) -> Events:
    """Count, for every single true value, how often each report came; the counts are tested against stated chances.

    Where the table is large, sixteenths of the value's law are counted in place of reports.
    """
    probe, people = tally.probe, tally.counts.sum(axis=0)
    true = [_group_name(probe, np.array([column])) for column in range(probe.tested.size)]
    if probe.law.size <= EACH_ENTRY:
        hits, chance = tally.counts.astype(float), probe.law
        events = [_run_name(probe, code, code) for code in range(len(probe.law))]
    else:
        below = _count_below(tally, np.arange(1, MODULUS) / MODULUS)
        edges = zip(below, (people, np.ones(len(people))), strict=True)
        hits, chance = (np.diff(np.vstack([part, last]), axis=0, prepend=0) for part, last in edges)
        events = [f"reports in part {part + 1} of {MODULUS} of its law" for part in range(MODULUS)]
    names = [f"for {who}, {event}" for event in events for who in true]
    return Events(names, hits, np.broadcast_to(people, hits.shape).astype(float), np.clip(chance, 0.0, 1.0))


def residue_events(tally: ReportTally) -> Events:
    """Count report codes modulo 2, 4, 8, 16 by true codes modulo the same number, which finds low bits that survive."""
    probe, counts = tally.probe, tally.counts
    stated = probe.law * counts.sum(axis=0)
    of_report, of_true = np.arange(len(counts)) % MODULUS, probe.tested % MODULUS
    names, numbers = [], []
    for modulus in (2, 4, 8, MODULUS):
        pairs = (of_report % modulus)[:, None] * modulus + of_true % modulus
        hits, expected = (np.bincount(pairs.ravel(), table.ravel(), modulus**2) for table in (counts, stated))
        trials = np.tile(np.bincount(of_true % modulus, counts.sum(axis=0), modulus), modulus)
        numbers.append((hits, trials, np.divide(expected, trials, out=np.zeros_like(expected), where=trials > 0)))
        names += [
            f"for true values whose place is {true} modulo {modulus}, reports whose place is {report}"
            for report in range(modulus)
            for true in range(modulus)
        ]
    return Events(names, *(np.concatenate(part) for part in zip(*numbers, strict=True)))


# --- names --------------------------------------------------------------------------------------------------------


def _run_name(probe: ChannelProbe, first: int, last: int) -> str:
    """Write the reports from one code to another in words: "the report 3", "reports from 3 to 7"."""
    low, high = (shown(value) for value in probe.channel.outputs.decode(np.array([first, last])))
    return f"the report {low}" if first == last else f"reports from {low} to {high}"


def _group_name(probe: ChannelProbe, columns: Codes) -> str:
    """Write a group of tested true values in words: "the true value 3", "true values from 3 to 7".

    ``columns``: their indices among the tested codes.
    """
    low, high = (shown(value) for value in probe.answers[columns[[0, -1]]])
    return f"the true value {low}" if columns.size == 1 else f"true values from {low} to {high}"


def _digits(chance: float) -> int:
    """Return how many decimals of a percentage show a small chance as more than 0."""
    return 3 if chance <= 0 or chance > 1e-3 else int(1 - np.log10(chance))

