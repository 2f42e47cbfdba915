"""LKT08, "The applicability of the perturbation based privacy preserving data mining for real-world data", again.

`reproduce(folder)` writes CSV tables and `statements.md`, which says of each of the paper's claims whether it was kept.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.papers.claims import Claim, Rows, Say, opened, write_claims, write_rows
from sfumato.papers.lkt08 import claims, real, synthetic


def reproduce(folder: Path | str, quick: bool = False, say: Say = print) -> list[Claim]:
    """All of it, into `folder`; `quick` uses fewer people, functions and splits."""
    place = opened(folder)
    found = [
        *_mixes(place, quick, say),
        *_functions(place, quick, say),
        *_table_3(place, quick, say),
        *_direct(place, quick, say),
        *_chooser(place, quick, say),
    ]
    write_claims(place, "LKT08", found)
    return found


def _mixes(place: Path, quick: bool, say: Say) -> list[Claim]:
    say("one phase against two, and the mixes")
    n, runs = (10_000, 2) if quick else (100_000, 5)
    return claims.mixes(
        write_rows(place / "privacy_loss.csv", synthetic.privacy_table()),
        write_rows(place / "figure_4.csv", synthetic.figure_4(n, runs)),
        write_rows(place / "mixes.csv", synthetic.mixes(n, runs)),
    )


def _functions(place: Path, quick: bool, say: Say) -> list[Claim]:
    say("functions 1-5, tree and naive Bayes")
    n, runs, chosen = (4_000, 1, (1, 4)) if quick else (66_000, 2, synthetic.FUNCTIONS)
    rows = synthetic.functions(n, runs, chosen=chosen, by=synthetic.LEARNERS[: 2 if quick else 3])
    return claims.functions(write_rows(place / "functions.csv", rows), n, quick)


def _table_3(place: Path, quick: bool, say: Say) -> list[Claim]:
    say("Income, Haberman and Liver")
    splits = 2 if quick else 20
    income = real.income(0).first(2_000) if quick else real.income(0)
    rows = [{"data set": "income", **row} for row in real.table_3(income, 1.0, 0)]
    for name in ("haberman", "liver"):
        say(f"{name}, {splits} splits")
        found = [real.table_3(real.two_thirds(real.DATA[name], s), 1.0, s) for s in range(splits)]
        rows += [{"data set": name, **row} for row in _mean_rows(found)]
    return claims.table_3(write_rows(place / "table_3.csv", rows))


def _direct(place: Path, quick: bool, say: Say) -> list[Claim]:
    say("direct mining against size and noise")
    whole = real.income(1)
    sizes = (1_000, 3_000) if quick else (1_000, 3_000, 5_000, 7_000, 9_000, 11_000)
    ratios = (4.0, 0.25) if quick else (4.0, 2.0, 1.0, 0.5, 0.25)
    by_size = [{"n": n, **row} for n in sizes for row in real.direct_accuracies(whole.first(n), 1.0, n)]
    by_snr = [{"SNR": r, **row} for r in ratios for row in real.direct_accuracies(whole.first(3_000), r, 5)]
    return claims.direct(
        write_rows(place / "table_4_size.csv", by_size),
        write_rows(place / "snr.csv", by_snr),
    )


def _chooser(place: Path, quick: bool, say: Say) -> list[Claim]:
    say("what the chooser takes")
    splits = {"six attributes": real.income(2), "fourteen attributes": real.income(2, nominal=True)}
    if quick:
        splits = {name: split.first(3_000) for name, split in splits.items()}
    rows = [{"data": name, **real.chosen(split, 1.0, 7)} for name, split in splits.items()]
    found = claims.chosen(write_rows(place / "chosen.csv", rows), quick)
    say("how often the chooser is right")
    cells = real.grid(("haberman", "bupa"), ()) if quick else real.grid()
    return [*found, claims.grid(write_rows(place / "chooser.csv", cells), quick)]


def _mean_rows(runs: list[Rows]) -> Rows:
    """Rows of equal places averaged over runs."""
    return [
        {**same[0], "accuracy": float(np.mean([row["accuracy"] for row in same]))} for same in zip(*runs, strict=True)
    ]
