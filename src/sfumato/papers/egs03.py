"""EGS03, "Limiting privacy breaches in privacy preserving data mining": every table, chart and statement again.

`reproduce(folder)` writes CSV tables, PNG charts and `statements.md`, which says of each of the paper's statements
whether it was kept here, and on what evidence.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from sfumato.papers import egs03_breaches, egs03_designs, egs03_mining
from sfumato.papers.carriers import Absent

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Statement:
    """One statement of the paper, whether it was kept, and the numbers that say so."""

    text: str
    kept: bool
    evidence: str

    def __str__(self) -> str:
        return f"{'kept' if self.kept else 'NOT KEPT'}: {self.text} ({self.evidence})"


def reproduce(folder: Path | str, quick: bool = False, say: Callable[[str], None] = print) -> list[Statement]:
    """All of it, into `folder`; `quick` uses fewer people and fewer designs."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    statements = [*_breaches(place, say), *_designs(place, quick, say), *_mining(place, quick, say)]
    lines = [f"- **{'kept' if s.kept else 'not kept'}** {s.text} — {s.evidence}" for s in statements]
    (place / "statements.md").write_text("# Statements of EGS03\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return statements


def _breaches(place: Path, say: Callable[[str], None]) -> list[Statement]:
    say("Example 1 and worst-case information")
    example = write_rows(place / "example1.csv", egs03_breaches.example_table())
    information = write_rows(place / "information.csv", egs03_breaches.information_table())
    r1, r2 = information
    worst, gamma = egs03_breaches.largest_odds_ratio(), example[3]["gamma"]
    threshold = r1["a breach from 5 % to 50 % needs"]
    return [
        Statement(
            "Example 1: R1 reveals X = 0, R2 reveals X outside 200..800, R3 reveals neither",
            example[1]["Q1"] > 0.7 and example[2]["Q2"] > 1 - 1e-12 and example[3]["Q1"] < 0.05,
            f"R1: Q1 1 % to {example[1]['Q1']:.2%}; R2: Q2 40.5 % to {example[2]['Q2']:.0%}; "
            f"R3: {example[3]['Q1']:.2%} and {example[3]['Q2']:.2%}",
        ),
        Statement(
            "Statement 1: the odds of no property grow by more than gamma, whatever the prior",
            worst <= gamma * (1 + 1e-9),
            f"largest growth {worst:.3f} over 300 random priors and properties, gamma {gamma:.3f}",
        ),
        Statement(
            "Mutual information ranks the operator that sometimes reveals almost everything as the safer one",
            r2["mutual information"] < r1["mutual information"],
            f"{r2['mutual information']:.7f} against {r1['mutual information']:.5f} bits",
        ),
        Statement(
            "Worst-case information ranks them the other way round",
            r2["worst-case information"] > r1["worst-case information"]
            and r2["inverse worst-case information"] > r1["inverse worst-case information"],
            f"{r2['worst-case information']:.4f} against {r1['worst-case information']:.5f} bits, inverse "
            f"{r2['inverse worst-case information']:.3f} against {r1['inverse worst-case information']:.4f}; "
            f"a 5 % to 50 % breach needs {threshold:.3f}",
        ),
    ]


def _designs(place: Path, quick: bool, say: Callable[[str], None]) -> list[Statement]:
    say("Lowest discoverable supports and compression")
    charts = {
        "lds_by_breach_level": egs03_designs.by_breach_level(quick),
        "lds_by_size": egs03_designs.by_size(quick),
        "lds_by_reports": egs03_designs.by_reports(quick),
    }
    for name, rows in charts.items():
        write_rows(place / f"{name}.csv", rows)
        draw(place / f"{name}.png", rows)
    compression = write_rows(place / "compression.csv", egs03_designs.compression_table())
    by_level, by_size, by_reports = charts.values()
    slope = math.log(by_reports[-1]["two-level 3"] / by_reports[0]["two-level 3"]) / math.log(10)
    better = [row for row in by_size if worst(row, "best") < 0.995 * worst(row, "two-level")]
    smallest = min(row["times smaller"] for row in compression)
    return [
        Statement(
            "Statement 2: some two-level law maximises the mean of every non-decreasing function of the kept count",
            egs03_designs.two_level_maximises_increasing_functions(),
            "all corners of the polytope at three sizes, four rho and 200 functions",
        ),
        Statement(
            "The two-level form is a good choice for the smallest discoverable support",
            not better,
            f"lower by more than half a percent at {len(better)} of {len(by_size)} sizes{_example(better)}; once "
            f"people have parts of the itemset (10 %) the best law for m = 10 is "
            f"{'two-level' if egs03_designs.best_is_two_level(10, prevalence=0.1) else 'another one'} again",
        ),
        Statement(
            "Discoverable supports rise with the prior that is protected and with the size of the basket",
            rising([row["two-level 3"] for row in by_level]) and rising([row["two-level 3"] for row in by_size]),
            f"3-itemsets: {by_level[0]['two-level 3']:.3f} % at rho1 = 1 % to {by_level[-1]['two-level 3']:.3f} % at "
            f"20 %; {by_size[0]['two-level 3']:.3f} % at m = 3 to {by_size[-1]['two-level 3']:.3f} %",
        ),
        Statement(
            "Discoverable supports are about inversely proportional to the root of the number of transactions",
            abs(slope + 0.5) < 0.01,
            f"slope {slope:.4f} on logarithmic axes",
        ),
        Statement(
            "Statement 3: a seed shows any K items with the law of independent coins",
            egs03_designs.seeds_are_independent(),
            "complete enumeration of all seeds and all subsets in three small cases",
        ),
        Statement(
            "Seeds make reports smaller by an order of magnitude",
            smallest >= 10,
            f"{smallest:.1f} to {max(row['times smaller'] for row in compression):.0f} times smaller",
        ),
    ]


def _mining(place: Path, quick: bool, say: Callable[[str], None]) -> list[Statement]:
    say("Mining randomized baskets")
    rows = egs03_mining.quest_rows(quick)
    missing = ""
    try:
        rows += egs03_mining.supermarket_rows(quick)
    except (Absent, LookupError, OSError, ValueError) as absent:
        missing = f"; supermarket left out: {absent}"
        say(f"supermarket data left out: {absent}")
    write_rows(place / "mining.csv", rows)
    easy = [row for row in rows if row["data"] == "Quest-like, 10 habits"]
    scores = [sum(row[f"F1 of {k}"] for row in easy) / len(easy) for k in (1, 2, 3)]
    return [
        Statement(
            "Frequent itemsets can be mined from transactions randomized at gamma = 19",
            all(
                score >= bar
                for score, bar in zip(scores, (0.9, 0.85, 0.8) if quick else (0.97, 0.95, 0.94), strict=True)
            ),
            f"F1 of 1-, 2-, 3-itemsets {scores[0]:.3f}, {scores[1]:.3f}, {scores[2]:.3f} among "
            f"{easy[0]['people']:,} people at {easy[0]['minimum support']:.0%}{missing}",
        )
    ]


def _example(better: Rows) -> str:
    if not better:
        return ""
    row = better[-1]
    return (
        f", e.g. {worst(row, 'best'):.3f} % against {worst(row, 'two-level'):.3f} % for m = {row['items in a basket']}"
    )


def worst(row: dict[str, Any], form: str) -> float:
    return max(float(row[f"{form} {k}"]) for k in (1, 2, 3) if f"{form} {k}" in row)


def rising(values: list[float]) -> bool:
    return all(a < b for a, b in pairwise(values))


def write_rows(path: Path, rows: Rows) -> Rows:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return rows


def draw(path: Path, rows: Rows) -> None:
    """Lowest discoverable support against the first column: two-level dashed, the best design drawn through."""
    from matplotlib.figure import Figure

    axis = next(iter(rows[0]))
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    plot = figure.subplots()
    for k, colour in zip((1, 2, 3), ("tab:blue", "tab:orange", "tab:green"), strict=True):
        for form, line in (("two-level", "--"), ("best", "-")):
            shown = [row for row in rows if f"{form} {k}" in row]
            x, y = [row[axis] for row in shown], [row[f"{form} {k}"] for row in shown]
            plot.plot(x, y, line, color=colour, marker="o", markersize=3, label=f"{k}-itemsets, {form}")
    plot.set(xlabel=axis, ylabel="lowest discoverable support, %", ylim=(0, None))
    plot.legend(fontsize=8)
    figure.savefig(path, dpi=150)
