"""LKT08, "The applicability of the perturbation based privacy preserving data mining for real-world data", again.

`reproduce(folder)` writes CSV tables and `statements.md`, which says of each of the paper's claims whether it was kept.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.papers import lkt08_grid, lkt08_mixes, lkt08_real, lkt08_synthetic
from sfumato.papers.lkt08_mixes import EXACT, GAIN_ERROR, NOISE_ONLY, ONE_PHASE
from sfumato.papers.statement import Statement, as_markdown

Rows = list[dict[str, Any]]
Say = Callable[[str], None]
TOLERANCE = 0.005
"""Differences of L1 errors below this, or below two standard errors, are within what a few runs can tell."""


def reproduce(folder: Path | str, quick: bool = False, say: Say = print) -> list[Statement]:
    """All of it, into `folder`; `quick` uses fewer people, functions and splits."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    statements = [*_mixes(place, quick, say), *_functions(place, quick, say), *_real(place, quick, say)]
    (place / "statements.md").write_text(f"# Claims of LKT08\n\n{as_markdown(statements)}\n", encoding="utf-8")
    return statements


def _mixes(place: Path, quick: bool, say: Say) -> list[Statement]:
    say("one phase against two, and the mixes")
    n, runs = (10_000, 2) if quick else (100_000, 5)
    privacy = write_rows(place / "privacy_loss.csv", lkt08_mixes.privacy_table())
    figure = write_rows(place / "figure_4.csv", lkt08_mixes.figure_4(n, runs))
    mixes = write_rows(place / "mixes.csv", lkt08_mixes.mixes(n, runs))
    loss = [row["privacy loss"] for row in privacy]
    worst = max(row[EXACT] - row[ONE_PHASE] for row in figure)
    wide = [row for row in mixes if row["mix"] in ("20 % wide", "50 % wide", "all wide")]
    return [
        Statement(
            "Privacy loss falls from case 1 to case 4",
            all(before > after for before, after in pairwise(loss)),
            ", ".join(f"{value:.5f}" for value in loss) + "; cases 1-3 are our choice",
        ),
        Statement(
            "Figure 4: two phases are reconstructed as well as one",
            worst < 0.1,
            f"largest difference of L1 errors {worst:.3f} at deviation 0.25 and 20 intervals",
        ),
        Statement(
            "Reconstruction may use the noise's table and forget the second phase",
            all(row[NOISE_ONLY] <= row[EXACT] + _told(row) for row in mixes),
            "; ".join(
                f"{row['shape']}, {row['mix']}: exact {row[EXACT]:.3f}, noise's {row[NOISE_ONLY]:.3f}" for row in wide
            ),
        ),
        Statement(
            "Ours: exact tables are never worse than the noise's, and better where a fifth or more are at wide levels",
            all(row[EXACT] <= row[NOISE_ONLY] + _told(row) for row in mixes)
            and all(row[EXACT] < row[NOISE_ONLY] for row in wide),
            f"{len(mixes)} mixes; differences below {TOLERANCE} or two standard errors count as none",
        ),
    ]


def _told(row: dict[str, Any]) -> float:
    return max(TOLERANCE, 2 * float(row[GAIN_ERROR]))


def _functions(place: Path, quick: bool, say: Say) -> list[Statement]:
    say("functions 1-5, tree and naive Bayes")
    n, runs, chosen = (4_000, 1, (1, 4)) if quick else (66_000, 2, lkt08_synthetic.FUNCTIONS)
    by = (lkt08_synthetic.BYCLASS, lkt08_synthetic.NAIVE_BAYES, lkt08_synthetic.JOINT)
    rows = write_rows(
        place / "functions.csv", lkt08_synthetic.functions(n, runs, chosen=chosen, by=by[: 2 if quick else 3])
    )
    found = {(row["function"], row["users"], row["learner"]): row["accuracy"] for row in rows}
    easy = [f for f in chosen if f in (1, 4, 5)]
    worst = {
        one: max(
            abs(v - found[f, ONE_PHASE, one]) for (f, _, learner), v in found.items() if f in easy and learner == one
        )
        for one in dict.fromkeys(row["learner"] for row in rows)
    }
    means = {f: np.mean([v for (g, _, _), v in found.items() if g == f]) for f in chosen}
    hard = [f for f in chosen if f in (2, 3)]
    return [
        Statement(
            "Two-phase users cost no accuracy: within a point of one phase on functions 1, 4 and 5",
            max(worst.values()) <= 0.01 if not quick else None,
            f"largest differences with {n:,} records: " + ", ".join(f"{one} {gap:.3f}" for one, gap in worst.items()),
        ),
        Statement(
            "Functions 2 and 3 are the hard ones",
            bool(max(means[f] for f in hard) < min(means[f] for f in easy)) if hard else None,
            ", ".join(f"function {f}: {value:.3f}" for f, value in means.items()),
        ),
    ]


