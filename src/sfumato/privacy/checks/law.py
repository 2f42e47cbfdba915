"""Do the reports follow the stated law?

For every tested true value the reports are counted in events: single reports where they are few; else cells of about
equal probability, the two end reports, and residues (report code modulo 2, 4, 8, 16), which catch low-order bits of the
true value that noise should have wiped out. Each count is compared with the law by an exact binomial test; the level is
divided by the number of events, so that all of them together raise a false alarm with probability at most α.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.domain import Categories, Codes, Floats, Grid
from sfumato.privacy.bounds import p_value
from sfumato.privacy.checks.check import FAILED, Check, outcome
from sfumato.privacy.implementation import Samples
from sfumato.privacy.words import shown

FEW_REPORTS = 160
CELLS = 64
MODULI = (2, 4, 8, 16)


@dataclass(frozen=True, eq=False)
class Event:
    """A set of report codes, by name."""

    name: str
    member: Codes


def check_law(samples: Samples, columns: Floats, attribute: str, alpha: float) -> Check:
    """Exact binomial tests of every event at every tested value; ``columns`` holds the law of each."""
    strange = strange_reports(samples, attribute)
    if strange is not None:
        return strange
    worst: tuple[float, str] = (np.inf, "")
    tests = 0
    for code, reports, column in zip(samples.tested, samples.codes, columns.T, strict=True):
        counts = np.bincount(reports, minlength=column.size)
        names, seen, stated = _tallies(samples, counts, column)
        values = p_value(seen, reports.size, stated)
        tests += values.size
        place = int(np.argmin(values))
        if values[place] < worst[0]:
            true = samples.channel.inputs.decode(np.array([code]))[0]
            worst = float(values[place]), _sentence(
                true, names[place], int(seen[place]), reports.size, float(stated[place])
            )
    level = alpha / max(tests, 1)
    broken = worst[0] < level
    text = worst[1] if broken else f"{tests} exact tests on {_total(samples)} reports agree with the stated law."
    numbers = {"tests": tests, "smallest_p": worst[0], "level": level}
    return Check("law", attribute, outcome(not broken), text, alpha, numbers)


def strange_reports(samples: Samples, attribute: str) -> Check | None:
    """A report that the channel cannot have sent breaks the law by itself."""
    if not samples.strange:
        return None
    example = shown(samples.strange[0])
    text = (
        f"{len(samples.strange):,} reports are none that the channel can send, for example {example}; "
        "digits beyond the channel's steps can carry the true value's own."
    )
    return Check("law", attribute, FAILED, text, 0.0, {"strange": len(samples.strange)})


def _tallies(samples: Samples, counts: Codes, column: Floats) -> tuple[list[str], Floats, Floats]:
    """Names, counts and stated probabilities of the events for one true value."""
    events = report_events(samples, column)
    seen = np.array([counts[event.member].sum() for event in events], dtype=float)
    stated = np.array([column[event.member].sum() for event in events])
    return [event.name for event in events], seen, stated


def report_events(samples: Samples, column: Floats) -> list[Event]:
    outputs = samples.channel.outputs
    if outputs.size <= FEW_REPORTS or isinstance(outputs, Categories):
        singles = [Event("", np.array([code])) for code in np.flatnonzero(column > 0)]
    else:
        singles = [Event("", np.array([0])), Event("", np.array([outputs.size - 1])), *_cells(column)]
    impossible = np.flatnonzero(column <= 0)
    never = [Event("reports that the law rules out", impossible)] if impossible.size else []
    residues = _residues(outputs.size) if isinstance(outputs, Grid) else []
    named = [Event(event.name or _run_name(samples, event.member), event.member) for event in singles]
    return [*named, *never, *residues]


def _cells(column: Floats) -> list[Event]:
    place = np.minimum((np.cumsum(column) * CELLS).astype(int), CELLS - 1)
    return [Event("", run) for run in np.split(np.arange(column.size), np.flatnonzero(np.diff(place)) + 1)]


def _residues(size: int) -> list[Event]:
    return [
        Event(f"reports whose place is {residue} modulo {modulus}", np.arange(residue, size, modulus))
        for modulus in MODULI
        for residue in range(modulus)
        if residue < size
    ]


def _run_name(samples: Samples, member: Codes) -> str:
    first, last = (shown(value) for value in samples.channel.outputs.decode(member[[0, -1]]))
    return f"the report {first}" if member.size == 1 else f"reports from {first} to {last}"


def _sentence(true: object, name: str, seen: int, trials: int, stated: float) -> str:
    told = f"for the true value {shown(true)}, {name} came {seen:,} times in {trials:,}"
    return f"{told} where the law states {stated:.3%}."


def _total(samples: Samples) -> str:
    return f"{sum(codes.size for codes in samples.codes):,}"
