"""LKT08's claims, one by one, against our tables."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.papers.claims import Claim, Rows
from sfumato.papers.lkt08.synthetic import EXACT, GAIN_ERROR, NOISE_ONLY, ONE_PHASE
from sfumato.prose import percent

TOLERANCE = 0.005
"""Differences of L1 errors below this, or below two standard errors, are within what a few runs can tell."""
EASY, HARD = (1, 4, 5), (2, 3)
ON_TRUE = "true test records"


def mixes(privacy: Rows, figure: Rows, rows: Rows) -> list[Claim]:
    loss = [row["privacy loss"] for row in privacy]
    worst = max(row[EXACT] - row[ONE_PHASE] for row in figure)
    wide = [row for row in rows if row["mix"] in ("20 % wide", "50 % wide", "all wide")]
    told = [f"{row['shape']}, {row['mix']}: exact {row[EXACT]:.3f}, noise's {row[NOISE_ONLY]:.3f}" for row in wide]
    never_worse = all(row[EXACT] <= row[NOISE_ONLY] + _told_apart(row) for row in rows)
    return [
        Claim(
            "Privacy loss falls from case 1 to case 4",
            all(before > after for before, after in pairwise(loss)),
            ", ".join(f"{value:.5f}" for value in loss) + "; cases 1-3 are our choice",
        ),
        Claim(
            "Figure 4: two phases are reconstructed as well as one",
            worst < 0.1,
            f"largest difference of L1 errors {worst:.3f} at deviation 0.25 and 20 intervals",
        ),
        Claim(
            "Reconstruction may use the noise's table and forget the second phase",
            all(row[NOISE_ONLY] <= row[EXACT] + _told_apart(row) for row in rows),
            "; ".join(told),
        ),
        Claim(
            "Ours: exact tables are never worse than the noise's, and better where a fifth or more are at wide levels",
            never_worse and all(row[EXACT] < row[NOISE_ONLY] for row in wide),
            f"{len(rows)} mixes; differences below {TOLERANCE} or two standard errors count as none",
        ),
    ]


def _told_apart(row: dict[str, Any]) -> float:
    return max(TOLERANCE, 2 * float(row[GAIN_ERROR]))


def functions(rows: Rows, n: int, quick: bool) -> list[Claim]:
    found = {(row["function"], row["users"], row["learner"]): row["accuracy"] for row in rows}
    worst: dict[str, float] = {}
    for (function, _, learner), value in found.items():
        if function in EASY:
            worst[learner] = max(worst.get(learner, 0.0), abs(value - found[function, ONE_PHASE, learner]))
    chosen = sorted({function for function, _, _ in found})
    means = {f: float(np.mean([v for (g, _, _), v in found.items() if g == f])) for f in chosen}
    easy, hard = ([means[f] for f in some if f in means] for some in (EASY, HARD))
    return [
        Claim(
            "Two-phase users cost no accuracy: within a point of one phase on functions 1, 4 and 5",
            max(worst.values()) <= 0.01 if not quick else None,
            f"largest differences with {n:,} records: " + ", ".join(f"{one} {gap:.3f}" for one, gap in worst.items()),
        ),
        Claim(
            "Functions 2 and 3 are the hard ones",
            max(hard) < min(easy) if hard else None,
            ", ".join(f"function {f}: {value:.3f}" for f, value in means.items()),
        ),
    ]


def table_3(rows: Rows) -> list[Claim]:
    accuracy = {(row["data set"], row["learner"], row["data"]): row["accuracy"] for row in rows}
    sets = list(dict.fromkeys(row["data set"] for row in rows))

    def told(data_set: str, learner: str) -> str:
        parts = [accuracy[data_set, learner, source] for source in ("original", "perturbed", "reconstructed")]
        return f"{data_set} {learner} " + "/".join(f"{value:.3f}" for value in parts)

    return [
        Claim(
            "On real data reconstruction gives less accurate trees than the perturbed data themselves",
            all(accuracy[s, "tree", "reconstructed"] < accuracy[s, "tree", "perturbed"] for s in sets),
            "original/perturbed/reconstructed: " + "; ".join(told(s, "tree") for s in sets),
        ),
        Claim(
            "Naive Bayes on perturbed data is within a point of naive Bayes on original data (Income)",
            accuracy["income", "naive Bayes", "perturbed"] > accuracy["income", "naive Bayes", "original"] - 0.01,
            told("income", "naive Bayes"),
        ),
    ]


def direct(by_size: Rows, by_snr: Rows) -> list[Claim]:
    ratios = dict.fromkeys(row["SNR"] for row in by_snr)
    mean_by = {snr: np.mean([row[ON_TRUE] for row in by_snr if row["SNR"] == snr]) for snr in ratios}
    first = {row["learner"]: row[ON_TRUE] for row in by_size if row["n"] == 1_000}
    gain = max(row[ON_TRUE] - first[row["learner"]] for row in by_size if row["n"] > 1_000)
    low, high = min(row[ON_TRUE] for row in by_size), max(row[ON_TRUE] for row in by_size)
    return [
        Claim(
            "Direct mining of Income at SNR 1 gives 76.22 to 79.76 %",
            bool(low > 0.74 and high < 0.82),
            f"{percent(low, 2)} to {percent(high, 2)} on true test records",
        ),
        Claim("More than 1,000 records hardly help direct mining", bool(gain < 0.03), f"largest gain {gain:.3f}"),
        Claim(
            "Accuracy falls with SNR",
            bool(mean_by[max(mean_by)] > mean_by[min(mean_by)]),
            ", ".join(f"SNR {r:g}: {value:.3f}" for r, value in mean_by.items()),
        ),
    ]


def chosen(rows: Rows, quick: bool) -> list[Claim]:
    return [
        Claim(
            f"Ours: at SNR 1 the choice made from reports alone reaches {percent(bar, 0)} on Income with {row['data']}",
            row["accuracy"] >= bar if not quick else None,
            f"{row['chosen']}: {percent(row['accuracy'], 2)}",
        )
        for row, bar in zip(rows, (0.81, 0.83), strict=True)
    ]


def grid(rows: Rows, quick: bool) -> Claim:
    right = sum(bool(row["right"]) for row in rows)
    return Claim(
        "Ours: the chooser takes the better of reconstruction and direct mining in 80 % of data sets × noises",
        right >= 0.8 * len(rows) if not quick else None,
        f"{right} of {len(rows)}, mean accuracy lost {np.mean([row['lost'] for row in rows]):.4f}",
    )
