"""AS00's statements about its trees (Sections 4 to 6), one by one; those before are `foundations`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import sfumato as sf
from reproductions import THEIRS, Claim, Rows, placed
from reproductions.agrawal import DOMAINS
from reproductions.as00.beside import ALGORITHMS, Beside
from reproductions.as00.foundations import categories, every_record, foundations
from reproductions.as00.runs import NOISES, Accuracies
from reproductions.as00.shapes import Drawn

Gaps = list[tuple[float, str]]

CORRECTED = ("byclass", "local")
VERY_CLOSE, QUITE_CLOSE, FAIRLY_CLOSE = 0.03, 0.10, 0.25
"""Our reading of the paper's words, in accuracy."""

ALONE = "an attribute reconstructed by itself loses how salary and age decide together"
DIAGONAL = "attributes reconstructed alone lose the diagonal of functions 4 and 5"


def all_claims(accuracies: Accuracies, drawn: Drawn, beside: Beside) -> list[Claim]:
    """All of them, in the order of the paper; those about ours at the end."""
    return [
        *foundations(drawn),
        *placed("Section 2.1", [value_classes(accuracies, beside.value_classes)]),
        *placed("Section 5.1", [ages(beside.ages), narrow_splits()]),
        *placed("Section 5.2, Figure 5", figure_5(accuracies, beside.xor)),
        *placed("Section 5.3, Figure 6", figure_6(accuracies)),
        *placed("Sections 4.2, 6", effort(accuracies, beside.effort, beside.work)),
        categories(),
        *placed("ours", ours(accuracies, drawn.stops)),
    ]


def value_classes(a: Accuracies, rows: Rows) -> Claim:
    """ByClass under uniform noise against trees of value classes that are as private."""
    text = "Value classes lead to poor accuracy compared with uniform noise of the same privacy"
    gaps = [
        (a.mean(row["function"], "uniform", row["privacy"], "byclass") - row["value classes"],
         f"function {row['function']}, {row['privacy']} %") for row in rows
    ]  # fmt: skip
    known = [(gap, place) for gap, place in gaps if gap == gap]
    levels = sorted({row["privacy"] for row in rows})
    told = ", ".join(
        f"{np.mean([100 * row['value classes'] for row in rows if row['privacy'] == level]):.1f} % at {level} %"
        for level in levels
    )
    cause = f"trees of value classes have {told} of privacy on average"
    return replace(_average(text, known, least=0.02), cause=cause)


def ages(rows: Rows) -> Claim:
    """The largest distance of two distribution functions, in the whole and at one third of salary."""
    easy, *hard = rows
    told = ", ".join(
        f"function {row['function']} {row['everybody']:.3f} ({row['one third of salary']:.3f} in the middle third of "
        "salary)"
        for row in rows
    )
    return Claim(
        "Age is distributed alike in both classes of functions 2 and 3, unless salary is split first",
        all(row["everybody"] < 0.05 < row["one third of salary"] for row in hard) and easy["everybody"] > 0.05,
        f"largest difference of the classes' distribution functions: {told}",
        threshold="ours: .05",
    )


def narrow_splits() -> Claim:
    """Cuts at 25K to 125K, on a range of 130K, noise of 100 %."""
    width, salary = 25_000.0, DOMAINS["salary"]
    spread = sf.Gaussian(salary, privacy=1.0).guarantee().interval(0.95) or 0.0
    return Claim(
        "The intervals of salary are narrower than 20 % of its range; noise at 100 % spreads over 5 times as much",
        width / salary.width < 0.2 and spread / width > 5,
        f"{100 * width / salary.width:.1f} % of the range; {spread / width:.2f} times",
        where="Sections 5.1, 5.2",
    )


def figure_5(a: Accuracies, xor: Rows) -> list[Claim]:
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
        _average("The gain over Randomized is the advantage of reconstruction", over_randomized(a), least=0.0),
        anomaly(a, xor),
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
        within(
            "ByClass comes fairly close to Original over all levels",
            every,
            FAIRLY_CLOSE,
            together(a, ALONE, (1, 2, 3, 4, 5), None),
        ),
        within("Function 4 gives almost the same as function 5 (ByClass)", four_and_five(a), VERY_CLOSE),
        _average("Local's picture is similar to ByClass's", a.gaps("local", "byclass"), least=-0.03, most=0.03),
    ]


def effort(a: Accuracies, rows: Rows, work: tuple[int, int]) -> list[Claim]:
    """Time of each algorithm, and the work of reconstruction alone for Global and ByClass."""
    seconds = {name: float(np.median([row[name] for row in rows])) for name in ALGORITHMS}
    by_class, local = (seconds[name] / seconds["global"] for name in CORRECTED)
    leaves = [float(np.median([row[f"{name} leaves"] for row in rows])) for name in ALGORITHMS[:2]]
    ratios = f"ByClass and Local take {by_class:.2f} and {local:.2f} times Global's time (median of {len(rows)} cells)"
    return [
        _average("Local is marginally better than ByClass", a.gaps("local", "byclass"), least=0.0, most=0.05),
        Claim("Local needs considerably more computation than ByClass", local > 1.5 * by_class, ratios,
              threshold="ours: half as much again"),
        Claim(
            "Global is the cheapest; ByClass is between, and nearer to Global",
            1 <= by_class <= (1 + local) / 2,
            f"{ratios}; reconstruction alone is {work[1] / work[0]:.1f} times as much work by class as for all",
            cause=f"growing takes the time, and Global's trees have {leaves[0]:.0f} leaves before pruning, ByClass's "
            f"{leaves[1]:.0f} (medians): classes that are reconstructed together stay mixed",
        ),
    ]  # fmt: skip


