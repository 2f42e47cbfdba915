"""Does a table of counts follow the law? Exact tests of many events, each over many true values at once.

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

EACH_REPORT = 1500
EACH_ENTRY = 4096
CELLS = 64
STEPS = 32
HALVINGS = 4
MODULUS = 16


@dataclass(frozen=True, eq=False)
class Tally:
    """Reports by code and tested true code, in two halves; ``strange`` holds some that the channel cannot send."""

    probe: ChannelProbe
    halves: tuple[Codes, Codes]
    strange: tuple[object, ...] = ()
    unknown: int = 0

    @property
    def counts(self) -> Codes:
        return np.asarray(self.halves[0] + self.halves[1])

    @property
    def total(self) -> int:
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class Events:
    """Hits, trials and the stated chance of events with the same kind of name; ``name(i)`` tells the i-th."""

    names: list[str]
    hits: Floats
    trials: Floats
    chance: Floats

    def told(self, place: int) -> str:
        hits, trials, chance = (float(numbers.ravel()[place]) for numbers in (self.hits, self.trials, self.chance))
        often = f"came {hits:,.0f} times in {trials:,.0f} where the law states {percent(chance, _digits(chance))}."
        return f"{self.names[place]} {often}"

    @property
    def p_values(self) -> Floats:
        """1 where the count is within one of its mean, where Hoeffding's bound does not speak."""
        far = np.abs(self.hits - self.trials * self.chance) >= 1
        return np.where(far, p_value(self.hits, self.trials, self.chance), 1.0).ravel()


def check_law(tally: Tally, attribute: str, alpha: float, name: str = "law", what: str = "") -> Check:
    """Half of α goes to events over all true values, where a small bias shows; half to all the others."""
    if tally.unknown:
        text = (
            f"{counted(tally.unknown, 'report')} cannot come from the channel, for example {shown(tally.strange[0])}; "
            "digits beyond the channel's steps can carry the true value's own."
        )
        return Check(name, attribute, FAILED, text, 0.0, {"strange": tally.unknown})
    everybody, apart = [over_everybody(tally)], list(_apart(tally))
    parts = [(events, alpha / 2) for events in (everybody, apart)]
    sizes = [sum(events.hits.size for events in found) for found, _ in parts]
    level = alpha / 2 / sizes[0]
    held = f"{sum(sizes):,} exact tests on {tally.total:,} reports{what} agree with the stated law."
    numbers = {"smallest_bias": smallest_excess(tally.total, 0.5, level / 2), "reports": tally.total}
    return _worst(name, attribute, parts, sizes, alpha, held, numbers)


def _worst(
    name: str, attribute: str, parts: list[tuple[list[Events], float]], sizes: list[int], alpha: float, held: str,
    numbers: dict[str, float | None],
) -> Check:
    """One check of p-values that have levels of their own, each weighted to the level of all."""
    every = [events for found, _ in parts for events in found]
    weighted = np.concatenate(
        [
            events.p_values * (alpha / sum(sizes)) / (share / size)
            for (found, share), size in zip(parts, sizes, strict=True)
            for events in found
        ]
    )
    ends = np.cumsum([events.hits.size for events in every])
    lowest = int(np.argmin(weighted))
    which = int(np.searchsorted(ends, lowest, side="right"))
    told = every[which].told(lowest - int(ends[which]) + every[which].hits.size)
    return exact_tests(name, attribute, weighted, told, alpha, held, numbers)


# --- events -------------------------------------------------------------------------------------------------------


def over_everybody(tally: Tally) -> Events:
    """{u ≤ t} for t = 1/32, 2/32, …, and {the answer itself}, over all true values together."""
    probe, people = tally.probe, tally.counts.sum(axis=0)
    hits, chance = _below(tally, np.arange(1, STEPS) / STEPS)
    names = [f"over all true values, reports below their place {t}/{STEPS}" for t in range(1, STEPS)]
    total, stated = hits.sum(axis=1), chance @ people
    if (probe.own >= 0).all():
        columns = np.arange(probe.tested.size)
        total = np.append(total, tally.counts[probe.own, columns].sum())
        stated = np.append(stated, probe.law[probe.own, columns] @ people)
        names.append("over all true values, the answer itself")
    everyone = np.full(total.size, people.sum(), dtype=float)
    return Events(names, total.astype(float), everyone, stated / people.sum())


