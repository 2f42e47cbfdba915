"""LKT08's statements on drawn records, attacks and the chooser; those on real data are `real_claims`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from reproductions import Claim, Rows, placed
from reproductions.lkt08.real import ERROR
from reproductions.lkt08.synthetic import EXACT, GAIN_ERROR, NOISE_ONLY, ONE_PHASE
from sfumato.prose import percent

TOLERANCE = 0.005
"""Differences of L1 errors below this, or below two standard errors, are within what a few runs can tell."""
EASY, HARD = (1, 4, 5), (2, 3)
THEIR_STOP = "0.25 % of χ²"
OURS = "ours"
POINT = "ours: a point on average"


def judge_measures(halves: Mapping[str, float], levels: Rows, curves: Rows) -> list[Claim]:
    """§3 and §4: the measure, what a level is worth, and Figures 1-2."""
    loss = [row["privacy loss"] for row in levels]
    redrawn = [name for name in curves[0] if name.startswith("W′")]
    apart = [max(abs(row["W"] - row[name]) for row in curves) for name in redrawn]
    one, two = halves.values()
    return [
        Claim(
            "A value that is uniform on [0, 1] has half the privacy of one that is uniform on [0, 2]",
            abs(2 * one - two) < 1e-9,
            f"Π = {one:g} and {two:g}",
            "§3",
        ),
        Claim(
            "The distribution function of W′ comes closer to that of W as intervals become more",
            all(before > after for before, after in pairwise(apart)),
            "largest difference " + ", ".join(f"{gap:.5f} ({n})" for n, gap in zip(redrawn, apart, strict=True)),
            "§4, Figures 1 and 2",
        ),
        Claim(
            "A longer interval protects more",
            all(before > after for before, after in pairwise(loss)),
            "privacy loss " + ", ".join(f"{row['level']} {row['privacy loss']:.5f}" for row in levels),
            "§4.2, Figure 5",
        ),
    ]


def judge_cases(privacy: Rows) -> list[Claim]:
    """§5.3: what the four cases protect."""
    loss = [row["privacy loss"] for row in privacy]
    return placed("§5.3, Table 2", [
        Claim(
            "Privacy loss falls from case 1 to case 4",
            all(before > after for before, after in pairwise(loss)),
            ", ".join(f"{value:.5f}" for value in loss) + "; cases 1-3 are our choice",
        ),
        Claim(
            "The gain from case 1 to case 4 looks small, because 70 % are at the normal level in both",
            loss[0] - loss[-1] < 0.01,
            f"{loss[0] - loss[-1]:.5f}",
            threshold="ours: below 0.01",
        ),
    ])  # fmt: skip


def judge_phases(figure: Rows, later: Rows) -> list[Claim]:
    """§4.1 and Appendix A: one phase and two, and AS00's algorithm by its stop."""
    worst = {m: max(row[NOISE_ONLY if m == "as00" else EXACT] - row[ONE_PHASE] for row in figure if row["method"] == m)
             for m in ("as00", "smooth")}  # fmt: skip
    near = max(row[ONE_PHASE] for row in figure if row["method"] == "smooth")
    return [
        Claim(
            "Two phases are reconstructed as well as one by AS00's algorithm",
            worst["as00"] < 0.1,
            f"largest difference of L1 errors {worst['as00']:.3f} by AS00's algorithm with the noise's table, "
            f"{worst['smooth']:.3f} by ours with exact tables; gaussian (0.25) and uniform (0.5) noise",
            "§4.1, Figure 4",
            "ours: L1 differs by less than 0.1",
        ),
        Claim(
            "On large data AS00's algorithm, stopped at .25 %, comes very close to the true density",
            max(row[THEIR_STOP] for row in later) < 0.1,
            "L1 error " + ", ".join(f"{row['shape']} {row[THEIR_STOP]:.3f}" for row in later)
            + f" of {later[0]['n']:,} reports under gaussian noise of 0.25",
            "Appendix A",
            "ours: L1 below 0.1",
            f"the stop comes early, and no later one is enough: {_by_stop(later)}; from as many reports "
            f"ours has {near:.3f} at most",
        ),
    ]  # fmt: skip


def _by_stop(later: Rows) -> str:
    stops = [name for name in later[0] if name.endswith("χ²")]
    return "; ".join(f"{row['shape']} " + ", ".join(f"{row[stop]:.3f} at {stop}" for stop in stops) for row in later)


def judge_mixes(rows: Rows) -> list[Claim]:
    """§4.2: the table of the noise alone, in the paper's cases and beyond them."""
    wide = [row for row in rows if row["mix"] in ("20 % wide", "50 % wide", "all wide")]
    usual = max(row[NOISE_ONLY] - row[EXACT] for row in rows if row["mix"].startswith("case"))
    never_worse = all(row[EXACT] <= row[NOISE_ONLY] + _told_apart(row) for row in rows)
    told = [f"{row['shape']}, {row['mix']}: exact {row[EXACT]:.3f}, noise's {row[NOISE_ONLY]:.3f}" for row in wide]
    return placed("§4.2", [
        Claim(
            "Reconstruction may use the noise's table and forget the second phase",
            all(row[NOISE_ONLY] <= row[EXACT] + _told_apart(row) for row in rows),
            f"in the paper's own cases at most {usual:.3f} is lost, beyond them more",
            threshold="ours: two standard errors",
            cause=f"the interval's width is a bias that no number of people mends; L1 errors: {'; '.join(told)}",
        ),
        Claim(
            "Ours: exact tables are never worse than the noise's, and better where a fifth or more are at wide levels",
            never_worse and all(row[EXACT] < row[NOISE_ONLY] for row in wide),
            f"{len(rows)} mixes; differences below {TOLERANCE} or two standard errors count as none",
            threshold=OURS,
        ),
    ])  # fmt: skip


