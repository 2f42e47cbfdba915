"""AS00's claims about its experiments, one by one, against ours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import sfumato as sf
from sfumato.papers import THEIRS, Claim, Rows, placed
from sfumato.papers.as00.runs import EQUATIONS, NOISES, SHAPES, Accuracies, shape_error
from sfumato.reconstruction.rules import Observed

Gaps = list[tuple[float, str]]

CORRECTED = ("byclass", "local")
VERY_CLOSE, QUITE_CLOSE, FAIRLY_CLOSE = 0.03, 0.10, 0.25
"""Our reading of the paper's words, in accuracy."""

ALONE = "an attribute reconstructed by itself loses how salary and age decide together"
DIAGONAL = "attributes reconstructed alone lose the diagonal of functions 4 and 5"


def all_claims(accuracies: Accuracies, shapes: Rows, stops: Rows, work: tuple[int, int]) -> list[Claim]:
    """All of them, in the order of the paper; those about ours at the end."""
    return [
        fixed_perturbation(),
        *placed("Section 2.1, Table 1", [table_1(), high_confidence()]),
        *placed("Section 3, stopping criterion", stopping(stops)),
        *placed("Section 3, Figure 2", [figure_2(shapes, stops)]),
        *placed("Section 5.2, Figure 5", figure_5(accuracies)),
        *placed("Section 5.3, Figure 6", figure_6(accuracies)),
        *placed("Sections 4.2, 6", effort(accuracies, work)),
        *placed("ours", ours(accuracies, stops)),
    ]


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
    guarantee = sf.Gaussian(sf.Interval(0, 1), scale=0.1).guarantee()
    widths = [(guarantee.interval(c) or 0.0) / 0.1 for c in (0.5, 0.95, 0.999)]
    return Claim(
        "Gaussian noise hides a value within 1.34σ, 3.92σ, 6.8σ at 50, 95, 99.9 % confidence",
        all(abs(width - printed) < 0.02 for width, printed in zip(widths, (1.34, 3.92, 6.8), strict=True)),
        f"{widths[0]:.2f}σ, {widths[1]:.2f}σ, {widths[2]:.2f}σ; the last number of the table is a slip for 6.58σ",
    )


def high_confidence() -> Claim:
    """Widths at 99.9 % of two noises that are equally wide at 95 %."""
    unit = sf.Interval(0, 1)
    gaussian, uniform = (
        (noise(unit, privacy=1.0, confidence=0.95).guarantee().interval(0.999) or 0.0)
        for noise in (sf.Gaussian, sf.Uniform)
    )
    return Claim(
        "Gaussian noise provides more privacy than uniform noise at higher confidence",
        gaussian > uniform,
        f"100 % of the range at 95 % confidence are {100 * gaussian:.0f} and {100 * uniform:.0f} % at 99.9 %",
        where="Sections 2.1, 6",
    )


def stopping(stops: Rows) -> list[Claim]:
    """The rule that the paper rejects: do estimates that pass it lie nearer to the truth than those that fail?"""
    rows = [row for row in stops if row["stop"].startswith("observed") and row["equation"] == "Equation 3"]
    limit = Observed().limit
    passed, failed = ([row["error"] for row in rows if (row["steps"] < limit) == ended] for ended in (True, False))
    told = ", ".join(f"{row['shape']} {row['noise']} {100 * row['error']:.1f} % after {row['steps']:,}" for row in rows)
    return [
        Claim(
            "Observed against re-randomized reports is no reliable indicator of the error of the estimate",
            max(passed, default=0.0) > min(failed, default=1.0),
            f"share of values in a wrong interval where that rule ends, and its steps: {told}; {limit:,} steps are the "
            "limit, where the reports still differ",
            threshold="ours: an estimate that passes is further from the truth than one that does not",
        )
    ]


def sensitivity(stops: Rows) -> str:
    """Figure 2's triangles under gaussian noise by the share of χ² at which Equation 3 stops."""
    rows = [row for row in stops if (row["shape"], row["noise"]) == ("triangles", "gaussian")]
    rows = [row for row in rows if row["equation"] == "Equation 3"]
    return "triangles under gaussian noise by the stop: " + ", ".join(
        f"{row['stop']} {100 * row['error']:.1f} %" for row in rows
    )


