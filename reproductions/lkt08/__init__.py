"""LKT08, "The applicability of the perturbation based privacy preserving data mining for real-world data", again.

`reproduce(folder)` writes its page, CSV tables and `statements.md`, which says of each of the paper's statements
whether it was kept.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import sfumato as sf
from reproductions import Claim, Paper, Rows, Say, Scale, at, opened, write_paper
from reproductions.lkt08 import attacks, claims, real, real_claims, synthetic, tables
from reproductions.lkt08.places import PLACES

SNR = 1.0
DIFFERENCES = (
    "Case 4 is the paper's; the mixes of cases 1 to 3 are lost in the text and chosen so that privacy loss falls.",
    "C4.5 is ours (`sfumato.microdata.patterns.c45`), the network scikit-learn's with 16 hidden units, for WEKA's.",
    "Haberman and Liver are split several times at random, two thirds for training; the paper shows one split.",
    "Direct mining, like the paper's, does not read the level that a report carries; reconstruction does.",
)
PICTURE = "figures_1_2.png"


def reproduce(folder: Path | str, scale: Scale = "full", say: Say = print) -> list[Claim]:
    """All of it, into `folder`; `quick` uses fewer people, functions and splits."""
    place, found, shown = opened(folder), list[Claim](), dict[str, Rows]()
    for part in (_measures, _mixes, _functions, _real, _direct, _attacks, _chooser):
        judged, made = part(scale, say)
        found += judged
        shown |= made
    draw(place / PICTURE, shown["figures_1_2"])
    write_paper(place, described(shown, scale), found, scale)
    return found


def described(shown: dict[str, Rows], scale: Scale) -> Paper:
    splits, records = at(scale, 2, 10, 20), at(scale, "2,000 records of Income", "Income whole", "Income whole")
    return Paper(
        "LKT08",
        "Liu, Kantarcioglu & Thuraisingham 2008, The applicability of the perturbation based privacy preserving data "
        "mining for real-world data",
        f"Two-phase perturbation on drawn records; {records} (six continuous attributes), {splits} splits of Haberman "
        "and Liver, gaussian noise at SNR 1.",
        DIFFERENCES,
        PLACES,
        shown,
        {PICTURE: "Distribution functions of W and W′ (Figures 1 and 2)"},
    )


def draw(path: Path, rows: Rows) -> None:
    """A column a shape, a curve for W and for each number of intervals; below, how far W′ is from W."""
    from matplotlib.figure import Figure

    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    figure = Figure(figsize=(4.2 * len(shapes), 6.0), layout="constrained")
    panels = figure.subplots(2, len(shapes), squeeze=False, sharex=True)
    for (above, below), shape in zip(panels.T, shapes, strict=True):
        own = [row for row in rows if row["shape"] == shape]
        values, noisy = ([row[name] for row in own] for name in ("value", "W"))
        for name in list(own[0])[2:]:
            redrawn = [row[name] for row in own]
            above.plot(values, redrawn, label=name, linewidth=2.5 if name == "W" else 1.0)
            below.plot(values, [after - before for after, before in zip(redrawn, noisy, strict=True)])
        above.set(title=shape, ylabel="share below")
        below.set(xlabel="value", ylabel="W′ less W")
    panels[0, 0].legend(fontsize=7)
    figure.savefig(path, dpi=120)


Part = tuple[list[Claim], dict[str, Rows]]


def _measures(scale: Scale, say: Say) -> Part:
    say("the measure, the levels, Figures 1 and 2")
    halves = {f"[0, {a}]": sf.Gaussian(sf.Interval(0, a), privacy=1.0).guarantee().prior_privacy for a in (1, 2)}
    levels, curves = synthetic.level_table(), synthetic.figures_1_2(at(scale, 10_000, 100_000, 100_000))
    return claims.judge_measures(halves, levels, curves), {"levels": levels, "figures_1_2": curves}


def _mixes(scale: Scale, say: Say) -> Part:
    say("one phase against two, and the mixes")
    n, runs = at(scale, (10_000, 2), (100_000, 3), (100_000, 5))
    shown = {
        "privacy_loss": synthetic.privacy_table(),
        "figure_4": synthetic.figure_4(n, runs),
        "stopped_later": synthetic.stopped_later(n, runs),
        "mixes": synthetic.mixes(n, runs),
    }
    drawn = [*claims.judge_phases(shown["figure_4"], shown["stopped_later"]), *claims.judge_mixes(shown["mixes"])]
    return [*claims.judge_cases(shown["privacy_loss"]), *_if_enough(drawn, scale)], shown


def _if_enough(found: list[Claim], scale: Scale) -> list[Claim]:
    """A quick run has too few records to judge what was drawn."""
    return [replace(one, kept=None) for one in found] if scale == "quick" else found


def _functions(scale: Scale, say: Say) -> Part:
    say("functions 1-5, tree and naive Bayes")
    n, runs = at(scale, (4_000, 1), (30_000, 1), (66_000, 1))
    chosen, by = at(scale, ((1, 4), 2), (synthetic.FUNCTIONS, 2), (synthetic.FUNCTIONS, 3))
    rows = synthetic.functions(n, runs, chosen=chosen, by=synthetic.LEARNERS[:by])
    return claims.judge_functions(rows, n, scale == "quick"), {"functions": rows}


def _real(scale: Scale, say: Say) -> Part:
    records, splits = at(scale, (2_000, 2), (40_000, 10), (40_000, 20))
    shown: dict[str, Rows] = {"table_3": [], "tables_5_to_9": []}
    for data_set in real.DATA:
        say(f"{data_set}: original, perturbed and reconstructed; one phase and four mixes")
        for name, table in (("table_3", tables.table_3), ("tables_5_to_9", tables.two_phase_table)):
            shown[name] += tables.over_splits(data_set, table, records, splits)
    found = [
        *real_claims.judge_table_3(shown["table_3"]),
        *real_claims.judge_moments(tables.moments(real.income(4).first(records), SNR, 4), SNR),
        *real_claims.judge_two_phase(shown["tables_5_to_9"], shown["table_3"]),
    ]
    return _if_enough(found, scale), shown


def _direct(scale: Scale, say: Say) -> Part:
    say("direct mining against size and noise")
    whole = real.income(1)
    sizes = at(scale, (1_000, 3_000), *2 * ((1_000, 3_000, 5_000, 7_000, 9_000, 11_000),))
    ratios = at(scale, (4.0, 0.25), *2 * ((4.0, 2.0, 1.0, 0.5, 0.25),))
    clean = real.clean_accuracies(whole.first(3_000))
    by_size = [{"n": n, **row} for n in sizes for row in real.direct_accuracies(whole.first(n), SNR, n)]
    by_snr = [{"SNR": r, **row} for r in ratios for row in real.direct_accuracies(whole.first(3_000), r, 5)]
    shown = {"table_4_size": by_size, "snr": by_snr, "clean": clean}
    return _if_enough(real_claims.judge_direct(by_size, by_snr, clean), scale), shown


def _attacks(scale: Scale, say: Say) -> Part:
    say("correlation and outliers")
    income = real.income(5)
    shown = {
        "correlation": attacks.correlated(),
        "outliers": attacks.outliers_found(income.first(at(scale, 3_000, 40_000, 40_000)), SNR),
    }
    return claims.judge_attacks(*shown.values()), shown


def _chooser(scale: Scale, say: Say) -> Part:
    say("what the chooser takes")
    splits = {"six attributes": real.income(2)}
    if scale == "full":
        splits["fourteen attributes"] = real.income(2, nominal=True)
    records = at(scale, 3_000, 40_000, 40_000)
    rows = [{"data": name, **real.chosen(split.first(records), SNR, 7)} for name, split in splits.items()]
    say("how often the chooser is right")
    whole = (real.GRID_DATA, real.GRID_FUNCTIONS, 2)
    grid = real.grid(*at(scale, (("haberman", "bupa"), (), 1), (("haberman", "bupa", "pima"), (1,), 1), whole))
    found = [*claims.judge_chosen(rows, scale == "quick"), claims.judge_grid(grid, scale == "quick")]
    return found, {"chosen": rows, "chooser": grid}
