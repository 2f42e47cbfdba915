"""What the data cannot answer, in words."""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats

FEW_REPORTS = 30
MISFIT = 8.0  # standard deviations of the deviance beyond which reports do not fit their channel


def messages_for(
    counts: Floats, predicted: Floats | None, freedom: float, stderr: Floats, converged: bool
) -> tuple[str, ...]:
    """Plain sentences; none when there is nothing to say. ``predicted``: the fitted shares of reports, if exact."""
    said = [
        _too_few(counts.sum(), stderr),
        too_many_intervals(counts.sum(), freedom, stderr.size),
        None if predicted is None else _misfit(counts, predicted, freedom),
        None if converged else "the likelihood was still rising when the iterations ran out; trust only broad features",
    ]
    return tuple(sentence for sentence in said if sentence)


def _too_few(reports: float, stderr: Floats) -> str | None:
    misplaced = min(0.4 * float(stderr.sum()), 1.0)  # ½ Σ |error|, the mean of |N(0,1)| being .8
    if misplaced <= 0.25 and reports >= FEW_REPORTS:
        return None
    return (
        f"too few reports for this noise: with {reports:,.0f} of them about {100 * misplaced:.0f} % of the people "
        "may be counted in a wrong place; collect more or ask for fewer intervals"
    )


def too_many_intervals(reports: float, freedom: float, intervals: int) -> str | None:
    """Said when less than half of what was asked for is decided by the reports."""
    if freedom >= 0.5 * (intervals - 1):
        return None
    return (
        f"through this noise {reports:,.0f} reports decide about {max(freedom, 1):.0f} numbers, "
        f"{intervals} intervals were asked for; trust only broad features or ask for fewer intervals"
    )


def _misfit(counts: Floats, predicted: Floats, freedom: float) -> str | None:
    """Deviance 2 Σ N log(N/E) against its χ² law, over cells in which 5 reports or more are expected."""
    expected = counts.sum() * predicted / max(float(predicted.sum()), 1e-300)
    common = expected >= 5
    observed, expected = (
        np.append(counts[common], counts[~common].sum()),
        np.append(expected[common], expected[~common].sum()),
    )
    observed, expected = observed[expected > 0], expected[expected > 0]
    left = observed.size - 1 - freedom
    if left < 1:
        return None
    deviance = 2 * float((observed * np.log(np.maximum(observed, 1e-300) / expected)).sum())
    if (deviance - left) / np.sqrt(2 * left) < MISFIT:
        return None
    return (
        f"the reports do not look as if they came through this channel (deviance {deviance:,.0f} where about "
        f"{left:.0f} is expected); check that it is the channel and the domain that made them"
    )