def figure_2(shapes: Rows, stops: Rows) -> Claim:
    cases = [(shape, noise) for shape in SHAPES for noise in NOISES]
    ours, theirs, raw = (
        [shape_error(shapes, *case, method) for case in cases] for method in ("smooth", "as00", "randomized")
    )
    kept = all(found < seen / 2 for found, seen in zip(theirs, raw, strict=True))
    why = "" if kept else "; its stop comes early under gaussian noise and leaves a plateau round"
    return Claim(
        "The original shape is picked out, even though the randomized one looks nothing like it",
        kept,
        f"share of values in a wrong interval: reports {percents(raw)}; the paper's algorithm {percents(theirs)}; "
        f"ours {percents(ours)} (plateau and triangles, each under gaussian and uniform noise){why}; "
        f"{sensitivity(stops)}",
        threshold="ours: less than half the reports' error",
    )


def figure_5(a: Accuracies) -> list[Claim]:
    near = {name: a.gaps("original", name, (4, 5), (25, 100)) for name in ("global", "randomized")}
    return [
        within("ByClass and Local at 25 and 50 % are very close to Original", both(a, levels=(25, 50)), VERY_CLOSE,
               together(a, ALONE, (1, 2, 3, 4, 5), (25, 50))),
        within("At 100 % they are within 5 points on functions 1, 4, 5", both(a, (1, 4, 5), (100,)), 0.05,
               together(a, DIAGONAL, (1, 4, 5), (100,)), theirs=True),
        within("At 100 % they are within 15 points on functions 2, 3", both(a, (2, 3), (100,)), 0.15,
               together(a, ALONE, (2, 3), (100,)), theirs=True),
        _average("Global does worse than ByClass and Local overall", against_global(a), least=0.0),
        within("Global fares well on functions 4 and 5", near["global"], QUITE_CLOSE, gaussian_only(near["global"])),
        within("Randomized is quite close to Original on functions 4 and 5", near["randomized"], QUITE_CLOSE,
               gaussian_only(near["randomized"])),
        anomaly(a),
    ]  # fmt: skip


def together(a: Accuracies, reason: str, functions: Sequence[int], levels: Sequence[int] | None) -> str:
    """The reason, and how far the tree of the joint model, which does not lose it, is from Original at most."""
    gaps = a.gaps("original", "joint tree", functions, levels)
    return f"{reason}: a tree from the joint model is {100 * max(gaps)[0]:.1f} points off at most" if gaps else reason


def gaussian_only(gaps: Gaps) -> str:
    """How far it is where noise does not move the diagonal."""
    under = [gap for gap, place in gaps if "gaussian" in place]
    return f"uniform noise does it: under gaussian {100 * max(under):.1f} points at most" if under else ""


def figure_6(a: Accuracies) -> list[Claim]:
    before, after = by_noise(a, "randomized"), by_noise(a, "byclass")
    every = a.gaps("original", "byclass")
    return [
        _average("Before correction uniform noise costs much more than gaussian", before, least=0.02),
        _average("After correction (ByClass) the two are comparable", after, least=-0.03, most=0.03),
        within("ByClass comes fairly close to Original over all levels", every, FAIRLY_CLOSE,
               together(a, ALONE, (1, 2, 3, 4, 5), None)),
        within("Function 4 gives almost the same as function 5 (ByClass)", four_and_five(a), VERY_CLOSE),
        _average("Local's picture is similar to ByClass's", a.gaps("local", "byclass"), least=-0.03, most=0.03),
    ]


def effort(a: Accuracies, work: tuple[int, int]) -> list[Claim]:
    """Time, compiled beforehand; and the work of reconstruction alone, for Global and ByClass."""
    seconds = {name: a.seconds(name) for name in ("global", "byclass", "local")}
    known = all(value == value for value in seconds.values())
    ratios = " and ".join(f"{seconds[name] / seconds['global']:.1f}" for name in CORRECTED)
    middle = (seconds["global"] + seconds["local"]) / 2
    between = seconds["global"] <= seconds["byclass"] <= middle
    why = "" if between else "; here the time goes into growing the tree, and most of it is not reconstruction's"
    return [
        _average("Local is marginally better than ByClass", a.gaps("local", "byclass"), least=0.0, most=0.05),
        Claim(
            "Local needs considerably more computation than ByClass",
            seconds["local"] > 1.5 * seconds["byclass"] if known else None,
            f"ByClass and Local take {ratios} times Global's time" if known else NOT_RUN,
            threshold="ours: half as much again",
        ),
        Claim(
            "Global is the cheapest; ByClass is between, and nearer to Global",
            between if known else None,
            f"ByClass and Local take {ratios} times Global's time; reconstruction alone is {work[1] / work[0]:.1f} "
            f"times as much work by class as for all (tables applied){why}" if known else NOT_RUN,
        ),
    ]


