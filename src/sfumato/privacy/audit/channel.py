"""All checks of one channel's implementation, at one false-alarm rate.

The implementation is a black box that turns true values into reports: by default the channel's own ``randomize`` with
secure noise, or a function of values, or a mapping from true value to the reports that some other program (such as a
browser client) gave for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from sfumato.channels import Channel, SelectASize
from sfumato.domain import Categories, Codes, Floats, Interval, as_numbers
from sfumato.privacy.audit.baskets import check_baskets
from sfumato.privacy.audit.check import (
    SEEN,
    SKIPPED,
    Check,
    Randomize,
    amplification,
    exact_tests,
    lower_bound,
    outcome,
    p_at_least,
    smallest_excess,
    upper_bound,
)
from sfumato.privacy.audit.fresh import check_fresh
from sfumato.privacy.audit.law import ReportTally, check_law
from sfumato.privacy.audit.probe import (
    FEWEST,
    SAMPLES,
    SECONDS,
    ChannelProbe,
    Effort,
    exact_codes,
    strange_reports,
)
from sfumato.privacy.audit.scan import Implementation, check_batches, check_key, check_small_calls, keyed_by
from sfumato.prose import percent, shown

CHECKS = 7
"""The checks that share the false alarm: law, amplification, raw answers, fresh noise, small calls, key and
independence (low digits have none)."""
GROUPS = 96
"""The most groups of reports out of which the event that bounds γ is built. By judgement: more groups leave too few
reports in each to order them by their ratio, fewer blur the event."""
MOST_VALUES = 16
"""The most true values that are compared in pairs for a bound on γ, the two ends among them. By judgement: the level is
divided by 16·15 pairs; the ends, which differ most, are always there."""
SAME = 1e-6
"""The share of a step within which two fractions of a step count as equal: floats of values up to 10^9 steps differ by
less, and a guess hits so small a share twice in a million."""
LAW_BLOCK = 1 << 20
"""Reports drawn in one call for the law: values, codes and reports then take tens of megabytes at once."""
WANTED_LEAK = 1e-4
"""The share of answers sent as they are that a run should find: docs/how-to/audit-a-plan.md states it. A smaller share
takes reports in proportion to its inverse square."""
MOST_EXTRA = 16
"""How many times the samples may be drawn again to find WANTED_LEAK. By judgement: they are only compared, which is
fast; of a coin, which would need twenty times as many, the audit says what it could have seen."""
FEWEST_BETWEEN_STEPS = 4000
"""True values between steps that are drawn at least; one report off the steps is enough to fail."""
MOST_BETWEEN_STEPS = 1_000_000
"""True values between steps that are drawn at most, which takes less than a second."""


def check_channel(
    channel: Channel, implementation: Randomize | Mapping[Any, Any] | None = None, *, attribute: str = "",
    samples: int = SAMPLES, seconds: float = SECONDS, false_alarm: float = 1e-6,
) -> list[Check]:
    """Check one channel's implementation in every way; return the list of checks.

    A sound implementation fails any of them with chance ``false_alarm`` at most. ``implementation``: a function from
    values to reports, or a mapping from true value to reports of any other program; None is the channel's own
    ``randomize`` with secure noise. ``attribute``: the name in the checks' sentences; ``samples``: how many reports are
    drawn; ``seconds``: the time after which fewer are drawn.
    """
    name, alpha, effort = attribute or channel.kind, false_alarm / CHECKS, Effort(samples, seconds)
    randomize = channel.randomize if implementation is None else implementation
    if isinstance(randomize, Mapping):
        return _check_given_reports(channel, randomize, name, alpha)
    if isinstance(channel, SelectASize):
        return check_baskets(channel, randomize, effort, name, false_alarm)
    probe = ChannelProbe(channel, samples, name)
    tally = draw_tally(probe, randomize, effort)
    law = check_law(tally, name, alpha)
    checks = [law, check_amplification(tally, name, alpha), check_leak(tally, randomize, name, alpha, effort)]
    calls = implementation_of(probe, randomize)
    checks.append(check_low_digits(channel, randomize, name, tally.total))
    checks.append(check_fresh_noise(probe, randomize, name, alpha, effort))
    checks.append(check_small_calls(calls, "small calls", name, alpha, effort))
    checks += check_key(calls, "key", name, alpha, effort)
    if law.passed:  # under a broken law quantiles are not uniform, and their dependence says nothing
        checks.append(check_batches(calls, "independence", name, alpha, effort))
    return checks


def implementation_of(probe: ChannelProbe, randomize: Randomize) -> Implementation:
    """Wrap a function from values to reports as an `Implementation` that takes tables, single records and keys.

    ``probe``: draws people for it. A function that takes no single value is called with an array of one.
    """
    (name,) = probe.columns

    def randomize_table(table: Mapping[str, Any], **keys: Any) -> dict[str, Any]:
        return {name: randomize(table[name], **keys)}

    def randomize_record(record: Mapping[str, Any], **key: Any) -> dict[str, Any]:
        return {name: _randomize_value(randomize, record[name], **key)}

    keyed = keyed_by(randomize, randomize_table, randomize_record, "key", "question")
    return Implementation(probe, randomize_table, randomize_record, keyed, repeats=probe.channel.repeats)


def _randomize_value(randomize: Randomize, value: Any, **key: Any) -> Any:
    """Return the report of a single value, by an array of one where the function takes no single value.

    ``key``: the arguments key and question, or none.
    """
    if key:
        return randomize(value, **key)
    try:
        return randomize(value)
    except (TypeError, ValueError, IndexError, AttributeError):
        return np.asarray(randomize(np.array([value])))[0]


# --- reports ------------------------------------------------------------------------------------------------------


def draw_tally(probe: ChannelProbe, randomize: Randomize, effort: Effort) -> ReportTally:
    """Draw reports of random true values in large mixed batches, and count them by report and true value.

    ``randomize``: the audited function from values to reports; ``effort``: how many are drawn and for how long.
    """
    rng, shape = np.random.default_rng(), probe.law.shape
    halves, strange, unknown = np.zeros((2, probe.law.size), dtype=np.int64), list[Any](), 0
    for size in effort.block_sizes(effort.samples, 0.3, LAW_BLOCK):
        true = rng.integers(0, probe.tested.size, size)
        reports = randomize(probe.answers[true])
        codes = exact_codes(probe.channel, reports)
        if codes.min() < 0:
            odd = strange_reports(probe.channel, reports)
            strange, unknown = [*strange, *odd][:3], unknown + len(odd)
        for half in (0, 1):
            halves[half] += _count_pairs(codes[half::2], true[half::2], shape)
    return ReportTally(probe, (halves[0].reshape(shape), halves[1].reshape(shape)), tuple(strange), unknown)


def _count_pairs(codes: Codes, true: Codes, shape: tuple[int, ...]) -> Codes:
    """Return the flattened table of counts of each (report code, true code); codes below 0 are left out.

    ``shape``: (report codes, true codes) of the table.
    """
    valid = codes >= 0
    if not valid.all():
        codes, true = codes[valid], true[valid]
    return np.bincount(codes * shape[1] + true, minlength=shape[0] * shape[1])


def tally_given_reports(channel: Channel, given: Mapping[Any, Any]) -> ReportTally:
    """Count the reports that another program gave, by report and true value.

    ``given``: a mapping from true value to reports.
    """
    if not given:
        raise ValueError("the mapping of reports is empty; map each tested true value to its reports")
    values = np.array(list(given), dtype=object if isinstance(channel.inputs, Categories) else None)
    tested, columns = np.unique(channel.encode(values), return_inverse=True)
    probe = ChannelProbe(channel, 0, tested=tested)
    halves, strange = np.zeros((2, probe.law.size), dtype=np.int64), list[Any]()
    for column, reports in zip(columns.tolist(), given.values(), strict=True):
        codes = exact_codes(channel, reports)
        strange += strange_reports(channel, reports)
        for half in (0, 1):
            halves[half] += _count_pairs(codes[half::2], np.full(codes[half::2].size, column), probe.law.shape)
    shape = probe.law.shape
    return ReportTally(probe, (halves[0].reshape(shape), halves[1].reshape(shape)), tuple(strange[:3]), len(strange))


def _check_given_reports(channel: Channel, given: Mapping[Any, Any], name: str, alpha: float) -> list[Check]:
    """Check the chances of reports and γ (largest factor on the odds) on reports that another program gave.

    Returns the checks. ``given``: reports by true value; how they were drawn is not seen.
    """
    if isinstance(channel, SelectASize):
        raise ValueError("reports of baskets cannot be audited; give implementation= as a function of baskets")
    tally = tally_given_reports(channel, given)
    checks = [check_law(tally, name, alpha)]
    if (np.array([half.sum(axis=0) for half in tally.halves]) > 0).all():
        checks.append(check_amplification(tally, name, alpha))
    text = "reports were given; how they were drawn is not seen."
    return [*checks, Check("fresh noise", name, SKIPPED, text)]


def check_fresh_noise(probe: ChannelProbe, randomize: Randomize, name: str, alpha: float, effort: Effort) -> Check:
    """Check that a function never uses noise twice, on the two tested values whose reports are least often equal.

    Where the stated chances are broken themselves, equal reports are no sign of reuse: the observed Σ_y of shares
    squared counts as the chance that two are equal.
    """
    agreement = (probe.law**2).sum(axis=0)
    pair = np.argsort(agreement, kind="stable")[:2]

    def values(count: int) -> Any:
        return probe.answers[np.resize(pair, count)]

    def read(reports: Any) -> Codes:
        codes = exact_codes(probe.channel, reports)
        return codes if codes.min() >= 0 else probe.channel.encode_reports(reports)

    codes = read(randomize(values(1 << 14)))
    shares = [np.unique(codes[start::2], return_counts=True)[1] / (codes.size // 2) for start in (0, 1)]
    observed = max(float((share**2).sum()) for share in shares)
    return check_fresh(randomize, values, read, max(float(agreement[pair].max()), observed), name, alpha, effort)


# --- answers sent as they are -------------------------------------------------------------------------------------


def check_leak(tally: ReportTally, randomize: Randomize, attribute: str, alpha: float, effort: Effort) -> Check:
    """Check that a report is the person's own answer, or a neighbour's, no more often than the channel states.

    ``tally``: reports counted before. A share ε of answers that are sent as they are adds ε·(1 − p) to p = P[y = x],
    which n reports show when n·ε² ≥ z²·p/(1 − p): more reports are drawn, and only compared, where that finds ε = 1e-4.
    """
    probe, level = tally.probe, alpha / 3
    if (probe.own < 0).any():
        text = "reports have names of their own, so that no answer can be sent as it is."
        return Check("raw answers", attribute, SKIPPED, text)
    columns = np.arange(probe.tested.size)
    same = probe.law[probe.own, columns]
    hits, people = int(tally.counts[probe.own, columns].sum()), tally.counts.sum(axis=0)
    more = _compare_more_reports(tally, randomize, level, effort)
    beside = _compare_neighbours(probe, randomize, min(max(tally.total // 4, FEWEST), LAW_BLOCK))
    n = int(people.sum()) + more[1]
    mean = float(same @ people + more[2]) / max(n, 1)
    rows = [("their own answer", hits + more[0], n, mean), *beside]
    values = np.array([float(p_at_least(k, m, p)) if k > m * p + 1 else 1.0 for _, k, m, p in rows])
    failures = [
        f"{k:,} of {m:,} reports are {whose} where {m * p:,.0f} are stated: about "
        f"{percent((k / m - p) / max(1 - p, 1e-12), 4)} are sent without noise."
        for whose, k, m, p in rows
    ]
    excess = smallest_excess(n, mean, level)
    numbers = {"smallest_leak": None if excess is None or mean >= 1 else excess / (1 - mean), "reports": n}
    success = f"{n:,} reports are no more often the answer itself, or a neighbour's, than stated."
    return exact_tests("raw answers", attribute, values, failures, alpha, success, numbers)


def _compare_more_reports(
    tally: ReportTally, randomize: Randomize, level: float, effort: Effort
) -> tuple[int, int, float]:
    """Draw more reports and compare them with their answers; return (equal ones, reports, equal ones stated).

    ``level``: of the test that is made of them. None are drawn where WANTED_LEAK needs no more than there are, or more
    than MOST_EXTRA times the samples.
    """
    probe, rng = tally.probe, np.random.default_rng()
    columns = np.arange(probe.tested.size)
    same = probe.law[probe.own, columns]
    p = float(same.mean())
    needed = 1.1 * (ndtri(1 - level) + ndtri(SEEN)) ** 2 * p / max(1 - p, 1e-9) / WANTED_LEAK**2
    if not tally.total < needed < MOST_EXTRA * effort.samples or tally.unknown:
        return 0, 0, 0.0
    true = rng.integers(0, probe.tested.size, LAW_BLOCK)
    values, raw, stated = probe.answers[true], probe.channel.outputs.decode(probe.own[true]), same[true]
    hits = drawn = 0
    expected = 0.0
    for size in effort.block_sizes(int(needed) - tally.total, 0.4, LAW_BLOCK):
        hits += int((np.asarray(randomize(values[:size])) == raw[:size]).sum())
        drawn, expected = drawn + size, expected + float(stated[:size].sum())
    return hits, drawn, expected


def _compare_neighbours(probe: ChannelProbe, randomize: Randomize, people: int) -> list[tuple[str, int, int, float]]:
    """Count reports that are the answer of the person before or after in the call.

    Returns a list of (whose answer, equal ones, reports, the stated chance).
    """
    true = np.random.default_rng().integers(0, probe.tested.size, people)
    codes = exact_codes(probe.channel, randomize(probe.answers[true]))
    rows = []
    for lag, whose in ((1, "the previous person's answer"), (-1, "the next person's answer")):
        other = probe.own[np.roll(true, lag)]
        rows.append((whose, int((codes == other).sum()), true.size, float(probe.law[other, true].mean())))
    return rows


# --- γ ------------------------------------------------------------------------------------------------------------


def check_amplification(tally: ReportTally, attribute: str, alpha: float) -> Check:
    """Check that the γ (largest factor on the odds) that the reports prove is not above the stated γ.

    For true values x1, x2 and any set E of reports, γ ≥ P[E|x1]/P[E|x2]. One half of the reports chooses E for each
    pair (reports in falling order of their observed ratio, cut where the ratio of bounds is largest); the other half
    bounds it:

        γ ≥ max over pairs of  L(k1, n1)/U(k2, n2),   L, U the Clopper–Pearson bounds at α/(2·pairs) each,

    which holds with confidence 1 − α whatever the implementation does.
    """
    probe = tally.probe
    chosen = np.unique(np.linspace(0, probe.tested.size - 1, MOST_VALUES).round().astype(int))
    train, test = _group_reports([half[:, chosen] for half in tally.halves])
    first, second = np.array(list(permutations(range(chosen.size), 2)) or [(0, 0)]).T
    hits = np.array([_best_event(train[a], train[b]) for a, b in zip(first, second, strict=True)])
    level, size = alpha / (2 * first.size), test.sum(axis=1)
    likely = lower_bound((hits * test[first]).sum(axis=1), size[first], level)
    ratio = likely / upper_bound((hits * test[second]).sum(axis=1), size[second], level)
    best = int(np.argmax(ratio))
    values = " and ".join(shown(value) for value in probe.answers[chosen[[first[best], second[best]]]])
    return amplification(max(float(ratio[best]), 1.0), probe.channel.gamma, f"true values {values}", attribute, alpha)


def _group_reports(halves: list[Codes]) -> list[Floats]:
    """Count neighbouring reports together, in GROUPS groups of about as many reports at most.

    halves: counts[report code, true value] of two halves of the sampled reports; one chooses what is tested, the other
    tests it. Returns a table for each half: a row a true value, a column a group.
    """
    size, whole = len(halves[0]), (halves[0] + halves[1]).sum(axis=1).astype(float)
    group = np.minimum((np.cumsum(whole) - whole / 2) / whole.sum() * GROUPS, GROUPS - 1).astype(int)
    first = np.arange(size) if size <= GROUPS else np.flatnonzero(np.diff(group, prepend=-1))
    return [np.add.reduceat(half, first, axis=0).T.astype(float) for half in halves]


def _best_event(likely: Floats, rare: Floats) -> Floats:
    """Return the groups of reports by which two true values differ most: an array with 1 for groups in the set, else 0.

    ``likely`` and ``rare``: the counts by group of the two true values. Groups are ordered by the ratio of these
    counts; the set is the prefix whose ratio of rough bounds (5 standard deviations) is largest.
    """
    order = np.argsort(-(likely + 0.5) / (rare + 0.5), kind="stable")
    high, low = np.cumsum(likely[order]), np.cumsum(rare[order])
    bounds = np.maximum(high - 5 * np.sqrt(high), 0) / likely.sum() / ((low + 5 * np.sqrt(low) + 12) / rare.sum())
    event = np.zeros(likely.size)
    event[order[: int(np.argmax(bounds)) + 1]] = 1
    return event


# --- low digits ---------------------------------------------------------------------------------------------------


def check_low_digits(channel: Channel, randomize: Randomize, attribute: str, reports_drawn: int) -> Check:
    """Check that true values between the channel's steps (its grid) give reports on its steps.

    Noise added to a float leaves digits of the true value behind (Mironov's attack), and the adversary reads them off.
    One report off the steps is a failure, without a false alarm: a sound channel never sends one.
    """
    domain = channel.domain
    if not isinstance(domain, Interval) or domain.integer:
        return Check("low digits", attribute, SKIPPED, "true values are whole or named; the law's check covers them.")
    people = min(max(reports_drawn // 5, FEWEST_BETWEEN_STEPS), MOST_BETWEEN_STEPS)
    values = float(domain.low) + domain.width * np.random.default_rng().uniform(1e-9, 1 - 1e-9, people)
    reports = np.asarray(randomize(values))
    strange = strange_reports(channel, reports)
    if not strange:
        text = f"{people:,} true values between the steps all gave reports on the steps."
        return Check("low digits", attribute, outcome(True), text)
    odd = exact_codes(channel, reports) < 0
    share = share_read_off(values[odd], reports[odd], float(domain.low), float(getattr(channel.inputs, "step", 1.0)))
    text = (
        f"{len(strange):,} of {people:,} reports lie between the channel's steps, for example {shown(strange[0])}; "
        f"{percent(share, 0)} of them carry the true value's own digits, which a guess never hits."
    )
    return Check("low digits", attribute, outcome(False), text, 0.0, {"strange": len(strange), "read_off": share})


def share_read_off(true: ArrayLike, reports: ArrayLike, origin: float, step: float) -> float:
    """Return the share of people whose true value and report have the same fraction of a step, which is not 0.

    Such digits of the answer arrived unblurred. ``origin`` and ``step``: of the grid; if all reports lie on it, the
    share is 0.
    """
    steps = ((as_numbers(values) - origin) / step for values in (true, reports))
    true_fraction, report_fraction = (number - np.rint(number) for number in steps)  # from −½ to ½
    return float(((np.abs(true_fraction - report_fraction) < SAME) & (np.abs(true_fraction) > SAME)).mean())