def _told_apart(row: dict[str, Any]) -> float:
    return max(TOLERANCE, 2 * float(row[GAIN_ERROR]))


def judge_functions(rows: Rows, n: int, quick: bool) -> list[Claim]:
    found = {(row["function"], row["users"], row["learner"]): row["accuracy"] for row in rows}
    lost: dict[str, list[float]] = {}
    for (function, users, learner), value in found.items():
        if function in EASY and users != ONE_PHASE:
            lost.setdefault(learner, []).append(found[function, ONE_PHASE, learner] - value)
    mean = {learner: float(np.mean(gaps)) for learner, gaps in lost.items()}
    most = max(max(gaps) for gaps in lost.values())
    chosen = sorted({function for function, _, _ in found})
    means = {f: float(np.mean([v for (g, _, _), v in found.items() if g == f])) for f in chosen}
    easy, hard = ([means[f] for f in some if f in means] for some in (EASY, HARD))
    return [
        Claim(
            "Two-phase users cost no accuracy on functions 1, 4 and 5",
            max(mean.values()) <= 0.01 if not quick else None,
            f"lost on average over cases with {n:,} records: {points(mean)}; most in one cell {100 * most:.1f}",
            "§5.3, Figure 6",
            POINT,
        ),
        Claim(
            "Functions 2 and 3 are the hard ones",
            max(hard) < min(easy) if hard else None,
            ", ".join(f"function {f}: {value:.3f}" for f, value in means.items()),
            "§5.3, Figure 6",
        ),
    ]


def judge_attacks(correlated: Rows, outliers: Rows) -> list[Claim]:
    left = [row["best linear guess"] for row in correlated]
    told = ", ".join(f"{row['best linear guess']:.2f} at correlation {row['correlation']:g}" for row in correlated)
    low, high = outliers[0], outliers[-1]
    return [
        Claim(
            "The more attributes correlate, the more of the original data can be recovered (Huang, Du and Chen)",
            all(before > after for before, after in pairwise(left)),
            f"share of the variance left by the best linear guess: {told}",
            "§2",
        ),
        Claim(
            "Independent noise on many attributes does not hide outliers",
            high["found"] > low["found"] and high["found"] > 0.5,
            f"Income at SNR 1: {percent(low['found'], 0)} of the most unusual 2 % are pointed out with "
            f"{low['attributes']} attributes, {percent(high['found'], 0)} with {high['attributes']}",
            "§7",
            "ours: more than half, and more with more attributes",
        ),
    ]


def judge_chosen(rows: Rows, quick: bool) -> list[Claim]:
    return [
        Claim(
            f"Ours: at SNR 1 the choice made from reports alone reaches {percent(bar, 0)} on Income with {row['data']}",
            row["accuracy"] >= bar if not quick else None,
            f"{row['chosen']}: {percent(row['accuracy'], 2)}",
            "§6",
            OURS,
        )
        for row, bar in zip(rows, (0.81, 0.83), strict=False)
    ]


def judge_grid(rows: Rows, quick: bool) -> Claim:
    right = sum(bool(row["right"]) for row in rows)
    gaps = [abs(row["reconstruct: accuracy"] - row["direct: accuracy"]) for row in rows]
    clear = [row for row, gap in zip(rows, gaps, strict=True) if gap > 2 * row[ERROR]]
    other = [row for row, gap in zip(rows, gaps, strict=True) if gap <= 2 * row[ERROR]]
    told, unclear = (sum(bool(row["right"]) for row in some) for some in (clear, other))
    return Claim(
        "Ours: the chooser takes the better of reconstruction and direct mining in 80 % of data sets × noises × splits",
        right >= 0.8 * len(rows) if not quick else None,
        f"{right} of {len(rows)}, mean accuracy lost {np.mean([row['lost'] for row in rows]):.4f}",
        "§6",
        OURS,
        f"tests of {min(row['tests'] for row in rows):,} to {max(row['tests'] for row in rows):,} records do not tell "
        f"which way is better in {len(other)} cells, of which it has {unclear}; where the two differ by more than two "
        f"standard errors it is right in {told} of {len(clear)}{_wrong(clear)}",
    )


def _wrong(clear: Rows) -> str:
    """Where the wrong way was taken though the tests tell."""
    places = dict.fromkeys(f"{row['data']} {row['noise']} {row['SNR']:g}" for row in clear if not row["right"])
    return f"; wrong there: {', '.join(places)}" if places else ""


def points(gaps: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * gap:.1f}" for name, gap in gaps.items()) + " points"