def _below(tally: Tally, places: Floats) -> tuple[Floats, Floats]:
    """Hits and chance of {u ≤ t}, rounded down to whole reports: one row a t, one column a true code."""
    probe = tally.probe
    running, counts = probe.running, np.cumsum(probe.turned(tally.counts), axis=0)
    last = np.array([(running <= t).sum(axis=0) for t in places]) - 1
    found = [np.take_along_axis(table, np.maximum(last, 0), axis=0) for table in (counts, running)]
    return np.where(last < 0, 0.0, found[0]), np.where(last < 0, 0.0, found[1])


def _apart(tally: Tally) -> Iterator[Events]:
    """Events of parts of the domain."""
    yield _by_group(tally)
    yield _by_value(tally)
    if isinstance(tally.probe.channel.outputs, Grid):
        yield by_residue(tally)


def _by_group(tally: Tally) -> Events:
    """Every report, or cells of them and the two ends, for all true values, each half, quarter, …; what cannot be."""
    probe, law, counts = tally.probe, tally.probe.law, tally.counts
    size, people = probe.tested.size, counts.sum(axis=0)
    first = _first_of_runs(tally)
    groups = [part for h in range(HALVINGS + 1) for part in np.array_split(np.arange(size), min(1 << h, size))]
    member = np.zeros((size, len(groups)))
    for place, group in enumerate(groups):
        member[group, place] = 1
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


def _first_of_runs(tally: Tally) -> Codes:
    """Where runs of reports begin: every report where they are few, else runs of about equal chance."""
    law = tally.probe.law
    if len(law) <= EACH_REPORT or isinstance(tally.probe.channel.outputs, Categories):
        return np.arange(len(law))
    place = np.minimum((np.cumsum(law.mean(axis=1)) * CELLS).astype(int), CELLS - 1)
    return np.flatnonzero(np.diff(place, prepend=-1))


def _by_value(tally: Tally) -> Events:
    """For every single true value: every report where the table is small, else sixteenths of its law."""
    probe, people = tally.probe, tally.counts.sum(axis=0)
    true = [_group_name(probe, np.array([column])) for column in range(probe.tested.size)]
    if probe.law.size <= EACH_ENTRY:
        hits, chance = tally.counts.astype(float), probe.law
        events = [_run_name(probe, code, code) for code in range(len(probe.law))]
    else:
        below = _below(tally, np.arange(1, MODULUS) / MODULUS)
        edges = zip(below, (people, np.ones(len(people))), strict=True)
        hits, chance = (np.diff(np.vstack([part, last]), axis=0, prepend=0) for part, last in edges)
        events = [f"reports in part {part + 1} of {MODULUS} of its law" for part in range(MODULUS)]
    names = [f"for {who}, {event}" for event in events for who in true]
    return Events(names, hits, np.broadcast_to(people, hits.shape).astype(float), np.clip(chance, 0.0, 1.0))


def by_residue(tally: Tally) -> Events:
    """Report codes modulo 2, 4, 8, 16 for true codes modulo the same: low bits that noise should have wiped out."""
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
    low, high = (shown(value) for value in probe.channel.outputs.decode(np.array([first, last])))
    return f"the report {low}" if first == last else f"reports from {low} to {high}"


def _group_name(probe: ChannelProbe, columns: Codes) -> str:
    low, high = (shown(value) for value in probe.answers[columns[[0, -1]]])
    return f"the true value {low}" if columns.size == 1 else f"true values from {low} to {high}"


def _digits(chance: float) -> int:
    """Enough digits that a small chance is not told as none."""
    return 3 if chance <= 0 or chance > 1e-3 else int(1 - np.log10(chance))

