"""AS00, "Privacy-preserving data mining": Figures 2, 5 and 6 and every claim about them again.

Into the folder: `figure2.csv`, `accuracies.csv` (one row a run), `means.csv`, three pictures, and `statements.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sfumato.mining.tree.association import STOP
from sfumato.papers.as00.claims import all_claims
from sfumato.papers.as00.figures import draw_figure_2, draw_figure_5, draw_figure_6
from sfumato.papers.as00.runs import ALGORITHMS, NOISES, QUICK, Accuracies, Extent, Progress, run_all, shape_rows
from sfumato.papers.claims import Claim, Rows, as_markdown, opened, write_rows
from sfumato.reconstruction import ChiSquare

PAGE = """# Agrawal & Srikant 2000, "Privacy-preserving data mining", again

{train:,} training and {test:,} test records of two classes of equal size, {runs} run{s}; every attribute blurred at
the same level, test records clean.{quick}

Where we differ from the paper: whole-number attributes (elevel, car, zipcode) get whole-number noise, so at 10 %
privacy elevel is all but clear; ByClass and Local stop reconstructing at {stop:g} % of the χ² threshold, the paper at
{paper_stop:g} %; reports are counted past the ends of the domain; Figure 2's shapes are our reading of their names.

## Statements

{claims}

## Figure 2

![Figure 2](figure2.png)

## Figure 5

![Figure 5](figure5.png)

## Figure 6

![Figure 6](figure6.png)

## Accuracy, %

{table}
"""


def silent(steps: Iterable[Any], what: str) -> Iterator[Any]:
    """No progress shown."""
    return iter(steps)


def reproduce(
    folder: Path | str, quick: bool = False, progress: Progress = silent, extent: Extent | None = None
) -> list[Claim]:
    """Run what is not finished yet, then draw and judge; `quick` is for trying it out, hours of runs otherwise."""
    place = opened(folder)
    chosen = extent or (QUICK if quick else Extent())
    shapes = shape_rows(chosen.shape_values)
    rows = run_all(place / "accuracies.csv", chosen, progress)
    accuracies = Accuracies(rows)
    found = all_claims(accuracies, shapes)
    write_rows(place / "figure2.csv", shapes)
    write_rows(place / "means.csv", mean_rows(accuracies))
    draw_figure_2(shapes, place / "figure2.png")
    draw_figure_5(accuracies, place / "figure5.png")
    draw_figure_6(accuracies, place / "figure6.png")
    (place / "statements.md").write_text(page(accuracies, found, chosen), encoding="utf-8")
    return found


def mean_rows(accuracies: Accuracies) -> Rows:
    """Figures 5 and 6 as one table: a row for each function, noise and level, a column for each algorithm."""
    return [
        {"function": f, "noise": noise, "privacy": level}
        | {name: round(accuracies.mean(f, noise, level, name), 4) for name in ALGORITHMS}
        for f in accuracies.functions
        for noise in NOISES
        for level in accuracies.levels
    ]


def page(accuracies: Accuracies, found: list[Claim], extent: Extent) -> str:
    fewer = " **Fewer records than the paper's: this shows that it runs, no more.**"
    head = ["function", "noise", "privacy", *ALGORITHMS]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in mean_rows(accuracies):
        numbers = [f"{100 * row[name]:.1f}" for name in ALGORITHMS]
        lines.append(f"| {row['function']} | {row['noise']} | {row['privacy']} % | " + " | ".join(numbers) + " |")
    return PAGE.format(
        train=extent.train,
        test=extent.test,
        runs=extent.runs,
        s="" if extent.runs == 1 else "s",
        quick=fewer if extent.train < Extent.train else "",
        stop=100 * STOP.share,
        paper_stop=100 * ChiSquare.share,
        claims=as_markdown(found),
        table="\n".join(lines),
    )
