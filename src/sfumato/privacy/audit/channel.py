"""All checks of one channel's implementation, at one false-alarm rate: its law, γ, low digits, and fresh noise.

The implementation is a black box that turns true values into reports: by default the channel's own ``randomize`` with
secure noise, or a function of values, or a mapping from true value to the reports that some other program (such as a
browser client) gave for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels import AdditiveNoise, Channel, SelectASize
from sfumato.domain import Categories, Codes, Floats, Grid, Interval, as_array, as_numbers
from sfumato.privacy.audit.baskets import basket_streams, check_baskets
from sfumato.privacy.audit.check import (
    FAILED,
    LENGTH,
    SKIPPED,
    Check,
    Draw,
    Randomize,
    amplification,
    check_fresh,
    exact_tests,
    lower_bound,
    outcome,
    p_value,
    upper_bound,
)
from sfumato.prose import counted, percent, shown

SAMPLES = 120_000
SEVERAL = 9
FEW = 48
FEW_REPORTS = 160
CELLS = 64
MODULI = (2, 4, 8, 16)
GROUPS = 96
MOST_VALUES = 16
PEOPLE = 4000
SAME = 1e-6


def check_channel(
    channel: Channel, implementation: Randomize | Mapping[Any, Any] | None = None, *, attribute: str = "",
    samples: int = SAMPLES, false_alarm: float = 1e-6,
) -> list[Check]:
    """Law, γ, low digits and fresh noise; a sound implementation fails any of them with chance ``false_alarm``.

    ``implementation``: a function from values to reports, or a mapping from true value to reports of any other program;
    None is the channel's own ``randomize`` with secure noise.
    """
    name, alpha = attribute or channel.kind, false_alarm / 3
    randomize = channel.randomize if implementation is None else implementation
    if isinstance(randomize, Mapping):
        if isinstance(channel, SelectASize):
            raise ValueError("reports of baskets cannot be audited; give implementation= as a function of baskets")
        text = "reports were given; how they were drawn is not seen."
        return [*_check_table(channel, randomize, samples, name, alpha), Check("fresh noise", name, SKIPPED, text)]
    if isinstance(channel, SelectASize):
        found = check_baskets(channel, randomize, samples // 4, name, 2 * alpha)
        return [*found, check_fresh(*basket_streams(channel, randomize), name, alpha)]
    found = [*_check_table(channel, randomize, samples, name, alpha), check_low_digits(channel, randomize, name)]
    return [*found, check_fresh(*_streams(channel, randomize), name, alpha)]


def _check_table(
    channel: Channel, randomize: Randomize | Mapping[Any, Any], samples: int, name: str, alpha: float
) -> list[Check]:
    drawn = draw_samples(channel, randomize, samples)
    found = [check_law(drawn, law_columns(channel, drawn.tested), name, alpha)]
    enough = min(codes.size for codes in drawn.codes) >= 2
    return [*found, check_amplification(drawn, name, alpha)] if enough else found


# --- reports ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Samples:
    """Report codes for each tested true code; ``strange`` holds reports that the channel does not know."""

    channel: Channel
    tested: Codes
    codes: tuple[Codes, ...]
    strange: tuple[Any, ...] = ()


def tested_codes(channel: Channel) -> Codes:
    """All true codes where they are few, else several over the domain, the two ends included."""
    size = channel.inputs.size
    return np.arange(size) if size <= FEW else np.unique(np.linspace(0, size - 1, SEVERAL).round().astype(np.int64))


def draw_samples(channel: Channel, implementation: Randomize | Mapping[Any, Any], total: int) -> Samples:
    """About ``total`` reports, spread evenly over the tested true values; or those that were given."""
    if isinstance(implementation, Mapping):
        if not implementation:
            raise ValueError("the mapping of reports is empty; map each tested true value to its reports")
        values = np.array(list(implementation), dtype=object if isinstance(channel.inputs, Categories) else None)
        tested, drawn = channel.encode(values), list(implementation.values())
    else:
        tested = tested_codes(channel)
        each = max(total // tested.size, 2000)
        drawn = [implementation(channel.inputs.decode(np.full(each, code))) for code in tested]
    read = [known_codes(channel, reports) for reports in drawn]
    return Samples(channel, tested, tuple(codes for codes, _ in read), tuple(odd for _, more in read for odd in more))


def known_codes(channel: Channel, reports: Any) -> tuple[Codes, list[Any]]:
    """Codes of reports that lie exactly on the channel's reports; the others as they are."""
    array = as_array(reports).ravel()
    if isinstance(channel.outputs, Categories):
        labels = set(channel.outputs.labels)
        known = np.array([label in labels for label in array.tolist()], dtype=bool)
        return channel.encode_reports(array[known]), array[~known].tolist()
    codes = channel.encode_reports(array)
    exact = (codes >= 0) & (channel.outputs.decode(codes) == array)
    return codes[exact], array[~exact].tolist()


def law_columns(channel: Channel, codes: Codes) -> Floats:
    """P[reported, true] for some true codes only, exactly as drawn."""
    if not isinstance(channel, AdditiveNoise):
        return np.asarray(channel.law()[:, codes])
    (shift,) = channel.steps()
    return np.hstack([replace(shift, offset=shift.offset - code, inputs=1).law() for code in codes.tolist()])


