"""Does a channel with a table keep to it? Three checks: the law itself, a lower bound on γ, and low digits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels import Channel
from sfumato.domain import Categories, Codes, Floats, Grid, Interval, as_numbers
from sfumato.privacy.audit.check import (
    FAILED,
    SKIPPED,
    Check,
    Randomize,
    Samples,
    known_codes,
    lower_bound,
    outcome,
    p_value,
    upper_bound,
)
from sfumato.prose import counted, in_words, percent, shown

FEW_REPORTS = 160
CELLS = 64
MODULI = (2, 4, 8, 16)
GROUPS = 96
MOST_VALUES = 16
PEOPLE = 4000
SAME = 1e-6


# --- the law ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Event:
    """A set of report codes, by name."""

    name: str
    member: Codes


def check_law(samples: Samples, columns: Floats, attribute: str, alpha: float) -> Check:
    """Exact binomial tests of every event at every tested value; ``columns`` holds the law of each.

    Events are single reports where they are few; else cells of about equal probability, the two end reports, and
    residues (report code modulo 2, 4, 8, 16), which catch low-order bits of the true value that noise should have wiped
    out. The level is divided by the number of events, so that together they raise a false alarm with chance α or less.
    """
    if samples.strange:
        return _strange(samples, attribute)
    smallest, worst, tests = np.inf, "", 0
    for code, reports, column in zip(samples.tested, samples.codes, columns.T, strict=True):
        events, counts = _events(samples.channel, column), np.bincount(reports, minlength=column.size)
        seen = np.array([counts[event.member].sum() for event in events], dtype=float)
        stated = np.array([column[event.member].sum() for event in events])
        values = p_value(seen, reports.size, stated)
        tests += values.size
        place = int(np.argmin(values))
        if values[place] < smallest:
            true = shown(samples.channel.inputs.decode(np.array([code]))[0])
            told = f"for the true value {true}, {events[place].name} came {seen[place]:,.0f} times in {reports.size:,}"
            smallest, worst = float(values[place]), f"{told} where the law states {percent(stated[place], 3)}."
    level = alpha / max(tests, 1)
    total = sum(codes.size for codes in samples.codes)
    text = worst if smallest < level else f"{tests} exact tests on {total:,} reports agree with the stated law."
    numbers = {"tests": tests, "smallest_p": smallest, "level": level}
    return Check("law", attribute, outcome(smallest >= level), text, alpha, numbers)


def _strange(samples: Samples, attribute: str) -> Check:
    """A report that the channel cannot have sent breaks the law by itself."""
    text = (
        f"{counted(len(samples.strange), 'report')} cannot come from the channel, for example "
        f"{shown(samples.strange[0])}; digits beyond the channel's steps can carry the true value's own."
    )
    return Check("law", attribute, FAILED, text, 0.0, {"strange": len(samples.strange)})


def _events(channel: Channel, column: Floats) -> list[Event]:
    size, last = column.size, column.size - 1
    if size <= FEW_REPORTS or isinstance(channel.outputs, Categories):
        members = [np.array([code]) for code in np.flatnonzero(column > 0)]
    else:
        place = np.minimum((np.cumsum(column) * CELLS).astype(int), CELLS - 1)
        cells = np.split(np.arange(size), np.flatnonzero(np.diff(place)) + 1)
        members = [np.array([0]), np.array([last]), *cells]
    found = [Event(_run_name(channel, member), member) for member in members]
    impossible = np.flatnonzero(column <= 0)
    found += [Event("reports that the law rules out", impossible)] if impossible.size else []
    if isinstance(channel.outputs, Grid):
        found += [
            Event(f"reports whose place is {residue} modulo {modulus}", np.arange(residue, size, modulus))
            for modulus in MODULI
            for residue in range(min(modulus, size))
        ]
    return found


def _run_name(channel: Channel, member: Codes) -> str:
    first, last = (shown(value) for value in channel.outputs.decode(member[[0, -1]]))
    return f"the report {first}" if member.size == 1 else f"reports from {first} to {last}"


# --- γ ------------------------------------------------------------------------------------------------------------


def check_amplification(samples: Samples, stated: float, attribute: str, alpha: float) -> Check:
    """The bound against the stated γ; an infinite γ cannot be broken, and the bound is then only told."""
    bound, pair = least_gamma(samples, alpha)
    values = " and ".join(shown(value) for value in samples.channel.inputs.decode(np.array(pair)))
    return amplification(bound, stated, f"true values {values}", attribute, alpha)


def amplification(bound: float, stated: float, shown_by: str, attribute: str, alpha: float) -> Check:
    """What a lower bound on γ says of the γ that is stated."""
    bounded = bool(np.isfinite(stated))
    claim = f"stated is γ = {in_words(stated, up=True)}" if bounded else "stated is no bound at all"
    text = f"the reports prove γ ≥ {in_words(bound)} ({shown_by}, confidence 1 − {alpha:.1g}); {claim}."
    numbers = {"least_gamma": bound, "stated_gamma": stated if bounded else None}
    return Check("amplification", attribute, outcome(bound <= stated * (1 + 1e-9)), text, alpha, numbers)


def least_gamma(samples: Samples, alpha: float) -> tuple[float, tuple[int, int]]:
    """A lower confidence bound on γ, and the pair of true codes that shows it.

    For true values x1, x2 and any set E of reports, γ ≥ P[E|x1]/P[E|x2]. One half of the reports chooses E for each
    pair (reports in falling order of their observed ratio, cut where the ratio of bounds is largest); the other half
    bounds it:

        γ ≥ max over pairs of  L(k1, n1)/U(k2, n2),   L, U the Clopper–Pearson bounds at α/(2·pairs) each,

    which holds with confidence 1 − α whatever the implementation does.
    """
    chosen = np.unique(np.linspace(0, samples.tested.size - 1, MOST_VALUES).round().astype(int))
    train, test = _halves([samples.codes[i] for i in chosen], samples.channel.outputs.size)
    pairs = list(permutations(range(chosen.size), 2))
    if not pairs:
        return 1.0, (int(samples.tested[0]), int(samples.tested[0]))
    hits = np.array([_best_event(train[a], train[b]) for a, b in pairs])
    first, second = np.array(pairs).T
    level, size = alpha / (2 * len(pairs)), test.sum(axis=1)
    likely = lower_bound((hits * test[first]).sum(axis=1), size[first], level)
    ratio = likely / upper_bound((hits * test[second]).sum(axis=1), size[second], level)
    best = int(np.argmax(ratio))
    pair = int(samples.tested[chosen[first[best]]]), int(samples.tested[chosen[second[best]]])
    return max(float(ratio[best]), 1.0), pair


def _halves(columns: list[Codes], size: int) -> list[Floats]:
    """Counts in groups of reports, for the even and for the odd places of each sample."""
    whole = np.bincount(np.concatenate(columns), minlength=size).astype(float)
    group = np.minimum((np.cumsum(whole) - whole / 2) / whole.sum() * GROUPS, GROUPS - 1).astype(int)
    if size <= GROUPS:
        group = np.arange(size)
    return [
        np.array([np.bincount(group[codes[start::2]], minlength=group.max() + 1) for codes in columns], dtype=float)
        for start in (0, 1)
    ]


def _best_event(likely: Floats, rare: Floats) -> Floats:
    """1 for the groups of the event: the prefix, by observed ratio, whose ratio of rough bounds is largest."""
    order = np.argsort(-(likely + 0.5) / (rare + 0.5), kind="stable")
    high, low = np.cumsum(likely[order]), np.cumsum(rare[order])
    bounds = np.maximum(high - 5 * np.sqrt(high), 0) / likely.sum() / ((low + 5 * np.sqrt(low) + 12) / rare.sum())
    event = np.zeros(likely.size)
    event[order[: int(np.argmax(bounds)) + 1]] = 1
    return event


# --- low digits ---------------------------------------------------------------------------------------------------


def check_low_digits(channel: Channel, randomize: Randomize, attribute: str) -> Check:
    """True values between the channel's steps must give reports on its steps: noise added to a float leaves digits of
    the true value behind (Mironov's attack), and the adversary simply reads them off.

    Deterministic: one report off the steps is a failure, and a sound channel never sends one.
    """
    domain = channel.domain
    if not isinstance(domain, Interval) or domain.integer:
        return Check("low digits", attribute, SKIPPED, "true values are whole or named; the law's check covers them.")
    irregular = (np.arange(PEOPLE) * 0.6180339887498949) % 1.0
    values = float(domain.low) + domain.width * np.clip(irregular, 1e-9, 1 - 1e-9)
    reports = np.asarray(randomize(values))
    strange = known_codes(channel, reports)[1]
    if not strange:
        text = f"{PEOPLE:,} true values between the steps all gave reports on the steps."
        return Check("low digits", attribute, outcome(True), text)
    share = share_read_off(values, reports, float(domain.low), float(getattr(channel.inputs, "step", 1.0)))
    text = (
        f"{len(strange):,} of {PEOPLE:,} reports lie between the channel's steps, for example {shown(strange[0])}; "
        f"{percent(share, 0)} of them carry the true value's own digits, which a guess never hits."
    )
    return Check("low digits", attribute, outcome(False), text, 0.0, {"strange": len(strange), "read_off": share})


def share_read_off(true: ArrayLike, reports: ArrayLike, origin: float, step: float) -> float:
    """The share of people whose fraction of a step is the report's own: digits that arrived unblurred.

    Without leakage all reports lie on the grid, and the share is that of true values that do.
    """
    places = ((as_numbers(values) - origin) / step for values in (true, reports))
    known, seen = (place - np.rint(place) for place in places)  # where in its step a number lies, from −½ to ½
    return float(((np.abs(known - seen) < SAME) & (np.abs(known) > SAME)).mean())