def ours(a: Accuracies, stops: Rows) -> list[Claim]:
    error = {tuple(row[key] for key in ("shape", "noise", "equation", "stop")): row["error"] for row in stops}
    pairs = [[error[shape, "uniform", which, "0.1 %"] for shape in SHAPES] for which in EQUATIONS]
    return [
        Claim(
            "Under uniform noise Equation 2 on every record ends nearer to the truth than Equation 3 on intervals",
            all(records < intervals for intervals, records in zip(*pairs, strict=True)),
            f"at 0.1 % of χ²: {percents(pairs[0])} by Equation 3, {percents(pairs[1])} by Equation 2 (plateau, "
            "triangles); midpoints of wide intervals are biased where the density of the noise jumps",
            threshold="ours",
        ),
        _average(
            "A tree distilled from the joint model is more accurate than ByClass and Local",
            a.gaps("joint tree", "local") + a.gaps("joint tree", "byclass"),
            least=0.0,
        ),
    ]


# --- verdicts ---------------------------------------------------------------------------------------------------------

NOT_RUN = "not run"


def within(text: str, gaps: Gaps, most: float, otherwise: str = "", *, theirs: bool = False) -> Claim:
    """Kept when the largest gap is at most so much; otherwise, the reason."""
    if not gaps:
        return Claim(text, None, NOT_RUN)
    worst, place = max(gaps)
    why = f"; {otherwise}" if otherwise and worst > most else ""
    bar = THEIRS if theirs else f"ours: within {100 * most:.0f} points"
    return Claim(text, worst <= most, f"largest gap {100 * worst:.1f} points ({place}){why}", threshold=bar)


def _average(text: str, gaps: Gaps, least: float, most: float = 1.0) -> Claim:
    """Kept when the mean difference lies between the two."""
    if not gaps:
        return Claim(text, None, NOT_RUN)
    mean, (low, where), (high, there) = float(np.mean([gap for gap, _ in gaps])), min(gaps), max(gaps)
    spread = f"from {100 * low:+.1f} ({where}) to {100 * high:+.1f} ({there})"
    bounds = f"at least {100 * least:+.0f}" + (f", at most {100 * most:+.0f}" if most < 1 else "")
    evidence = f"{100 * mean:+.1f} points on average, {spread}"
    return Claim(text, least <= mean <= most, evidence, threshold=f"ours: {bounds} points on average")


def anomaly(a: Accuracies) -> Claim:
    text = "Original does poorly on function 2: it stops at a buried XOR, where noise helps the others on"
    gaps = a.gaps("byclass", "original", (2,), (25,))
    if not gaps:
        return Claim(text, None, NOT_RUN)
    lead = max(gaps)[0]
    reason = "here the XOR does not stop the clean tree" if lead <= 0 else "as in the paper"
    return Claim(text, lead > 0, f"ByClass at 25 % minus Original: {100 * lead:+.1f} points; {reason}")


def both(
    a: Accuracies, functions: Sequence[int] = (1, 2, 3, 4, 5), levels: Sequence[int] | None = None
) -> Gaps:
    return [
        (gap, f"{name}, {place}") for name in CORRECTED for gap, place in a.gaps("original", name, functions, levels)
    ]


def against_global(a: Accuracies) -> Gaps:
    return [(gap, f"{name}, {place}") for name in CORRECTED for gap, place in a.gaps(name, "global")]


def by_noise(a: Accuracies, algorithm: str) -> Gaps:
    """accuracy under gaussian − under uniform noise."""
    found = [
        (a.mean(f, "gaussian", level, algorithm) - a.mean(f, "uniform", level, algorithm), f"function {f}, {level} %")
        for f in a.functions
        for level in a.levels
    ]
    return [(gap, place) for gap, place in found if gap == gap]


def four_and_five(a: Accuracies) -> Gaps:
    """|accuracy on function 4 − on function 5|."""
    found = [
        (abs(a.mean(4, noise, level, "byclass") - a.mean(5, noise, level, "byclass")), f"{noise}, {level} %")
        for noise in NOISES
        for level in a.levels
    ]
    return [(gap, place) for gap, place in found if gap == gap]


def percents(shares: list[float]) -> str:
    return ", ".join(f"{100 * share:.1f}" for share in shares) + " %"