def _streams(channel: Channel, randomize: Randomize) -> tuple[Draw, float]:
    """Reports of the tested value whose reports differ most, and how often two of them agree.

    Where the law itself is broken, its own agreement is no sign of reuse: the observed Σ_y of shares squared counts.
    """
    tested = tested_codes(channel)
    agreement = (law_columns(channel, tested) ** 2).sum(axis=0)
    code = int(tested[int(np.argmin(agreement))])

    def draw(count: int) -> Codes:
        reports = randomize(channel.inputs.decode(np.full(count, code)))
        codes = known_codes(channel, reports)[0]
        return codes if codes.size == count else channel.encode_reports(reports)

    shares = np.unique(draw(8 * LENGTH), return_counts=True)[1] / (8 * LENGTH)
    return draw, max(float(agreement.min()), float((shares**2).sum()))


# --- the law ------------------------------------------------------------------------------------------------------


def check_law(samples: Samples, columns: Floats, attribute: str, alpha: float) -> Check:
    """Exact binomial tests of every event at every tested value; ``columns`` holds the law of each.

    Events are single reports where they are few; else cells of about equal probability, the two end reports, and
    residues (report code modulo 2, 4, 8, 16), which catch low-order bits of the true value that noise should have wiped
    out. The level is divided by the number of events, so that together they raise a false alarm with chance α or less.
    """
    if samples.strange:  # a report that the channel cannot have sent breaks the law by itself
        text = (
            f"{counted(len(samples.strange), 'report')} cannot come from the channel, for example "
            f"{shown(samples.strange[0])}; digits beyond the channel's steps can carry the true value's own."
        )
        return Check("law", attribute, FAILED, text, 0.0, {"strange": len(samples.strange)})
    values, told = [], []
    for code, reports, column in zip(samples.tested, samples.codes, columns.T, strict=True):
        events, counts = _events(samples.channel, column), np.bincount(reports, minlength=column.size)
        seen = np.array([counts[member].sum() for _, member in events], dtype=float)
        stated = np.array([column[member].sum() for _, member in events])
        values.append(p_value(seen, reports.size, stated))
        true = shown(samples.channel.inputs.decode(np.array([code]))[0])
        told += [
            f"for the true value {true}, {name} came {times:,.0f} times in {reports.size:,} "
            f"where the law states {percent(chance, 3)}."
            for (name, _), times, chance in zip(events, seen, stated, strict=True)
        ]
    tests, total = np.concatenate(values), sum(codes.size for codes in samples.codes)
    held = f"{tests.size} exact tests on {total:,} reports agree with the stated law."
    return exact_tests("law", attribute, tests, told, alpha, held)


def _events(channel: Channel, column: Floats) -> list[tuple[str, Codes]]:
    """Sets of report codes, by name."""
    size, last = column.size, column.size - 1
    if size <= FEW_REPORTS or isinstance(channel.outputs, Categories):
        members = [np.array([code]) for code in np.flatnonzero(column > 0)]
    else:
        place = np.minimum((np.cumsum(column) * CELLS).astype(int), CELLS - 1)
        cells = np.split(np.arange(size), np.flatnonzero(np.diff(place)) + 1)
        members = [np.array([0]), np.array([last]), *cells]
    found = [(_run_name(channel, member), member) for member in members]
    impossible = np.flatnonzero(column <= 0)
    found += [("reports that the law rules out", impossible)] if impossible.size else []
    if isinstance(channel.outputs, Grid):
        found += [
            (f"reports whose place is {residue} modulo {modulus}", np.arange(residue, size, modulus))
            for modulus in MODULI
            for residue in range(min(modulus, size))
        ]
    return found


def _run_name(channel: Channel, member: Codes) -> str:
    first, last = (shown(value) for value in channel.outputs.decode(member[[0, -1]]))
    return f"the report {first}" if member.size == 1 else f"reports from {first} to {last}"


# --- γ ------------------------------------------------------------------------------------------------------------


def check_amplification(samples: Samples, attribute: str, alpha: float) -> Check:
    """A lower confidence bound on γ, and the pair of true codes that shows it.

    For true values x1, x2 and any set E of reports, γ ≥ P[E|x1]/P[E|x2]. One half of the reports chooses E for each
    pair (reports in falling order of their observed ratio, cut where the ratio of bounds is largest); the other half
    bounds it:

        γ ≥ max over pairs of  L(k1, n1)/U(k2, n2),   L, U the Clopper–Pearson bounds at α/(2·pairs) each,

    which holds with confidence 1 − α whatever the implementation does.
    """
    channel = samples.channel
    chosen = np.unique(np.linspace(0, samples.tested.size - 1, MOST_VALUES).round().astype(int))
    train, test = _halves([samples.codes[i] for i in chosen], channel.outputs.size)
    first, second = np.array(list(permutations(range(chosen.size), 2)) or [(0, 0)]).T
    hits = np.array([_best_event(train[a], train[b]) for a, b in zip(first, second, strict=True)])
    level, size = alpha / (2 * first.size), test.sum(axis=1)
    likely = lower_bound((hits * test[first]).sum(axis=1), size[first], level)
    ratio = likely / upper_bound((hits * test[second]).sum(axis=1), size[second], level)
    best = int(np.argmax(ratio))
    pair = samples.tested[chosen[[first[best], second[best]]]]
    values = " and ".join(shown(value) for value in channel.inputs.decode(pair))
    return amplification(max(float(ratio[best]), 1.0), channel.gamma, f"true values {values}", attribute, alpha)


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
