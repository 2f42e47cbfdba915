"""AS00's statements on privacy and on reconstruction (Sections 2, 3 and 6), one by one."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

import sfumato as sf
from reproductions import Claim, Rows, placed
from reproductions.as00.equations import Observed
from reproductions.as00.shapes import EQUATIONS, NOISES, SHAPES, SHARES, UNIT, Drawn, shape_error
from sfumato.prose import percent

AS_READ, A_HUNDREDTH = "1 % of χ²", "0.01 %"


def foundations(drawn: Drawn) -> list[Claim]:
    """In the order of the paper."""
    return [
        fixed_perturbation(),
        *placed("Section 2.1, Table 1", [table_1(), same_width(), high_confidence()]),
        *placed("Section 3, stopping criterion", [stopping(drawn.stops)]),
        *placed("Section 3, Figure 2", [reach_of_noise(), figure_2(drawn)]),
    ]


# --- Section 2 --------------------------------------------------------------------------------------------------------


def fixed_perturbation() -> Claim:
    """One keyed device asked twenty times, and one that draws afresh."""
    channel, key = sf.Gaussian(sf.Interval(20, 80), privacy=1.0), bytes(32)
    told = [float(channel.randomize(47.0, key=key, question="age")) for _ in range(20)]
    fresh = float(np.mean(channel.randomize(np.full(2_000, 47.0), np.random.default_rng(0))))
    return Claim(
        "Asking again does not improve the estimate of a value, if its perturbation is fixed",
        len(set(told)) == 1,
        f"{len(set(told))} report in {len(told)} requests of a keyed device; the mean of 2,000 fresh reports of 47 "
        f"years is {fresh:.1f}",
        where="Section 2, Section 6",
    )


def table_1() -> Claim:
    guarantee = sf.Gaussian(UNIT, scale=0.1).guarantee()
    widths = [(guarantee.interval(c) or 0.0) / 0.1 for c in (0.5, 0.95, 0.999)]
    return Claim(
        "Gaussian noise hides a value within 1.34σ, 3.92σ, 6.8σ at 50, 95, 99.9 % confidence",
        all(abs(width - printed) < 0.02 for width, printed in zip(widths, (1.34, 3.92, 6.8), strict=True)),
        f"{widths[0]:.2f}σ, {widths[1]:.2f}σ, {widths[2]:.2f}σ",
        cause="the last number of the table is a slip: 2·3.2905 = 6.58",
    )


def same_width() -> Claim:
    """Value classes of width W and uniform noise of ±W/2."""
    classes, noise = sf.Discretize(UNIT, width=0.2).guarantee(), sf.Uniform(UNIT, halfwidth=0.1).guarantee()
    pairs = [(classes.interval(c) or 0.0, noise.interval(c) or 0.0) for c in (0.5, 0.95, 0.999)]
    return Claim(
        "Value classes of width W and uniform noise with 2α = W provide the same privacy",
        all(abs(one - other) < 1e-3 for one, other in pairs),
        "W = .2 at 50, 95, 99.9 % confidence: " + ", ".join(f"{one:.4f} and {other:.4f}" for one, other in pairs),
    )


def high_confidence() -> Claim:
    """Widths at 99.9 % of two noises that are equally wide at 95 %."""
    gaussian, uniform = (
        (noise(UNIT, privacy=1.0, confidence=0.95).guarantee().interval(0.999) or 0.0)
        for noise in (sf.Gaussian, sf.Uniform)
    )
    return Claim(
        "Gaussian noise provides more privacy than uniform noise at higher confidence",
        gaussian > uniform,
        f"100 % of the range at 95 % confidence are {100 * gaussian:.0f} and {100 * uniform:.0f} % at 99.9 %",
        where="Sections 2.1, 6",
    )


# --- Section 3 --------------------------------------------------------------------------------------------------------


def stopping(stops: Rows) -> Claim:
    """The rule that the paper rejects: do estimates that pass it lie nearer to the truth than those that fail?"""
    rows = [row for row in stops if row["stop"].startswith("observed") and row["equation"] == "Equation 3"]
    limit = Observed().limit
    passed, failed = ([row["error"] for row in rows if (row["steps"] < limit) == ended] for ended in (True, False))
    told = ", ".join(f"{row['shape']} {row['noise']} {100 * row['error']:.1f} % after {row['steps']:,}" for row in rows)
    return Claim(
        "Observed against re-randomized reports is no reliable indicator of the error of the estimate",
        max(passed, default=0.0) > min(failed, default=1.0),
        f"share of values in a wrong interval where that rule ends, and its steps: {told}; {limit:,} steps are the "
        "limit, where the reports still differ",
        threshold="ours: an estimate that passes is further from the truth than one that does not",
        cause=f"{len(passed)} of {len(rows)} pass at all",
    )


def reach_of_noise() -> Claim:
    """P(low < 0.25 + noise < high), noise of deviation 0.25."""
    shares = [norm.cdf(high, 0.25, 0.25) - norm.cdf(low, 0.25, 0.25) for low, high in ((-0.26, 0.74), (-0.6, 1.1))]
    return Claim(
        "Gaussian noise of 0.25 maps 0.25 between -0.26 and 0.74 with 95 %, between -0.6 and 1.1 with 99.9 %",
        all(
            abs(share - said) < said_to
            for share, said, said_to in zip(shares, (0.95, 0.999), (0.005, 5e-4), strict=True)
        ),
        f"{100 * shares[0]:.2f} and {100 * shares[1]:.2f} %",
        threshold="ours: to the last digit",
    )


def figure_2(drawn: Drawn) -> Claim:
    cases = [(shape, noise) for shape in SHAPES for noise in NOISES]
    ours, theirs, raw = (
        [shape_error(drawn.intervals, *case, method) for case in cases] for method in ("smooth", "as00", "randomized")
    )
    return Claim(
        "The original shape is picked out, even though the randomized one looks nothing like it",
        all(found < seen / 2 for found, seen in zip(theirs, raw, strict=True)),
        f"in a wrong interval {percents(theirs)} by the paper's algorithm, {percents(raw)} of the reports, "
        f"{percents(ours)} by ours (plateau and triangles, each under gaussian and uniform noise); "
        f"{sensitivity(drawn.by_number)}",
        threshold="ours: less than half the reports' error",
        cause=f"the stop comes early under gaussian noise: {early(drawn.stops)}",
    )


def early(stops: Rows) -> str:
    """Both shapes under gaussian noise at the paper's stop and at a hundredth of it."""
    found = {(r["shape"], r["stop"]): r for r in stops if (r["noise"], r["equation"]) == ("gaussian", "Equation 3")}
    return "; ".join(
        f"the {shape} {_told(found[shape, AS_READ])} as read, {_told(found[shape, A_HUNDREDTH])} at a hundredth"
        for shape in SHAPES
    )