def _real(place: Path, quick: bool, say: Say) -> list[Statement]:
    say("Income, Haberman and Liver")
    splits = 2 if quick else 20
    income = lkt08_real.income(0).first(2_000) if quick else lkt08_real.income(0)
    table = [{"data set": "income", **row} for row in lkt08_real.table_3(income, 1.0, 0)]
    for name in ("haberman", "liver"):
        say(f"{name}, {splits} splits")
        found = [lkt08_real.table_3(lkt08_real.two_thirds(lkt08_real.DATA[name], s), 1.0, s) for s in range(splits)]
        table += [{"data set": name, **row} for row in _mean_rows(found)]
    write_rows(place / "table_3.csv", table)
    return [
        *_claims_of_table_3(table),
        *_direct(place, quick, say),
        *_chosen(place, quick, say),
        _grid(place, quick, say),
    ]


def _claims_of_table_3(table: Rows) -> list[Statement]:
    accuracy = {(row["data set"], row["learner"], row["data"]): row["accuracy"] for row in table}
    sets = list(dict.fromkeys(row["data set"] for row in table))

    def told(data_set: str, learner: str) -> str:
        parts = [accuracy[data_set, learner, source] for source in ("original", "perturbed", "reconstructed")]
        return f"{data_set} {learner} " + "/".join(f"{value:.3f}" for value in parts)

    lost = [s for s in sets if accuracy[s, "tree", "reconstructed"] < accuracy[s, "tree", "perturbed"]]
    return [
        Statement(
            "On real data reconstruction gives less accurate trees than the perturbed data themselves",
            len(lost) == len(sets),
            "original/perturbed/reconstructed: " + "; ".join(told(s, "tree") for s in sets),
        ),
        Statement(
            "Naive Bayes on perturbed data is within a point of naive Bayes on original data (Income)",
            accuracy["income", "naive Bayes", "perturbed"] > accuracy["income", "naive Bayes", "original"] - 0.01,
            told("income", "naive Bayes"),
        ),
    ]


def _direct(place: Path, quick: bool, say: Say) -> list[Statement]:
    say("direct mining against size and noise")
    whole = lkt08_real.income(1)
    sizes = (1_000, 3_000) if quick else (1_000, 3_000, 5_000, 7_000, 9_000, 11_000)
    ratios = (4.0, 0.25) if quick else (4.0, 2.0, 1.0, 0.5, 0.25)
    by_size = [{"n": n, **row} for n in sizes for row in lkt08_real.direct_accuracies(whole.first(n), 1.0, n)]
    by_snr = [{"SNR": r, **row} for r in ratios for row in lkt08_real.direct_accuracies(whole.first(3_000), r, 5)]
    write_rows(place / "table_4_size.csv", by_size)
    write_rows(place / "snr.csv", by_snr)
    on_true = "true test records"
    mean_by = {r: np.mean([row[on_true] for row in by_snr if row["SNR"] == r]) for r in ratios}
    gain = max(
        max(r[on_true] for r in by_size if r["learner"] == name and r["n"] > 1_000)
        - next(r[on_true] for r in by_size if r["learner"] == name and r["n"] == 1_000)
        for name in lkt08_real.learners()
    )
    low, high = min(row[on_true] for row in by_size), max(row[on_true] for row in by_size)
    return [
        Statement(
            "Direct mining of Income at SNR 1 gives 76.22 to 79.76 %",
            bool(low > 0.74 and high < 0.82),
            f"{low:.2%} to {high:.2%} on true test records",
        ),
        Statement("More than 1,000 records hardly help direct mining", bool(gain < 0.03), f"largest gain {gain:.3f}"),
        Statement(
            "Accuracy falls with SNR",
            bool(mean_by[max(ratios)] > mean_by[min(ratios)]),
            ", ".join(f"SNR {r:g}: {value:.3f}" for r, value in mean_by.items()),
        ),
    ]


def _chosen(place: Path, quick: bool, say: Say) -> list[Statement]:
    say("what the chooser takes")
    six, fourteen = lkt08_real.income(2), lkt08_real.income(2, nominal=True)
    splits = {"six attributes": six, "fourteen attributes": fourteen}
    if quick:
        splits = {name: split.first(3_000) for name, split in splits.items()}
    rows = [{"data": name, **lkt08_real.chosen(split, 1.0, 7)} for name, split in splits.items()]
    write_rows(place / "chosen.csv", rows)
    return [
        Statement(
            f"Ours: at SNR 1 the choice made from reports alone reaches {bar:.0%} on Income with {row['data']}",
            row["accuracy"] >= bar if not quick else None,
            f"{row['chosen']}: {row['accuracy']:.2%}",
        )
        for row, bar in zip(rows, (0.81, 0.83), strict=True)
    ]


def _grid(place: Path, quick: bool, say: Say) -> Statement:
    say("how often the chooser is right")
    rows = lkt08_grid.grid(("haberman", "bupa"), ()) if quick else lkt08_grid.grid()
    write_rows(place / "chooser.csv", rows)
    right = sum(bool(row["right"]) for row in rows)
    return Statement(
        "Ours: the chooser takes the better of reconstruction and direct mining in 80 % of data sets × noises",
        right >= 0.8 * len(rows) if not quick else None,
        f"{right} of {len(rows)}, mean accuracy lost {np.mean([row['lost'] for row in rows]):.4f}",
    )


def _mean_rows(runs: list[Rows]) -> Rows:
    """Rows of equal places averaged over runs."""
    return [
        {**same[0], "accuracy": float(np.mean([row["accuracy"] for row in same]))} for same in zip(*runs, strict=True)
    ]


def write_rows(path: Path, rows: Rows) -> Rows:
    """The rows as CSV, and back."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return rows
