"""AS00, "Privacy-preserving data mining": Figures 2, 5 and 6 and every statement about them again.

Into the folder: `figure2.csv`, `accuracies.csv` (one row a run), `means.csv`, three pictures, and `statements.md`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sfumato.papers.as00_figures import draw_figure_2, draw_figure_5, draw_figure_6
from sfumato.papers.as00_runs import ALGORITHMS, NOISES, QUICK, Progress, Scale, run_all
from sfumato.papers.as00_shapes import shape_rows
from sfumato.papers.as00_statements import Accuracies, statements
from sfumato.papers.statement import Statement, as_markdown

PAGE = """# Agrawal & Srikant 2000, "Privacy-preserving data mining", again

{train:,} training and {test:,} test records of two classes of equal size, {runs} run{s}; every attribute blurred at
the same level, test records clean.{quick}

Where we differ from the paper: whole-number attributes (elevel, car, zipcode) get whole-number noise, so at 10 %
privacy elevel is all but clear; ByClass and Local stop reconstructing at a tenth of the paper's threshold, which is
early at 200 %; reports are counted past the ends of the domain; the shapes of Figure 2 are our reading of their names.

## Statements

{statements}

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
    folder: Path | str, quick: bool = False, progress: Progress = silent, scale: Scale | None = None
) -> list[Statement]:
    """Run what is not finished yet, then draw and judge; `quick` is for trying it out, hours of runs otherwise."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    chosen = scale or (QUICK if quick else Scale())
    shapes = shape_rows(chosen.shape_values)
    rows = run_all(place / "accuracies.csv", chosen, progress)
    accuracies = Accuracies(rows)
    found = statements(accuracies, shapes)
    write_rows(place / "figure2.csv", shapes)
    write_rows(place / "means.csv", mean_rows(accuracies))
    draw_figure_2(shapes, place / "figure2.png")
    draw_figure_5(accuracies, place / "figure5.png")
    draw_figure_6(accuracies, place / "figure6.png")
    (place / "statements.md").write_text(page(accuracies, found, chosen), encoding="utf-8")
    return found


def mean_rows(accuracies: Accuracies) -> list[dict[str, Any]]:
    """Figures 5 and 6 as one table: a row for each function, noise and level, a column for each algorithm."""
    return [
        {"function": f, "noise": noise, "privacy": level}
        | {name: round(accuracies.mean(f, noise, level, name), 4) for name in ALGORITHMS}
        for f in accuracies.functions
        for noise in NOISES
        for level in accuracies.levels
    ]


def page(accuracies: Accuracies, found: list[Statement], scale: Scale) -> str:
    quick = (
        "" if scale.train >= Scale().train else " **Fewer records than the paper's: this shows that it runs, no more.**"
    )
    head = ["function", "noise", "privacy", *ALGORITHMS]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in mean_rows(accuracies):
        numbers = [f"{100 * row[name]:.1f}" for name in ALGORITHMS]
        lines.append(f"| {row['function']} | {row['noise']} | {row['privacy']} % | " + " | ".join(numbers) + " |")
    words = {"train": scale.train, "test": scale.test, "runs": scale.runs, "s": "" if scale.runs == 1 else "s"}
    return PAGE.format(**words, quick=quick, statements=as_markdown(found), table="\n".join(lines))


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