def _told(row: dict[str, object]) -> str:
    return f"{percent(float(str(row['error'])))} after {row['steps']} steps"


def sensitivity(by_number: Rows) -> str:
    """The triangles under gaussian noise by the number of values and the share of χ² at which Equation 3 stops."""
    stops = [f"{100 * share:g} %" for share in SHARES]
    each = [
        f"of {row['values']:,} values ({percent(row['confidence'], 0)} confidence) "
        + ", ".join(f"{row[stop]:.3f}" for stop in stops)
        for row in by_number
    ]
    return f"triangles under gaussian noise at {', '.join(stops)} of χ²: {'; '.join(each)}"


# --- ours, and future work --------------------------------------------------------------------------------------------


def every_record(stops: Rows) -> Claim:
    error = {tuple(row[key] for key in ("shape", "noise", "equation", "stop")): row["error"] for row in stops}
    pairs = [[error[shape, "uniform", which, "0.1 %"] for shape in SHAPES] for which in EQUATIONS]
    return Claim(
        "Under uniform noise Equation 2 on every record ends nearer to the truth than Equation 3 on intervals",
        all(records < intervals for intervals, records in zip(*pairs, strict=True)),
        f"at 0.1 % of χ²: {percents(pairs[0])} by Equation 3, {percents(pairs[1])} by Equation 2 (plateau, "
        "triangles); midpoints of wide intervals are biased where the density of the noise jumps",
        threshold="ours",
    )


def categories(n: int = 100_000) -> Claim:
    """The two ways to categories that the paper plans: iterating, and Warner's direct estimate."""
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    channel = sf.RandomizedResponse(sf.Categories(list("abcd")), keep=0.4)
    truth = np.random.default_rng(0).choice(list("abcd"), n, p=shares)
    reports = channel.randomize(truth, np.random.default_rng(1))
    iterated, direct = (sf.reconstruct(reports, channel, method=method) for method in ("em", "inverse"))
    apart = float(np.abs(iterated.probabilities - direct.probabilities).max())
    off = float(np.abs((direct.probabilities - shares) / direct.stderr).max())
    return Claim(
        "Categories kept with p, else replaced, may be reconstructed by iterating, or by an equation directly",
        apart < 1e-4 and off < 4,
        f"four categories, p = .4, {n:,} reports: the two differ by {apart:.1g} at most, and from the truth by "
        f"{off:.1f} standard errors at most",
        where="Section 6, future work",
        threshold="ours: the same to four digits, and the truth to four standard errors",
    )


def percents(shares: list[float]) -> str:
    return ", ".join(f"{100 * share:.1f}" for share in shares) + " %"