def ours(a: Accuracies, stops: Rows) -> list[Claim]:
    return [
        every_record(stops),
        against_trial(a),
        _average(
            "A tree distilled from the joint model is more accurate than ByClass and Local",
            a.gaps("joint tree", "local") + a.gaps("joint tree", "byclass"),
            least=0.0,
        ),
    ]


TRIAL = {
    "byclass": {"gaussian": (0.944, 0.801, 0.855, 0.920, 0.910), "uniform": (0.980, 0.738, 0.847, 0.915, 0.906)},
    "local": {"gaussian": (0.946, 0.835, 0.864, 0.932, 0.914), "uniform": (0.980, 0.819, 0.859, 0.922, 0.903)},
}
"""Accuracy on functions 1 to 5 at 100 % privacy of a prototype that was written before this system."""


def against_trial(a: Accuracies) -> Claim:
    text = "ByClass and Local at 100 % are at most a point below an independent prototype's figures"
    gaps = [
        (a.mean(f, noise, 100, name) - value, f"{name}, function {f}, {noise}")
        for name, by_noise in TRIAL.items() for noise, values in by_noise.items() for f, value in enumerate(values, 1)
    ]  # fmt: skip
    known = [(gap, place) for gap, place in gaps if gap == gap]
    if not known:
        return Claim(text, None, NOT_RUN)
    (low, where), (high, there) = min(known), max(known)
    near = sum(abs(gap) <= 0.01 for gap, _ in known)
    return Claim(
        text,
        low >= -0.01,
        f"from {100 * low:+.1f} ({where}) to {100 * high:+.1f} points ({there}); {near} of {len(known)} cells are "
        "within one point, the others above",
        threshold="ours",
    )


# --- verdicts ---------------------------------------------------------------------------------------------------------

NOT_RUN = "not run"


def within(text: str, gaps: Gaps, most: float, otherwise: str = "", *, theirs: bool = False) -> Claim:
    """Kept when the largest gap is at most so much; otherwise, the cause."""
    if not gaps:
        return Claim(text, None, NOT_RUN)
    worst, place = max(gaps)
    bar = THEIRS if theirs else f"ours: within {100 * most:.0f} points"
    told = f"largest gap {100 * worst:.1f} points ({place})"
    return Claim(text, worst <= most, told, threshold=bar, cause=otherwise)


def _average(text: str, gaps: Gaps, least: float, most: float = 1.0) -> Claim:
    """Kept when the mean difference lies between the two."""
    if not gaps:
        return Claim(text, None, NOT_RUN)
    mean, (low, where), (high, there) = float(np.mean([gap for gap, _ in gaps])), min(gaps), max(gaps)
    spread = f"from {100 * low:+.1f} ({where}) to {100 * high:+.1f} ({there})"
    bounds = f"at least {100 * least:+.0f}" + (f", at most {100 * most:+.0f}" if most < 1 else "")
    evidence = f"{100 * mean:+.1f} points on average, {spread}"
    return Claim(text, least <= mean <= most, evidence, threshold=f"ours: {bounds} points on average")


def anomaly(a: Accuracies, xor: Rows) -> Claim:
    text = "Original does poorly on function 2: it stops at a buried XOR, where noise helps the others on"
    gaps = a.gaps("byclass", "original", (2,), (25,))
    if not gaps:
        return Claim(text, None, NOT_RUN)
    lead = max(gaps)[0]
    told = ", ".join(
        f"{100 * row['accuracy']:.1f} % ({row['leaves']} leaves) with {row['least gain']:g}" for row in xor
    )
    cause = f"ours asks no least gain of a split; clean trees that ask for one in the gini index: {told}"
    return Claim(text, lead > 0, f"ByClass at 25 % minus Original: {100 * lead:+.1f} points", cause=cause)


def both(a: Accuracies, functions: Sequence[int] = (1, 2, 3, 4, 5), levels: Sequence[int] | None = None) -> Gaps:
    return [
        (gap, f"{name}, {place}") for name in CORRECTED for gap, place in a.gaps("original", name, functions, levels)
    ]


def against_global(a: Accuracies) -> Gaps:
    return [(gap, f"{name}, {place}") for name in CORRECTED for gap, place in a.gaps(name, "global")]


def over_randomized(a: Accuracies) -> Gaps:
    return [(gap, f"{name}, {place}") for name in CORRECTED for gap, place in a.gaps(name, "randomized")]


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
